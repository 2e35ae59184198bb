#!/bin/bash
# Promise: the installed files are sufficient for applications and elements of other
# projects, in C, C++ and Python. Installs into a temporary folder, builds docs/examples
# against it with Meson and with CMake, and compares their output.
#
# Usage: examples.sh MESON BUILD-FOLDER EXAMPLES PYTHON
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
meson=$1
build=$2
examples=$3
python=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The environment that meson gives to tests points into the build folder.
unset GST_PLUGIN_PATH LD_LIBRARY_PATH
"$meson" install -C "$build" --no-rebuild --quiet --destdir "$work/installed"
pc=$(find "$work/installed" -name gstreamer-opencl-1.0.pc)
library=$(dirname "$(find "$work/installed" -name libgstopencl-1.0.so)")
prefix=$(sed -n 's/^prefix=//p' "$pc")
package=$(find "$work/installed" -name gstopencl -path '*-packages/*')
folder=${package%/gstopencl}
case $prefix in
  /usr | /usr/local)
    /usr/bin/python3 -c 'import sys; sys.exit(sys.argv[1] not in sys.path)' \
      "${folder#"$work/installed"}" || { echo "Python does not look for gstopencl in $folder"; exit 1; }
    ;;
esac
# --destdir installs outside the configured prefix.
sed -i "s|^prefix=.*|prefix=$work/installed$prefix|" "$pc"
export PKG_CONFIG_PATH=${pc%/*}

# quietly COMMAND…: runs a command and prints its output only if it fails
quietly () {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "$* failed"; exit 1; }
}

quietly "$meson" setup --werror "$work/meson" "$examples"
quietly ninja -C "$work/meson"
warnings="-Wall -Wextra -Wpedantic -Werror"
quietly cmake -S "$examples" -B "$work/cmake" -DCMAKE_C_STANDARD=17 -DCMAKE_CXX_STANDARD=20 \
  -DCMAKE_C_FLAGS="$warnings" -DCMAKE_CXX_FLAGS="$warnings"
quietly cmake --build "$work/cmake"

PKG_CONFIG_PATH=$build/meson-uninstalled quietly "$meson" setup --werror "$work/devenv" "$examples"
quietly ninja -C "$work/devenv" # as in `meson devenv`, without an installation

export LD_LIBRARY_PATH=$library
export GST_REGISTRY=$work/registry.bin
export GI_TYPELIB_PATH=$library/girepository-1.0
test_picture=(videotestsrc num-buffers=3 pattern=smpte75
  ! "video/x-raw,format=GRAY8,width=320,height=241")

# said EXPECTED: fails unless a line of the last command's output matches
said () {
  grep -qxE "$1" "$work/log" && return
  cat "$work/log"
  echo "nothing says: $1"
  exit 1
}

# says EXPECTED COMMAND…: runs a command, whose output must have a line that matches
says () {
  local expected=$1
  shift
  quietly "$@"
  said "$expected"
}

elements () {
  gst-launch-1.0 --quiet "${test_picture[@]}" ! filesink "location=$work/input"
  gst-launch-1.0 --quiet "${test_picture[@]}" ! openclupload ! grayinvert ! opencldownload \
    ! filesink "location=$work/inverse"
  gst-launch-1.0 --quiet grayramp num-buffers=3 \
    ! "video/x-raw(memory:OpenCLMemory),width=320,height=241" ! opencldownload \
    ! filesink "location=$work/ramp"
  gst-launch-1.0 --quiet graymean name=mean ! opencldownload ! filesink "location=$work/mean" \
    "${test_picture[@]}" ! openclupload ! mean. \
    "${test_picture[@]}" ! openclupload ! grayinvert ! mean.
  "$python" - "$work" <<'END'
import sys

before, inverse, ramp, mean = (
    open(f"{sys.argv[1]}/{name}", "rb").read() for name in ("input", "inverse", "ramp", "mean"))
assert len(before) == 3 * 320 * 241, len(before)
assert len(set(before)) > 2, "a picture of one colour proves nothing"
assert inverse == bytes(255 - value for value in before), "not the inverse"
assert ramp == bytes((x + n) % 256 for n in range(3) for _ in range(241) for x in range(320)), \
    "not a ramp"
assert mean == bytes(v // 2 + (255 - v) // 2 for v in before), "not the mean"
END
}

# A red square on green over grey: grey replaces the green, and nothing else.
edit_film () {
  local film=(videotestsrc num-buffers=15 pattern=solid-color)
  gst-launch-1.0 --quiet compositor name=both sink_1::xpos=80 sink_1::ypos=60 \
    ! "video/x-raw,width=320,height=180,framerate=15/1" ! jpegenc ! avimux \
    ! filesink "location=$work/film.avi" \
    "${film[@]}" foreground-color=0xff00ff00 ! "video/x-raw,width=320,height=180,framerate=15/1" \
    ! both. "${film[@]}" foreground-color=0xffff0000 \
    ! "video/x-raw,width=80,height=60,framerate=15/1" ! both.
  gst-launch-1.0 --quiet videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 \
    ! "video/x-raw,width=320,height=180" ! pngenc ! filesink "location=$work/grey.png"
  "$python" "$examples/ges-effect.py" "$work/film.avi" "$work/grey.png" "$work/edited.webm"
  gst-launch-1.0 --quiet filesrc "location=$work/edited.webm" ! matroskademux ! vp8dec \
    ! videoscale ! videoconvert ! "video/x-raw,format=RGB,width=320,height=180" \
    ! filesink "location=$work/edited"
  "$python" - "$work/edited" <<'END'
import sys

import numpy

frames = numpy.fromfile(sys.argv[1], numpy.uint8).reshape(-1, 180, 320, 3).astype(int)
assert len(frames) >= 14, len(frames)
green = (frames[..., 1] > frames[..., 0] + 60) & (frames[..., 1] > frames[..., 2] + 60)
red = frames[:, 70:110, 90:150]
grey = frames[:, 5:50, 5:315]
assert (abs(red - (255, 0, 0)) < 80).all(), red.mean(axis=(0, 1, 2)) # of VP8, in BT.709
assert (abs(grey - 128) < 12).all(), grey.mean(axis=(0, 1, 2))
print(f"320 × 180: {numpy.count_nonzero(green)} pixels keep the key")
END
}

for built in "$work/meson" "$work/cmake"; do
  export GST_PLUGIN_PATH=$library/gstreamer-1.0:$built
  elements
  says "the mirror is at depth bin 100" "$built/own-context"
  for element in resample transform; do
    GST_TRACERS=openclstats GST_DEBUG=GST_TRACER:7 "$built/own-context" 2>&1 \
      | grep "openclstats.*$element.*downloads=(guint64)0\b.*host-waits=(guint64)0\b" >/dev/null \
      || { echo "$element downloads or waits"; exit 1; }
  done
  says "[1-9][0-9] % are keyed out" "$built/two-pipelines"
  says "[0-9]+ frames shown, [0-9]+ lost, the mirror is at depth 100" "$built/grabber"
  says "depth  128: #{4,}" "$built/bscan" # within the tissue
  said "depth  960: #?"                   # and below
done
says "the mirror is at depth bin 100" "$python" "$examples/numpy-frames.py"
says "[2-9][0-9]* levels of gray in 76800 pixels" "$python" "$examples/pyopencl-frames.py"
if gst-inspect-1.0 --exists vp8enc; then
  says "320 × 180: 0 pixels keep the key" edit_film
else
  echo "NOT CHECKED: no vp8enc"
fi
echo "the examples do what they say, built with Meson and with CMake"
