#!/bin/bash
# The product of two matrices of normal numbers, of shape (500, 300) and (300, 700).
#
# Usage: matrixproduct.sh [OUTPUT]
#
# OUTPUT is an array of shape (1, 500, 700), .npy (default matrixproduct.npy).
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options matrixproduct.npy "$@"
# drawn SEED DIMENSIONS: a matrix, in `drawn`
drawn () {
  drawn=(openclkernelsrc num-buffers=1 "location=$programs/drawn.cl" kernel=normal_numbers
    "arguments=a,seed=$1"
    "output-caps=other/tensors,types=float32,dimensions=(string)$2")
}
drawn 1 300:500
first=("${drawn[@]}")
drawn 2 700:300
# In groups of 16 by 16
into_npy "${first[@]}" ! both.a "${drawn[@]}" ! both.b openclkernelmixer name=both \
  "location=$programs/matrixproduct.cl" global-size=704,512 \
  "output-caps=other/tensors,types=float32,dimensions=(string)700:500"
