#!/bin/bash
# Promise: tools/release.sh refuses a checkout that has changes, whose files disagree on the version,
# or whose tag is of another commit, and names the reason; --set sets the version in all files.
#
# Usage: release.sh SOURCE-FOLDER
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1"/{meson.build,NEWS.md,debian,gst,tools} "$work"
cd "$work"
git init --quiet
git config user.name tester
git config user.email tester@localhost

commit () {
  git add --all
  git commit --quiet --message "$1"
}

fail () {
  echo "$1"
  [ ! -e log ] || cat log
  exit 1
}

# refuses EXPECTED [OPTION…]: release.sh fails with this message and creates nothing
refuses () {
  local expected=$1
  shift
  if tools/release.sh "$@" >log 2>&1; then
    fail "release.sh $* makes a release where it should say: $expected"
  fi
  grep -q "$expected" log || fail "release.sh $* does not say: $expected"
  [ ! -e build-release ] || fail "release.sh $* made something"
  git checkout --quiet .
}

# agrees VERSION: all files have this version, as Meson and dpkg read them
agrees () {
  [ "$(tools/release.sh --check)" = "$1" ] || fail "the files do not agree on $1"
  [ "$(meson introspect --projectinfo meson.build 2>/dev/null | sed 's/.*"version": "\([^"]*\)".*/\1/')" = "$1" ] \
    || fail "meson.build has another version than $1"
  [ "$(dpkg-parsechangelog --show-field Version)" = "$1" ] \
    || fail "debian/changelog has another version than $1"
}

echo log >.gitignore
newest=$(sed -n '0,/^## /s/^## //p' NEWS.md)
commit "$newest"
agrees "$newest"

echo >>NEWS.md
refuses "the checkout has changes" "$newest"
sed -i '0,/^## /s/^## .*/## 9.8.7/' NEWS.md
refuses "NEWS.md begins with 9.8.7" --check
sed -i '1s/(.*)/(9.8.7)/' debian/changelog
refuses "debian/changelog begins with 9.8.7" --check
sed -i '1s/) [a-z]*;/) UNRELEASED;/' debian/changelog
refuses "debian/changelog begins with" --check
sed -i 's/Since: .*/Since: 9.8/' gst/opencl/gstopenclkernel.h
refuses "Since: 9.8" --check
refuses "describe 9.8.7 there first" --set 9.8.7
refuses "three numbers" --set 9.8
refuses "meson.build has version $newest" 9.8.7
refuses "tools/release.sh VERSION"

sed -i '0,/^## /s/^## /## 9.8.7\n\n- A change\n\n## /' NEWS.md
tools/release.sh --set 9.8.7
agrees 9.8.7
git tag v9.8.7
commit 9.8.7
refuses "the tag v9.8.7 is of another commit" 9.8.7
echo "release.sh refuses what does not agree"
