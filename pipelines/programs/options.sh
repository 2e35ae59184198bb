# Options and output folder of the scripts here, which source it.
#
# shellcheck shell=bash disable=SC1091,SC2034
#
# SPDX-License-Identifier: LGPL-2.1-or-later

programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$programs/../setup.sh"
source "$programs/../common.sh"

# Options of one script. The value of each goes to the variable of the same name.
named_options=()

# read_options OUTPUT WORD…: in `output`, OUTPUT unless it is named; in `real` and `type`
# double precision or, with --float, single
read_options () {
  output=$1 real=double type=float64
  shift
  while [ $# -gt 0 ]; do
    if take_switch "$1"; then
      shift
      continue
    fi
    case $1 in
      --float) real=float type=float32 ;;
      --help)
        sed -n '2,/^# SPDX/{/^# SPDX/!s/^# \?//p}' "$0"
        explain_switches
        exit ;;
      --*)
        [[ " ${named_options[*]} " == *" ${1#--} "* ]] \
          || fail "$1: no such option (see --help)"
        [ $# -gt 1 ] || fail "$1: a value is missing (see --help)"
        printf -v "${1#--}" %s "$2"
        shift ;;
      -*) fail "$1: no such option (see --help)" ;;
      *) output=$1 ;;
    esac
    shift
  done
  prepare
}

# check_output ENDING…: that `output` has one of them, which says what is written
check_output () {
  local ending
  for ending in "$@"; do
    [[ $output != *"$ending" ]] || return 0
  done
  fail "$output: expected a name that ends with $*"
}

# into_npy WORD…: runs a pipeline into the .npy file `output`
into_npy () {
  check_output .npy
  launch "$@" ! npysink "location=$output" || exit 1
  realpath -- "$output"
}

# into_film FRAMES ROWS WORD… -- WORD… !: runs a pipeline into `output`: a film of that many frames,
# .avi, an array of so many, .npy, or a window. The words before -- have `num-buffers` where the
# number belongs. Those after it make video of the frames.
into_film () {
  local frames=$1 words=()
  shift
  check_output .avi .npy window
  case $output in
    window) frames=-1 ;;
    *.npy) frames=$1 ;;
  esac
  shift
  while [ "$1" != -- ]; do
    words+=("${1/#num-buffers/num-buffers=$frames}")
    shift
  done
  shift
  case $output in
    window) launch "${words[@]}" ! "$@" opencldownload ! videoconvert ! autovideosink ;;
    *.npy) into_npy "${words[@]}" ;;
    *)
      launch_into "$output" "$(basename "$0")" "${words[@]}" ! "$@" opencldownload \
        ! videoconvert ! jpegenc ! avimux ;;
  esac
}
