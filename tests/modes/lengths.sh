#!/bin/bash
# lengths up to 4096 that an FFT library promises and transforms wrong, refuses or does not survive
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
if in_build /usr/bin/python3 "$root/tests/check/pipelines/arrays.py" all-lengths; then
  conclude 1 0
fi
conclude 0 1
