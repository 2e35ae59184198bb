#!/bin/bash
# Makes a release in build-release/VERSION: tarball, Debian packages, notes, a wrap file for Meson
# and checksums. The version is that of meson.build. At the end the commit gets the tag vVERSION,
# which is not pushed.
#
# tools/release.sh                 makes the release of a checkout without changes
# tools/release.sh --test          the same; before, builds the tarball and runs its tests
# tools/release.sh --set VERSION   writes VERSION into meson.build, CITATION.cff and
#                                  debian/changelog, to be committed; NEWS.md has to begin with it
# tools/release.sh --check         only compares the versions
#
# The packages are built in an empty Debian 12, which takes root and a network.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$(dirname "$0")/.."

fail () {
  echo "release.sh: $1" >&2
  exit 1
}

meson_version () {
  sed -n "s/^ *version: '\([0-9.]*\)',/\1/p" meson.build | head -1
}

news_version () {
  sed -n 's/^## //p' NEWS.md | head -1
}

citation_version () {
  sed -n 's/^version: //p' CITATION.cff
}

# Version and distribution of the newest entry of debian/changelog
package_version () {
  sed -n '1s/^gstreamer-opencl (\([^)]*\)) \([a-z]*\);.*/\1 \2/p' debian/changelog
}

# The newest version in the "Since:" comments of gst/
newest_since () {
  grep -rhoE 'Since: [0-9.]*[0-9]' gst | sed 's/Since: //' | sort -V | tail -1
}

check_versions () {
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "meson.build: the version is '$version'"
  [ "$(news_version)" = "$version" ] \
    || fail "NEWS.md begins with $(news_version), but meson.build has $version"
  [ "$(citation_version)" = "$version" ] \
    || fail "CITATION.cff has $(citation_version), but meson.build has $version"
  [[ $(package_version) =~ ^"$version "(bookworm|trixie)$ ]] \
    || fail "debian/changelog begins with $(package_version), but meson.build has $version"
  [ "$(printf '%s\n' "$(newest_since)" "$version" | sort -V | tail -1)" = "$version" ] \
    || fail "gst/ has Since: $(newest_since), but meson.build has $version"
}

set_version () {
  local maintainer changelog
  [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--set $1: a version is three numbers, as 1.2.3"
  [ "$(news_version)" = "$1" ] || fail "NEWS.md begins with $(news_version): describe $1 there first"
  maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
  sed -i "s/^\( *version: '\)$(meson_version)',/\1$1',/" meson.build
  sed -i "s/^version: .*/version: $1/" CITATION.cff
  [[ $(package_version) != "$1 "* ]] || return 0
  changelog=$(cat debian/changelog)
  cat >debian/changelog <<END
gstreamer-opencl ($1) bookworm; urgency=medium

  * Version $1: NEWS.md says what is new.

 -- $maintainer  $(date --rfc-email)

$changelog
END
}

# A tag that exists already has to be of this commit.
check_tag () {
  local tagged
  tagged=$(git rev-parse --quiet --verify "v$version^{commit}") || return 0
  [ "$tagged" = "$(git rev-parse HEAD)" ] || fail "the tag v$version is of another commit: $tagged"
}

notes () {
  echo "# gst-opencl $version"
  sed -n "/^## ${version//./\\.}\$/,/^## /{//!p}" NEWS.md
}

wrap () {
  cat <<END
# For the folder subprojects of another project, with $tarball in subprojects/packagefiles.
# dependency('gstreamer-opencl-1.0') finds the library there.
[wrap-file]
directory = gst-opencl-$version
source_filename = $tarball
source_hash = $(sha256sum "$release/$tarball" | cut -d ' ' -f 1)

[provide]
dependency_names = gstreamer-opencl-1.0
END
}

version=$(meson_version)
tested=--no-tests
case ${1:-} in
  '') ;;
  --test) tested='' ;;
  --check) check_versions && echo "$version" && exit ;;
  --set) [ $# -eq 2 ] || fail "--set VERSION"; set_version "$2" && exit ;;
  *) sed -n '6,10s/^# \?//p' "$0"; exit 2 ;;
esac
[ -z "$(git status --porcelain)" ] || fail "the checkout has changes: commit or remove them"
check_versions
check_tag
source tests/modes/common.sh
set -e

release=$root/build-release/$version tarball=gst-opencl-$version.tar.xz debian=release-bookworm
rm -rf "$root/build-release"
mkdir -p "$release"
meson setup "$root/build-release/meson" "$root" ${tested:+-Dtests=false -Dbenchmark=false} >/dev/null
meson dist -C "$root/build-release/meson" --formats xztar ${tested:+"$tested"}
mv "$root/build-release/meson/meson-dist/$tarball" "$release"

new_debian "$debian"
tar -C "$empty/$debian/root" -xf "$release/$tarball"
build_packages "$debian" "/root/gst-opencl-$version" || fail "the packages do not build"
cp "$empty/$debian"/root/built/* "$release"

[ -n "$tested" ] || { tests/run.sh --windows && tests/run.sh --arm64; } || fail "not right there"
cp "$(tests/run.sh --windows --wheel)" "$release"

notes >"$release/NEWS-$version.md"
wrap >"$release/gst-opencl.wrap"
(cd "$release" && sha256sum -- * >SHA256SUMS)
git rev-parse --quiet --verify "v$version" >/dev/null \
  || git tag --annotate --file "$release/NEWS-$version.md" --cleanup verbatim "v$version"
echo "The tag v$version, and in $release:"
cd "$release" && ls -s --block-size=kB -- *
