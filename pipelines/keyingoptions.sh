# Functions of greenscreen.sh and background.sh: a picture, film or camera over a background.
# These scripts source it, after common.sh.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of them and of common.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

camera='' background='' output='' before='' size=''
name_of_picture=$(basename "$0" .sh).png

explain_background () {
  cat <<END
Background:
  --background FILE       a picture, or a film: a shorter one keeps its last frame, a longer
                          one goes on alone
  --background RRGGBB     a colour (without either: trees in autumn)
END
}

explain_result () {
  cat <<END
Result:
  --output FILE           .png (of a film the first frame), .webm, .mkv or .avi, without
                          sound, or "window" (default: a window for films and cameras,
                          $name_of_picture for a picture)
  --before FILE.png       also writes the first frame as it was filmed
  --size WIDTHxHEIGHT     of the result (default: that of FILE)

  --device DEVICE         auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name
$(explain_switches)
END
}

# take_option WORD VALUE: what both scripts take
take_option () {
  case $1 in
    --camera) camera=$2 ;;
    --background) background=$2 ;;
    --output) output=$2 ;;
    --before) before=$2 ;;
    --size)
      check "$1" "$2" "$pixels" "WIDTHxHEIGHT, such as 640x360"
      size=$2 ;;
    *) take_common "$1" "$2" ;;
  esac
}

device='video/x-raw(memory:OpenCLMemory),format=RGBA'
square=pixel-aspect-ratio=1/1

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

# source_of_…: what was filmed, in `filmed`
source_of_file () {
  [ -n "$size" ] || size_of "$file"
  decoded "$file"
  filmed=("${decoded[@]}")
}

source_of_camera () {
  : "${size:=1280x720}"
  filmed=(v4l2src "device=$camera" ! decodebin ! videoconvert
    ! queue leaky=downstream max-size-buffers=2 ! openclupload)
}

# what_is_behind: in `behind`
what_is_behind () {
  if [[ $background =~ ^[0-9a-fA-F]{6}$ ]]; then
    behind=(videotestsrc num-buffers=1 pattern=solid-color "foreground-color=0xff$background"
      ! video/x-raw,format=RGBA,width=1,height=1,framerate=1/1 ! openclupload)
  else
    decoded "${background:-$root/docs/garden.jpg}"
    behind=("${decoded[@]}")
  fi
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

check_common_options () {
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
  elif [ -z "$file$camera" ] || { [ -n "$file" ] && is_still "$file"; }; then
    output=$name_of_picture
  else
    output=window
  fi
}

# compose STEP: puts `filmed`, which `keyer` makes partly transparent, over `behind`
compose () {
  local waits of_size result name
  # Which of the two keeps its last frame until the other has ended: a picture before a film,
  # else the background. An aggregator of which all pads do so never ends.
  waits=0
  [ -z "$file" ] || ! is_still "$file" || waits=1

  of_size="$device,width=${size%x*},height=${size#*x},$square"
  result=("${filmed[@]}" ! openclconvert ! "$of_size" ! "${keyer[@]}" ! queue ! result.sink_1
    "${behind[@]}" ! openclconvert ! "$of_size" ! queue ! result.sink_0
    openclcompositor name=result sink_0::zorder=0 sink_1::zorder=1
    "sink_$waits::repeat-after-eos=true" ! opencldownload
    ! videoconvert)
  name=${file:-$camera}

  if [ -n "$before" ]; then
    step "First frame of $name before keying"
    launch_into "$before" "$name" "${filmed[@]}" ! openclconvert ! "$of_size" ! opencldownload \
      ! videoconvert ! pngenc snapshot=true
  fi
  step "$1 $name"
  if [ "$output" = window ]; then
    launch "${result[@]}" ! autovideosink
  else
    encoder_of "$output"
    launch_into "$output" "$name" "${result[@]}" ! "${encoder[@]}"
  fi
}
