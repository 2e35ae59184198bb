#!/bin/bash
# uninitialized bytes, invalid accesses and leaks in any library (valgrind); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need valgrind valgrind
build_or_refuse all
# Tests without a device: all are twenty times slower, and PoCL's compiler would take an hour.
[ $# -gt 0 ] || set -- elements_calibration elements_npyparse elements_valuesfiles \
  libs_devicechoice fuzz_npyheader fuzz_npystream fuzz_program fuzz_properties fuzz_valuesfile
export G_SLICE=always-malloc
# Not of the linker that PoCL runs, nor of GStreamer's scanner with everybody's plugins.
wrapper="valgrind --quiet --error-exitcode=99 --trace-children=yes --trace-children-skip=/usr/* \
--child-silent-after-fork=no \
--suppressions=$root/tests/sanitizers/valgrind.supp --num-callers=25 \
--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite"
export CK_TIMEOUT_MULTIPLIER=20
run_tests --timeout-multiplier 20 --wrapper "$wrapper" "$@"
