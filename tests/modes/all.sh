#!/bin/bash
# what leaves the suite: all cases of benchmarks, commands of all documents, more lengths, demo.sh in Debian's trixie and sid; [TEST…] of these alone
#
# shellcheck disable=SC1091
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
[ $# -eq 0 ] || run_tests --suite all "$@"
passed=0 failed=0
add_up run_tests --suite all
add_up "$modes/debian.sh" --quick trixie
add_up "$modes/debian.sh" --quick sid
conclude "$passed" "$failed"
