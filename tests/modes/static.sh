#!/bin/bash
# faults that the sources show: warnings of gcc and clang, with and without each library, clang-tidy, cppcheck, layout, scripts, symbols, hardening
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need clang-tidy clang-tidy
need cppcheck cppcheck
need clang++ clang
need dpkg-buildflags dpkg-dev
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

# shellcheck disable=SC2317,SC2329 # check () calls it
check_hardening () {
  "$root/tests/static/hardening.sh" true "$build"/gst/*/lib*.so "$build/tests/benchmark/opencl-bench"
}

# As Debian's packages are built, with the flags that they give to every program
# shellcheck disable=SC2317,SC2329
check_package () (
  eval "$(dpkg-buildflags --export=sh)"
  build_beside package all --buildtype=plain --prefix=/usr --wrap-mode=nodownload -Dtests=false
  check_hardening
)

# shellcheck disable=SC2317,SC2329
check_matrix () {
  CC=$1 CXX=$2 "$root/tests/static/matrix.sh" "$root" "${GST_OPENCL_BUILD:-$root/build}-matrix-$1"
}

check layout "$root/tests/static/format.sh" "$root"
check shellcheck "$root/tests/static/shell.sh" "$root"
check "system headers" "$root/tests/static/platform.sh" "$root"
check symbols "$root/tests/check/libs/symbols.sh" "$build/gst/opencl/libgstopencl-1.0.so"
check hardening check_hardening
check "hardening of a package" check_package
check "gcc, without libraries" check_matrix gcc g++
check "clang, without libraries" check_matrix clang clang++
check subproject "$root/tests/check/pipelines/subproject.sh" meson "$root" --link
check cppcheck "$root/tests/static/cppcheck.sh" "$root"
check clang-tidy "$root/tests/static/tidy.sh" "$root" "$build"
conclude "$passed" "$failed"
