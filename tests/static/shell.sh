#!/bin/bash
# Promise: shellcheck has nothing to say about any script.
#
# Usage: shell.sh SOURCE_ROOT
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$1"
command -v shellcheck >/dev/null || { echo "shellcheck is missing: install shellcheck"; exit 1; }
mapfile -t files < <(find .ci/run pipelines docs/pictures tests -name '*.sh' -o -path .ci/run | sort)
[ ${#files[@]} -gt 10 ] || { echo "only ${#files[@]} scripts found"; exit 1; }
shellcheck "${files[@]}"
echo "${#files[@]} scripts"
