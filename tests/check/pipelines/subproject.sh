#!/bin/bash
# Promise: another project of Meson's can build with this one as its subproject, by the name
# that pkg-config knows it by, and include the headers as they are installed. Takes
# docs/examples for that project.
#
# Usage: subproject.sh MESON SOURCE-FOLDER [--link]
#   --link also builds the library, the plugins and the examples, and runs one of them
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
meson=$1
root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quietly COMMAND…: runs a command and prints its output only if it fails
quietly () {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "$* failed"; exit 1; }
}

cp -r "$root/docs/examples" "$work/project"
mkdir "$work/project/subprojects"
ln -s "$root" "$work/project/subprojects/gst-opencl"
cp "$root/docs/examples/gst-opencl.wrap" "$work/project/subprojects"

# An installed library must not replace the subproject.
quietly "$meson" setup --werror --wrap-mode=forcefallback -Dgst-opencl:introspection=disabled \
  "$work/build" "$work/project"
grep -q "gstreamer-opencl-1.0 found: YES .*overridden" "$work/log" \
  || { cat "$work/log"; echo "the dependency is not the subproject's"; exit 1; }
if [ "${3:-}" = --link ]; then
  quietly ninja -C "$work/build"
  unset GST_PLUGIN_PATH LD_LIBRARY_PATH
  quietly "$meson" devenv -C "$work/build" env GST_REGISTRY="$work/registry.bin" ./own-context
  grep -qx "the mirror is at depth bin 100" "$work/log" || { cat "$work/log"; exit 1; }
else
  mapfile -t objects < <(ninja -C "$work/build" -t targets all \
    | sed -n 's/^\([a-z][^/]*\.p\/.*\.o\): .*/\1/p')
  [ ${#objects[@]} -ge 6 ] || { echo "${#objects[@]} files to compile"; exit 1; }
  quietly ninja -C "$work/build" "${objects[@]}"
fi
echo "the examples build with the library as a subproject"
