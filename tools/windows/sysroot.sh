#!/bin/bash
# Makes what a build for Windows needs on Debian: GStreamer's wheels, headers, libzip, cross.ini
#
#   usage: sysroot.sh FOLDER
#
# FOLDER/gstreamer has bin/ and lib/gstreamer-1.0/ of the wheels from PyPI (MSVC builds), whose
# libraries the linker takes as they are. Headers are those of Debian's packages, and libzip is
# built from Debian's source package. What exists is kept: remove the folder for newer wheels.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
gst=$folder/gstreamer
host=x86_64-w64-mingw32
wheels=(libs cli plugins plugins-libs ext-runtime)

# Wheels of one version are not all of one number: those of plugins may be older.
fetch_gstreamer () {
  /usr/bin/python3 -m pip download --quiet --no-deps --platform win_amd64 \
    --only-binary :all: --python-version 3.12 --dest "$folder/wheels" "${wheels[@]/#/gstreamer-}"
  mkdir -p "$gst.part/bin" "$gst.part/lib"
  local wheel package
  for wheel in "$folder"/wheels/*.whl; do
    /usr/bin/python3 -m zipfile -e "$wheel" "$folder/unpacked"
  done
  for package in "$folder"/unpacked/*.data/purelib/*; do
    cp -r "$package/." "$gst.part"
  done
  rm -r "$folder/unpacked"
  mv "$gst.part" "$gst"
}

# Replaces the types and names of Linux: `long` has 32 bits on Windows.
write_glibconfig () {
  sed -E -e '/typedef/s/\blong\b/long long/' \
    -e 's/"l([iu]?)"/"ll\1"/; s/\(val##(U?)L\)/(val##\1LL)/' \
    -e 's/\(glong\)([ (])/(gint64)\1/; s/\(gulong\)([ (])/(guint64)\1/' \
    -e '/SIZE\t/s/G_MAXULONG/G_MAXUINT64/; /SIZE\t/s/G_(MIN|MAX)LONG/G_\1INT64/' \
    -e 's/(GLIB_SIZEOF_LONG +)8/\14/; s/HAVE_GNUC_VISIBILITY 1/HAVE_GNUC_VISIBILITY_OFF/' \
    -e 's/#define G_OS_UNIX/#define G_OS_WIN32\n#define G_PLATFORM_WIN32/' \
    -e 's/THREADS_IMPL_POSIX/THREADS_IMPL_WIN32/; s/typedef int GPid/typedef void *GPid/' \
    -e 's/(G_PID_FORMAT )"i"/\1"p"/; s/(POLLFD_FORMAT )"%d"/\1"%#llx"/; s/(INET6 )10/\123/' \
    -e 's/(MODULE_SUFFIX )"so"/\1"dll"/; /GLIB_USING_SYSTEM_PRINTF|GLIB_HAVE_ALLOCA_H/d' \
    -e "/DIR_SEPARATOR/s,/,\\\\\\\\,; /SEARCHPATH/s/:/;/" "$1"
}

copy_headers () {
  local include=$folder/include
  mkdir -p "$include"
  # Times of files that do not change keep what is built.
  cp -r --preserve=timestamps /usr/include/{gstreamer-1.0,glib-2.0,CL,cairo,vkFFT*} "$include"
  write_glibconfig "$(pkg-config --variable=libdir glib-2.0)/glib-2.0/include/glibconfig.h" \
    >"$folder/glibconfig.h"
  cmp -s "$folder/glibconfig.h" "$include/glib-2.0/glibconfig.h" \
    || mv "$folder/glibconfig.h" "$include/glib-2.0"
  echo '#include <glib.h>
    G_STATIC_ASSERT (sizeof (glong) == 4 && sizeof (gint64) == 8 && sizeof (gsize) == 8);
    G_STATIC_ASSERT (G_DIR_SEPARATOR == 92 && G_MAXSSIZE == G_MAXINT64);' \
    | $host-gcc -fsyntax-only -x c -I "$include/glib-2.0" -
}

# build_opencl: an import library that loads OpenCL.dll at the first call, with the functions that
# Wine's opencl.dll has
build_opencl () {
  local of_wine=/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/opencl.dll
  { echo EXPORTS && $host-objdump -p "$of_wine" | sed -nE 's/^\t\[ *[0-9]+\] (cl\w+)$/\1/p'; } \
    >"$folder/opencl.def"
  rm -f "$folder/lib/libOpenCL.a"
  $host-dlltool --dllname OpenCL.dll --input-def "$folder/opencl.def" \
    --output-delaylib "$folder/lib/libOpenCL.a"
  $host-gcc -O2 -Wall -Werror -c "$(dirname "$0")/openclloader.c" -o "$folder/openclloader.o"
  $host-ar r "$folder/lib/libOpenCL.a" "$folder/openclloader.o"
}

# describe NAME LIBS CFLAGS [REQUIRED]: for pkg-config, with the version of Debian's headers
describe () {
  printf '%s\n' "Name: $1" "Description: $1" "Version: $(pkg-config --modversion "$1")" \
    "Libs: -L$gst/bin $2" "Cflags: -I$folder/include $3" "Requires: ${4:-}" \
    >"$folder/lib/pkgconfig/$1.pc"
}

describe_libraries () {
  local name glib=-I$folder/include/glib-2.0 gstreamer=-I$folder/include/gstreamer-1.0
  mkdir -p "$folder/lib/pkgconfig"
  describe glib-2.0 -l:glib-2.0-0.dll "$glib"
  describe gobject-2.0 -l:gobject-2.0-0.dll "$glib" glib-2.0
  describe gmodule-2.0 -l:gmodule-2.0-0.dll "$glib" glib-2.0
  describe gio-2.0 -l:gio-2.0-0.dll "$glib" gobject-2.0
  describe gstreamer-1.0 -l:gstreamer-1.0-0.dll "$gstreamer" "gobject-2.0 gmodule-2.0"
  for name in base allocators app audio check controller video; do
    describe gstreamer-$name-1.0 "-l:gst$name-1.0-0.dll" "$gstreamer" \
      "gstreamer-1.0$([ $name = base ] || echo ' gstreamer-base-1.0')"
  done
  describe cairo -l:cairo-2.dll "-I$folder/include/cairo"
  describe OpenCL "-L$folder/lib -lOpenCL" ""
  describe libzip "-L$folder/lib -L/usr/$host/lib -lzip -l:libz.a" -DZIP_STATIC
}

write_cross_file () {
  local ccache=''
  ! command -v ccache >/dev/null || ccache="'ccache', "
  cat >"$folder/cross.ini" <<END
[binaries]
c = [$ccache'$host-gcc-posix']
cpp = [$ccache'$host-g++-posix']
ar = '$host-ar'
strip = '$host-strip'
windres = '$host-windres'
pkgconfig = 'pkg-config'
exe_wrapper = '/usr/lib/wine/wine64'
[properties]
pkg_config_libdir = '$folder/lib/pkgconfig'
[built-in options]
# An older libstdc++ among the wheels would be found first. -s: without symbols, which are half of
# a library. The time of a build would make two of them differ.
c_link_args = ['-static-libgcc', '-s', '-Wl,--no-insert-timestamp']
cpp_link_args = ['-static', '-static-libgcc', '-static-libstdc++', '-s', '-Wl,--no-insert-timestamp']
[host_machine]
system = 'windows'
cpu_family = 'x86_64'
cpu = 'x86_64'
endian = 'little'
END
}

[ -e "$gst" ] || fetch_gstreamer
copy_headers
mkdir -p "$folder/lib"
[ "$folder/lib/libOpenCL.a" -nt "$(dirname "$0")/openclloader.c" ] || build_opencl
[ -e "$folder/lib/libzip.a" ] || "$(dirname "$0")/../libzip.sh" "$folder" "$folder" \
  -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=$host-gcc -DCMAKE_FIND_ROOT_PATH=/usr/$host \
  -DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE}=ONLY
describe_libraries
write_cross_file
