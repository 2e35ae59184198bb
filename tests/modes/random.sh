#!/bin/bash
# crashes, memory errors, criticals and hangs of random pipelines under disturbance; [COUNT (1000) [FIRST SEED (1)]]
#
# Runs with AddressSanitizer and UBSan, in the build of --asan. A process runs 20 pipelines,
# and after a crash another one goes on with the next seed.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

count=${1:-1000} seed=${2:-1}
[[ $count =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ ]] || refuse "expected numbers: $count $seed"
build_with_asan
export ASAN_OPTIONS+=:handle_abort=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit # random settings may name files
/usr/bin/python3 "$root/tests/soak/randominputs.py" "$folder" || refuse "no input files"

passed=0 failed=0 end=$((seed + count))
while [ "$seed" -lt "$end" ]; do
  some=$((end - seed < 20 ? end - seed : 20))
  in_build "$build/tests/soak/random-pipelines" "$folder" "$seed" "$some" >"$folder/log" 2>&1
  done=$(grep -c '^seed ' "$folder/log") bad=0
  if ! grep -qx 'done' "$folder/log"; then
    bad=1 done=$((done > 0 ? done : 1))
    failures+=("FAILED: $(grep '^seed ' "$folder/log" | tail -1)")
    cat "$folder/log"
  fi
  passed=$((passed + done - bad)) failed=$((failed + bad)) seed=$((seed + done))
  echo "seeds up to $((seed - 1)): $passed passed, $failed failed" >&2
done
conclude "$passed" "$failed"
