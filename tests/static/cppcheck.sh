#!/bin/bash
# Promise: cppcheck finds nothing in gst/.
#
# Usage: cppcheck.sh SOURCE_ROOT
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
cd "$1" || exit 1
# A nullptr for a pointer is no integer; macros of GLib's that it cannot read are not ours;
# what an initialiser could do in place of a body is a taste.
cppcheck --quiet -j "$(nproc)" --std=c++17 --language=c++ --library=gtk -I. \
  --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
  --suppress=missingInclude --suppress=unknownMacro --suppress=useInitializationList \
  --suppress=CastIntegerToAddressAtReturn \
  --template='{file}:{line}: {severity}: {message} [{id}]' gst
