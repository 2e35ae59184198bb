#!/bin/bash
# Installs what is missing, builds, and puts a person in front of any background, by a neural
# network: opencl-key --screen none.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"

packages+=(python3-pip) # fetches the network and the photograph
prepare_tool opencl-key gstopencl.keying.main "$@"
exec "$tool" --screen none ${verbose:+"$verbose"} "${words[@]}"
