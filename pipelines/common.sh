# What the scripts here share: values of options, and a pipeline into a file. They source
# it, after setup.sh.
#
# shellcheck shell=bash
#
# SPDX-License-Identifier: LGPL-2.1-or-later

fail () {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# split NAME VALUE SEPARATOR: the two parts of VALUE, in `first` and `second`
split () {
  [[ $2 == *?"$3"?* ]] || fail "$1 $2: expected two values with \"$3\" between them"
  first=${2%%"$3"*}
  second=${2#*"$3"}
}

check_file () {
  [ -r "$2" ] || fail "$1 $2: no such file"
}

prepare () {
  { install_missing && build_all; } >&2 || exit 1
}

# launch WORD…: runs a pipeline from the current directory, and says which
launch () {
  printf '%q ' gst-launch-1.0 "$@" >&2
  echo >&2
  meson devenv -C "$build" --workdir "$PWD" gst-launch-1.0 --quiet "$@"
}

# launch_into FILE NAME WORD…: the same, its output to FILE, or a failure that says NAME.
# Under another name until it is whole: a failure leaves the last FILE as it was.
launch_into () {
  local output=$1 name=$2
  shift 2
  unfinished=$output.unfinished
  trap 'rm -f "$unfinished"' EXIT
  launch "$@" ! filesink "location=$unfinished"
  [ -s "$unfinished" ] || fail "$name: not one whole frame"
  mv "$unfinished" "$output"
  realpath "$output"
}
