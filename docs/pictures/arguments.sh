# Prints $usage on --help, and refuses options. The scripts here source it before they act.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of these
#
# SPDX-License-Identifier: LGPL-2.1-or-later

for word; do
  case $word in
    -h | --help) echo "$usage" && exit 0 ;;
    -*) echo "$(basename "$0"): no such option (see --help): $word" >&2 && exit 2 ;;
  esac
done
pipelines=$(realpath "$here/../../pipelines")
docs=$(realpath "$here/..")
