#!/bin/bash
# Installs what is missing, builds, and shows live OCT in a window: opencl-view --oct.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

words=()
for word in "$@"; do
  if [ "$word" = --help ]; then
    echo "oct-live.sh installs what is missing (Debian 12 and 13), builds, and runs opencl-view --oct."
    explain_switches
    echo
    PYTHONPATH=$root/python exec /usr/bin/python3 -m gstopencl.view.octoptions --help
  fi
  take_switch "$word" || words+=("$word")
done
prepare
view=$build/tools/opencl-view
[ -x "$view" ] || view=opencl-view # installed
[ -z "$verbose" ] || "$view" --oct --print "${words[@]}" >&2
exec "$view" --oct "${words[@]}"
