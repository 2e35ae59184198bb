#!/bin/bash
# Debian packages that do not build, lint or install in an empty Debian, or run README's commands and the windows; [SUITE]
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

suite=${1:-bookworm}
maker=packages-$suite-build user=packages-$suite-use
passed=0 failed=0
built=$empty/$maker/root/built installed=$empty/$user/root/built

# check NAME FOLDER COMMAND: others need what it makes, so that the first that fails is the last
check () {
  within "$2" "$3" || { echo "$1: failed"; conclude "$passed" 1; }
  passed=$((passed + 1))
}

new_debian "$maker" "$suite"
build_packages "$maker" /checkout || { echo "the build: failed"; conclude 0 1; }
passed=1
lint_packages "$maker" || { echo "lintian: failed"; conclude 1 1; }
passed=2

new_debian "$user" "$suite"
{ mkdir -p "$installed" && cp "$built"/*.deb "$installed"; } || refuse "no packages"
check "their installation" "$user" \
  'apt-get -q update && apt-get -qy install /root/built/*.deb && opencl-devices cpu \
    && opencl-detect --help && opencl-key --help && opencl-view --help && oct-process --help && oct-calibrate --help \
    && opencl-bench --help'
check "README and documents as installed" "$user" \
  'apt-get -qy install --no-install-recommends gstreamer1.0-plugins-bad gstreamer1.0-x \
    aravis-tools aravis-tools-cli git xvfb x11-utils python3-numpy \
    && python3 /checkout/tests/check/pipelines/readme.py /checkout /usr'
check "the examples" "$user" \
  'apt-get -qy install --no-install-recommends build-essential meson python3-gst-1.0 \
    && cp -r /usr/share/doc/gstreamer-opencl/examples /tmp/examples && cd /tmp/examples \
    && meson setup build . && ninja -C build && ls build && python3 numpy-frames.py'
# With the overrides of python3-gst-1.0, which are installed by now
check "the windows as installed" "$user" \
  'apt-get -qy install --no-install-recommends xauth at-spi2-core gir1.2-atspi-2.0 dbus-x11 \
    python3-gi-cairo gstreamer1.0-libav imagemagick && cd /checkout/tests/check/pipelines \
    && python3 view.py /usr/bin/opencl-view && python3 keyview.py /usr/bin/opencl-view \
    && python3 octlive.py /checkout/pipelines /usr no_frame_lost keys plots numbers scan depths \
      wizard printed_pipeline failing_recordings files'
conclude "$passed" "$failed"
