#!/bin/bash
# memory that is misused, and undefined behaviour (AddressSanitizer, UBSan); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_with_asan
run_slowly 6 "$@"
