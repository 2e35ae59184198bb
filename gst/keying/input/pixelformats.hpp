/* Common code of the keying elements: formats, components and pads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>
#include <gst/common/settings.hpp>

#include <string>

namespace keying {
/* Where each component's byte stands in a pixel, in bits of a little-endian word; where
 * components are of 16 bits, as if they were of 8, which kernels widen */
struct PixelFormat {
  GstVideoFormat format;
  guint red, green, blue, alpha;
};

enum class Channel {
  all,
  red,
  green,
  blue,
};

struct Color {
  gint red, green, blue, alpha;
};

const PixelFormat &pixel_format_of (const GstVideoInfo *info);
std::string pixel_options (const GstVideoInfo *info);
/* Bytes of a pixel: 4, or 8 with components of 16 bits */
gsize bytes_of_pixel (const GstVideoInfo *info);
/* Layout of an image in work memory, with rows of whole vectors of eight pixels */
gsize work_stride_of (const GstVideoInfo *info);
/* A pixel's largest component, and levels to one of 8 bits */
guint levels_of (const GstVideoInfo *info);
guint scale_of (const GstVideoInfo *info);

/* Returns whether statistics of one format are valid for the other. */
bool shows_the_same (const GstVideoInfo *a, const GstVideoInfo *b);

/* The bits of a pixel that `channel` compares */
cl_uint component_mask (const GstVideoInfo *info, Channel channel);
/* Upper bound of the sum of absolute differences at a distance below `tolerance` */
cl_uint difference_threshold (
    gdouble tolerance, Channel channel, const GstVideoInfo *info);

Color color_of_argb (guint argb);

/* How far a colour is from grey, in the plane of Cb and Cr; 1 is pure green. What a
 * tolerance that is relative to the key is multiplied by */
gdouble saturation_of (guint argb);

GType channel_get_type (void);

/* An event that tells elements downstream which key chromakey uses */
GstEvent *new_key_event (guint key);
/* Whether it is one */
bool parse_key_event (GstEvent *event, guint *key);

/* Pads, and properties that follow their controllers: for class_init */
void set_up_class (GstOpenCLFilterClass *klass);
/* The same for one that takes what cameras give as well, and makes RGBA of it */
void set_up_filming_class (GstOpenCLFilterClass *klass);
/* How every property of theirs is declared. Lax: a value out of its range is taken as the
 * end of the range. */
const GParamFlags playing_flags =
    GParamFlags (opencl::controllable | G_PARAM_LAX_VALIDATION);
} // namespace keying
