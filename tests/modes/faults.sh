#!/bin/bash
# every OpenCL call of short pipelines fails, once and for good; [--quick] [--share SHARE] [--only NAME]
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
in_build python3 "$root/tests/faults/sweep.py" "$@" "$build/tests/faults/faulty-launch"
