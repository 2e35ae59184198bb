#!/bin/bash
# Installs what is missing, builds, runs tests; the last line says how many passed.
#
# tests/run.sh             every test
# tests/run.sh --MODE …    what tests/modes/MODE.sh finds, with the arguments that follow
# tests/run.sh --help      the modes
#
# Before any of these: --no-install names packages that are missing and fails, instead of
# installing them.
#
# shellcheck disable=SC1091,SC2119,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail
source "$(dirname "$0")/modes/common.sh"
export GST_OPENCL_SELF_CHECK=${GST_OPENCL_SELF_CHECK:-0} # tests tell which engine runs

list_modes () {
  local file
  sed -n '4,9s/^# \?//p' "$0"
  for file in "$modes"/*.sh; do
    [ "$file" = "$modes/common.sh" ] || sed -n "2s/^# /  --$(basename "$file" .sh): /p" "$file"
  done
}

if [ "${1:-}" = --no-install ]; then
  take_switch "$1"
  shift
fi
case ${1:-} in
  '') ;;
  --help) list_modes; exit ;;
  --common) refuse "no mode --common" ;;
  --*)
    mode=$modes/${1#--}.sh
    [ -f "$mode" ] || refuse "no mode $1; tests/run.sh --help lists them"
    shift
    exec "$mode" "$@"
    ;;
  *) refuse "what is $1? tests/run.sh --help tells" ;;
esac

build_or_refuse all
run_tests --no-suite all
