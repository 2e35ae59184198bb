#!/bin/bash
# what does not build, with every warning an error, or pass in a Debian of SUITE (trixie); beside build
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

[[ ${1:-} =~ ^[a-z]+$ ]] || refuse "Which suite of Debian? tests/run.sh --debian trixie"
new_debian "debian-$1" "$1"
passed=0 failed=0
add_up within "debian-$1" 'GST_OPENCL_SETUP=--werror /checkout/tests/run.sh'
conclude "$passed" "$failed"
