#!/bin/bash
# Promise: all that is installed builds without a warning with each library that is a feature in
# meson_options.txt, without each of them, and without any. The plugins load and have the same
# elements. An error names the library that is missing.
#
# Usage: matrix.sh SOURCE-FOLDER BUILD-FOLDER   with CC and CXX in the environment
#   BUILD-FOLDER is made where it is missing. Each step compiles only what its feature changes.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
root=$1
build=$2
mapfile -t features < <(
  sed -n "s/^option('\([a-z]*\)', type: 'feature'.*/\1/p" "$root/meson_options.txt")
[ ${#features[@]} -ge 4 ] || { echo "meson_options.txt: ${#features[@]} features"; exit 1; }
mkdir -p "$build"
log=$build/matrix.log
bad=0

fault () {
  echo "${CXX:-c++}, $configuration: $1"
  bad=$((bad + 1))
}

# quietly COMMAND…: what it says only where it fails
quietly () {
  "$@" >"$log" 2>&1 || { cat "$log"; fault "$* failed"; return 1; }
}

in_build () {
  meson devenv -C "$build" --workdir "$root" env GST_REGISTRY="$build/matrix-registry.bin" "$@"
}

# uses FEATURE: whether what is built includes a header of its library, or makes its files
uses () {
  case $1 in
    introspection) ninja -C "$build" -t targets all | grep -q '\.typelib:' ;;
    *) ninja -C "$build" -t deps | grep -i "^ */usr/.*/$1[^/]*\.h\$" >/dev/null ;;
  esac
}

elements () {
  local plugin
  for plugin in "$build"/gst/*/libgst*opencl.so; do
    in_build gst-inspect-1.0 "$plugin" 2>&1
  done | grep -E '^  [a-z]+: ' | sort
}

# says_so FEATURE: what only it can do fails with a message that names it
says_so () {
  local library command
  case $1 in
    clfft)
      library=clFFT
      command=(gst-launch-1.0 octtestsrc num-buffers=1 ! octwindowinterp ! octfft fft-library=clfft ! fakesink)
      ;;
    clblast)
      library=CLBlast
      command=("$build/tests/benchmark/opencl-bench" compute --case baseline-clblast-matrixproduct --seconds 0.1)
      ;;
    fftw)
      library=FFTW
      command=("$build/tests/benchmark/opencl-bench" oct --case baseline-fftw --seconds 0.1)
      ;;
    introspection) return ;;
    *) fault "no pipeline of matrix.sh needs $1"; return ;;
  esac
  in_build "${command[@]}" >"$log" 2>&1 && fault "${command[*]} succeeds"
  grep -q "uilt without $library" "$log" || { cat "$log"; fault "nothing says that $library is missing"; }
}

# try CONFIGURATION [FEATURE…]: without these features, and with all others
try () {
  local feature options=()
  configuration=$1
  shift
  for feature in "${features[@]}"; do
    case " $* " in
      *" $feature "*) options+=("-D$feature=disabled") ;;
      *) options+=("-D$feature=enabled") ;;
    esac
  done
  quietly meson setup --werror -Ddebug=false -Dtests=false "${reconfigure[@]}" "${options[@]}" \
    "$build" "$root" || return 0
  reconfigure=(--reconfigure)
  quietly ninja -C "$build" || return 0
  for feature in "${features[@]}"; do
    case " $* " in
      *" $feature "*) uses "$feature" && fault "$feature is used"; says_so "$feature" ;;
      *) uses "$feature" || fault "$feature is not used" ;;
    esac
  done
  [ $# -gt 0 ] || all_elements=$(elements)
  [ "$(grep -c . <<<"$all_elements")" -ge 30 ] || fault "too few elements: $all_elements"
  diff <(echo "$all_elements") <(elements) || fault "other elements than with everything"
}

reconfigure=()
[ ! -e "$build/build.ninja" ] || reconfigure=(--reconfigure)
try "with everything"
for feature in "${features[@]}"; do
  try "without $feature" "$feature"
done
try "with none of them" "${features[@]}"
echo "${CXX:-c++}: $((${#features[@]} + 2)) configurations, $bad faults"
[ "$bad" -eq 0 ]
