# Installs what a bare Debian 12 or 13 lacks, and builds. Other scripts source it.
#
# shellcheck shell=bash
#
# SPDX-License-Identifier: LGPL-2.1-or-later

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GST_OPENCL_BUILD:-$root/build} # where that is set, it is whole already
# GST_OPENCL_SETUP: options for `meson setup`, such as --werror
# GST_OPENCL_NO_INSTALL: not empty, as --no-install
no_install=${GST_OPENCL_NO_INSTALL:-}
verbose=''

# Packages that demo.sh builds with and runs, and the windows; who needs more adds it before
# install_missing
packages=(
  # the build
  g++ meson ninja-build pkg-config libgirepository1.0-dev libgstreamer-plugins-base1.0-dev
  libzip-dev libcairo2-dev
  # OpenCL, its Fourier transforms, and the device of a machine without a GPU
  ocl-icd-opencl-dev opencl-clhpp-headers libvkfft-dev pocl-opencl-icd
  # elements that pipelines link with
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  # Python, generated weights and tables, pictures that opencl-key reads, networks from PyPI
  python3-gi gir1.2-gst-plugins-base-1.0 python3-numpy python3-pil python3-pip
  # windows of opencl-view
  python3-gi-cairo gir1.2-gtk-3.0 gstreamer1.0-gtk3
)
# Packages that the commands of the documents also need
# shellcheck disable=SC2034  # used by those that source this
document_packages=(
  # windows of gst-launch-1.0, more formats of films, cameras
  gstreamer1.0-x gstreamer1.0-gl gstreamer1.0-plugins-bad libaravis-0.8-0
  # memory that the device and OpenGL share, and clFFT
  libvulkan-dev libclfft-dev
  # opencl-bench: matrix products to compare with, and earlier results
  libclblast-dev libjson-glib-dev
  # oct-process
  python3-distributed python3-cryptography
)
# the tests
# shellcheck disable=SC2034  # used by those that source this
test_packages=(
  # a C compiler, the checkout's list of files, a screen for windows, and OpenGL and Vulkan for a
  # machine without a GPU
  build-essential git xvfb x11-utils libgl1-mesa-dri mesa-vulkan-drivers
  # checks of the files with which a desktop lists opencl-view
  appstream desktop-file-utils
  # libraries that opencl-bench compares with; ffmpeg too, if it is installed
  libfftw3-dev
  # poclcc, which compiles programs for PoCL
  libpocl-dev
  # a simulated camera
  aravis-tools aravis-tools-cli
  # formats of oct-process
  python3-h5py python3-tifffile python3-zarr
  # the reference that some tests compare with, and checks of the sources themselves
  python3-nibabel librandom123-dev clang-format shellcheck
  # what the examples in docs/examples are for
  cmake python3-pyopencl python3-gst-1.0 gir1.2-ges-1.0
  # the reference: meson compile docs
  gi-docgen
)
# Python packages that tests read files with and Debian does not have
readers=(pynrrd==1.1.3 typing_extensions==4.12.2 simpleitk==2.5.7)

# take_switch WORD: takes an option that all scripts have, or fails
take_switch () {
  case $1 in
    --no-install) export GST_OPENCL_NO_INSTALL=yes && no_install=yes ;;
    --verbose) verbose=--verbose ;;
    *) return 1 ;;
  esac
}

explain_switches () {
  cat <<END
  --no-install            names packages that are missing and fails, instead of installing them
  --verbose               shows pipelines, and the output of the installation and of the build
  --help
END
}

# step WORD…: prints one line about what happens next
step () {
  printf '%s\n' "$*" >&2
}

# progress: shows how far apt-get or ninja is, whose output it reads: in one line of a terminal,
# else a line for every ten percent
progress () {
  local line count=0 all=0 percent shown=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      count=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    elif [[ $line =~ ([0-9]+)\ newly\ installed ]]; then
      count=0 all=$((3 * BASH_REMATCH[1])) # each is fetched, unpacked and set up
    elif [[ $line =~ ^(Get:|Unpacking |Setting up ) ]]; then
      count=$((count + 1))
    fi
    [ "$all" -gt 0 ] || continue
    percent=$((100 * count / all))
    if [ -t 2 ]; then
      printf '\r\033[K%4d %%  %.70s' "$percent" "$line" >&2
    elif [ "$percent" -ge $((shown + 10)) ]; then
      shown=$((percent / 10 * 10))
      step "$(printf '%4d %%' "$shown")"
    fi
  done
  [ "$all" -eq 0 ] || [ ! -t 2 ] || step ''
}

# quietly COMMAND…: shows how far it is; its output goes to a log, which is shown where it fails
quietly () {
  local status=0 log=$build/setup.log
  if [ -n "$verbose" ]; then
    "$@"
    return
  fi
  mkdir -p "$build"
  (set -o pipefail && "$@" 2>&1 | tee "$log" | progress) || status=$?
  [ $status -eq 0 ] || { tail -n 40 "$log" && echo "All of it: $log"; } >&2
  return $status
}

# install_by COMMAND WHAT NAME…: names what is missing and the command for it, then runs that
# unless --no-install was given. It asks nothing, so that it also runs unattended.
install_by () {
  local command=$1 what=$2
  shift 2
  if [ -n "$no_install" ]; then
    step "$# $what are missing. This command installs them:"
  else
    step "$# $what are missing. Installing them (--no-install only names them):"
  fi
  fold --spaces --width=90 <<<"$command $*" | sed 's/^/    /; $!s/ *$/ \\/' >&2
  [ -z "$no_install" ] && quietly env LC_ALL=C.UTF-8 bash -c "$command $*"
}

missing_packages () {
  local package
  for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null \
      | grep -qx installed || echo "$package"
  done
}

# A build that was set up without what is installed now looks for it again.
install_missing () {
  local missing sudo=''
  [ -z "${GST_OPENCL_BUILD:-}" ] || return 0
  if ! command -v apt-get >/dev/null; then
    step "No apt-get here: what is needed goes by these names in Debian 12 and 13:"
    fold --spaces --width=90 <<<"${packages[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  [[ $(. /etc/os-release && echo "${ID:-}${VERSION_ID:-}") =~ ^debian1[23]$ ]] \
    || step "Tried on Debian 12 and 13 only: packages may have other names here."
  if [ "$(id -u)" -ne 0 ]; then
    sudo='sudo '
    command -v sudo >/dev/null || {
      step "Neither root nor sudo here: root has to install packages."
      no_install=yes sudo=''
    }
  fi
  install_by "${sudo}apt-get update && ${sudo}env DEBIAN_FRONTEND=noninteractive \
apt-get install --yes --no-install-recommends" "Debian packages" "${missing[@]}" || return 1
  [ ! -e "$build/build.ninja" ] \
    || { quietly meson configure --clearcache "$build" \
      && quietly meson setup --reconfigure "$build" "$root"; }
}

install_readers () {
  local folder=$build/tests/python
  [ -z "${GST_OPENCL_BUILD:-}" ] && [ ! -e "$folder/SimpleITK" ] || return 0
  install_by "/usr/bin/python3 -m pip install --quiet --upgrade --no-deps \
--target $(printf %q "$folder")" "Python packages" "${readers[@]}"
}

# build TARGET: `runtime` is what pipelines and programs run, `all` opencl-bench and tests as well. What a
# debugger needs is left out, which a third of the time would go into.
build () {
  [ -z "${GST_OPENCL_BUILD:-}" ] || return 0
  if [ -e "$build/build.ninja" ]; then
    ninja -C "$build" -n "$1" 2>&1 | grep -q 'no work to do' && return
    step "Building in $build"
  else
    step "Building in $build: some minutes the first time"
    # shellcheck disable=SC2086  # words
    quietly meson setup -Ddebug=false "$build" "$root" ${GST_OPENCL_SETUP:-} || return 1
  fi
  quietly ninja -C "$build" "$1"
}
