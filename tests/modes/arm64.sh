#!/bin/bash
# a build for arm64 in QEMU that differs from this machine's; [NAME…]: elements, pipelines, programs
#
# Builds with Debian's cross compiler and arm64 packages, which it unpacks into the user's cache.
# The device is that of PoCL for arm64, whose compiler runs in QEMU, too. Without names a part of
# the pipelines runs, and the tests of arithmetic in a part of the check programs.
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

names=(opencl-devices
  'oct[a-z]*' 'opencl[a-z]*' chromakey flowkey splashkey greenscreenbin keyfill 'matte*' noisereduce 'npy*'
  oct oct-512 oct-16 oct-levels oct-floats oct-nufft display doppler angiogram-aligned rendered
  key-run flow-all chroma difference filmed-nv12 from-planes to-planes enlarged composed
  convolved convolved-spectra layer layer-winograd expression
  elements_{octwindowinterp,octfft,octdoppler,chromakey,noisereduce,flowkey}
  elements_opencl{convert,kernel,reduce})
tests=(test_octwindowinterp_{takes,multiplies,resamples,subtracts,compensates,linear}_'*'
  test_octfft_{gives,linear,takes,pixels,display_range_goes,silence,mirror,both,what}_'*'
  test_octdoppler_'*' test_chromakey_{distance_is,soft,core_closes,linear_measures,spill_is}_'*'
  test_{noisereduce,flowkey}_is_its_rule_{at,in}_'*' test_convert_{makes,scales,gives,is_right_for_every_c}'*'
  test_{expressions,arguments,arrays,indices,integers,rounding,infinite}_'*')

need unshare util-linux
need qemu-aarch64-static qemu-user-static
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
build_or_refuse all
native=$build
in_qemu=(/usr/bin/python3 "$root/tests/drivers/fetch.py" arm64 "$cache")
"${in_qemu[@]}" || refuse "No arm64 packages."
"${in_qemu[@]}" gst-launch-1.0 --version >/dev/null \
  || refuse "QEMU is not registered for arm64: install binfmt-support, or use Linux 6.7 or newer."
printf "[constants]\nroot = '%s'\n" "$cache/arm64/root" >"$cache/arm64/root.ini"
# The scanner of introspection would start programs of the build, which run in QEMU only.
PATH=/usr/lib/ccache:$PATH build_beside arm64 all --cross-file "$cache/arm64/root.ini" \
  --cross-file "$root/tests/drivers/arm64.ini" -Ddebug=false -Dintrospection=disabled
other=$build build=$native
plugins=("$other"/gst/*/libgst*opencl.so)

[ $# -gt 0 ] || { GST_CHECKS=$(IFS=, && echo "${tests[*]}") && export GST_CHECKS; }
[ $# -gt 0 ] || set -- "${names[@]}"
export CK_TIMEOUT_MULTIPLIER=6 # compiling a kernel takes 20 times as long
passed=0 failed=0
add_up in_build /usr/bin/python3 "$root/tests/drivers/systems.py" "${@/#/--only=}" \
  "$native" "$other/tests/check" gst-inspect-1.0 gst-launch-1.0 "$other/tools/opencl-devices" \
  env GST_PLUGIN_PATH="$(printf '%s:' "${plugins[@]%/*}")" "${in_qemu[@]}"
conclude "$passed" "$failed"
