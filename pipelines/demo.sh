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

  --print                 writes the pipeline, and does not play it
$(explain_device)

Examples:
  demo.sh recording.oct
  demo.sh --size 2048x999 --wavelengths lambda.npy --dispersion 8e-5,2.7e-9 \\
      --db -10,42 tape.raw
END
}

output=bscan.png print=''
keying=yes # unless an option asks for something else

while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --help) usage; exit 0 ;;
    --print) print=yes keying=''; shift; continue ;;
  esac
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

# source_of_tissue: delivers the spectra of octtestsrc, in `source`
source_of_tissue () {
  source=(octtestsrc num-buffers=1 pattern=layers
    ! "video/x-raw(memory:OpenCLMemory),width=2048,height=512")
  calibrate_tissue
  # Defaults that options still override: no rows of DC.
  fft=(depth-start=8 depth-count=840 "${fft[@]}")
  range=(db-min=0 db-max=60 "${range[@]}")
}

if [ -z "$file" ]; then
  source_of_tissue
else
  source_of_file framerate=25/1
  source+=(! openclupload)
fi

# The range of a recording is not known: black and white are found in the frame.
[[ ${#range[@]} -gt 0 || $file != *.[oO][cC][tT] ]] || range=(db-auto=true)
pipeline=("${source[@]}" ! octwindowinterp "${interp[@]}" ! octfft "${fft[@]}" "${range[@]}"
  ! opencldownload ! videoconvert ! pngenc snapshot=true)
if [ -n "$print" ]; then
  printf '%q ' "${pipeline[@]}" ! filesink "location=$output"
  echo
  exit
fi
prepare
step "B-scan of ${file:-the tissue that octtestsrc makes}"
launch_into "$output" "${file:-octtestsrc}" "${pipeline[@]}"
[ -z "$keying" ] || exec "$(dirname "$0")/greenscreen.sh" ${verbose:+"$verbose"}
