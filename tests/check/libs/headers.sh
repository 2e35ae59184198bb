#!/bin/bash
# Promise: every public header compiles by itself in C and in C++, without warnings. The
# application chooses the version of OpenCL, whether it includes CL/cl.h before or after.
#
# Usage: headers.sh SOURCE-FOLDER HEADER…   with CC and CXX in the environment
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
root=$1
shift
mapfile -t flags < <(pkg-config --cflags gstreamer-1.0 gstreamer-base-1.0 \
  gstreamer-video-1.0 OpenCL | tr ' ' '\n' | sed '/^$/d')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# compile STANDARD WHAT: compiles $work/try; WHAT describes it in messages
compile() {
  local compiler=("${CC:-cc}" -x c)
  case $1 in *++*) compiler=("${CXX:-c++}" -x c++) ;; esac
  "${compiler[@]}" "-std=$1" -Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$root" \
    "${flags[@]}" -DGST_USE_UNSTABLE_API "$work/try" 2>"$work/log" && ! grep -q "pragma message" "$work/log" \
    && return
  echo "$2 ($1):"
  cat "$work/log"
  failed=1
}

# Includes OpenCL of a version, as an application does, and checks that it gets that version.
opencl() {
  echo "#define CL_TARGET_OPENCL_VERSION $1"
  echo "#include <CL/cl.h>"
  cat <<'END'
#if defined(CL_VERSION_2_0) != (CL_TARGET_OPENCL_VERSION >= 200) \
    || defined(CL_VERSION_3_0) != (CL_TARGET_OPENCL_VERSION >= 300)
#error "not the version that the application asked for"
#endif
END
}

end="extern int end_of_file;"
all=()
for header in "$@"; do
  include="#include <gst/opencl/$(basename "$header")>"
  all+=("$include" "$end")
  for standard in c99 c++20; do
    { echo "$include"; echo "$end"; opencl 300; } >"$work/try"
    compile "$standard" "$header alone, before CL/cl.h"
  done
done
for standard in c99 c++17; do
  { opencl 300; printf '%s\n' "${all[@]}"; } >"$work/try"
  compile "$standard" "all of them after CL/cl.h"
done
for standard in c11 c17 c++11 c++14; do
  { echo "#include <gst/opencl/opencl.h>"; opencl 120; echo "$end"; } >"$work/try"
  compile "$standard" "all of them before CL/cl.h of 1.2"
done
[ $failed = 0 ] && echo "$# headers"
exit $failed
