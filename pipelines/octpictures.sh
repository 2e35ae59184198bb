#!/bin/bash
# Makes the pictures of docs/oct.md: runs its commands.
#
# Usage: octpictures.sh [FOLDER]     (default: docs)
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(realpath "$(dirname "$0")")
folder=$(realpath "${1:-$here/../docs}")
# shellcheck source=pipelines/setup.sh
. "$here/setup.sh"
# shellcheck source=pipelines/common.sh
. "$here/common.sh"
prepare
cd "$(mktemp -d)"

# Joins lines that end in a backslash, and leaves out what opens windows.
# shellcheck disable=SC2016  # a fence, not a command
sed -n '/^```sh$/,/^```$/p' "$here/../docs/oct.md" |
  sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' |
  grep -E '^(gst-launch-1.0|oct-calibrate) ' | grep -v autovideosink |
  while read -r command; do
    eval "${command/gst-launch-1.0/gst-launch-1.0 -q}"
  done
mv oct-*.png "$folder"
rm -r "$PWD"
