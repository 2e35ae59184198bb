#!/bin/bash
# Shows keying: a camera or a file before a green screen, put over a background.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

usage () {
  cat <<END
Usage: greenscreen.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, keys the picture or film FILE, and puts it
over a background. Without FILE, keys a scene that it makes up, and writes that before and
after: greenscreen-before.png, greenscreen.png.

  --camera DEVICE         instead of FILE, such as /dev/video0

Background:
  --background FILE       a picture, or a film: a shorter one keeps its last frame, a longer
                          one goes on alone
  --background RRGGBB     a colour (without: an evening sky)

Key:
  --key RRGGBB            the screen's colour; "screen" (default), the green or blue of the
                          first frame that shows a screen; or the corner of the first frame
                          where it is seen: top-left, top-right, bottom-left, bottom-right
  --method METHOD         difference (default) or chroma, which are soft, or distance
  --similarity VALUE      soft: 0 … 2, up to where all is transparent (0.08)
  --smoothness VALUE      soft: 0 … 2, from there to where all is opaque (0.95)
  --tolerance VALUE       distance: 0 … 1, up to where all is transparent, and the step that
                          the key flows over; times the key's saturation (0.2)
  --spill VALUE           0 … 1, how much green light is taken off (1)

Repair of the key, in iterations (0; with --method distance 1, 5 and all):
  --fill COUNT            keys pixels amid keyed ones
  --noise COUNT           un-keys islands as small as noise
  --flow COUNT            extends the key by COUNT pixels over even colour, or "all"
  --limit VALUE           0 … 1, how far from the key in chroma it may flow, times the key's
                          saturation (0.3; 0: anywhere)
docs/keying.md says how to choose these.

Result:
  --output FILE           .png (of a film the first frame), .webm, .mkv or .avi, without
                          sound, or "window" (default: a window for films and cameras,
                          greenscreen.png for a picture)
  --before FILE.png       also writes the first frame as it was filmed
  --size WIDTHxHEIGHT     of the result (default: that of FILE)

  --device DEVICE         auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name
$(explain_switches)

Examples:
  greenscreen.sh --key 0d5808 --background beach.jpg --output out.png actor.jpg
  greenscreen.sh --camera /dev/video0 --background beach.webm
END
}

file='' camera='' background='' key='' method=difference spill=1
output='' before='' size=''
limit=0.3 tolerance=0.2
soft=()
declare -A iterations

while [ $# -gt 0 ]; do
  option=$1
  if take_switch "$option"; then
    shift
    continue
  fi
  case $option in
    --help) usage; exit 0 ;;
    --*) [ $# -ge 2 ] || fail "$option: expected a value (see --help)"; value=$2; shift ;;
  esac
  case $option in
    --similarity | --smoothness | --tolerance | --spill | --limit)
      check "$option" "$value" "$share" "a number" ;;
  esac
  case $option in
    --camera) camera=$value ;;
    --background) background=$value ;;
    --key) key=$value ;;
    --method) method=$value ;;
    --similarity | --smoothness) soft+=("${option#--}=$value") ;;
    --tolerance) tolerance=$value ;;
    --spill) spill=$value ;;
    --limit) limit=$value ;;
    --fill | --noise | --flow)
      [ "$option $value" = "--flow all" ] || check "$option" "$value" "$whole" "a whole number"
      iterations[${option#--}]=$value ;;
    --output) output=$value ;;
    --before) before=$value ;;
    --size)
      check "$option" "$value" "$pixels" "WIDTHxHEIGHT, such as 640x360"
      size=$value ;;
    *) take_common "$option" "${value-}" ;;
  esac
  shift
done

device='video/x-raw(memory:OpenCLMemory),format=RGBA'
square=pixel-aspect-ratio=1/1

# colours COLUMNS ROWS RRGGBB…: writes one frame of these pixels to `colours`
colours () {
  local columns=$1 rows=$2 colour bytes=''
  shift 2
  for colour; do
    bytes+="\\x${colour:0:2}\\x${colour:2:2}\\x${colour:4:2}\\xff"
  done
  colours=(dataurisrc "uri=data:;base64,$(printf '%b' "$bytes" | base64 --wrap=0)"
    ! rawvideoparse format=rgba "width=$columns" "height=$rows" framerate=1/1
    ! openclupload)
}

# decoded FILE: its picture or film, in `decoded`
decoded () {
  decoded=(filesrc "location=$1" ! decodebin ! videoconvert ! openclupload)
}

# is_still FILE: whether it is a picture
is_still () {
  gst-typefind-1.0 "$1" | grep -q ' - image/'
}

# size_of FILE: in `size`
size_of () {
  local caps
  caps=$(play -v filesrc "location=$1" ! decodebin ! videoconvert \
    ! fakesink name=end num-buffers=1 2>&1) || fail "$1: no picture or film that can be decoded: $caps"
  caps=${caps#*end.GstPad:sink: caps = }
  [[ $caps =~ width=\(int\)([0-9]+).*height=\(int\)([0-9]+) ]]
  size=${BASH_REMATCH[1]}x${BASH_REMATCH[2]}
}

# source_of_…: what was filmed, in `filmed`, and what feeds it beside that, in `layers`
# A face, its hair, a shirt, and a ball of frosted glass; light that falls off; noise.
source_of_scene () {
  local number=1 pads=() colour x y width height alpha
  : "${key:=209038}" "${size:=640x360}"
  colours 2 2 28b440 20963a 208c36 167028
  layers=("${colours[@]}" ! openclconvert ! "$device,width=640,height=360,$square"
    ! scene.sink_0)
  while read -r colour x y width height alpha; do
    pads+=("sink_$number::xpos=$x" "sink_$number::ypos=$y" "sink_$number::width=$width"
      "sink_$number::height=$height" "sink_$number::alpha=$alpha")
    # Clear in the same colour, so that no other shows at the edge
    layers+=(videotestsrc num-buffers=1 pattern=ball "foreground-color=0xff$colour"
      "background-color=0x00$colour"
      ! "video/x-raw,format=RGBA,width=40,height=40,framerate=1/1"
      ! openclupload ! "scene.sink_$number")
    number=$((number + 1))
  done <<END
    d0d4e0 170 240 300 300 1
    302828 222  40 196 230 1
    e0b090 246  80 148 190 1
    ffffff 276 146  34  24 1
    ffffff 330 146  34  24 1
    203050 288 150  14  16 1
    203050 340 150  14  16 1
    a04848 296 224  48  16 1
    e8e8e8 480 120 110 110 0.5
END
  layers+=(videotestsrc num-buffers=1 pattern=snow
    ! "video/x-raw,format=RGBA,width=640,height=360,framerate=1/1"
    ! openclupload ! "scene.sink_$number")
  filmed=(openclcompositor name=scene "${pads[@]}" "sink_$number::alpha=0.04"
    ! "$device,width=640,height=360")
}

source_of_file () {
  [ -n "$size" ] || size_of "$file"
  decoded "$file"
  filmed=("${decoded[@]}")
  layers=()
}

source_of_camera () {
  : "${size:=1280x720}"
  filmed=(v4l2src "device=$camera" ! decodebin ! videoconvert
    ! queue leaky=downstream max-size-buffers=2 ! openclupload)
  layers=()
}

# what_is_behind: in `behind`
what_is_behind () {
  if [ -z "$background" ]; then
    colours 1 3 203060 b06070 f0b060
    behind=("${colours[@]}")
  elif [[ $background =~ ^[0-9a-fA-F]{6}$ ]]; then
    colours 1 1 "$background"
    behind=("${colours[@]}")
  else
    decoded "$background"
    behind=("${decoded[@]}")
  fi
}

# keyer_of_options: the elements that make the key, in `keyer`
keyer_of_options () {
  local which
  case ${key:=screen} in
    screen | *-*) which=auto-key=$key ;;
    *) which=key-color=0xff$key ;;
  esac
  keyer=(chromakey "method=$method" "$which")
  if [ "$method" = distance ]; then
    # The key flows over colours as they were filmed: spill comes last.
    keyer+=("tolerance=$tolerance" relative=true)
    repairs_of_options
    keyer+=(! chromakey "$which" tolerance=0 "spill=$spill")
  else
    keyer+=(core=true "spill=$spill" "${soft[@]}")
    repairs_of_options
  fi
}

# repairs_of_options: adds what is done to a key that was made
repairs_of_options () {
  local -A usual=([fill]=0 [noise]=0 [flow]=0)
  [ "$method" != distance ] || usual=([fill]=1 [noise]=5 [flow]=all)
  local fill=${iterations[fill]:-${usual[fill]}}
  local noise=${iterations[noise]:-${usual[noise]}}
  local flow=${iterations[flow]:-${usual[flow]}}

  [ "$((fill + noise))" -eq 0 ] \
    || keyer+=(! noisereduce "fill-iterations=$fill" "iterations=$noise")
  # Zero of flowkey's own is to flow without end.
  [ "$flow" = 0 ] \
    || keyer+=(! flowkey "iterations=${flow/all/0}" "tolerance=$tolerance" "limit=$limit"
      relative=true auto-key=true)
  [ "$flow" = 0 ] || [ "$noise" -eq 0 ] || keyer+=(! noisereduce "iterations=$noise")
}

# encoder_of FILE: what goes before a filesink of that name, in `encoder`
encoder_of () {
  local vp8=(vp8enc deadline=1 cpu-used=8 target-bitrate=4000000)
  case $1 in
    *.png) encoder=(pngenc snapshot=true) ;;
    *.webm) encoder=("${vp8[@]}" ! webmmux) ;;
    *.mkv) encoder=("${vp8[@]}" ! matroskamux) ;;
    # The range of JPEG's levels is full, which jpegenc does not ask for.
    *.avi) encoder=("video/x-raw,format=I420,colorimetry=1:4:0:0" ! jpegenc ! avimux) ;;
    *) fail "--output $1: expected .png, .webm, .mkv, .avi or \"window\"" ;;
  esac
}

check_options () {
  [[ $method =~ ^(chroma|difference|distance)$ ]] \
    || fail "--method $method: expected chroma, difference or distance"
  [[ -z $key || $key =~ ^([0-9a-fA-F]{6}|screen|(top|bottom)-(left|right))$ ]] \
    || fail "--key $key: expected RRGGBB, screen, top-left, top-right, bottom-left, bottom-right"
  [[ -z $background || $background =~ ^[0-9a-fA-F]{6}$ ]] \
    || check_file --background "$background"
  [[ -z $before || $before == *.png ]] || fail "--before $before: expected .png"
  [ -z "$file" ] || [ -z "$camera" ] || fail "--camera $camera: beside $file"
  [ -z "$camera" ] || [ -z "$before" ] || fail "--before $before: not of a camera"
  [[ -z $output || $output == window ]] || encoder_of "$output"
}

# choose_output: a window for what moves, a file for what does not
choose_output () {
  if [ -n "$output" ]; then
    return
  elif [ -z "$file$camera" ]; then
    output=greenscreen.png
    before=${before:-greenscreen-before.png}
  elif [ -n "$file" ] && is_still "$file"; then
    output=greenscreen.png
  else
    output=window
  fi
}

check_options
prepare
choose_output
if [ -n "$camera" ]; then
  source_of_camera
elif [ -n "$file" ]; then
  source_of_file
else
  source_of_scene
fi
what_is_behind
keyer_of_options
# Which of the two keeps its last frame until the other has ended: a picture before a film,
# else the background. An aggregator of which all pads do so never ends.
waits=0
[ -z "$file" ] || ! is_still "$file" || waits=1

of_size="$device,width=${size%x*},height=${size#*x},$square"
result=("${layers[@]}"
  "${filmed[@]}" ! openclconvert ! "$of_size" ! "${keyer[@]}" ! queue ! result.sink_1
  "${behind[@]}" ! openclconvert ! "$of_size" ! queue ! result.sink_0
  openclcompositor name=result sink_0::zorder=0 sink_1::zorder=1
  "sink_$waits::repeat-after-eos=true" ! opencldownload
  ! videoconvert)
name=${file:-${camera:-the scene}}

if [ -n "$before" ]; then
  step "First frame of $name before keying"
  launch_into "$before" "$name" "${layers[@]}" "${filmed[@]}" ! openclconvert ! "$of_size" \
    ! opencldownload ! videoconvert ! pngenc snapshot=true
fi
step "Keying $name"
if [ "$output" = window ]; then
  launch "${result[@]}" ! autovideosink
else
  encoder_of "$output"
  launch_into "$output" "$name" "${result[@]}" ! "${encoder[@]}"
fi
