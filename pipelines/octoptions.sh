# Options of demo.sh for spectra and their conversion to depths. It sources them after common.sh.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of common.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

explain_file () {
  cat <<END
FILE is a .npy file of uint16, float32 or float64, of shape (lines, samples) or
(frames, lines, samples), a Thorlabs .oct recording, which needs no further options, or
else raw samples, line by line:
  --size SAMPLESxLINES    size of a raw frame: samples per A-line, A-lines
  --bits 8|16             of a raw sample, unsigned and little-endian (default 16)
  --format FORMAT         of a raw sample, as in octrawparse: S16LE, F32LE, MONO12P …
  --header-bytes COUNT    bytes before the first raw frame (default 0)
END
}

explain_calibration () {
  cat <<END
Calibration (without: that of a .oct recording, else samples are taken as even in
wavenumber):
  --wavelengths FILE      wavelength of each sample, .npy or text
  --wavelength-range MIN,MAX
                          wavelengths of the first and the last sample, evenly spaced
  --resample-map FILE     fractional sample of each even wavenumber, .npy or text
  --settings FILE         lines of NAME=VALUE, as oct-calibrate and opencl-view --oct write them
  --dispersion A2,A3      in rad, as exp(-i (A2 q² + A3 q³)), q = m - N/2
  --dispersion-phase FILE phase of each even wavenumber in rad
  --background none|frame what to subtract (default that of a .oct recording, else none)
END
}

explain_picture () {
  cat <<END
  --db MIN,MAX            range in dB from black to white
  --depth START,COUNT     rows of the picture, in depth bins
END
}

explain_device () {
  cat <<END
  --device DEVICE         auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name
END
  explain_switches
}

# Values of the options: the file and its layout; settings of octwindowinterp, of octfft, and of
# the display in decibels
file='' size='' format=U16LE header_bytes=0
interp=() fft=() range=()

# take_option OPTION VALUE: one of those above, or a failure
take_option () {
  local option=$1 value=$2
  case $option in
    --size)
      check "$option" "$value" "$pixels" "SAMPLESxLINES, such as 2048x999"
      size=$value ;;
    --bits)
      check "$option" "$value" "8|16" "8 or 16"
      [ "$value" = 8 ] && format=U8 || format=U16LE ;;
    --format)
      check "$option" "$value" "[A-Z][A-Z0-9]+" "a format of octrawparse, such as S16LE"
      format=$value ;;
    --header-bytes)
      check "$option" "$value" "$whole" "a whole number"
      header_bytes=$value ;;
    --wavelengths | --resample-map | --dispersion-phase | --settings)
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
      range+=("db-min=$first" "db-max=$second") ;;
    --depth)
      check "$option" "$value" "$whole,$whole" "START,COUNT, such as 8,840"
      split "$value" ,
      fft+=("depth-start=$first" "depth-count=$second") ;;
    *) take_common "$option" "${value-}" ;;
  esac
}

# calibrate_tissue: as octtestsrc's camera, unless a calibration was asked for
calibrate_tissue () {
  [[ " ${interp[*]}" =~ \ (wavelength|resample-map|settings) ]] \
    || interp=(wavelength-min=1187 wavelength-max=1433 "${interp[@]}")
}

# source_of_file [PROPERTY=VALUE…]: reads the spectra of FILE, in `source`. The properties are
# those of the parser.
source_of_file () {
  source=(filesrc "location=$file")
  case $file in
    *.npy) source+=(! npyparse "$@") ;;
    *.[oO][cC][tT]) source+=(! octfileparse "$@") ;;
    *)
      [ -n "$size" ] || fail "$file has no header: --size SAMPLESxLINES is needed"
      split "$size" x
      source+=(! octrawparse "samples=$first" "lines=$second" "format=$format"
        "header-bytes=$header_bytes" "$@") ;;
  esac
}

# wants_value OPTION COUNT: that an option that takes one has it, among COUNT words
wants_value () {
  [[ $1 != --* ]] || [ "$2" -ge 2 ] || fail "$1: expected a value (see --help)"
}
