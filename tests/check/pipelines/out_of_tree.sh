#!/bin/bash
# Promise: what is installed is all that an element in another tree needs, to build and to
# run. Installs into a temporary folder, builds out-of-tree/ against it, runs it beside
# the installed plugins, and compares every byte.
#
# Usage: out_of_tree.sh MESON BUILD-FOLDER
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
meson=$1
build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The environment that meson gives to tests points into the build folder.
unset GST_PLUGIN_PATH LD_LIBRARY_PATH
"$meson" install -C "$build" --no-rebuild --quiet --destdir "$work/installed"
pc=$(find "$work/installed" -name gstreamer-opencl-1.0.pc)
library=$(dirname "$(find "$work/installed" -name libgstopencl-1.0.so)")
prefix=$(sed -n 's/^prefix=//p' "$pc")
# --destdir moved it away from the prefix that it was configured for.
sed -i "s|^prefix=.*|prefix=$work/installed$prefix|" "$pc"

export PKG_CONFIG_PATH=${pc%/*}
"$meson" setup --werror "$work/build" "$here/out-of-tree"
ninja -C "$work/build"

export LD_LIBRARY_PATH=$library
export GST_PLUGIN_PATH=$library/gstreamer-1.0:$work/build
export GST_REGISTRY=$work/registry.bin
test_picture=(videotestsrc num-buffers=3 pattern=smpte75
  ! "video/x-raw,format=GRAY8,width=320,height=241")
gst-launch-1.0 --quiet "${test_picture[@]}" ! filesink "location=$work/input"
gst-launch-1.0 --quiet "${test_picture[@]}" ! openclupload ! grayinvert ! opencldownload \
  ! filesink "location=$work/output"

python3 - "$work/input" "$work/output" <<'END'
import sys

before, after = (open(path, "rb").read() for path in sys.argv[1:])
assert len(before) == 3 * 320 * 241, len(before)
assert len(set(before)) > 2, "a picture of one colour proves nothing"
assert after == bytes(255 - value for value in before), "not the inverse"
END
echo "the inverse, byte for byte"
