#!/bin/bash
# Shows the OCT chain from raw spectra to a B-scan: octtestsrc's tissue, or your own data.
# Without arguments also the keying of a green screen.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

usage () {
  cat <<END
Usage: demo.sh [OPTION…] [FILE]

Installs what is missing (Debian 12), builds, and writes the first B-scan of FILE as a
picture. Without FILE, of a tissue that octtestsrc makes. Without anything, also shows the
keying of a green screen as greenscreen.sh does, before and after.

FILE is a .npy file of uint16, float32 or float64, of shape (lines, samples) or
(frames, lines, samples), or else headerless little-endian samples, line by line:
  --size SAMPLESxLINES    size of a headerless frame: samples per A-line, A-lines
  --bits 8|16             of a headerless sample (default 16)

Calibration (without: samples are taken as even in wavenumber):
  --wavelengths FILE      wavelength of each sample, .npy or text
  --wavelength-range MIN,MAX
                          wavelengths of the first and the last sample, evenly spaced
  --resample-map FILE     fractional sample of each even wavenumber, .npy or text
  --dispersion A2,A3      in rad, as exp(-i (A2 q² + A3 q³)), q = m - N/2
  --dispersion-phase FILE phase of each even wavenumber in rad
  --background none|frame what to subtract (default none)

Picture:
  --db MIN,MAX            range in dB from black to white
  --depth START,COUNT     rows of the picture, in depth bins
  --output FILE           (default bscan.png, in the current directory)

  --device DEVICE         auto, gpu, cpu, PLATFORM:DEVICE or part of a name
  --help

Example:
  demo.sh --size 2048x999 --wavelengths lambda.npy --dispersion 8e-5,2.7e-9 \\
      --db -10,42 tape.raw
END
}

file='' lines='' bits=16 output=bscan.png
interp=() fft=()

keying=''
[ $# -gt 0 ] || keying=yes

while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --help) usage; exit 0 ;;
    --*) [ $# -ge 2 ] || fail "$option: expected a value (see --help)"; value=$2; shift ;;
  esac
  case $option in
    --size)
      check "$option" "$value" "$pixels" "SAMPLESxLINES, such as 2048x999"
      lines=$value ;;
    --bits)
      check "$option" "$value" "8|16" "8 or 16"
      bits=$value ;;
    --wavelengths | --resample-map | --dispersion-phase)
      check_file "$option" "$value"
      interp+=("${option#--}=$value") ;;
    --wavelength-range)
      check "$option" "$value" "$share,$share" "MIN,MAX, such as 1187,1433"
      split "$value" ,
      interp+=("wavelength-min=$first" "wavelength-max=$second") ;;
    --dispersion)
      check "$option" "$value" "$number,$number" "A2,A3, such as 8e-5,2.7e-9"
      split "$value" ,
      interp+=("dispersion-a2=$first" "dispersion-a3=$second") ;;
    --background)
      check "$option" "$value" "none|frame" "none or frame"
      interp+=("background=$value") ;;
    --db)
      check "$option" "$value" "$number,$number" "MIN,MAX, such as -10,42"
      split "$value" ,
      fft+=("db-min=$first" "db-max=$second") ;;
    --depth)
      check "$option" "$value" "$whole,$whole" "START,COUNT, such as 8,840"
      split "$value" ,
      fft+=("depth-start=$first" "depth-count=$second") ;;
    --output) output=$value ;;
    --device) export GST_OPENCL_DEVICE=$value ;;
    -*) fail "$option: no such option (see --help)" ;;
    *)
      [ -z "$file" ] || fail "$option: a second file (see --help)"
      check_file FILE "$option"
      file=$option ;;
  esac
  shift
done

# source_of_…: what delivers the spectra, in `source`
source_of_tissue () {
  source=(octtestsrc num-buffers=1 pattern=layers
    ! "video/x-raw(memory:OpenCLMemory),width=2048,height=512")
  # Defaults that options still override: what octtestsrc's camera has, and no rows of DC.
  interp=(wavelength-min=1187 wavelength-max=1433 "${interp[@]}")
  fft=(db-min=0 db-max=60 depth-start=8 depth-count=840 "${fft[@]}")
}

source_of_npy () {
  source=(filesrc "location=$file" ! npyparse ! openclupload)
}

# Nothing but samples: each buffer of the reader is a frame.
source_of_raw () {
  local -A formats=([8]=U8 [16]=U16LE)
  [ -n "$lines" ] || fail "$file has no header: --size SAMPLESxLINES is needed"
  split "$lines" x
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
launch_into "$output" "${file:-octtestsrc}" \
  "${source[@]}" ! octwindowinterp "${interp[@]}" ! octfft "${fft[@]}" \
  ! opencldownload ! videoconvert ! pngenc snapshot=true
[ -z "$keying" ] || exec "$(dirname "$0")/greenscreen.sh"
