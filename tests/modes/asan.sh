#!/bin/bash
# memory that is misused or lost, and undefined behaviour (AddressSanitizer, UBSan); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

# An enumeration's range: GST_MAP_OPENCL is the next flag, as GST_MAP_GL is.
build_beside asan all -Db_sanitize=address,undefined -Dbenchmark=false -Doptimization=1 \
  -Dc_args=-fno-sanitize=enum -Dcpp_args=-fno-sanitize=enum
scan_plugins_within
# Allocations are traced through libraries without frame pointers, to be told apart.
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:fast_unwind_on_malloc=0:malloc_context_size=25
export LSAN_OPTIONS=suppressions=$root/tests/sanitizers/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run_slowly 6 "$@"
