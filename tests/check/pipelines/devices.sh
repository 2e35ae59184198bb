#!/bin/bash
# Promise: opencl-devices lists devices by the values of the property `device` and marks the
# default device. It prints the result of the self-check for each engine.
#
# Usage: devices.sh OPENCL-DEVICES
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
devices=$1
listed=$("$devices")

fail () {
  echo "$1"
  echo "$listed"
  exit 1
}

mapfile -t heads < <(grep -E '^[0-9]+:[0-9]+  ' <<<"$listed")
[ ${#heads[@]} -gt 0 ] || fail "no device is listed"
[ "$(grep -c '  (selected)$' <<<"$listed")" -eq 1 ] || fail "expected one selected device"
[ "$(grep -c '^    self-check  *[a-z]' <<<"$listed")" -eq ${#heads[@]} ] \
  || fail "expected a self-check for each device"

for head in "${heads[@]}"; do
  index=${head%%  *}
  name=${head#*  }
  name=${name%  (selected)}
  for choice in "$index" "$name"; do
    grep -qF "$index  $name  (selected)" <<<"$("$devices" "$choice")" \
      || fail "$choice is not selected"
    gst-launch-1.0 --quiet videotestsrc num-buffers=1 ! openclupload "device=$choice" \
      ! opencldownload ! fakesink || fail "openclupload rejects device=$choice"
  done
done
grep -q '(selected)$' <<<"$(GST_OPENCL_DEVICE=${heads[0]%%  *} "$devices")" \
  || fail "GST_OPENCL_DEVICE has no effect"
error=$("$devices" "no such device" 2>&1 >/dev/null) && fail "an unknown device is selected"
[[ $error == *"device=no such device"* ]] || fail "an unknown device is not named: $error"
# PoCL has no device without a folder that it can write.
if ! error=$(env -u XDG_CACHE_HOME -u POCL_CACHE_DIR HOME=/dev/null/home \
  OCL_ICD_VENDORS=pocl.icd "$devices" 2>&1); then
  [[ $error == *POCL_CACHE_DIR* ]] || fail "POCL_CACHE_DIR is not named: $error"
fi
echo "${#heads[@]} devices"
