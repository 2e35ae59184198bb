#!/bin/bash
# Promise: what is installed is hardened (meson_options.txt: hardening), and a plugin
# exports nothing but what GStreamer asks for.
#
# Usage: hardening.sh FORTIFIED FILE…   FORTIFIED: true where the C library's checks are on
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
export LC_ALL=C
command -v readelf >/dev/null || { echo "readelf is missing: install binutils"; exit 1; }
fortified=$1
shift
bad=0
fault () {
  echo "$file: $1"
  bad=$((bad + 1))
}

check () {
  local header segments dynamic symbols
  header=$(readelf --wide --file-header "$file")
  segments=$(readelf --wide --program-headers "$file")
  dynamic=$(readelf --wide --dynamic "$file")
  symbols=$(readelf --wide --dyn-syms "$file")
  [[ $header =~ Type:\ +DYN ]] || fault "is at a fixed address"
  [[ $segments == *GNU_RELRO* ]] || fault "no RELRO"
  [[ $segments =~ GNU_STACK[^$'\n']*\ RW\  ]] || fault "its stack can be executed"
  [[ $segments =~ LOAD[^$'\n']*\ RWE\  ]] && fault "memory that is both written and executed"
  [[ $dynamic =~ FLAGS_1[^$'\n']*NOW ]] || fault "binds lazily, so that its table of calls stays writable"
  [[ $dynamic =~ TEXTREL|RPATH ]] && fault "relocates its code, or has an RPATH"
  [[ $symbols =~ __stack_chk_fail ]] || fault "no stack protector"
  if [ "$fortified" = true ] && [[ $file == *opencl-bench ]]; then # it prints
    [[ $symbols =~ __[a-z]+_chk@ ]] || fault "the C library's checks are off"
  fi
  # opencl-bench stands in front of the OpenCL loader, and the library has symbols.sh.
  if [[ $file == */libgst* && $file != *libgstopencl-1.0* ]]; then
    exported=$(nm --dynamic --defined-only "$file" | awk '{ print $3 }' \
      | grep -vE '^gst_plugin_[a-z]+_(get_desc|register)$' || true)
    [ -z "$exported" ] || fault "exports ${exported//$'\n'/ }"
  fi
}

for file in "$@"; do
  check
done
echo "$# files, $bad faults"
[ "$bad" -eq 0 ] && [ $# -gt 0 ]
