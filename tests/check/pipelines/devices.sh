#!/bin/bash
# Promise: opencl-devices lists devices by the values of the property `device` and marks the
# default device. It prints the result of the self-check for each engine. --report also prints
# versions, the commit, the variables that matter, where each plugin was found and the sizes of
# caches, even without a device.
#
# Usage: devices.sh OPENCL-DEVICES SOURCE-FOLDER
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
status=0
error=$("$devices" --no-such-option 2>&1 >/dev/null) || status=$?
[[ $status -eq 2 && $error == "opencl-devices: Unknown option --no-such-option (see --help)" ]] \
  || fail "an unknown option ends with $status: $error"
# PoCL has no device without a folder that it can write.
if ! error=$(env -u XDG_CACHE_HOME -u POCL_CACHE_DIR HOME=/dev/null/home \
  OCL_ICD_VENDORS=pocl.icd "$devices" 2>&1); then
  [[ $error == *POCL_CACHE_DIR* ]] || fail "POCL_CACHE_DIR is not named: $error"
fi

# has LINE: the report has it, whatever its spaces are
has () {
  tr -s ' ' <<<"$listed" | grep -qxF " $1" || fail "the report has no line $1"
}

gstreamer=$(gst-launch-1.0 --version | sed -n 's/^GStreamer //p')
version=$(gst-inspect-1.0 octopencl | sed -n 's/^ *Version  *//p')
file=$(gst-inspect-1.0 octopencl | sed -n 's/^ *Filename  *//p')
cache=$(mktemp -d)
trap 'rm -r "$cache"' EXIT
mkdir -p "$cache/programs/deeper"
head -c 1536 /dev/zero | tee "$cache/programs/one" >"$cache/programs/deeper/two"
listed=$(GST_OPENCL_TIMEOUT=7 POCL_DEBUG='' OTHER_SECRET=1 \
  GST_OPENCL_PROGRAM_CACHE=$cache/programs "$devices" --report)
[[ $listed == *"    programs      2 files, 3.0"*"KiB  $cache/programs"* ]] || fail "size of the cache"
commit=$(sed -n 's/^ *commit *//p' <<<"$listed")
if [ -e "$2/.git" ]; then # HEAD may have moved since
  git -C "$2" cat-file -e "$commit^{commit}" || fail "no commit of the checkout: $commit"
else
  [[ $commit =~ ^([0-9a-f]{12}|unknown: built without git)$ ]] || fail "commit: $commit"
fi
listed_options=$(sed -n 's/^ *build *//p' <<<"$listed")
[[ $listed_options == *optimization=*GL=*VkFFT=[1-9]*plugins=*oct* ]] \
  || fail "options of the build: $listed_options"
has "gst-opencl $version"
has "GStreamer $gstreamer"
has "GLib $(pkg-config --modversion glib-2.0)"
has "system $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r) $(uname -m)"
has "GST_OPENCL_TIMEOUT=7"
has "POCL_DEBUG="
has "octopencl $version $file"
[[ $listed != *OTHER_SECRET* ]] || fail "the report has variables of others"
[[ $listed == *"$("$devices")"* ]] || fail "the report has no list of devices"
listed=$(GST_PLUGIN_PATH='' GST_REGISTRY=$cache/registry "$devices" --report)
[ "$(grep -c 'opencl  *not found: see docs/trouble.md$' <<<"$listed")" -eq 6 ] \
  || fail "expected six plugins that are not found"
if listed=$(OCL_ICD_VENDORS=/nothing "$devices" --report 2>&1); then
  fail "expected a failure without a driver"
fi
has "OCL_ICD_VENDORS=/nothing"
[[ $listed == *"No OpenCL device"*docs/trouble.md* ]] || fail "expected a reason"
echo "${#heads[@]} devices"
