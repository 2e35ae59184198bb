#!/bin/bash
# what README's two commands lack on a Debian 12 with nothing installed; in a folder beside build
#
# shellcheck disable=SC1091,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/common.sh"

new_debian bare
passed=0 failed=0

start=$SECONDS
# shellcheck disable=SC2016  # expanded in there
if within bare 'cd /tmp && /checkout/pipelines/demo.sh && [ -s bscan.png ] && [ -s greenscreen.png ]'; then
  echo "two pictures, after $((SECONDS - start)) seconds"
  passed=1
else
  echo "pipelines/demo.sh fails"
  failed=1
fi
start=$SECONDS
add_up within bare '/checkout/tests/run.sh'
echo "every test, after $((SECONDS - start)) seconds"
conclude "$passed" "$failed"
