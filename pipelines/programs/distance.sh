#!/bin/bash
# Great-circle distance of every point of a mesh of 1000 by 1000, 29° to 31° north by 99° to
# 101° east, to 30° north and 101° east. The mesh is made on the device.
#
# Usage: distance.sh [--float] [OUTPUT]
#
# OUTPUT is a picture, .png (default distance.png), or an array in km, .npy.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options distance.png "$@"
check_output .png .npy
mesh=(openclkernelsrc num-buffers=1 "location=$programs/distance.cl" "options=-DREAL=$real"
  "arguments=mesh,south=29,north=31,west=99,east=101,latitude=30,longitude=101"
  "global-size=shape0/4,shape1"
  "output-caps=other/tensors,types=$type,dimensions=(string)1000:1000")
case $output in
  *.npy) into_npy "${mesh[@]}" ;;
  *)
    launch_into "$output" distance.cl "${mesh[@]}" \
      ! openclkernel "expression=x / 225" ! "video/x-raw(memory:OpenCLMemory),format=GRAY8" \
      ! openclconvert colormap=viridis ! opencldownload ! videoconvert \
      ! pngenc snapshot=true ;;
esac
