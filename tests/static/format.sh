#!/bin/bash
# Promise: C and C++ are laid out as .clang-format says.
#
# Usage: format.sh SOURCE_ROOT
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$1"
command -v clang-format >/dev/null \
  || { echo "clang-format is missing: install clang-format"; exit 1; }
mapfile -t files < <(find gst tests -name '*.[ch]' -o -name '*.[ch]pp' | sort)
[ ${#files[@]} -gt 100 ] || { echo "only ${#files[@]} files found"; exit 1; }
clang-format --dry-run -Werror --ferror-limit=20 "${files[@]}" \
  || { echo "clang-format -i lays them out"; exit 1; }
echo "${#files[@]} files"
