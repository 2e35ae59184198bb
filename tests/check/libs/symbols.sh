#!/bin/bash
# Promise: the library exports the symbols in symbols.txt and no others. Symbols marked
# "(private)" are for this project's own plugins (gst/opencl/gstopencl.map).
#
# Usage: symbols.sh LIBRARY            compares
#        symbols.sh LIBRARY --update   rewrites symbols.txt
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
export LC_ALL=C
library=$1
list=$(cd "$(dirname "$0")" && pwd)/symbols.txt

exported() {
  nm -D --defined-only --with-symbol-versions "$library" \
    | sed -n -e 's/.* [A-Z] \(.*\)@@GSTOPENCL_1\.0$/\1/p' \
      -e 's/.* [A-Z] \(.*\)@@GSTOPENCL_PRIVATE$/\1 (private)/p' \
      -e '/@@\?GSTOPENCL_/!{/ A GSTOPENCL_/!s/.* [A-Za-z] \(.*\)$/\1 (no version)/p}' \
    | sort
}

if [ "${2:-}" = --update ]; then
  exported >"$list"
  exit
fi
[ "$(exported | wc -l)" -gt 50 ] || { echo "nm finds no symbols in $library"; exit 1; }
if ! difference=$(diff "$list" <(exported)); then
  echo "The library's exported symbols (>) are not those of symbols.txt (<):"
  echo "$difference"
  echo "Where that is meant: ${0#"$PWD"/} $library --update"
  exit 1
fi
echo "$(wc -l <"$list") symbols"
