#!/bin/bash
# Shows the OCT chain from raw spectra to a B-scan: octtestsrc's tissue, or your own data.
# Without arguments also the keying of a green screen.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/octoptions.sh"

usage () {
  cat <<END
Usage: demo.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, and writes the first B-scan of FILE as a
picture. Without FILE, of a tissue that octtestsrc makes. Without anything, also shows the
keying of a green screen as greenscreen.sh does, before and after.

$(explain_file)

$(explain_calibration)

Picture:
$(explain_picture)
  --output FILE           (default bscan.png, in the current directory)

$(explain_device)

Example:
  demo.sh --size 2048x999 --wavelengths lambda.npy --dispersion 8e-5,2.7e-9 \\
      --db -10,42 tape.raw
END
}

output=bscan.png
keying=yes # unless an option asks for something else

while [ $# -gt 0 ]; do
  option=$1
  [ "$option" != --help ] || { usage; exit 0; }
  if take_switch "$option"; then
    shift
    continue
  fi
  keying=''
  wants_value "$option" $#
  case $option in
    --output) output=$2 ;;
    *) take_option "$option" "${2-}" ;;
  esac
  [[ $option != --* ]] || shift
  shift
done

# source_of_…: what delivers the spectra, in `source`
source_of_tissue () {
  source=(octtestsrc num-buffers=1 pattern=layers
    ! "video/x-raw(memory:OpenCLMemory),width=2048,height=512")
  calibrate_tissue
  # Defaults that options still override: no rows of DC.
  fft=(depth-start=8 depth-count=840 "${fft[@]}")
  range=(db-min=0 db-max=60 "${range[@]}")
}

source_of_npy () {
  source=(filesrc "location=$file" ! npyparse ! openclupload)
}

# Nothing but samples: each buffer of the reader is a frame.
source_of_raw () {
  local -A formats=([8]=U8 [16]=U16LE)
  need_size
  source=(filesrc "location=$file" "blocksize=$((first * second * bits / 8))"
    ! "application/x-oct,domain=wavelength,format=${formats[$bits]},samples=$first,lines=$second,framerate=25/1"
    ! openclupload)
}

case $file in
  "") source_of_tissue ;;
  *.npy) source_of_npy ;;
  *) source_of_raw ;;
esac

prepare
step "B-scan of ${file:-the tissue that octtestsrc makes}"
launch_into "$output" "${file:-octtestsrc}" \
  "${source[@]}" ! octwindowinterp "${interp[@]}" ! octfft "${fft[@]}" "${range[@]}" \
  ! opencldownload ! videoconvert ! pngenc snapshot=true
[ -z "$keying" ] || exec "$(dirname "$0")/greenscreen.sh" ${verbose:+"$verbose"}
