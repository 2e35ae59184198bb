#!/bin/bash
# The product of two matrices of normal numbers, of shape (500, 300) and (300, 700).
#
# Usage: matrixproduct.sh [--by tiles|convolution] [OUTPUT]
#
# Computes the product by tiles in local memory (default), or as a 1 x 1 convolution by
# openclconvolve. OUTPUT is a .npy array of shape (1, 500, 700), with --by convolution
# (1, 1, 1, 500, 700) (default matrixproduct.npy).
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

by=tiles
named_options=(by)
read_options matrixproduct.npy "$@"
check --by "$by" 'tiles|convolution' 'tiles or convolution'
# drawn SEED DIMENSIONS: a matrix, in `drawn`
drawn () {
  drawn=(openclkernelsrc num-buffers=1 "location=$programs/drawn.cl" kernel=normal_numbers
    "arguments=a,seed=$1"
    "output-caps=other/tensors,types=float32,dimensions=(string)$2")
}

# In groups of 16 by 16
by_tiles () {
  local first
  drawn 1 300:500
  first=("${drawn[@]}")
  drawn 2 700:300
  into_npy "${first[@]}" ! both.a "${drawn[@]}" ! both.b openclkernelmixer name=both \
    "location=$programs/matrixproduct.cl" global-size=704,512 \
    "output-caps=other/tensors,types=float32,dimensions=(string)700:500"
}

# The second is a convolution of 1 by 1 from 300 channels to 700 filters.
by_convolution () {
  unfinished=$(mktemp)
  drawn 2 700:300:1
  launch "${drawn[@]}" ! npysink "location=$unfinished"
  drawn 1 300:500:1:1
  into_npy "${drawn[@]}" ! openclconvolve "kernel=$unfinished" kernel-layout=hwio
}

"by_$by"
