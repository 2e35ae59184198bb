#!/bin/bash
# The heat equation: how heat spreads in a plate from an edge and a disk.
#
# Usage: heat.sh [OUTPUT]
#
# OUTPUT is a film of 250 steps, .avi (default heat.avi), their temperatures as an array,
# .npy, or `window`: a live one, which ends with Ctrl-C.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options heat.avi "$@"
plate=(openclkernelsrc num-buffers "location=$programs/heat.cl" "arguments=a,rate=0.25,hot=100"
  "output-caps=other/tensors,types=float32,dimensions=(string)160:120,framerate=50/1")
into_film 250 250 "${plate[@]}" -- openclkernel expression="x / 100" \
  ! "video/x-raw(memory:OpenCLMemory),format=GRAY8" \
  ! openclconvert colormap=inferno \
  ! "video/x-raw(memory:OpenCLMemory),width=320,height=240" !
