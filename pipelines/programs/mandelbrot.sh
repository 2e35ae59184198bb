#!/bin/bash
# The Mandelbrot set: a film that zooms in, or live in a window.
#
# Usage: mandelbrot.sh [--float] [OUTPUT]
#
# OUTPUT is a film of five seconds, .avi (default mandelbrot.avi), the counts of its frames
# as an array, .npy, or `window`: a live one, which ends with Ctrl-C.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options mandelbrot.avi "$@"
source=(openclkernelsrc num-buffers "location=$programs/mandelbrot.cl" "options=-DREAL=$real"
  "arguments=a,centre=<-0.743643887,0.131825904>,span=3.5,zoom=1.2,iterations=200"
  "global-size=width/4,height"
  "output-caps=video/x-raw,format=GRAY8,width=640,height=480,framerate=25/1")
into_film 125 3 "${source[@]}" -- openclconvert colormap=inferno !
