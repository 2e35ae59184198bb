#!/bin/bash
# what leaves the suite: all cases of benchmarks, commands of all documents, more lengths; [TEST…]
#
# shellcheck disable=SC1091
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
run_tests --suite all "$@"
