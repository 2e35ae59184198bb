#!/bin/bash
# Shows the OCT chain from raw spectra to a B-scan: octtestsrc's tissue, or your own data.
# Without arguments also the keying of a green screen.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

keying=yes # unless an option asks for something else
bscan () {
  PYTHONPATH=$root/python exec /usr/bin/python3 -m gstopencl.bscan "$@"
}
for word in "$@"; do
  [[ $word != --help && $word != --print ]] || bscan "$@"
  take_switch "$word" || keying=''
done
prepare
[ -n "$keying" ] || bscan "$@"
(bscan "$@")
exec "$(dirname "$0")/greenscreen.sh" "$@"
