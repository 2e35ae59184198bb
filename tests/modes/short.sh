#!/bin/bash
# what 15 minutes find: the suite without the tests that tests/long-tests.txt names
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_or_refuse all
mapfile -t long < <(grep -v '^#' "$root/tests/long-tests.txt")
mapfile -t tests < <(list_tests)
for name in "${long[@]}"; do
  [[ " ${tests[*]} " == *" $name "* ]] || refuse "tests/long-tests.txt: there is no test $name"
done
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -vxF -f <(printf '%s\n' "${long[@]}"))
echo "Left out: ${#long[@]} long tests, ${#tests[@]} remain."
run_tests "${tests[@]}"
