#!/bin/bash
# Builds a static libzip with nothing but deflate, from Debian's source package
#
#   usage: libzip.sh FOLDER PREFIX [OPTION of cmake…]
#
# FOLDER gets the source, PREFIX the library. Also where apt-get knows no sources.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source=$1/libzip own=$1/apt
mkdir -p "$own/lists/partial"
. /etc/os-release
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
http://deb.debian.org/debian $VERSION_CODENAME main" >"$own/sources.list"
apt=(apt-get -q -o Dir::Etc::SourceList="$own/sources.list" -o Dir::Etc::SourceParts=-
  -o Dir::State::Lists="$own/lists" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$own" && "${apt[@]}" source libzip)
rm -rf "$source"
mv "$own"/libzip-*/ "$source"
rm -r "$own"
cmake -S "$source" -B "$source/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" \
  -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DENABLE_{COMMONCRYPTO,GNUTLS,MBEDTLS,OPENSSL,WINDOWS_CRYPTO,BZIP2,LZMA,ZSTD}=OFF \
  -DBUILD_{TOOLS,REGRESS,EXAMPLES,DOC}=OFF "${@:3}"
cmake --build "$source/build" --target install
sed -i 's/^Libs: .*/& -lz/' "$2/lib/pkgconfig/libzip.pc" # it is Libs.private there
