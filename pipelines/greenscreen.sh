#!/bin/bash
# Shows keying: a camera or a file before a green screen, put over a background.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/keyingoptions.sh"

usage () {
  cat <<END
Usage: greenscreen.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, keys the picture or film FILE, and puts it
over a background. Without FILE, keys a rendered person, and writes the picture before and
after: greenscreen-before.png, greenscreen.png.

  --camera DEVICE         instead of FILE, such as /dev/video0

$(explain_background)

Key:
  --key RRGGBB            the screen's colour; "screen" (default), the green or blue of the
                          first frame that shows a screen; or the corner of the first frame
                          where it is seen: top-left, top-right, bottom-left, bottom-right
  --pick X,Y              the key is the mean of 9x9 pixels around column X and row Y of the
                          first frame, in pixels of the result. The first frame of a camera
                          may be dark: use --key for it
  --method METHOD         difference (default) or chroma, which are soft, or distance
  --similarity VALUE      soft: 0 … 2, up to where all is transparent (0.08)
  --smoothness VALUE      soft: 0 … 2, from there to where all is opaque (0.95)
  --balance VALUE         difference: 0 … 1, what green is compared with: 0 the smaller of red
                          and blue, 1 the larger (0.75)
  --plate PLATE           soft: the screen's colour at each place: adaptive (default),
                          measured, frozen, none, or FILE, a picture of the empty screen
  --quiet                 soft: less flicker of edges that do not move
  --linear                soft: keys and blends light instead of levels
  --tolerance VALUE       distance: 0 … 1, up to where all is transparent, and the step that
                          the key flows over; times the key's saturation (0.2)
  --spill VALUE           0 … 1, how much green light is taken off (1)

Repair of the key, in iterations (0; with --method distance 1, 5 and all):
  --fill COUNT            keys pixels amid keyed ones
  --noise COUNT           un-keys islands as small as noise
  --flow COUNT            extends the key by COUNT pixels over even colour, or "all"
  --limit VALUE           0 … 1, how far from the key in chroma it may flow, times the key's
                          saturation (0.3; 0: anywhere)

Edges:
  --grow PIXELS           -64 … 64, moves edges outwards, or inwards if negative; also 0.5 (0)
  --feather PIXELS        0 … 64, softens edges on both sides (0)
  --light-wrap VALUE      0 … 1, light of the background over the edges (0)

Mattes:
  --garbage FILE          a picture of any size: white is keyed out
  --holdout FILE          a picture of any size: white stays as filmed
  --network MODEL         both from a network that finds people: the key decides near the
                          person's edge only. MODEL is "selfie", MediaPipe's selfie
                          segmentation from PyPI, or an ONNX file
docs/keying.md says how to choose these.

$(explain_result)

Examples:
  greenscreen.sh --key 0d5808 --background beach.jpg --output out.png actor.jpg
  greenscreen.sh --camera /dev/video0 --background beach.webm
END
}

file='' key='' pick='' method=difference spill=1
limit=0.3 tolerance=0.2
soft=() soft_option='' shape=()
network='' model=''
declare -A iterations=() mattes=()

# take_soft OPTION WORD…: settings of chromakey that --method distance does not have
take_soft () {
  soft_option=${soft_option:-$1}
  soft+=("${@:2}")
}

take_plate () {
  case $1 in
    adaptive | measured | frozen | none) take_soft --plate "plate=$1" ;;
    *)
      [ -r "$1" ] || fail "--plate $1: expected adaptive, measured, frozen, none or a file"
      take_soft --plate plate=file "plate-location=$1" ;;
  esac
}

# take_shape OPTION PIXELS SIGN FRACTION: a setting of matteshape, whose values end at 64
take_shape () {
  check "$1" "$2" "$3(([0-9]|[1-5][0-9]|6[0-3])$4|64)" "a number of pixels up to 64"
  shape+=("${1#--}=$2")
}

while [ $# -gt 0 ]; do
  option=$1
  if take_switch "$option"; then
    shift
    continue
  fi
  case $option in
    --help) usage; exit 0 ;;
    --quiet | --linear)
      take_soft "$option" "${option#--}=true"
      [ "$option" = --quiet ] || mixing+=(linear=true)
      shift
      continue ;;
    --*) [ $# -ge 2 ] || fail "$option: expected a value (see --help)"; value=$2; shift ;;
  esac
  case $option in
    --similarity | --smoothness | --balance | --tolerance | --spill | --limit | --light-wrap)
      check "$option" "$value" "$share" "a number" ;;
  esac
  case $option in
    --key) key=$value ;;
    --method) method=$value ;;
    --pick)
      check "$option" "$value" "$whole,$whole" "X,Y, such as 20,40"
      pick=$value ;;
    --similarity | --smoothness | --balance) take_soft "$option" "${option#--}=$value" ;;
    --plate) take_plate "$value" ;;
    --tolerance) tolerance=$value ;;
    --spill) spill=$value ;;
    --limit) limit=$value ;;
    --fill | --noise | --flow)
      [ "$option $value" = "--flow all" ] || check "$option" "$value" "$whole" "a whole number"
      iterations[${option#--}]=$value ;;
    --grow) take_shape "$option" "$value" '-?' '(\.[0-9]+)?' ;;
    --feather) take_shape "$option" "$value" '' '' ;;
    --light-wrap) mixing+=("sink_1::light-wrap=$value") ;;
    --garbage | --holdout)
      check_file "$option" "$value"
      mattes[${option#--}]=$value ;;
    --network) network=$value ;;
    *) take_option "$option" "${value-}" ;;
  esac
  shift
done

# pick_around START LENGTH POSITION: four pixels before a position to four behind, in the frame
pick_around () {
  local start=$(($3 < 4 ? 0 : $3 - 4))
  key_source+=("auto-key-$1=$start" "auto-key-$2=$(($3 + 5 - start))")
}

# key_of_options: where chromakey takes the key from, in `key_source`
key_of_options () {
  local first second
  if [ -n "$pick" ]; then
    split "$pick" ,
    [[ $first -lt ${size%x*} && $second -lt ${size#*x} ]] \
      || fail "--pick $pick: outside of $size pixels"
    key_source=(auto-key=rectangle)
    pick_around x width "$first"
    pick_around y height "$second"
    return
  fi
  case ${key:=screen} in
    screen | *-*) key_source=("auto-key=$key") ;;
    *) key_source=("key-color=0xff$key") ;;
  esac
}

# keyer_of_options: the elements that make the key, in `keyer`, and the mattes, in `sides`
keyer_of_options () {
  local key_source
  key_of_options
  keyer=(chromakey name=key "method=$method" "${key_source[@]}")
  if [ "$method" = distance ]; then
    # The key flows over colours as they were filmed: spill comes last.
    keyer+=("tolerance=$tolerance" relative=true)
    repairs_of_options
    keyer+=(! chromakey "${key_source[@]}" tolerance=0 "spill=$spill")
  else
    keyer+=(core=true subject=true "spill=$spill" "${soft[@]}")
    repairs_of_options
  fi
  [ ${#shape[@]} -eq 0 ] || keyer+=(! matteshape "${shape[@]}")
  mattes_of_files
  [ -z "$network" ] || mattes_of_network
}

mattes_of_files () {
  local name
  for name in "${!mattes[@]}"; do
    sides+=(filesrc "location=${mattes[$name]}" ! decodebin ! videoconvert
      ! "video/x-raw,format=GRAY8" ! "key.$name")
  done
}

# mattes_of_network: garbage begins a twentieth of the width outside of people, since a network
# does not see single hairs. Holdout begins a tenth inside, since a network fills gaps between
# hair and neck. Between the two, and where the network is not sure, the key decides.
mattes_of_network () {
  local to_matte=(! openclconvert alpha-only=true
    ! "video/x-raw(memory:OpenCLMemory),format=GRAY8"
    ! openclkernel "expression=clamp(10 * x - 8.5, 0, 1)")
  keyer=(tee name=frames ! queue ! "${keyer[@]}")
  sides+=(frames. ! queue ! openclconvert ! "$device,width=512,$square" ! openclinference
    output=alpha "model-file=$model" ! tee name=people
    people. ! queue ! matteshape grow=25 feather=8 invert=true "${to_matte[@]}" ! key.garbage
    people. ! queue ! matteshape grow=-50 feather=8 "${to_matte[@]}" ! key.holdout)
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

check_options () {
  [[ $method =~ ^(chroma|difference|distance)$ ]] \
    || fail "--method $method: expected chroma, difference or distance"
  [[ -z $key || $key =~ ^([0-9a-fA-F]{6}|screen|(top|bottom)-(left|right))$ ]] \
    || fail "--key $key: expected RRGGBB, screen, top-left, top-right, bottom-left, bottom-right"
  [ -z "$key" ] || [ -z "$pick" ] || fail "--pick $pick: beside --key $key"
  [ -z "$soft_option" ] || [ "$method" != distance ] \
    || fail "$soft_option: no effect with --method distance"
  [[ $method != chroma || " ${soft[*]}" != *" balance="* ]] \
    || fail "--balance: no effect with --method chroma"
  check_mattes
  check_common_options
}

check_mattes () {
  [ -z "$network" ] || [ ${#mattes[@]} -eq 0 ] \
    || fail "--network $network: beside --garbage or --holdout"
  [[ -z $network || $network == selfie ]] || check_file --network "$network"
  [[ $background != none || ${mixing[*]} != *light-wrap* ]] \
    || fail "--light-wrap: no effect with --background none"
  # These extend the key over pixels that a matte holds out.
  [ -z "$network${mattes[holdout]-}" ] \
    || [[ $method != distance && ${iterations[fill]-0}${iterations[flow]-0} == 00 ]] \
    || fail "--holdout and --network: not with --method distance, --fill or --flow"
}

check_options
[ "$network" != selfie ] || packages+=(python3-pip) # fetches the network
prepare
[ -z "$network" ] || choose_model "$network"
[ -n "$output$file$camera" ] || before=${before:-greenscreen-before.png}
[ -n "$file$camera" ] || file=$root/docs/greenscreen-before.png
choose_output
if [ -n "$camera" ]; then
  source_of_camera
else
  source_of_file
fi
what_is_behind
keyer_of_options
compose Keying
