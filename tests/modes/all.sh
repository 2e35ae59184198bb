#!/bin/bash
# what a new user meets: the suite in an empty Debian 12, without and with the plugins of desktops
#
# shellcheck disable=SC1091
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

passed=0 failed=0
add_up "$modes/debian.sh" bookworm
add_up "$modes/debian.sh" --desktop bookworm
conclude "$passed" "$failed"
