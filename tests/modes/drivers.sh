#!/bin/bash
# results that differ on other OpenCL drivers, which it fetches; [--quick] [--largest] [--only NAME] [DRIVER…]
#
# shellcheck disable=SC1091,SC2119,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need unshare util-linux
build_or_refuse all
passed=0 failed=0
add_up in_build /usr/bin/python3 "$root/tests/drivers/drivers.py" "$build" "$@"
conclude "$passed" "$failed"
