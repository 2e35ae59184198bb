#!/bin/bash
# bytes that nobody has set, and memory that is misused, in any library (valgrind); [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need valgrind valgrind
build_or_refuse all
# What the device computes is --asan's and the kernels' own tests'; here is what runs on the
# host, twenty times slower.
[ $# -gt 0 ] || set -- elements_calibration elements_npyparse elements_keyingcaps \
  elements_opencldownload libs_buffer libs_bufferpool libs_context libs_deferred \
  libs_devicechoice libs_frame libs_inflight libs_kernel libs_settings libs_statistics \
  fuzz_npyheader fuzz_npystream fuzz_program fuzz_properties fuzz_valuesfile
export G_SLICE=always-malloc
wrapper="valgrind --quiet --error-exitcode=99 --trace-children=yes --child-silent-after-fork=no \
--suppressions=$root/tests/sanitizers/valgrind.supp --num-callers=25"
export CK_TIMEOUT_MULTIPLIER=20
run_tests --timeout-multiplier 20 --wrapper "$wrapper" "$@"
