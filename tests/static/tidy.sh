#!/bin/bash
# Promise: clang-tidy finds nothing in gst/, with the checks of .clang-tidy.
#
# Usage: tidy.sh SOURCE_ROOT BUILD_FOLDER   one without precompiled headers, which are gcc's
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
cd "$1" || exit 1
# VkFFT is a header of its own, and a megabyte.
find gst -name '*.cpp' ! -name fftplan-vkfft.cpp -print0 \
  | xargs --null --max-procs="$(nproc)" --max-args=1 clang-tidy --quiet -p "$2" 2>/dev/null
