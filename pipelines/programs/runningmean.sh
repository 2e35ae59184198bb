#!/bin/bash
# The running mean of noisy frames of a photograph: the noise goes, the picture stays.
#
# Usage: runningmean.sh [--keep FACTOR] [--picture FILE] [OUTPUT]
#
# The weight of a frame is FACTOR (default 0.95) times that of the next one; with 1 all have
# the same. FILE is a picture that GStreamer decodes (default docs/greenscreen-before.png).
# OUTPUT is a film of four seconds, .avi (default runningmean.avi), an array of the first ten
# frames, .npy, or `window`: a live one, which ends with Ctrl-C.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

keep=0.95 picture=$root/docs/greenscreen-before.png
named_options=(keep picture)
read_options runningmean.avi "$@"
check --keep "$keep" '0([.][0-9]{1,9})?|1' 'a number from 0 to 1'
check_file --picture "$picture"
check_output .avi .npy window
photograph=(filesrc "location=$picture" ! decodebin ! videoconvert
  ! "video/x-raw,format=GRAY8" !)
program=(openclkernel "location=$programs/runningmean.cl")
zeros=$(mktemp) # a .npy file of as many pixels
trap 'rm -f -- "$zeros"; clean_up' EXIT
launch "${photograph[@]}" openclupload ! openclkernel "expression=x * 0" \
  ! "other/tensors(memory:OpenCLMemory),types=float32" ! npysink "location=$zeros"
into_film 100 10 "${photograph[@]}" imagefreeze num-buffers ! "video/x-raw,framerate=25/1" ! openclupload \
  ! "${program[@]}" kernel=noise "arguments=a,noise=200.0" \
  ! "${program[@]}" kernel=mean "arguments=a,sum=$zeros,weight=$zeros,keep=(float)$keep" --
