#!/bin/bash
# all tests with PoCL's optimizer, also those that leave it out to save time; [TEST…]
#
# shellcheck disable=SC1091
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
run_tests --no-suite all --wrapper "env -u POCL_EXTRA_BUILD_FLAGS" "$@"
