#!/bin/bash
# Shows live OCT in a window: B-scans, en face projection, spectrum and A-scan. Records spectra.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(realpath "$(dirname "$0")")
source "$here/setup.sh"
source "$here/common.sh"
source "$here/octoptions.sh"

usage () {
  cat <<END
Usage: oct-live.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, and shows in a window B-scans, the picture from
above, plots of the spectrum and of the A-scan, the frame rate, and what can be turned: of
octtestsrc's tissue, of FILE, again and again, or of a camera.

  --camera NAME           of those that arv-tool-0.8 lists: GigE Vision and USB3 Vision
  --features TEXT         of the camera, such as "ExposureTime=20 LineRate=100000"

$(explain_file)
  --rate FRAMES           a second, of a file (25)

$(explain_calibration)

Pictures:
  --b-scans COUNT         rows of the picture from above (128)
$(explain_picture)
  --no-signal             no plots: they show saturation, FWHM, SNR and noise of an A-line or of
                          the mean, 25 times a second at most, which costs little

Recording, of spectra as they come, into oct-DATE-TIME.npy; beside it a .txt that --settings
takes. Its comments name the properties of all other elements:
  --folder FOLDER         (default: the current one)
  --record                from the first frame on, not when the space bar is pressed
  --frames COUNT          after which it ends, of tissue and of cameras

Keys: up and down turn white, right and left black, r finds the range by itself, + and - take
more or fewer B-scans into a mean, the space bar begins and ends a recording, q ends. A click
into the B-scan chooses the A-line of the plots, m plots the mean again, and o begins and ends
the curve of sensitivity over depth (move a mirror).

  --print                 writes the pipeline for gst-launch-1.0, and does not play it
$(explain_device)

Examples:
  oct-live.sh --wavelength-range 1187,1433 --depth 8,400 spectra.npy
  oct-live.sh --camera Basler-123 --size 2048x1000 --settings settings.txt --folder today
END
}

camera='' features='' rate=25 b_scans=128 frames=-1 print='' signal=yes
window=()

while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --help) usage; exit 0 ;;
    --record) window+=("$option"); shift; continue ;;
    --print) print=yes; shift; continue ;;
    --no-signal) signal=''; shift; continue ;;
  esac
  if take_switch "$option"; then
    shift
    continue
  fi
  wants_value "$option" $#
  case $option in
    --camera) camera=$2 ;;
    --features) features=$2 ;;
    --rate | --b-scans | --frames)
      check "$option" "$2" "[1-9][0-9]{0,4}" "a whole number"
      case $option in
        --rate) rate=$2 ;;
        --b-scans) b_scans=$2 ;;
        --frames) frames=$2 ;;
      esac ;;
    --folder) window+=(--folder "$2") ;;
    *) take_option "$option" "${2-}" ;;
  esac
  [[ $option != --* ]] || shift
  shift
done
[ -z "$file" ] || [ -z "$camera" ] || fail "--camera $camera: beside $file"

# numbers B-scans that have no numbers yet
scan=(octscan "b-scans=$b_scans" !)

# source_of_…: what delivers the spectra, as fast as a camera would, in `source`
source_of_tissue () {
  : "${size:=1024x256}"
  split "$size" x
  source=(octtestsrc is-live=true "num-buffers=$frames"
    ! "video/x-raw,width=$first,height=$second,framerate=$rate/1")
  calibrate_tissue
  interp=(background=frame "${interp[@]}")
  [ ${#fft[@]} -gt 0 ] || fft=(depth-start=8)
}

source_of_camera () {
  local caps='video/x-raw,format={GRAY16_LE,GRAY8}'
  if [ -n "$size" ]; then
    split "$size" x
    caps+=",width=$first,height=$second"
  fi
  source=(aravissrc "camera-name=$camera" "num-buffers=$frames"
    ${features:+"features=$features"} ! "$caps")
}

source_of_recording () {
  source_of_file "framerate=$rate/1"
  source+=(! clocksync)
  window+=(--repeat)
  # A recording says which B-scan each frame is.
  [[ $file != *.[oO][cC][tT] ]] || scan=()
}

if [ -n "$file" ]; then
  source_of_recording
elif [ -n "$camera" ]; then
  source_of_camera
else
  source_of_tissue
fi

# A slow branch does not affect the others: each branch of a tee has a queue, and drops the
# frames that it has no time for.
drop=(queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0)
show=(opencldownload ! videoconvert ! gtksink sync=false)
[ ${#range[@]} -gt 0 ] && shown=("${range[@]}") || shown=(db-auto=true db-min=20 db-max=90)
[ ${#range[@]} -gt 0 ] || range=(db-min=20 db-max=90)
pipeline=("${source[@]}" ! tee name=raw allow-not-linked=true
  raw. ! "${drop[@]}" ! openclupload ! tee name=uploaded
  uploaded. ! "${scan[@]}"
  octwindowinterp name=interp "${interp[@]}" ! octfft "${fft[@]}"
  ! "application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE" ! tee name=depths
  depths. ! "${drop[@]}" ! octaverage name=average frames=1 rolling=true mean=linear
  ! octdisplay name=display "${shown[@]}" ! "${show[@]}" name=b_scan
  depths. ! "${drop[@]}" ! octvolume name=above projection=maximum "${range[@]}"
  ! "${show[@]}" name=en_face)
if [ -n "$signal" ]; then
  often=interval=40000000
  plot=("video/x-raw(memory:OpenCLMemory),width=640,height=560" ! "${show[@]}")
  pipeline+=(
    uploaded. ! "${drop[@]}" ! octsignal name=spectrum "$often" ! "${plot[@]}" name=spectrum_plot
    depths. ! "${drop[@]}" ! octsignal name=a_scan "$often" ! "${plot[@]}" name=a_scan_plot)
fi

if [ -n "$print" ]; then
  printf '%q ' "${pipeline[@]}"
  echo
  exit
fi
prepare
step "Playing in a window; q ends"
show_pipeline "${pipeline[@]}"
exec /usr/bin/python3 "$here/octlive.py" "${window[@]}" "${pipeline[@]}"
