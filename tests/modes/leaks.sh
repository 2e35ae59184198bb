#!/bin/bash
# GStreamer's objects that a pipeline of the documents, or a test, leaves alive; [TEST…]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
logs=$build/leaks
rm -rf "$logs"
mkdir -p "$logs"
passed=0 failed=0

# judge NAME STATUS: by its log
judge () {
  local log=$logs/$1.log
  if [ "$2" -ne 0 ]; then
    tail -20 "$logs/$1.out"
    echo "$1: failed"
  elif grep -q 'object-alive, type-name=(string)[^%]' "$log"; then
    grep -o 'object-alive, type-name=(string)[^%].*' "$log" | cut -c1-200 | sort | uniq -c | head -20
    echo "$1: leaks, see $log"
  else
    echo "$1: none"
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
}

check_program () {
  local name
  name=$(basename "$1")
  in_build env GST_TRACERS=leaks GST_DEBUG=GST_TRACER:7 GST_DEBUG_NO_COLOR=1 \
    GST_DEBUG_FILE="$logs/$name.log" CK_DEFAULT_TIMEOUT=300 "$1" >"$logs/$name.out" 2>&1
  judge "$name" $?
}

# The commands of README.md and docs/, as the suite's pipelines_readme runs them
check_documents () {
  LEAKS_LOG=$logs/documents.log PATH=$root/tests/leaks:$PATH in_build \
    /usr/bin/python3 "$root/tests/check/pipelines/readme.py" "$root" "$build" >"$logs/documents.out" 2>&1
  judge documents $?
}

if [ $# -gt 0 ]; then
  programs=("${@/#/$build/tests/check/*/}")
else
  # Without tests that take minutes: others do the same with fewer frames. The memory of a lost
  # frame is never freed: the device may still use it.
  mapfile -t programs < <(find "$build"/tests/check/{elements,pipelines} -maxdepth 1 -type f \
    -executable |
    grep -vE 'openclconvert|keychain|steady_state|no_round_trip|oct_chain|lost_frames' | sort)
  check_documents
fi
for program in "${programs[@]}"; do
  # shellcheck disable=SC2086  # a pattern
  check_program $program
done
conclude "$passed" "$failed"
