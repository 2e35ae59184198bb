#!/bin/bash
# Builds the reference, a site of plain files: elements, library, guides. Its links are
# followed at the end. GST_PLUGIN_PATH says where the elements are.
#
# Usage: build.sh PYTHON GIR VERSION OUTPUT-FOLDER
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$1
gir=$2
version=$3
output=$4
command -v gi-docgen >/dev/null || { echo "gi-docgen is missing (Debian: gi-docgen)"; exit 1; }

rm -rf "$output/html"
mkdir -p "$output"
"$python" "$here/pages.py" "$here/../.." "$output" gst-opencl "$version"
gi-docgen generate --quiet --fatal-warnings -C "$output/gst-opencl.toml" \
  --content-dir "$output/content" --no-namespace-dir --output-dir "$output/html" "$gir"
"$python" "$here/menu.py" "$output/html"
"$python" "$here/links.py" "$output/html"
echo "$output/html/index.html"
