#!/bin/bash
# data races, and locks taken in different orders (ThreadSanitizer); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_beside tsan all -Db_sanitize=thread -Dbenchmark=false -Doptimization=1
scan_plugins_within
# Other libraries are not instrumented.
export TSAN_OPTIONS=suppressions=$root/tests/sanitizers/tsan.supp:halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1
export G_SLICE=always-malloc
run_slowly 10 "$@"
