/* Common code of the keying elements: formats, components and pads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>
#include <gst/common/settings.hpp>

#include <string>

namespace keying {
/* Bit offset of each component in a little-endian pixel with 8-bit components.
 * pixel_options() doubles it for 16-bit components. */
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
/* Build option of softkey.clh */
std::string extras_option (guint extras);
/* Bytes of a pixel: 4, or 8 with components of 16 bits */
gsize bytes_of_pixel (const GstVideoInfo *info);
/* Stride of a frame in work memory, with rows padded to a multiple of eight pixels */
gsize work_stride_of (const GstVideoInfo *info);
/* Maximum of a component, and its ratio to the maximum of 8 bits */
guint levels_of (const GstVideoInfo *info);
guint scale_of (const GstVideoInfo *info);

/* Returns whether statistics of one format are valid for the other. */
bool is_equivalent (const GstVideoInfo *a, const GstVideoInfo *b);

/* Mask of the components that `channel` compares */
cl_uint component_mask (const GstVideoInfo *info, Channel channel);
/* Upper bound of the sum of absolute differences at a distance below `tolerance` */
cl_uint difference_threshold (
    gdouble tolerance, Channel channel, const GstVideoInfo *info);

Color color_of_argb (guint argb);

/* Returns the chroma distance of a colour from grey (1 = pure green). Relative tolerances
 * are multiplied by it. */
gdouble saturation_of (guint argb);

extern const opencl::EnumTypeOf<Channel> channel_type;

/* Returns an event that tells elements downstream the key colour of chromakey. */
GstEvent *new_key_event (guint key);
/* Returns FALSE if `event` is not a key event. */
bool parse_key_event (GstEvent *event, guint *key);

/* Adds the pad templates. For class_init. */
void set_up_class (GstOpenCLFilterClass *klass);
/* The same for an element that also accepts camera formats, and converts them to RGBA. */
void set_up_camera_class (GstOpenCLFilterClass *klass);
/* The work of an element: its state between set_formats() and close() */
template <auto work> struct WorkOf;

template <typename Instance, typename Work, Work *Instance::*member>
struct WorkOf<member> {
  static Work *&of (gpointer filter) { return static_cast<Instance *> (filter)->*member; }

  /* For GstOpenCLFilterClass.close */
  static void close (GstOpenCLFilter *filter)
  {
    delete of (filter);
    of (filter) = nullptr;
  }

  /* Returns new work for frames in the format of the sink pad. */
  static Work &renew (GstOpenCLFilter *filter)
  {
    delete of (filter);
    of (filter) = new Work;
    of (filter)->info = *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
    return *of (filter);
  }
};
} // namespace keying
