#!/bin/bash
# Makes a Wine without libraries that Windows does not have: plainwine.sh FOLDER
#
# Prints the path of its program. Debian's Wine puts zlib1.dll of mingw-w64 into system32, because
# DLLs of its own import it. In FOLDER these import it by another name.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
folder=$1
system=/usr/lib/x86_64-linux-gnu/wine own=$folder/lib/x86_64-linux-gnu/wine

if [ ! -e "$own" ]; then
  rm -rf "$folder"
  mkdir -p "$folder/lib/wine" "$own-part" "$folder/share"
  ln -s /usr/share/wine "$folder/share/wine"
  cp -rs "$system/x86_64-unix" "$system/x86_64-windows" "$own-part"
  # Wine looks for its files beside these.
  cp /usr/lib/wine/wine* "$folder/lib/wine"
  cp --remove-destination "$system/x86_64-unix/ntdll.so" "$own-part/x86_64-unix"
  mv "$own-part/x86_64-windows/zlib1.dll" "$own-part/x86_64-windows/zlibw.dll"
  grep -l 'zlib1\.dll' "$system"/x86_64-windows/*.{dll,exe} | while read -r file; do
    [ "$file" = "$system/x86_64-windows/zlib1.dll" ] && continue
    rm "$own-part/x86_64-windows/${file##*/}"
    sed 's/zlib1\.dll/zlibw.dll/g' "$file" >"$own-part/x86_64-windows/${file##*/}"
  done
  mv "$own-part" "$own"
fi
echo "$folder/lib/wine/wine64"
