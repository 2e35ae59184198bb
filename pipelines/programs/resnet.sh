#!/bin/bash
# The first stage of ResNet-50 over a picture: 64 filters of 7 by 7, a pool, and the first
# bottleneck block with the residual that is added to it.
#
# Usage: resnet.sh [--weights FOLDER] [--picture FILE] [--size WxH] [OUTPUT]
#
# FOLDER (default resnet-weights) has the weights of each convolution, NAME.weight.npy and
# NAME.bias.npy, the normalization of batches in them, by torchvision's names: conv1 and, of
# layer1.0, conv1, conv2, conv3 and downsample. Where there is no such folder, it is made,
# with random numbers, by Debian's python3 and its numpy. FILE is a picture that GStreamer decodes
# (default docs/greenscreen-before.png), which is scaled to WxH (default 224x224). OUTPUT is
# an array of shape (1, 1, height / 4, width / 4, 256), .npy (default resnet.npy).
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/options.sh"

weights=resnet-weights picture=$root/docs/greenscreen-before.png size=224x224
named_options=(weights picture size)
read_options resnet.npy "$@"
check_file --picture "$picture"
check --size "$size" "$pixels" 'such as 224x224'
split "$size" x
width=$first height=$second
[ -e "$weights" ] || "${GST_OPENCL_PYTHON:-/usr/bin/python3}" "$programs/resnet_weights.py" "$weights"

# convolution NAME WORD…: of that name's weights, in `convolution`
convolution () {
  convolution=(openclconvolve "kernel=$weights/$1.weight.npy" kernel-layout=oihw
    "bias=$weights/$1.bias.npy" "${@:2}")
}
# layer NAME WORD…: one more in `layers`, behind those before
layers=()
layer () {
  convolution "$@"
  layers+=(! "${convolution[@]}")
}

layer conv1 stride=2 padding=3 activation=relu
stem=("${layers[@]}") layers=()
layer layer1.0.conv1 activation=relu
layer layer1.0.conv2 padding=1 activation=relu
layer layer1.0.conv3
convolution layer1.0.downsample
quarter=$(((width + 3) / 4)):$(((height + 3) / 4))
into_npy filesrc "location=$picture" ! decodebin ! videoconvert ! videoscale \
  ! "video/x-raw,format=RGBA,width=$width,height=$height" ! openclupload \
  ! openclkernel "location=$programs/resnet.cl" kernel=normalized_colours global-size=shape1,shape2 \
  "output-caps=other/tensors,types=float32,dimensions=(string)3:$width:$height:1" \
  "${stem[@]}" ! openclkernel "location=$programs/resnet.cl" kernel=largest \
  global-size=shape0/4,shape1,shape2 \
  "output-caps=other/tensors,dimensions=(string)64:$quarter:1" \
  ! tee name=pooled ! queue "${layers[@]}" ! both.a \
  pooled. ! queue ! "${convolution[@]}" ! both.b \
  openclkernelmixer name=both "expression=fmax (a + b, 0)"
