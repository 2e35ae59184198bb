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
[ "$(grep -c '  (taken)$' <<<"$listed")" -eq 1 ] || fail "not one device is taken"
[ "$(grep -c '^    self-check  *[a-z]' <<<"$listed")" -eq ${#heads[@]} ] \
  || fail "not each says what was checked"

for head in "${heads[@]}"; do
  index=${head%%  *}
  name=${head#*  }
  name=${name%  (taken)}
  for choice in "$index" "$name"; do
    grep -qF "$index  $name  (taken)" <<<"$("$devices" "$choice")" || fail "$choice is not taken"
    gst-launch-1.0 --quiet videotestsrc num-buffers=1 ! openclupload "device=$choice" \
      ! opencldownload ! fakesink || fail "openclupload does not take device=$choice"
  done
done
grep -q '(taken)$' <<<"$(GST_OPENCL_DEVICE=${heads[0]%%  *} "$devices")" \
  || fail "GST_OPENCL_DEVICE is not heard"
said=$("$devices" "no such device" 2>&1 >/dev/null) && fail "an unknown device is taken"
[[ $said == *"device=no such device"* ]] || fail "an unknown device is not named: $said"
echo "${#heads[@]} devices"
