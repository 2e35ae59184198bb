#!/bin/bash
# memory that is misused, and undefined behaviour (AddressSanitizer, UBSan); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

# An enumeration's range: GST_MAP_OPENCL is the next flag, as GST_MAP_GL is.
build_beside asan all -Db_sanitize=address,undefined -Dbenchmark=false -Doptimization=1 \
  -Dc_args=-fno-sanitize=enum -Dcpp_args=-fno-sanitize=enum
scan_plugins_within
# --valgrind and --leaks find leaks. PoCL's compiler leaks much, and separating its leaks from
# ours takes minutes for each program.
# And clFFT deletes its plans by the size of their base class.
export ASAN_OPTIONS=detect_leaks=0:new_delete_type_mismatch=0:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=suppressions=$root/tests/sanitizers/ubsan.supp:halt_on_error=1:print_stacktrace=1
run_slowly 6 "$@"
