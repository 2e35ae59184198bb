# Options of demo.sh and oct-live.sh for spectra and their conversion to depths. The scripts
# source it, after common.sh.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of common.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

explain_file () {
  cat <<END
FILE is a .npy file of uint16, float32 or float64, of shape (lines, samples) or
(frames, lines, samples), or else headerless little-endian samples, line by line:
  --size SAMPLESxLINES    size of a headerless frame: samples per A-line, A-lines
  --bits 8|16             of a headerless sample (default 16)
END
}

explain_calibration () {
  cat <<END
Calibration (without: samples are taken as even in wavenumber):
  --wavelengths FILE      wavelength of each sample, .npy or text
  --wavelength-range MIN,MAX
                          wavelengths of the first and the last sample, evenly spaced
  --resample-map FILE     fractional sample of each even wavenumber, .npy or text
  --settings FILE         lines of NAME=VALUE, as oct-calibrate and oct-live.sh write them
  --dispersion A2,A3      in rad, as exp(-i (A2 q² + A3 q³)), q = m - N/2
  --dispersion-phase FILE phase of each even wavenumber in rad
  --background none|frame what to subtract (default none)
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
file='' size='' bits=16
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
      bits=$value ;;
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

# need_size: of a headerless file; its samples and lines are `first` and `second`
need_size () {
  [ -n "$size" ] || fail "$file has no header: --size SAMPLESxLINES is needed"
  split "$size" x
}

# wants_value OPTION COUNT: that an option that takes one has it, among COUNT words
wants_value () {
  [[ $1 != --* ]] || [ "$2" -ge 2 ] || fail "$1: expected a value (see --help)"
}
