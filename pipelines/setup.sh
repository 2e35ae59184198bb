# What a bare Debian 12 lacks, and how to build: shared by demo.sh and tests/run.sh, which
# source it.
#
# shellcheck shell=bash
#
# SPDX-License-Identifier: LGPL-2.1-or-later

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GST_OPENCL_BUILD:-$root/build} # where that is set, it is whole already
# GST_OPENCL_SETUP: an option for `meson setup`, such as --werror

# What every pipeline takes; who needs more adds it before install_missing
packages=(
  # the build
  build-essential meson ninja-build pkg-config libglib2.0-dev-bin libgirepository1.0-dev
  # GStreamer, its headers and the elements that pipelines, demos and tests link with
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools
  gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-x
  # OpenCL, its Fourier transforms and matrix products, and the device of a machine without
  # a GPU
  ocl-icd-opencl-dev opencl-c-headers opencl-clhpp-headers libclfft-dev libvkfft-dev
  libclblast-dev pocl-opencl-icd
  # weights and tables that are made up
  python3 python3-numpy
)
# films of any kind
# shellcheck disable=SC2034  # used by those that source this
film_packages=(gstreamer1.0-plugins-bad)
# windows with something to turn, of opencl-view and oct-live.sh, and cameras in these
# shellcheck disable=SC2034
window_packages=(
  python3-gi gir1.2-gst-plugins-base-1.0 gir1.2-gtk-3.0 gstreamer1.0-gtk3 libaravis-0.8-0
)
# the tests
# shellcheck disable=SC2034
test_packages=(
  "${film_packages[@]}" "${window_packages[@]}"
  # a screen for windows, and an OpenGL for a machine without a GPU
  xvfb x11-utils gstreamer1.0-gl libgl1-mesa-dri
  # what opencl-bench compares with; with ffmpeg too, where somebody has installed it
  libfftw3-dev
  # the reference that some tests compare with, and checks of the sources themselves
  python3-nibabel python3-pip librandom123-dev clang-format shellcheck
  # what the examples in docs/examples are for, and pipelines/reprocess.py
  cmake python3-pyopencl python3-distributed
  # the reference: meson compile docs
  gi-docgen
)

missing_packages () {
  local package
  for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null \
      | grep -qx installed || echo "$package"
  done
}

as_root () {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "not root and no sudo here; run this as root: $*" >&2
    return 1
  fi
}

# A build that was set up without what is installed now looks for it again.
install_missing () {
  local missing
  [ -z "${GST_OPENCL_BUILD:-}" ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "No apt-get here: what is needed goes by these names in Debian: ${packages[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "Installing ${missing[*]}" >&2
  as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "${missing[@]}" || return 1
  [ ! -e "$build/build.ninja" ] \
    || { meson configure --clearcache "$build" && meson setup --reconfigure "$build" "$root"; }
}

# What tests read files with and Debian has no package of
install_readers () {
  local folder=$build/tests/python
  [ -z "${GST_OPENCL_BUILD:-}" ] && [ ! -e "$folder/SimpleITK" ] || return 0
  /usr/bin/python3 -m pip install --quiet --upgrade --no-deps --target "$folder" pynrrd==1.1.3 \
    typing_extensions==4.12.2 simpleitk==2.5.7
}

# build TARGET: `plugins` is what a pipeline runs, `all` the tests and opencl-bench as well.
# What a debugger needs is left out, which a third of the time would go into.
build () {
  [ -z "${GST_OPENCL_BUILD:-}" ] || return 0
  { [ -e "$build/build.ninja" ] \
    || meson setup -Ddebug=false "$build" "$root" ${GST_OPENCL_SETUP:+"$GST_OPENCL_SETUP"}; } \
    && ninja -C "$build" "$1"
}
