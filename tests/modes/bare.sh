#!/bin/bash
# what demo.sh, documents and tests lack on a Debian 12 with nothing installed; beside build
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
# With no packages but those of demo.sh, and those that the test itself needs
if within bare 'apt-get -qy install --no-install-recommends git xvfb x11-utils \
    && cd /checkout && /usr/bin/python3 tests/check/pipelines/readme.py . build'; then
  passed=$((passed + 1))
else
  echo "commands of the documents fail"
  failed=$((failed + 1))
fi
start=$SECONDS
add_up within bare '/checkout/tests/run.sh'
echo "every test, after $((SECONDS - start)) seconds"
conclude "$passed" "$failed"
