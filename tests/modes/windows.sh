#!/bin/bash
# a build for Windows in Wine that differs from Linux; [--wheel] [NAME…]: elements, pipelines, programs
#
# --wheel makes the package for pip, in the build folder, and tests nothing.
#
# Fetches GStreamer's wheels for Windows from PyPI and builds with mingw-w64.
# tools/windows/sysroot.sh says more. The device is this machine's, by Wine's own opencl.dll.
#
# shellcheck disable=SC1091,SC2031,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

packages+=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev cmake wine64)
wine=/usr/lib/wine/wine64 # which is in no folder of programs
build_or_refuse all
sysroot=$cache/windows
"$root/tools/windows/sysroot.sh" "$sysroot" >&2 || refuse "The sysroot could not be made."
other=$build-windows
[ -e "$other/build.ninja" ] || meson setup "$other" "$root" --cross-file "$sysroot/cross.ini" \
  -Ddebug=false "${for_ccache[@]}" \
  -D{introspection,clfft,clblast}=disabled -D{benchmark,hardening}=false </dev/null >&2 \
  || refuse "The build failed."
ninja -C "$other" </dev/null >&2 || refuse "The build failed."
wheel=$("$root/tools/windows/wheel.py" "$other" "$other") || refuse "There is no wheel."
[ "${1:-}" != --wheel ] || { echo "$wheel" && exit; }
site=$other/site packed=$other/site/gstopencl_windows
rm -rf "$site"
/usr/bin/python3 -m pip install --quiet --no-deps --only-binary :all: --platform win_amd64 \
  --root-user-action ignore --target "$site" "$wheel" || refuse "The wheel cannot be installed."

# windows PATH: as Wine names it
windows () {
  printf 'Z:%s' "${1//\//\\}"
}

export WINEPREFIX=$other/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
[ -e "$WINEPREFIX" ] || "$wine" wineboot --init >&2 || refuse "Wine does not start."
cc -shared -fPIC -o "$other/keepsignals.so" "$root/tests/drivers/keepsignals.c" -ldl \
  || refuse "keepsignals.c does not compile."
gst=$sysroot/gstreamer
only=("${@/#/--only=}")
passed=0 failed=0
add_up in_build /usr/bin/python3 "$root/tests/drivers/systems.py" "${only[@]}" \
  --known "$root/tests/drivers/known-windows.txt" "$build" "$other/tests/check" \
  "$gst/bin/gst-inspect-1.0.exe" "$gst/bin/gst-launch-1.0.exe" \
  "$packed/bin/opencl-devices.exe" \
  env LD_PRELOAD="$other/keepsignals.so" \
  GST_PLUGIN_SYSTEM_PATH_1_0="$(windows "$gst/lib/gstreamer-1.0")" \
  GST_PLUGIN_PATH_1_0="$(windows "$packed/lib/gstreamer-1.0")" \
  GST_REGISTRY_1_0="$(windows "$WINEPREFIX/registry.bin")" \
  WINEPATH="$(windows "$gst/bin");$(windows "$packed/bin")" "$wine"
conclude "$passed" "$failed"
