#!/bin/bash
# faults that the sources show: compilers' warnings, clang-tidy, cppcheck, layout, scripts, symbols
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need clang-tidy clang-tidy
need cppcheck cppcheck
build_beside static all -Db_pch=false --werror # which is every warning, of -Wall -Wextra
passed=1 failed=0

# check NAME COMMAND…
check () {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    echo "$name found something"
    failed=$((failed + 1))
  fi
}

check layout "$root/tests/static/format.sh" "$root"
check shellcheck "$root/tests/static/shell.sh" "$root"
check symbols "$root/tests/check/libs/symbols.sh" "$build/gst/opencl/libgstopencl-1.0.so"
check hardening "$root/tests/static/hardening.sh" true "$build"/gst/*/lib*.so \
  "$build/tests/benchmark/opencl-bench"
check cppcheck "$root/tests/static/cppcheck.sh" "$root"
check clang-tidy "$root/tests/static/tidy.sh" "$root" "$build"
conclude "$passed" "$failed"
