#!/bin/bash
# Conway's game of life: a film of 250 generations, or live in a window.
#
# Usage: life.sh [--seed N] [OUTPUT]
#
# OUTPUT is a film, .avi (default life.avi), an array of the first 100 generations, .npy, or
# `window`: a live one, which ends with Ctrl-C. The seed (default 1) draws the first one.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

seed=1
named_options=(seed)
read_options life.avi "$@"
check --seed "$seed" '[0-9]{1,9}' 'a number'
cells=(openclkernelsrc num-buffers "location=$programs/life.cl" "arguments=a,seed=$seed"
  "output-caps=video/x-raw,format=GRAY8,width=320,height=240,framerate=25/1")
into_film 250 100 "${cells[@]}" --
