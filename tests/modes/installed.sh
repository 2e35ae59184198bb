#!/bin/bash
# what a user lacks after the packages, the wheel and the clone were installed in an empty Debian; RELEASE-FOLDER [SUITE…] [WAY…]
#
# An ordinary user makes a B-scan, keys a film with sound, reads words with a network and calls a
# function from NumPy.
#
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

[ -e "${1:-}/SHA256SUMS" ] || refuse "no release in '${1:-}'"
release=$(realpath "$1")
shift
suites=() ways=()
for word; do
  if [[ $word =~ ^(packages|wheel|clone)$ ]]; then
    ways+=("$word")
  else
    suites+=("$word")
  fi
done
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
[ ${#ways[@]} -gt 0 ] || ways=(packages wheel clone)
passed=0 failed=0

# check SYSTEM NAME COMMAND: as the user, whose commands begin with what is in `begin`
check () {
  local start=$SECONDS result=failed
  printf 'set -e\n%s\n%s\n' "$begin" "$3" >"$empty/$1/tmp/command"
  if within "$1" "su user -c 'cd && bash /tmp/command'"; then
    passed=$((passed + 1)) result=passed
  else
    failed=$((failed + 1)) && failures+=("FAILED: $1: $2")
  fi
  echo "$1: $2: $result after $((SECONDS - start)) seconds"
}

# install SYSTEM COMMAND: by root, and the user
install () {
  within "$1" "apt-get -q update && apt-get -qy install --no-install-recommends sudo ca-certificates \
    && update-ca-certificates && useradd --create-home --shell /bin/bash user \
    && echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/user && $2" || { failed=$((failed + 1)); return 1; }
}

packages () {
  local number=12
  [ "$2" = bookworm ] || number=13
  cp "$release"/*+deb"$number"_*.deb "$empty/$1/root"
  install "$1" 'apt-get -qy install /root/*.deb'
  begin=''
}

wheel () {
  cp "$release"/*manylinux*.whl "$empty/$1/tmp"
  install "$1" "apt-get -qy install --no-install-recommends $(wheel_needs)"
  begin=''
  check "$1" "pip install" 'python3 -m venv --system-site-packages venv && . venv/bin/activate \
    && PIP_CERT=/etc/ssl/certs/ca-certificates.crt pip install /tmp/*.whl'
  begin='. venv/bin/activate
    export GST_PLUGIN_PATH=$(python3 -m gstopencl.plugins)'
}

# Prints the packages that docs/get-started.md installs for the wheel
wheel_needs () {
  sed -n '/^sudo apt-get install python3-venv/,/[^\\]$/p' "$root/docs/get-started.md" \
    | sed 's/^sudo apt-get install//; s/\\$//' | tr '\n' ' '
}

clone () {
  cp -r "$empty/$1/checkout" "$empty/$1/tmp/clone"
  install "$1" 'mv /tmp/clone /home/user/clone && chown -R user /home/user/clone'
  begin=''
  check "$1" "demo.sh" 'cd clone && pipelines/demo.sh && ls -l out'
  begin='[ -n "$MESON_DEVENV" ] || exec meson devenv -C clone/build --workdir "$PWD" bash /tmp/command'
}

for suite in "${suites[@]}"; do
  for way in "${ways[@]}"; do
    system=installed-$way-$suite
    new_debian "$system" "$suite"
    "$way" "$system" "$suite"
    check "$system" "a B-scan" 'gst-launch-1.0 -q octtestsrc num-buffers=1 ! \
      octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! opencldownload ! pngenc ! \
      filesink location=bscan.png && [ $(wc -c <bscan.png) -gt 100000 ]'
    check "$system" "a keyed film with sound" 'gst-launch-1.0 -q webmmux name=mux ! \
      filesink location=film.webm videotestsrc num-buffers=60 pattern=ball \
      background-color=0xff20a040 ! vp8enc ! queue ! mux. \
      audiotestsrc num-buffers=87 ! vorbisenc ! queue ! mux.
      opencl-key --background ff8000 --output keyed.webm film.webm
      grep -aq A_VORBIS keyed.webm || grep -aq A_OPUS keyed.webm'
    check "$system" "words as JSON" 'gst-launch-1.0 -q octtestsrc num-buffers=1 ! octsignal ! \
      opencldownload ! videoconvert ! pngenc ! filesink location=plot.png
      export PIP_CERT=/etc/ssl/certs/ca-certificates.crt
      opencl-detect --network text plot.png | tee found.json && grep -qi "spectrum" found.json'
    check "$system" "a NumPy call" "python3 -c 'import gstopencl; \
      print (gstopencl.run (\"sqrt (x*x + y*y)\", x=[3., 5.], y=[4., 12.]))' | tee call \
      && grep -qF '[ 5. 13.]' call"
    check "$system" "programs" 'for name in oct-calibrate oct-process opencl-detect opencl-devices \
      opencl-key opencl-view; do $name --help >/dev/null && $name --version; done'
  done
done
conclude "$passed" "$failed"
