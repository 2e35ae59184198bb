#!/bin/bash
# Two arrays of a million complex numbers, (-1 … 1) each part: their sum or their product.
#
# Usage: arithmetic.sh [OUTPUT]
#
# OUTPUT is an array, .npy (default product.npy): where its name begins with "sum", the
# sum, and else the product; of shape (1, 1000000, 2), the parts innermost.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options product.npy "$@"
# drawn SEED: that many complex numbers, in `drawn`
drawn () {
  drawn=(openclkernelsrc num-buffers=1 "location=$programs/drawn.cl" kernel=complex_numbers
    "arguments=a,seed=$1" global-size=count/2
    "output-caps=other/tensors,types=float32,dimensions=(string)2:1000000")
}
drawn 1
first=("${drawn[@]}")
drawn 2
case $(basename "$output") in
  sum*) program=("expression=a + b") ;;
  *) program=("location=$programs/complexproduct.cl" global-size=count/2) ;;
esac
into_npy "${first[@]}" ! both.a "${drawn[@]}" ! both.b openclkernelmixer name=both \
  "${program[@]}"
