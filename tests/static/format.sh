#!/bin/bash
# Promise: no line of gst/ and kernels/, of whichever file, is longer than 100 columns; C and C++
# are laid out as .clang-format says. Versions of clang-format differ in hundreds of lines, so
# Debian 12's version decides.
#
# Usage: format.sh SOURCE_ROOT
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$1"
export LC_ALL=C.UTF-8
long=$(grep -rnIE '^.{101}' gst kernels || true)
[ -z "$long" ] || { echo "Longer than 100 columns:"; echo "$long"; exit 1; }
format=$(command -v clang-format-14 || command -v clang-format) \
  || { echo "clang-format is missing: install clang-format"; exit 1; }
"$format" --version | grep -q 'version 14\.' \
  || { echo "NOT CHECKED: no clang-format of version 14"; exit 0; }
mapfile -t files < <(find gst tests -name '*.[ch]' -o -name '*.[ch]pp' | sort)
[ ${#files[@]} -gt 100 ] || { echo "only ${#files[@]} files found"; exit 1; }
"$format" --dry-run -Werror --ferror-limit=20 "${files[@]}" \
  || { echo "$format -i lays them out"; exit 1; }
echo "${#files[@]} files"
