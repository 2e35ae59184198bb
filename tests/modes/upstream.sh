#!/bin/bash
# what GStreamer's own tests of compositor find in openclcompositor; [TEST…]
#
# Their source is Debian's source package of the installed version, fetched into the build
# folder by an apt of its own: neither /etc nor the system's lists are touched, and nothing
# of it is kept in the project. tests/upstream/compositor.txt names what need not pass.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need apt-get apt
need dpkg-source dpkg-dev
build_or_refuse all
folder=$build/upstream
modules=(gstreamer-check-1.0 gstreamer-video-1.0)
shim=$root/tests/upstream/compositor.cpp
not_ours=$root/tests/upstream/compositor.txt

# with_own_lists PROGRAM ARGUMENT…: of apt's, which knows of sources alone
with_own_lists () {
  local program=$1
  shift
  "$program" -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@"
}

# The installed version, or else another of the same release of GStreamer's: Debian keeps no
# old ones
fetch_source () {
  local package=gst-plugins-base1.0 installed version mirror="http://deb.debian.org"
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg suite
  # shellcheck disable=SC2016  # dpkg-query's own
  installed=$(dpkg-query --show --showformat='${source:Version}' libgstreamer-plugins-base1.0-0) \
    || refuse "libgstreamer-plugins-base1.0-0 is not Debian's here: whose source is it to be?"
  release=${installed%-*}
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  [ ! -e "$folder/source-$release" ] || return 0
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  echo "deb-src [signed-by=$keys] $mirror/debian $suite main
deb-src [signed-by=$keys] $mirror/debian $suite-updates main
deb-src [signed-by=$keys] $mirror/debian-security $suite-security main" >"$folder/sources.list"
  with_own_lists apt-get --error-on=any update >"$folder/apt.log" 2>&1 \
    || { cat "$folder/apt.log" >&2; refuse "$mirror gives no list of sources: no network?"; }
  cd "$folder" || exit 1
  for version in "$installed" $(with_own_lists apt-cache showsrc "$package" \
    | sed -n "s/^Version: \(${release//./\\.}-.*\)/\1/p"); do
    with_own_lists apt-get source --download-only "$package=$version" >>apt.log 2>&1 || continue
    rm -rf unpacked
    dpkg-source --extract "${package}_${version#*:}.dsc" unpacked >>apt.log || continue
    mv unpacked "source-$release"
    echo "$package $version, of which $installed is installed"
    return
  done
  cat apt.log >&2
  refuse "$package $installed is not to be had from $mirror"
}

# Upstream's test as it is, and each call that the shim has a __wrap_ of goes there.
build_test () {
  local flags libraries wraps
  read -ra flags < <(pkg-config --cflags "${modules[@]}")
  read -ra libraries < <(pkg-config --libs "${modules[@]}")
  mapfile -t wraps < <(grep -o '__wrap_gst[a-z_]*' "$shim" | sort -u | sed 's/__wrap_/-Wl,--wrap=/')
  { cc -w -O1 -g "${flags[@]}" -c "$source" -o "$folder/compositor.o" \
    && c++ -std=c++17 -Wall -Wextra -Werror -O1 -g "${flags[@]}" -c "$shim" -o "$folder/shim.o" \
    && c++ "$folder/compositor.o" "$folder/shim.o" "${wraps[@]}" "${libraries[@]}" \
      -o "$folder/compositor"; } || refuse "Upstream's test does not build."
}

run_test () {
  GST_CHECKS=$1 CK_DEFAULT_TIMEOUT=120 in_build "$folder/compositor" >"$folder/$1.log" 2>&1
}

fetch_source
source=$folder/source-$release/tests/check/elements/compositor.c
[ -e "$source" ] || refuse "upstream's source has no tests/check/elements/compositor.c"
build_test
[ $# -gt 0 ] \
  || mapfile -t -O 1 all < <(sed -n 's/.*tcase_add_test (.*, \(test_[a-z0-9_]*\)).*/\1/p' "$source")
[ $# -gt 0 ] || set -- "${all[@]}"
passed=0 failed=0 needless=0
for name in "$@"; do
  reason=$(sed -n "s/^$name: //p" "$not_ours")
  if run_test "$name"; then
    passed=$((passed + 1))
    [ -z "$reason" ] || { echo "$name passes: delete its line"; failed=$((failed + 1)); }
  elif [ -n "$reason" ]; then
    needless=$((needless + 1))
  else
    grep -E ':[EF]:|CRITICAL' "$folder/$name.log"
    echo "$name: see $folder/$name.log"
    failed=$((failed + 1))
  fi
done
echo "$needless need not pass: ${not_ours#"$root/"}"
conclude "$passed" "$failed"
