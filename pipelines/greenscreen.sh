#!/bin/bash
# Installs what is missing, builds, and keys a camera or a file before a green screen: opencl-key.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

[[ " $* " != *" --network"[\ =]"selfie "* ]] || packages+=(python3-pip) # fetches the network
prepare_tool opencl-key gstopencl.keying.main "$@"
exec "$tool" ${verbose:+"$verbose"} "${words[@]}"
