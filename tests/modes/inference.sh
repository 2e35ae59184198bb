#!/bin/bash
# networks whose results differ from onnx's own tests, onnxruntime or PyTorch, also in half precision; [--export] [FOLDER]
#
# Fetches the package onnx from PyPI and runs its tests of single nodes and its light networks, and
# 500 random networks, and each operator with lengths of 1, 2 and 3, beside onnxruntime.
# Then it runs the networks of tests/inference/make-networks.py and those in FOLDER, which
# tests/inference/export-networks.py wrote. Without FOLDER these are exported if PyTorch is in the
# cache; --export fetches it (0.6 GB).
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

export=''
[ "${1:-}" != --export ] || { export=yes && shift; }
build_or_refuse all
scripts=$root/tests/inference program=$build/tests/inference/run-networks
networks=$build/networks exported=${1:-$build/networks/exported}
torch=${XDG_CACHE_HOME:-$HOME/.cache}/gst-opencl/models/torch/complete
passed=0 failed=0

# run_networks OPTIONS FOLDER…: counts the networks that are right
run_networks () {
  local options said right
  read -ra options <<<"$1"
  shift
  said=$(in_build "$program" "${options[@]}" "$@" | tee /dev/stderr)
  right=$(grep -c '^ok ' <<<"$said")
  passed=$((passed + right)) failed=$((failed + $# - right))
}

add_up in_build /usr/bin/python3 "$scripts/node-tests.py" "$program" "$networks/light"
add_up in_build /usr/bin/python3 "$scripts/random-networks.py" "$program" "$networks/random"
/usr/bin/python3 "$scripts/make-networks.py" "$networks/small" || refuse "no networks"
folders=("$networks"/small/*/)
if [ $# -eq 0 ] && { [ -n "$export" ] || [ -e "$torch" ]; }; then
  /usr/bin/python3 "$scripts/export-networks.py" "$exported" || refuse "no exported networks"
fi
if [ -n "$export" ] || [ -e "$torch" ]; then
  add_up in_build /usr/bin/python3 "$scripts/torch-example.py"
else
  echo "skipped: tensors of frames: no PyTorch; --export fetches it"
fi
if [ -d "$exported" ]; then
  folders+=("$exported"/*/)
else
  echo "skipped: exported networks: no PyTorch; --export fetches it"
fi
run_networks "" "${folders[@]%/}"
run_networks "--half --tolerance 1e-2" "${folders[@]%/}"
conclude "$passed" "$failed"
