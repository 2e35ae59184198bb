#!/bin/bash
# Writes the classes that a network finds over a camera's frames, a film or a picture.
#
# Usage: classify.sh --model FILE [OPTION…] [FILE]
#
# FILE is a film or a picture (default: the camera). Networks of ImageNet take
# --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225.
#
#   --top NUMBER            number of classes (default 5)
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
name=classified
names='model labels threshold fit mean deviation colors precision output top'
source "$(dirname "$0")/recognition.sh"

read_options "$@"
check_options
[ -n "${option[model]-}" ] || fail "--model: expected an ONNX file"
prepare
option[method]=classification option[top]=${option[top]:-5}
option[threshold]=${option[threshold]:-0.05} option[fit]=${option[fit]:-crop}
recognize
