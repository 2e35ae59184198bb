#!/bin/bash
# Call and put of four million options, drawn and priced on the device.
#
# Usage: blackscholes.sh [--float] [OUTPUT]
#
# OUTPUT is an array of shape (1, 5, 4000000), .npy (default blackscholes.npy): prices now,
# strikes, years, calls and puts.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

read_options blackscholes.npy "$@"
n=4000000
# Both, one behind the other
join="kernel void join (global const $real *drawn, global const $real *priced,"
join+=" global $real *output, ulong shape0) { const ulong n = get_global_id (0);"
join+=" output[n] = n < 3 * shape0 ? drawn[n] : priced[n - 3 * shape0]; }"
into_npy openclkernelsrc num-buffers=1 "location=$programs/drawn.cl" kernel=options \
  "options=-DREAL=$real" arguments=a,seed=1 global-size=shape0 \
  "output-caps=other/tensors,types=$type,dimensions=(string)$n:3" \
  ! tee name=drawn ! queue ! both.drawn \
  drawn. ! queue ! openclkernel "location=$programs/blackscholes.cl" \
  "options=-DREAL=$real" arguments=a,rate=0.02,volatility=0.3 global-size=shape0/4 \
  "output-caps=other/tensors,dimensions=(string)$n:2" ! both.priced \
  openclkernelmixer name=both "source=$join" \
  "output-caps=other/tensors,types=$type,dimensions=(string)$n:5"
