#!/bin/bash
# The edges of a photograph: a Laplacian of a Gaussian of 5 by 5, computed by way of spectra
# or as the sum that it is.
#
# Usage: laplacian.sh [--method fft|direct] [--picture FILE] [OUTPUT]
#
# FILE is a picture that GStreamer decodes (default docs/greenscreen-before.png). OUTPUT is
# a gray picture, .png (default laplacian.png), or an array of it, .npy; 128 is level. The
# method (default fft) makes no difference of more than one level.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

method=fft picture=$root/docs/greenscreen-before.png
named_options=(method picture)
read_options laplacian.png "$@"
check_output .png .npy
check --method "$method" 'fft|direct' 'fft or direct'
check_file --picture "$picture"
edges=(filesrc "location=$picture" ! decodebin ! videoconvert
  ! "video/x-raw,format=GRAY8" ! openclupload ! openclconvolve "method=$method" border=mirror offset=128
  "kernel=<<0,0,1,0,0>,<0,1,2,1,0>,<1,2,-16,2,1>,<0,1,2,1,0>,<0,0,1,0,0>>")
case $output in
  *.npy) into_npy "${edges[@]}" ;;
  *)
    launch_into "$output" laplacian.sh "${edges[@]}" ! opencldownload \
      ! pngenc snapshot=true ;;
esac
