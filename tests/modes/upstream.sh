#!/bin/bash
# what GStreamer's own tests of compositor, videoconvert and videoscale find in ours; [TEST…]
#
# Their source is Debian's source package of the installed version, fetched into the build
# folder by an apt of its own: neither /etc nor the system's lists are touched, and nothing
# of it is kept in the project. tests/upstream/PROGRAM.txt names what need not pass.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

need apt-get apt
need dpkg-source dpkg-dev
build_or_refuse all
folder=$build/upstream
modules=(gstreamer-check-1.0 gstreamer-video-1.0 gstreamer-rtp-1.0)
# program, shim, options of the compiler: upstream builds videoscale.c seven times
programs=("compositor compositor" "videoconvert videoconvertscale" "videoscale videoconvertscale")
for group in 1 2 3 4 5 6; do
  programs+=("videoscale videoconvertscale -DVSCALE_TEST_GROUP=$group")
done

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

# build_test PROGRAM SHIM [OPTION…]: upstream's test as it is, as the program `at`; each call that
# the shim has a __wrap_ of goes there
build_test () {
  local source=$tests/$1.c shim=$root/tests/upstream/$2.cpp flags libraries wraps
  at=$folder/$1${3:+-${3#*=}}
  [ -e "$source" ] || refuse "Upstream's source has no tests/check/elements/$1.c."
  read -ra flags < <(pkg-config --cflags "${modules[@]}")
  read -ra libraries < <(pkg-config --libs "${modules[@]}")
  mapfile -t wraps < <(grep -o '__wrap_g[a-z_]*' "$shim" | sort -u | sed 's/__wrap_/-Wl,--wrap=/')
  { cc -w -O1 -g "${@:3}" "${flags[@]}" -c "$source" -o "$at.o" \
    && c++ -std=c++17 -Wall -Wextra -Werror -O1 -g "${flags[@]}" -c "$shim" -o "$at-shim.o" \
    && c++ "$at.o" "$at-shim.o" "${wraps[@]}" "${libraries[@]}" -o "$at"; } \
    || refuse "Upstream's test does not build."
}

# tests_in PROGRAM: those of its source that the program `at` has
tests_in () {
  comm -12 <(nm "$at.o" | sed -n 's/.* t \(test_[a-z0-9_]*\)$/\1/p' | sort -u) \
    <(sed -n 's/.*tcase_add_test (.*, \(test_[a-z0-9_]*\)).*/\1/p' "$tests/$1.c" | sort -u)
}

run_test () {
  GST_CHECKS=$1 CK_DEFAULT_TIMEOUT=600 in_build "$at" >"$at-$1.log" 2>&1
}

# check_test PROGRAM TEST: counts it
check_test () {
  local reason
  reason=$(sed -n "s/^$2: //p" "$root/tests/upstream/$1.txt")
  if run_test "$2"; then
    passed=$((passed + 1))
    [ -z "$reason" ] || { echo "$1 $2 passes: delete its line"; failed=$((failed + 1)); }
  elif [ -n "$reason" ]; then
    needless=$((needless + 1))
  else
    grep -aE ':[EF]:|CRITICAL' "$at-$2.log"
    echo "$1 $2: see $at-$2.log"
    failed=$((failed + 1))
  fi
}

fetch_source
tests=$folder/source-$release/tests/check/elements
passed=0 failed=0 needless=0
for row in "${programs[@]}"; do
  read -ra of <<<"$row"
  build_test "${of[@]}"
  for name in $(tests_in "${of[0]}"); do
    if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
      check_test "${of[0]}" "$name"
    fi
  done
done
echo "$needless need not pass: tests/upstream/*.txt"
conclude "$passed" "$failed"
