#!/bin/bash
# what breaks readers of files, caps, properties and kernel arguments; SECONDS over all targets
#
# tests/run.sh --fuzz SECONDS [TARGET…]; what is found lies in build-fuzz/found. A finding
# that is mended goes into tests/fuzz/corpus, which the suite replays. GST_OPENCL_FUZZ_SEED
# begins where it began before; without it chance says where.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

seconds=${1:-}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || refuse "--fuzz SECONDS: how long, over all targets"
shift
need clang++ clang
export CC=clang CXX=clang++
build_beside fuzz runtime -Dfuzzing=true -Dhardening=false -Dbenchmark=false \
  -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
  "-Dcpp_args=-fno-sanitize=enum" "-Dc_args=-fno-sanitize=enum" # GST_MAP_OPENCL, as GST_MAP_GL

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cd "$root/tests/fuzz/corpus" && ls)
programs=("${targets[@]/#/tests/fuzz/fuzz_}")
ninja -C "$build" "${programs[@]}" </dev/null || refuse "The build failed."

scan_plugins_within
# --asan finds memory that a library keeps until the process ends.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
passed=0 failed=0
for target in "${targets[@]}"; do
  grown=$build/corpus/$target found=$build/found/$target-
  mkdir -p "$grown" "$build/found"
  if in_build "$build/tests/fuzz/fuzz_$target" -max_total_time="$share" -timeout=60 \
    -rss_limit_mb=4096 -seed="${GST_OPENCL_FUZZ_SEED:-0}" -print_final_stats=1 \
    -artifact_prefix="$found" "$grown" "$root/tests/fuzz/corpus/$target" >"$found"log 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found"log) inputs"
    passed=$((passed + 1))
  else
    grep -vE '^#|^(NEW|REDUCE)' "$found"log | tail -60
    echo "FAILED: fuzzing $target: see ${found}log"
    failed=$((failed + 1))
  fi
done
conclude "$passed" "$failed"
