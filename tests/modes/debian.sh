#!/bin/bash
# what demo.sh, documents, tests and packages lack in an empty Debian; [--quick | --desktop] SUITE, such as trixie
#
# --quick runs demo.sh alone, --desktop demo.sh and the tests beside the plugins that desktops have.
# Warnings are errors.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

quick='' desktop=''
[ "${1:-}" != --quick ] || { quick=yes && shift; }
[ "${1:-}" != --desktop ] || { desktop=yes && shift; }
suite=${1:-}
[ -n "$suite" ] || refuse "Which suite of Debian? tests/run.sh --debian trixie"
new_debian "bare-$suite" "$suite"
passed=0 failed=0

# check NAME COMMAND
check () {
  local start=$SECONDS result=failed
  if within "bare-$suite" "export GST_OPENCL_SETUP='$strict' && $2"; then
    passed=$((passed + 1)) result=passed
  else
    failed=$((failed + 1))
    failures+=("FAILED: $suite: $1")
  fi
  echo "$1: $result after $((SECONDS - start)) seconds"
}

check "two pictures of demo.sh" \
  'cd /tmp && /checkout/pipelines/demo.sh && [ -s bscan.png ] && [ -s greenscreen.png ]'
[ -z "$quick" ] || conclude "$passed" "$failed"
if [ -n "$desktop" ]; then
  check "packages of desktops" 'apt-get -qy install --no-install-recommends gstreamer1.0-libav \
    gstreamer1.0-plugins-ugly gstreamer1.0-pipewire gstreamer1.0-gtk3 ffmpeg'
  add_up within "bare-$suite" "GST_OPENCL_SETUP='$strict' /checkout/tests/run.sh"
  conclude "$passed" "$failed"
fi
# With the packages of demo.sh, those that documents name, and those that the test itself needs
# shellcheck disable=SC2016  # of that shell
check "commands of the documents" \
  'source /checkout/pipelines/setup.sh \
    && apt-get -qy install --no-install-recommends "${document_packages[@]}" git xvfb x11-utils \
    && meson setup --reconfigure --clearcache /checkout/build /checkout && ninja -C /checkout/build opencl-bench \
    && cd /checkout && /usr/bin/python3 tests/check/pipelines/readme.py . build'
start=$SECONDS
# It has GstTensorMeta since GStreamer 1.26. Debian 12's would bring 155 packages for nothing.
[ "$suite" = bookworm ] || within "bare-$suite" \
  'apt-get -qy install --no-install-recommends libgstreamer-plugins-bad1.0-dev'
add_up within "bare-$suite" "GST_OPENCL_SETUP='$strict' /checkout/tests/run.sh"
echo "every test, after $((SECONDS - start)) seconds"
add_up "$modes/packages.sh" "$suite"
conclude "$passed" "$failed"
