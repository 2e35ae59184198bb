# Options and pipeline of detect.sh and classify.sh, which source it.
#
# shellcheck shell=bash
# shellcheck disable=SC2154  # of setup.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Values of the options, by their names
declare -A option=()
input=''

explain_options () {
  sed -n '2,/^# SPDX/{/^# SPDX/!s/^# \?//p}' "$0"
  cat <<END
  --camera [DEVICE]       frames of a camera, such as /dev/video0
  --model FILE            an ONNX file
  --labels FILE           names of its classes, one a line (default: MODEL.txt beside MODEL.onnx)
  --method NAME           what its outputs are: see gst-inspect-1.0 opencltensordecoder
  --threshold NUMBER      lowest score, 0 to 1
  --fit NAME              stretch, letterbox or crop
  --mean, --deviation N   numbers of the network's training, for levels from 0 to 1: one, or three
                          with commas
  --colors NAME           rgb, bgr or gray
  --precision NAME        float or half
  --output FILE           .png of the first frame, or a film .webm or .avi (default: a window; of
                          a picture $name.png)
END
  explain_switches
}

# read_options WORD…: in `option` and `input`
read_options () {
  local key
  while [ $# -gt 0 ]; do
    key=${1#--}
    case $1 in
      --help) explain_options && exit ;;
      --no-install | --verbose) take_switch "$1" ;;
      --camera)
        option[camera]=/dev/video0
        [[ ${2-} != /dev/* ]] || { option[camera]=$2 && shift; } ;;
      --*)
        [[ " $names " == *" $key "* ]] || fail "$1: no such option (see --help)"
        [ $# -gt 1 ] || fail "$1: a value is missing (see --help)"
        option[$key]=$2
        shift ;;
      *)
        [ -z "$input" ] || fail "$1: a second file"
        input=$1 ;;
    esac
    shift
  done
  [ -z "$input" ] || [ -z "${option[camera]-}" ] || fail "--camera: beside $input"
}

# check_option NAME PATTERN WHAT
check_option () {
  [ -z "${option[$1]-}" ] || check "--$1" "${option[$1]}" "$2" "$3"
}

check_options () {
  local number='-?[0-9]*\.?[0-9]+'
  check_option threshold '0|1|0?\.[0-9]+|1\.0+' 'a number from 0 to 1'
  check_option overlap '0|1|0?\.[0-9]+|1\.0+' 'a number from 0 to 1'
  check_option fit 'stretch|letterbox|crop' 'stretch, letterbox or crop'
  check_option mean "$number(,$number){0,2}" 'numbers'
  check_option deviation "$number(,$number){0,2}" 'numbers'
  check_option colors 'rgb|bgr|gray' 'rgb, bgr or gray'
  check_option precision 'float|half' 'float or half'
  check_option letterbox-color '0x[0-9a-fA-F]{8}' 'a colour as 0xAARRGGBB'
  check_option top '[1-9][0-9]{0,3}' 'a number of classes'
  check_option method '[a-z0-9-]+' 'a name'
  check_option output '.*\.(png|webm|avi)|window' '.png, .webm, .avi or "window"'
  [ -z "$input" ] || check_file '' "$input"
  [ -z "${option[model]-}" ] || check_file --model "${option[model]}"
  [ -z "${option[labels]-}" ] || check_file --labels "${option[labels]}"
}

# set_properties ELEMENT PROPERTY=OPTION…: appends those that are set to `chain`
set_properties () {
  local pair
  chain+=(! "$1")
  shift
  for pair in "$@"; do
    [ -z "${option[${pair#*=}]-}" ] || chain+=("${pair%%=*}=${option[${pair#*=}]}")
  done
}

# recognize: plays the input through the network, into the output
recognize () {
  local labels=${option[model]%.onnx}.txt output=${option[output]:-window} chain
  [ -n "${option[labels]-}" ] || [ ! -f "$labels" ] || option[labels]=$labels
  [ -n "${option[output]-}" ] || [[ ! ${input,,} =~ \.(png|jpe?g|webp|bmp|tiff?)$ ]] || output=$name.png
  if [ -n "$input" ]; then
    chain=(filesrc "location=$input" ! decodebin)
  else
    chain=(v4l2src "device=${option[camera]:-/dev/video0}")
  fi
  chain+=(! openclupload ! openclconvert) # boxes are drawn in 8 bits
  set_properties openclinference model-file=model fit=fit mean=mean deviation=deviation \
    colors=colors precision=precision letterbox-color=letterbox-color
  chain+=(output=meta ! queue max-size-buffers=2)
  set_properties opencltensordecoder label-file=labels method=method \
    class-confidence-threshold=threshold iou-threshold=overlap max-detections=top
  chain+=(post-messages=false ! opencldrawboxes ! opencldownload ! videoconvert)
  case $output in
    window) launch "${chain[@]}" ! autovideosink ;;
    *.png) launch_into "$output" "$name" "${chain[@]}" ! pngenc snapshot=true ;;
    *.webm) launch_into "$output" "$name" "${chain[@]}" ! vp8enc deadline=1 ! webmmux ;;
    *.avi) launch_into "$output" "$name" "${chain[@]}" ! jpegenc ! avimux ;;
  esac
}
