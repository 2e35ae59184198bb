#!/bin/bash
# Installs what is missing, builds, runs every test; the last line says how many passed.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/../pipelines/setup.sh"

if ! { install_missing && build all; } </dev/null; then
  echo "The build failed." >&2
  echo "0 passed, 1 failed"
  exit 1
fi

log=$build/meson-logs/testlog.json
rm -f "$log"
# Each of them has as many threads as there are cores.
meson test -C "$build" --no-rebuild --num-processes 2 --print-errorlogs </dev/null
python3 "$root/tests/count.py" "$log"
