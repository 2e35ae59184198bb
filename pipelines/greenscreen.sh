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

$(explain_result)

Examples:
  greenscreen.sh --key 0d5808 --background beach.jpg --output out.png actor.jpg
  greenscreen.sh --camera /dev/video0 --background beach.webm
END
}

file='' key='' method=difference spill=1
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
    --key) key=$value ;;
    --method) method=$value ;;
    --similarity | --smoothness) soft+=("${option#--}=$value") ;;
    --tolerance) tolerance=$value ;;
    --spill) spill=$value ;;
    --limit) limit=$value ;;
    --fill | --noise | --flow)
      [ "$option $value" = "--flow all" ] || check "$option" "$value" "$whole" "a whole number"
      iterations[${option#--}]=$value ;;
    *) take_option "$option" "${value-}" ;;
  esac
  shift
done

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
    keyer+=(core=true subject=true "spill=$spill" "${soft[@]}")
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

check_options () {
  [[ $method =~ ^(chroma|difference|distance)$ ]] \
    || fail "--method $method: expected chroma, difference or distance"
  [[ -z $key || $key =~ ^([0-9a-fA-F]{6}|screen|(top|bottom)-(left|right))$ ]] \
    || fail "--key $key: expected RRGGBB, screen, top-left, top-right, bottom-left, bottom-right"
  check_common_options
}

check_options
prepare
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
