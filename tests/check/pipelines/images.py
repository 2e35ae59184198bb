#!/usr/bin/env python3
"""Kernels with images and structs agree with NumPy.

usage: images.py images | structs

The images are those of programs for FFmpeg's filters program_opencl and openclsrc: their
parameters are the destination, the number of the frame and the sources.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

TIMEOUT = 60 * Gst.SECOND
WIDTH, HEIGHT = 61, 40  # rows are padded in GRAY8 and copied for images
COLUMN, ROW = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))

PROGRAMS = """
#define DESTINATION write_only image2d_t dst, unsigned int index
#define HERE (int2) (get_global_id (0), get_global_id (1))

kernel void gradient (DESTINATION)
{
  const float2 share = convert_float2 (HERE) / convert_float2 (get_image_dim (dst));
  write_imagef (dst, HERE, (float4) (share, index / 10.0f, 1));
}

kernel void turn (DESTINATION, read_only image2d_t src)
{
  const sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
  const float2 to = convert_float2 (get_image_dim (dst)) / 2;
  const float2 from = convert_float2 (get_image_dim (src)) / 2;
  const float2 at = (convert_float2 (HERE) - to) * from / to;
  const float s = sin (index / 7.0f), c = cos (index / 7.0f);
  const float2 source = (float2) (c * at.x - s * at.y, s * at.x + c * at.y) + from;
  const bool inside = all (source >= 0) && all (source < 2 * from);
  write_imagef (dst, HERE, inside ? read_imagef (src, linear, source) : (float4) (0.5f));
}

kernel void fade (DESTINATION, read_only image2d_t src1, read_only image2d_t src2)
{
  const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;
  const float share = (1 + cos (index / 5.0f)) / 2;
  const int2 second = HERE * get_image_dim (src2) / get_image_dim (dst);
  write_imagef (dst, HERE, mix (read_imagef (src2, nearest, second), read_imagef (src1, nearest, HERE), share));
}
"""


def run(line, inputs=(), frames=3):
    """Returns the bytes of the first frames. Each of `inputs` is pushed that many times."""
    pipeline = Gst.parse_launch(line + " ! opencldownload ! appsink name=out sync=false")
    sink = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    made = []
    try:
        for n in range(frames):
            for number, picture in enumerate(inputs):
                buffer = Gst.Buffer.new_wrapped(picture.tobytes())
                buffer.pts, buffer.duration = n * Gst.SECOND, Gst.SECOND
                pipeline.get_by_name(f"in{number}").emit("push-buffer", buffer)
        for _ in range(frames):
            sample = sink.emit("try-pull-sample", TIMEOUT)
            if not sample:
                message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
                raise AssertionError(f"{line}: {message.parse_error() if message else 'no frame'}")
            buffer = sample.get_buffer()
            made.append(np.frombuffer(buffer.extract_dup(0, buffer.get_size()), "u1"))
    finally:
        pipeline.set_state(Gst.State.NULL)
    return made


def video(width, height, more=""):
    return f"video/x-raw{more},format=RGBA,width={width},height={height},framerate=1/1"


def source(number, picture):
    height, width = picture.shape[:2]
    return f"appsrc name=in{number} format=time caps={video(width, height)} ! openclupload"


def near(got, expected, where=True):
    pictures = got.reshape(expected.shape).astype(float)
    error = np.abs(pictures - 255 * expected)[np.broadcast_to(where, expected.shape)].max()
    assert error < 2, error  # a GPU interpolates with 8 bits


def interpolated(picture, x, y):
    """Linear interpolation between the centres of pixels, with edges repeated"""
    height, width = picture.shape[:2]
    x, y = x - 0.5, y - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, bottom = (x - left)[..., None], (y - top)[..., None]

    def pixel(i, j):
        return picture[np.clip(j, 0, height - 1), np.clip(i, 0, width - 1)]

    upper = pixel(left, top) * (1 - right) + pixel(left + 1, top) * right
    lower = pixel(left, top + 1) * (1 - right) + pixel(left + 1, top + 1) * right
    return upper * (1 - bottom) + lower * bottom


def check_images():
    random = np.random.default_rng(1)
    small = random.integers(0, 256, (HEIGHT, WIDTH, 4), "uint8")
    large = random.integers(0, 256, (2 * HEIGHT, 3 * WIDTH, 4), "uint8")
    with open("programs.cl", "w", encoding="utf-8") as file:
        file.write(PROGRAMS)
    there = video(WIDTH, HEIGHT, "(memory:OpenCLMemory)")

    made = run(f"openclkernelsrc location=programs.cl kernel=gradient ! {there}")
    for n, got in enumerate(made):
        near(got, np.stack([COLUMN / WIDTH, ROW / HEIGHT, 0 * ROW + n / 10, 0 * ROW + 1], -1))

    made = run(f"{source(0, large)} ! openclkernel location=programs.cl kernel=turn ! {there}",
               [large])  # fmt: skip
    for n, got in enumerate(made):
        s, c = np.sin(n / 7), np.cos(n / 7)
        x, y = (COLUMN - WIDTH / 2) * 3, (ROW - HEIGHT / 2) * 2
        x, y = c * x - s * y + 1.5 * WIDTH, s * x + c * y + HEIGHT
        inside = (x >= 0) & (y >= 0) & (x < 3 * WIDTH) & (y < 2 * HEIGHT)
        edge = np.abs(np.stack([x, x - 3 * WIDTH, y, y - 2 * HEIGHT])).min(0) < 0.01
        expected = np.where(inside[..., None], interpolated(large / 255, x, y), 0.5)
        near(got, expected, ~edge[..., None])

    pads = f"{source(0, small)} ! m. {source(1, large)} ! m."
    made = run(f"{pads} openclkernelmixer name=m location=programs.cl kernel=fade", [small, large])
    for n, got in enumerate(made):
        share = (1 + np.cos(n / 5)) / 2
        near(got, share * small / 255 + (1 - share) * large[::2, ::3] / 255)


# --- structs ---

STRUCTS = """
typedef struct { float weight; int shift; } change;
typedef struct { char first; long scale; float3 offset; ushort parts[3]; change last; } nested;

kernel void values (global const float *input, global float *output, change by)
{
  const size_t n = get_global_id (0);
  output[n] = input[n] * by.weight + by.shift;
}

kernel void arrays (global const float *input, global float *output, global const change *changes,
    int changes_count)
{
  const size_t n = get_global_id (0);
  const change by = changes[n % changes_count];
  output[n] = input[n] * by.weight + by.shift;
}

kernel void deep (global const float *input, global float *output, nested by)
{
  const size_t n = get_global_id (0);
  output[n] = by.first + input[n] * (float) by.scale + by.offset.z * by.parts[n % 3] + by.last.shift;
}
"""
CHANGE = np.dtype([("weight", "<f4"), ("shift", "<i4")])
NESTED = np.dtype({"names": ["first", "scale", "offset", "parts", "last"],
                   "formats": ["i1", "<i8", ("<f4", 4), ("<u2", 3), CHANGE],
                   "offsets": [0, 8, 16, 32, 40], "itemsize": 48})  # fmt: skip


def processed(kernel, argument):
    numbers = np.arange(12, dtype="float32")
    caps = "other/tensors,format=static,num_tensors=1,types=float32,dimensions=(string)12,framerate=1/1"
    line = (f"appsrc name=in0 format=time caps={caps} ! openclupload ! openclkernel "
            f"location=structs.cl kernel={kernel} arguments=\"a,{argument}\"")  # fmt: skip
    return run(line, [numbers], 1)[0].view("float32"), numbers


def check_structs():
    with open("structs.cl", "w", encoding="utf-8") as file:
        file.write(STRUCTS)
    one = np.array((2.5, -3), CHANGE)
    many = np.array([(n / 2, n * n) for n in range(5)], CHANGE)
    deep = np.zeros((), NESTED)
    deep["first"], deep["scale"], deep["offset"] = -7, 4, (1, 2, 3, 4)
    deep["parts"], deep["last"] = (1, 65535, 5), (9, 1000)
    np.save("one.npy", one)
    np.save("bytes.npy", np.frombuffer(one.tobytes(), "u1"))
    np.save("many.npy", many)
    np.save("deep.npy", deep)

    for argument in ("by=one.npy", "by=bytes.npy", "by=<2.5,-3>"):
        got, numbers = processed("values", argument)
        assert np.array_equal(got, numbers * 2.5 - 3), argument
    got, numbers = processed("arrays", "changes=many.npy")
    of = many[np.arange(12) % 5]
    assert np.array_equal(got, numbers * of["weight"] + of["shift"])
    expected = -7 + numbers * 4 + 3 * np.tile([1, 65535, 5], 4).astype("f4") + 1000
    assert np.array_equal(processed("deep", "by=deep.npy")[0], expected)


if __name__ == "__main__":
    Gst.init(None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        {"images": check_images, "structs": check_structs}[sys.argv[1]]()
