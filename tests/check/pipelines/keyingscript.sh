# Functions of the tests of greenscreen.sh and background.sh, which source this file with their
# arguments SCRIPT BUILD. Enters a temporary folder.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # used by those that source it
#
# SPDX-License-Identifier: LGPL-2.1-or-later
here=$(realpath "$(dirname "$0")")
script=$(realpath "$1")
name_of_script=$(basename "$script")
export GST_OPENCL_BUILD=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit

run () {
  echo "$name_of_script $*"
  timeout 100 "$script" "$@" >log 2>&1 || { cat log; exit 1; }
}

# refused REASON OPTION…: the script ends with a message of REASON and writes nothing
refused () {
  local reason=$1
  shift
  echo "$name_of_script $* (to be refused)"
  ! "$script" "$@" --output refused.png >log 2>&1 || { cat log; exit 1; }
  grep --fixed-strings -- "$reason" log || { cat log; exit 1; }
  [ ! -e refused.png ]
}

# pixels FILE: decodes its first frame to RGBA
pixels () {
  gst-launch-1.0 -q filesrc "location=$1" ! decodebin ! videoconvert \
    ! video/x-raw,format=RGBA \
    ! filesink "location=$1.rgba" >log 2>&1 || { cat log; exit 1; }
}
