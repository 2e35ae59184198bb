#!/bin/bash
# Promise: the pipelines in README.md work when pasted.
#
# Runs every gst-launch-1.0 command in it, with a fakesink for the window and an end for
# the live ones.
#
# Usage: readme.sh README
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
readme=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Commands, one a line: those that go on behind a backslash are joined.
mapfile -t commands < <(awk '
  /^```/ { inside = !inside; next }
  inside { line = line $0; if (sub (/\\$/, "", line)) next; print line; line = "" }
' "$readme" | grep gst-launch-1.0)
[ ${#commands[@]} -eq 4 ] || { echo "${#commands[@]} pipelines, expected 4"; exit 1; }

for command in "${commands[@]}"; do
  command=${command/autovideosink/fakesink}
  command=${command//is-live=true/is-live=true num-buffers=10}
  echo "$command"
  timeout 300 bash -c "$command" >log 2>&1 || { cat log; exit 1; }
  [[ $command != *openclstats* ]] || grep 'openclstats, element=(string)octfft0' log
done
python3 - bscan.png <<'END'
import struct, sys

head = open(sys.argv[1], "rb").read(24)
assert head[:8] == b"\x89PNG\r\n\x1a\n", head
assert struct.unpack(">II", head[16:]) == (512, 1024), head
END
