#!/bin/bash
# kernels that read or write beside memory, race, or need one vendor's device; [--only PIPELINES]
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need oclgrind oclgrind
need clang clang
build_or_refuse all
passed=0 failed=0
for part in --strict --oclgrind; do
  add_up in_build /usr/bin/python3 "$root/tests/kernels/devices.py" "$part" "$@" \
    "$build/tests/faults/faulty-launch"
done
conclude "$passed" "$failed"
