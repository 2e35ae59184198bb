#!/bin/bash
# Shows the OCT chain from raw spectra to a B-scan: octtestsrc's tissue, or your own data.
# Without arguments also the keying of a green screen.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

bscan=(env "PYTHONPATH=$root/python" /usr/bin/python3 -m gstopencl.bscan)
keying=yes # unless an option asks for something else
for word in "$@"; do
  [[ $word != --help && $word != --print ]] || exec "${bscan[@]}" "$@"
  take_switch "$word" || keying=''
done
prepare
[ -n "$keying" ] || exec "${bscan[@]}" "$@"
# A clone has a folder for what commands write.
[ "$PWD" != "$root" ] || { mkdir -p out && cd out; }
"${bscan[@]}" "$@"
"$root/pipelines/greenscreen.sh" "$@"
cat >&2 <<END

The pictures are in $PWD. Next:
$(printf '  meson devenv -C %q --workdir %q' "$build" "$PWD")
  opencl-view --oct   # in the shell that this opens: the window of live OCT
$(printf '  %q' "$root/tests/run.sh")   # the tests
END
