#!/bin/bash
# Promise: only gst/common/platform/ includes headers of an operating system, so that a port
# has one place to change. Files for file descriptors of device memory may, as only Linux has
# these, and tools/windows.
#
# Usage: platform.sh SOURCE_ROOT
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$1"
headers='aio|arpa/[a-z]+|dirent|dlfcn|fcntl|fnmatch|ftw|gio/gunix[a-z]+|glib-unix|glob|grp'
headers+='|ifaddrs|langinfo|libgen|link|linux/[a-z_]+|mach/[a-z_]+|mqueue|net/[a-z]+|netdb'
headers+='|netinet/[a-z]+|poll|pthread|pwd|regex|psapi|sched|semaphore|shellapi|spawn|strings|sys/[a-z_]+'
headers+='|syslog|termios|unistd|utime|wait|windows|winsock2'
included="^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($headers)\.h[>\"]"
allowed='^(gst/common/platform/[a-z-]+\.[ch]pp|gst/opencl/core/gstopenclexternal\.cpp'
allowed+='|gst/transfer/sharing/dmabufimport\.cpp|tools/windows/[a-z]+\.c):'
all=$(grep -rnE "$included" gst tools --include='*.[ch]' --include='*.[ch]pp') || true
[ "$(grep -cE "$allowed" <<< "$all")" -gt 5 ] || { echo "platform code was not found"; exit 1; }
extensions='g_auto(free|ptr|list|slist)?[ (]|__attribute__|__typeof|__extension__'
if grep -rnE "$extensions" gst tools --include='*.[ch]' --include='*.[ch]pp'; then
  echo "compilers for Windows do not have these extensions of GNU C"
  exit 1
fi
if grep -vE "$allowed" <<< "$all"; then
  echo "put code that needs these headers into gst/common/platform.hpp"
  exit 1
fi
