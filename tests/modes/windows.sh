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
if [ "${1:-}" = --wheel ]; then
  exec "$root/tools/windows/wheel.py" "$other" "$other"
fi

# windows PATH: as Wine names it
windows () {
  printf 'Z:%s' "${1//\//\\}"
}

export WINEPREFIX=$other/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
[ -e "$WINEPREFIX" ] || "$wine" wineboot --init >&2 || refuse "Wine does not start."
cc -shared -fPIC -o "$other/keepsignals.so" "$root/tests/drivers/keepsignals.c" -ldl \
  || refuse "keepsignals.c does not compile."
gst=$sysroot/gstreamer plugins=''
for plugin in "$other"/gst/*/libgst*opencl.dll; do
  plugins+="$(windows "${plugin%/*}");"
done
only=("${@/#/--only=}")
passed=0 failed=0
add_up in_build /usr/bin/python3 "$root/tests/drivers/systems.py" "${only[@]}" \
  --known "$root/tests/drivers/known-windows.txt" "$build" "$other" \
  "$gst/bin/gst-inspect-1.0.exe" "$gst/bin/gst-launch-1.0.exe" \
  env LD_PRELOAD="$other/keepsignals.so" \
  GST_PLUGIN_SYSTEM_PATH_1_0="$(windows "$gst/lib/gstreamer-1.0")" \
  GST_PLUGIN_PATH_1_0="$plugins" GST_REGISTRY_1_0="$(windows "$WINEPREFIX/registry.bin")" \
  WINEPATH="$(windows "$gst/bin");$(windows "$other/gst/opencl")" "$wine"
conclude "$passed" "$failed"
