#!/bin/bash
# Installs what is missing, builds, and shows live OCT in a window: opencl-view --oct.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

prepare_tool opencl-view gstopencl.view.octoptions "$@"
[ -z "$verbose" ] || "$tool" --oct --print "${words[@]}" >&2
exec "$tool" --oct "${words[@]}"
