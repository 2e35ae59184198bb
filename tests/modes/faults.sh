#!/bin/bash
# every OpenCL call of short pipelines fails, once and for good; [--every] [--share SHARE] [--only NAME]
#
# Without --every, of calls that repeat in a steady state (made by the same functions, at the
# same place in a frame) the first, the second and the last fail, and error codes take turns:
# about 33 000 runs. tests/faults/sweep.py says more.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
in_build python3 "$root/tests/faults/sweep.py" "$@" "$build/tests/faults/faulty-launch"
