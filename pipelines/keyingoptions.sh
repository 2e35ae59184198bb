# Functions of greenscreen.sh and background.sh: a picture, film or camera over a background.
# These scripts source it, after common.sh.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of them and of common.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

camera='' background='' output='' before='' size='' has_sound=''
# of elements that a script adds: what feeds its keyer, and settings of the compositor
sides=() mixing=()
name_of_picture=$(basename "$0" .sh).png

explain_background () {
  cat <<END
Background:
  --background FILE       a picture, or a film: a shorter one keeps its last frame, a longer
                          one goes on alone
  --background RRGGBB     a colour (without either: trees in autumn)
  --background none       transparent, into .png, .mov (PNG) or .mkv (FFV1, of the package
                          gstreamer1.0-libav)
END
}

explain_result () {
  cat <<END
Result:
  --output FILE           .png (of a film the first frame); .mp4, .webm, .mkv or .avi, with
                          the sound of FILE; .mov, without loss; or "window" (default: a
                          window for films and cameras, $name_of_picture for a picture)
  --output /dev/videoN    a virtual camera, made by
                          sudo modprobe v4l2loopback exclusive_caps=1 video_nr=N
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

# look_at FILE: its size in `size`, unless that is set, and whether it has sound
look_at () {
  local caps
  caps=$(play -v filesrc "location=$1" ! decodebin ! videoconvert \
    ! fakesink name=end num-buffers=1 2>&1) || fail "$1: no picture or film that can be decoded: $caps"
  [[ $caps != *"caps = audio/x-raw"* ]] || has_sound=yes
  caps=${caps#*end.GstPad:sink: caps = }
  [[ $caps =~ width=\(int\)([0-9]+).*height=\(int\)([0-9]+) ]]
  : "${size:=${BASH_REMATCH[1]}x${BASH_REMATCH[2]}}"
}

# source_of_…: what was filmed, in `filmed`
source_of_file () {
  look_at "$file"
  filmed=(filesrc "location=$file" ! decodebin name=source ! videoconvert ! openclupload)
}

source_of_camera () {
  : "${size:=1280x720}"
  filmed=(v4l2src "device=$camera" ! decodebin ! videoconvert
    ! queue leaky=downstream max-size-buffers=2 ! openclupload)
}

# what_is_behind: in `behind`
what_is_behind () {
  if [ "$background" = none ]; then
    behind=()
  elif [[ $background =~ ^[0-9a-fA-F]{6}$ ]]; then
    behind=(videotestsrc num-buffers=1 pattern=solid-color "foreground-color=0xff$background"
      ! "video/x-raw,format=RGBA,width=1,height=1,framerate=1/1" ! openclupload)
  else
    decoded "${background:-$root/docs/garden.jpg}"
    behind=("${decoded[@]}")
  fi
}

# is_virtual_camera FILE: whether it is a device, which need not exist yet
is_virtual_camera () {
  [[ $1 == /dev/video* ]] || [ -c "$1" ]
}

# encoder_of FILE: what goes before a filesink of that name, in `encoder`, and before its muxer,
# which is called "film", in `sound`. `needs` is an element that is not in every installation,
# and its package in Debian.
encoder_of () {
  local vp8=(vp8enc deadline=1 cpu-used=8 target-bitrate=4000000)
  local samples=audio/x-raw,format=S16LE
  sound=() needs=()
  case $1 in
    *.png) encoder=(pngenc snapshot=true) ;;
    *.mp4)
      # I420 is what all players show.
      encoder=("video/x-raw,format=I420" ! openh264enc rate-control=bitrate bitrate=8000000
        ! h264parse ! mp4mux name=film)
      sound=(voaacenc)
      needs=(openh264enc gstreamer1.0-plugins-bad) ;;
    *.webm) encoder=("${vp8[@]}" ! webmmux name=film) sound=(opusenc) ;;
    *.mkv) encoder=("${vp8[@]}" ! matroskamux name=film) sound=(opusenc) ;;
    *.mov) encoder=(pngenc ! qtmux name=film) sound=("$samples") ;;
    # The range of JPEG's levels is full, which jpegenc does not ask for.
    *.avi)
      encoder=("video/x-raw,format=I420,colorimetry=1:4:0:0" ! jpegenc ! avimux name=film)
      sound=("$samples") ;;
    *) fail "--output $1: expected .png, .mp4, .webm, .mkv, .mov, .avi or \"window\"" ;;
  esac
  [ "$background" = none ] || return 0
  case $1 in
    *.png | *.mov) ;;
    *.mkv)
      encoder=("video/x-raw,format=BGRA" ! avenc_ffv1 ! matroskamux name=film)
      needs=(avenc_ffv1 gstreamer1.0-libav) ;;
    *) fail "--output $1: keeps no alpha; --background none needs .png, .mov or .mkv" ;;
  esac
}

check_output () {
  [[ -n $output && $output != window ]] || return 0
  is_virtual_camera "$output" || { encoder_of "$output" && return; }
  [ "$background" != none ] || fail "--output $output: a camera has no alpha"
  [ -c "$output" ] || fail "--output $output: no such device; \"sudo modprobe v4l2loopback\
 exclusive_caps=1 video_nr=${output#/dev/video}\" makes it (package v4l2loopback-dkms)"
}

check_common_options () {
  [[ -z $background || $background == none || $background =~ ^[0-9a-fA-F]{6}$ ]] \
    || check_file --background "$background"
  [[ -z $before || $before == *.png ]] || fail "--before $before: expected .png"
  [ -z "$file" ] || [ -z "$camera" ] || fail "--camera $camera: beside $file"
  [ -z "$camera" ] || [ -z "$before" ] || fail "--before $before: not of a camera"
  check_output
}

# choose_output: a window for what moves, a file for what does not
choose_output () {
  if [ -z "$output" ]; then
    output=window
    [ -n "$camera" ] || { [ -n "$file" ] && ! is_still "$file"; } || output=$name_of_picture
  fi
  [[ $output != window || $background != none ]] \
    || fail "--background none: needs --output with .png, .mov or .mkv"
}

# choose_model FILE: the path in `model`, of a network that is fetched if FILE is "selfie". Its
# license is printed.
choose_model () {
  if [ "$1" = selfie ]; then
    fetch_model
  else
    model=$1
    show_license
  fi
}

fetch_model () {
  step "MediaPipe's network for selfie segmentation"
  model=$(/usr/bin/python3 "$root/tools/fetch-selfie-model.py") \
    || fail "no network fetched, expected a file or a connection to PyPI"
}

# show_license: of a network that the user chose
show_license () {
  local license
  for license in "$(dirname "$model")"/LICENSE*; do
    [ ! -e "$license" ] || { step "License of $model: $license" && return; }
  done
  step "License of $model: unknown, no file LICENSE beside it"
}

# composed SIZE: `filmed`, which `keyer` makes partly transparent, over `behind`, in `result`
composed () {
  local waits=0 keyed=("${filmed[@]}" ! openclconvert ! "$1" ! "${keyer[@]}")
  result=("${sides[@]}")
  if [ "$background" = none ]; then
    result+=("${keyed[@]}")
  else
    # Which of the two keeps its last frame until the other has ended: a picture before a film,
    # else the background. An aggregator of which all pads do so never ends.
    [ -z "$file" ] || ! is_still "$file" || waits=1
    result+=("${keyed[@]}" ! queue ! result.sink_1
      "${behind[@]}" ! openclconvert ! "$1" ! queue ! result.sink_0
      openclcompositor name=result sink_0::zorder=0 sink_1::zorder=1
      "sink_$waits::repeat-after-eos=true" "${mixing[@]}")
  fi
  result+=(! opencldownload ! videoconvert)
}

# show_result: in a window, as a camera, or in a file
show_result () {
  local heard=()
  if [ "$output" = window ]; then
    launch "${result[@]}" ! autovideosink
  elif is_virtual_camera "$output"; then
    # Buffers of v4l2loopback's own do not suit elements before v4l2sink.
    launch "${result[@]}" ! video/x-raw,format=YUY2 ! identity drop-allocation=true \
      ! v4l2sink "device=$output"
  else
    encoder_of "$output"
    [ ${#needs[@]} -eq 0 ] || gst-inspect-1.0 --exists "${needs[0]}" \
      || fail "--output $output: no element ${needs[0]} (package ${needs[1]} of Debian)"
    [ -z "$has_sound" ] || [ ${#sound[@]} -eq 0 ] \
      || heard=(source. ! audioconvert ! audioresample ! queue ! "${sound[@]}" ! queue ! film.)
    launch_into "$output" "$name" "${heard[@]}" "${result[@]}" ! "${encoder[@]}"
  fi
}

# compose STEP: keys `filmed`, and puts it over `behind`
compose () {
  local name=${file:-$camera} result
  local of_size="$device,width=${size%x*},height=${size#*x},$square"
  if [ -n "$before" ]; then
    step "First frame of $name before keying"
    launch_into "$before" "$name" "${filmed[@]}" ! openclconvert ! "$of_size" ! opencldownload \
      ! videoconvert ! pngenc snapshot=true
  fi
  step "$1 $name"
  composed "$of_size"
  show_result
}
