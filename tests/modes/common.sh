# Functions of tests/run.sh and its modes, which source it. A mode is an executable file
# tests/modes/MODE.sh: its second line says in a few words what it finds, and it ends with
# `conclude`.
#
# shellcheck shell=bash disable=SC1091,SC2154
#
# SPDX-License-Identifier: LGPL-2.1-or-later

modes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$modes/../../pipelines/setup.sh"
packages+=("${document_packages[@]}" "${test_packages[@]}")
verbose=yes # a log of continuous integration has what was installed and built
# Files that modes fetch stay here for the next run. Remove the folder to fetch newer ones.
export GST_OPENCL_DOWNLOADS=${GST_OPENCL_DOWNLOADS:-${XDG_CACHE_HOME:-$HOME/.cache}/gst-opencl}
cache=$GST_OPENCL_DOWNLOADS
# ccache keeps nothing that is compiled with a precompiled header.
for_ccache=()
! command -v ccache >/dev/null || for_ccache=(-Db_pch=false)
# shellcheck disable=SC2034  # used by those that source this
strict="--werror ${for_ccache[*]}"

# conclude PASSED FAILED: prints the failures of all commands that were added up, and the last
# line, and ends; nothing run is a failure
conclude () {
  [ ${#failures[@]} -eq 0 ] || printf '%s\n' "${failures[@]}"
  [ $(($1 + $2)) -gt 0 ] || set -- 0 1
  echo "$1 passed, $2 failed"
  [ "$2" -eq 0 ]
  exit
}

# refuse WHY: nothing could be tested
refuse () {
  echo "$1" >&2
  conclude 0 1
}

# need PROGRAM PACKAGE: installs the package where its program is missing. Without its tool a mode
# fails; it does not skip.
need () {
  command -v "$1" >/dev/null && return
  (packages=("$2") && install_missing </dev/null) >&2
  command -v "$1" >/dev/null || refuse "$1 is missing: install $2"
}

# install_or_refuse: what a bare machine lacks; names all of it where it must not be installed
install_or_refuse () {
  local status=0
  { install_missing || status=1; install_readers || status=1; } </dev/null
  [ $status -eq 0 ] || refuse "Packages are missing."
}

# build_or_refuse TARGET, with what a bare machine lacks
build_or_refuse () {
  install_or_refuse
  build "$1" </dev/null || refuse "The build failed."
}

# build_beside NAME TARGET [OPTION…]: in a folder of its own beside the suite's, set up with
# these options of meson's
build_beside () {
  local target=$2
  build=${GST_OPENCL_BUILD:-$root/build}-$1
  shift 2
  install_or_refuse
  [ -e "$build/build.ninja" ] || meson setup "$build" "$root" "${for_ccache[@]}" "$@" </dev/null \
    || refuse "The build failed."
  ninja -C "$build" "$target" </dev/null || refuse "The build failed."
}

# add_up COMMAND…: adds the numbers of its last line to `passed` and `failed`, and its lines that
# begin with "FAILED: " to `failures`
failures=()
add_up () {
  local said result good bad
  said=$("$@" | tee >(cat >&2) | { grep -E '^FAILED: |^[0-9]+ passed, [0-9]+ failed$' || true; })
  result=$(tail -1 <<<"$said")
  [[ $result =~ ^[0-9]+\ passed ]] || result="0 passed, 1 failed" said="FAILED: no result: $*"
  mapfile -t -O ${#failures[@]} failures < <(grep '^FAILED: ' <<<"$said")
  read -r good _ bad _ <<<"$result"
  passed=$((passed + good))
  failed=$((failed + bad))
}

# scan_plugins_within: GStreamer's own scanner of plugins cannot load those with a sanitizer,
# and would remember that. Those of others it knows before, as not all of them stand one.
scan_plugins_within () {
  local registry=$build/tests/check/registry.bin
  rm -f "$registry"
  mkdir -p "${registry%/*}"
  GST_PLUGIN_PATH='' GST_REGISTRY=$registry gst-inspect-1.0 >/dev/null
  cp "$registry" "$build/tests/registry.bin"
  export GST_REGISTRY_FORK=no
}

# build_with_asan: with AddressSanitizer and UBSan, and sets what programs of that build need
build_with_asan () {
  # An enumeration's range: GST_MAP_OPENCL is the next flag, as GST_MAP_GL is. The type of a virtual
  # class: the library does not export it to tests.
  build_beside asan all -Db_sanitize=address,undefined -Dbenchmark=false -Doptimization=1 \
    -Dc_args=-fno-sanitize=enum -Dcpp_args=-fno-sanitize=enum,vptr
  scan_plugins_within
  # --valgrind and --leaks find leaks. PoCL's compiler leaks much, and separating its leaks from
  # ours takes minutes for each program.
  # And clFFT deletes its plans by the size of their base class.
  export ASAN_OPTIONS=detect_leaks=0:new_delete_type_mismatch=0:detect_stack_use_after_return=1:strict_string_checks=1
  # LLVM, in PoCL, replaces the stack for signals that the sanitizer would free.
  ASAN_OPTIONS+=:use_sigaltstack=0
  export UBSAN_OPTIONS=suppressions=$root/tests/sanitizers/ubsan.supp:halt_on_error=1:print_stacktrace=1
}

# in_build COMMAND…: with the plugins, and their library, as they are built
in_build () {
  meson devenv -C "$build" --workdir "$PWD" env GST_REGISTRY="$build/tests/registry.bin" "$@"
}

# run_tests [OPTION…] [NAME…]: of meson; concludes with how many of them passed
run_tests () {
  local logs=$build/meson-logs
  rm -f "$logs"/testlog*.json
  # Each of them has as many threads as there are cores.
  meson test -C "$build" --no-rebuild --num-processes 2 --print-errorlogs "$@" </dev/null
  # one log, of a name that a wrapper changes
  python3 "$root/tests/count.py" "$logs"/testlog*.json "$build/tools/opencl-devices"
  exit
}

# list_tests [COMMAND]: names of the suite's tests, or of those whose command begins so
list_tests () {
  meson introspect --tests "$build" | python3 -c '
import json, sys
print(*(test["name"] for test in json.load(sys.stdin)
        if test["cmd"][0].startswith(sys.argv[1]) and not any(":all" in name for name in test["suite"])),
      sep="\n")' "${1:-}"
}

# run_slowly FACTOR [TEST…]: under a sanitizer; without names, programs of the build that do all that
# the others do, but for those that take minutes to do it with more frames and sizes
run_slowly () {
  local factor=$1 programs
  shift
  mapfile -t programs < <(list_tests "$build/" | grep -vE "$left_out_slowly")
  [ $# -gt 0 ] || set -- "${programs[@]}"
  export CK_TIMEOUT_MULTIPLIER=$factor
  run_tests --timeout-multiplier "$factor" "$@"
}
left_out_slowly='^pipelines_(oct_data|steady_|oct_chain|no_round_trip|profile)|^libs_fft'
left_out_slowly+='|_copying$|^elements_(openclconvert|keychain|octfft|octwindowinterp)|^faults'

# A Debian with nothing installed, as root only can make one

empty=${GST_OPENCL_BUILD:-$root/build}-empty

# new_debian NAME [SUITE]: another one (Debian 12 without a suite's name), with a clone of this
# checkout in its /checkout; it trusts whom this machine trusts. Where this machine has ccache, it
# has one too.
new_debian () {
  local suite=${2:-bookworm} trusted=/usr/local/share/ca-certificates more=''
  command -v ccache >/dev/null && more=ccache
  local folder=$empty/$1 base=$cache/debian/$suite${more:+-$more}
  [[ $suite =~ ^[a-z]+$ ]] || refuse "$suite is no suite of Debian: expected bookworm or trixie"
  need debootstrap debootstrap
  need unshare util-linux
  [ "$(id -u)" -eq 0 ] || refuse "An empty Debian is made by root."
  mkdir -p "$empty" "$cache/debian/packages" "$cache/debian/ccache"
  [ -e "$base" ] || { debootstrap --variant=minbase ${more:+--include=$more} "$suite" "$base-$$" \
    && mv "$base-$$" "$base"; } </dev/null >&2 || { rm -rf "$base-$$"; refuse "debootstrap failed."; }
  { rm -rf "$folder" && cp -a "$base" "$folder" \
    && cp /etc/resolv.conf "$folder/etc/resolv.conf" \
    && { [ ! -d "$trusted" ] || cp -r "$trusted" "$folder/usr/local/share"; } \
    && { [ "$suite" != sid ] \
      || echo 'Acquire::Check-Valid-Until "false";' >"$folder/etc/apt/apt.conf.d/mirror"; } \
    && cp -r "$cache/debian/packages/." "$folder/var/cache/apt/archives" \
    && mkdir -p "$folder/root/.cache/ccache" \
    && echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/no-fsync" \
    && git clone --quiet "$root" "$folder/checkout"; } || refuse "No room for $folder?"
}

# within NAME COMMAND: of bash, in that Debian; its processes and mounts end with it. PoCL asks
# /sys what the machine has. Packages that it fetches, and what it compiles, are kept.
within () {
  local status=0
  # shellcheck disable=SC2016  # $0 is that of this bash
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" \
      && mount --rbind /sys "$0/sys" && mount --bind "$2" "$0/root/.cache/ccache" \
      && exec chroot "$0" env -i \
      HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime bash -c "$1"' \
    "$empty/$1" "$2" "$cache/debian/ccache" </dev/null || status=$?
  cp -n "$empty/$1"/var/cache/apt/archives/*.deb "$cache/debian/packages" 2>/dev/null
  return $status
}

# build_packages NAME SOURCE: Debian packages of a folder in that Debian, into /root/built there
build_packages () {
  within "$1" "apt-get -q update && apt-get -qy install --no-install-recommends build-essential \
    && apt-get -qy build-dep --no-install-recommends $2 && cp -r $2 /root/source \
    && cd /root/source && dpkg-buildpackage -us -uc -b \
    && mkdir /root/built && mv ../*.deb ../*.changes ../*.buildinfo /root/built"
}

# lint_packages NAME: those that build_packages made in that Debian; without debug symbols after.
# Debian 12 does not know a tag that Debian 13's overrides need (alien-tag).
lint_packages () {
  within "$1" 'apt-get -qy install --no-install-recommends lintian && useradd lint && cd / \
    && cp -r /root/built /tmp/lint && chown -R lint /tmp/lint \
    && su lint -c "lintian --suppress-tags alien-tag --fail-on error,warning /tmp/lint/*.changes" \
    && rm -f /root/built/*-dbgsym_*.deb'
}
