#!/bin/bash
# Makes the pictures of the guides of OCT: runs the commands that lead to them.
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
PATH=$build/tools:$PATH
cd "$(mktemp -d)"

ln -s "$here/../docs" docs && mkdir out && cd out
for page in oct oct-elements; do
  # Joins lines that end in a backslash, and leaves out what opens windows.
  # shellcheck disable=SC2016  # a fence, not a command
  sed -n '/^```sh$/,/^```$/p' "$here/../docs/$page.md" |
    sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' |
    grep -E '^(gst-launch-1.0|oct-calibrate|oct-process|\.\./pipelines/demo.sh|\.\./docs/examples) ?' |
    grep -v autovideosink |
    while read -r command; do
      command=${command/#..\/pipelines/$here}
      eval "${command/gst-launch-1.0/gst-launch-1.0 -q}" < /dev/null
    done
done
mv oct-*.png "$folder"
rm -r "${PWD%/out}"
