#!/bin/bash
# Fetches the source of a Debian package, for builds that need a library Debian does not have for
# their system
#
#   usage: fetchsource.sh PACKAGE FOLDER
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
. /etc/os-release
mkdir -p "$own/lists/partial"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME main" >"$own/sources.list"
apt=(-q -o Dir::Etc::SourceList="$own/sources.list" -o Dir::Etc::SourceParts=-
  -o Dir::State::Lists="$own/lists" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" update
cd "$own"
apt-get "${apt[@]}" source "$1"
rm -rf "$2"
mv "$own/$1"-*/ "$2"
