#!/bin/bash
# memory, descriptors and threads that grow in long runs, live pipelines that slow down; [SCALE] (1: about half an hour) [CASE…]
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

scale=${1:-1}
shift
[ $# -gt 0 ] || set -- lines keying depths composition programs pipelines properties \
  depth-knobs composition-knobs program-knobs \
  any-depth-knob any-composition-knob any-keying-knob caps seeks
build_or_refuse all
passed=0 failed=0
for case in "$@"; do
  if in_build "$build/tests/soak/soak" "$case" "$scale"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
conclude "$passed" "$failed"
