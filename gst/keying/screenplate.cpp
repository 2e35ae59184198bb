/* Clean plate: the colour of the screen in each block, also behind the foreground
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "screenplate.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/plate.cl"

namespace keying {
namespace {
/* Blocks along the shorter side of a frame, and samples along each side of a block. Block
 * sizes are multiples of 16. */
const guint blocks_across = 14;
const guint samples_across = 16;
/* Work-items of kernels that process all blocks in one work-group */
const gsize smoothing_group = 256;
/* Minimum chroma of screen samples, relative to the expected colour: of encoded levels
 * and linear light, in the first pass (key colour) and the second (measured colour) */
const cl_float least_chroma[2][2] = {{0.6f, 0.9f}, {0.33f, 0.79f}};
} // namespace

GType
plate_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Plate::none), "Key colour at every position", "none"},
      {gint (Plate::adaptive), "Measured in each frame, near the key colour", "adaptive"},
      {gint (Plate::measured),
          "Measured in each frame, and remembered where the foreground covers the screen",
          "measured"},
      {gint (Plate::frozen),
          "Last measured plate (measured in the first frame if there is none)", "frozen"},
      {gint (Plate::file),
          "Image of the empty screen, from the plate pad or plate-location", "file"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstKeyingPlate", values);
  return type;
}

bool
ScreenPlate::create (GstOpenCLContext *of, const GstVideoInfo *info,
    const std::string (&options)[2], GError **error)
{
  context = of;
  width = info->width, height = info->height;
  size = 16 * std::max (1l, std::lround (std::min (width, height) / 16. / blocks_across));
  block_columns = (width + size - 1) / size;
  block_rows = (height + size - 1) / size;
  stride = work_stride_of (info);
  image_columns = (width + 7) / 8 * 8;
  const std::string more = " -DGROUP=" + std::to_string (smoothing_group)
                           + " -DSAMPLES=" + std::to_string (samples_across);
  for (guint linear : {0, 1}) {
    const std::string all = options[linear] + more;
    measure_screen[linear].prepare (context, KERNELS, "measure_screen", all);
    smooth_screen[linear].prepare (context, KERNELS, "smooth_screen", all);
  }
  remember_screen.prepare (context, KERNELS, "remember_screen", options[0] + more);
  scale_plate.prepare (context, KERNELS, "scale_plate", options[0] + more);

  gsize bytes = gsize (block_columns) * block_rows * sizeof (cl_float4);
  return opencl::make_buffer (context, bytes, measured, error)
         && opencl::make_buffer (context, bytes, known, error)
         && opencl::make_buffer (context, 2 * bytes, across, error)
         && opencl::make_buffer (context, bytes, screen, error);
}

bool
ScreenPlate::smooth (const ScreenKey &key, const cl::Buffer &blocks,
    cl_command_queue queue, GError **error)
{
  return smooth_screen[key.linear].launch_groups (queue, {1, 1, smoothing_group}, error,
      key.auto_key, key.use_auto_key, key.color, blocks (), block_columns, block_rows,
      across (), screen ());
}

/* Two passes, since the measured colour separates screen from foreground better than
 * the key colour. */
bool
ScreenPlate::measure (const ScreenKey &key, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  const opencl::Groups blocks = {
      block_columns, block_rows, samples_across * samples_across / 8};

  for (cl_uint round : {0, 1}) {
    if (!measure_screen[key.linear].launch_groups (queue, blocks, error, input,
            cl_uint (width), cl_uint (height), key.auto_key, key.use_auto_key, key.color,
            screen (), round, size, least_chroma[key.linear][round], measured ())
        || !smooth (key, measured, queue, error))
      return false;
  }
  return true;
}

bool
ScreenPlate::remember (const ScreenKey &key, cl_command_queue queue, GError **error)
{
  const bool starts = !remembers;
  remembers = true;
  return remember_screen.launch_groups (queue, {1, 1, smoothing_group}, error,
             measured (), block_columns * block_rows, cl_uint (starts), known ())
         && smooth (key, known, queue, error);
}

bool
ScreenPlate::follow (Plate plate, const ScreenKey &key, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  const bool other_key = !(key == key_in_force);

  in_force = plate;
  if (plate == Plate::none || plate == Plate::file)
    return true;
  key_in_force = key;
  if (plate == Plate::frozen && has_screen && !other_key)
    return true;
  if (plate != Plate::measured || other_key)
    remembers = false;
  has_screen = true;
  return measure (key, input, queue, error)
         && (plate != Plate::measured || remember (key, queue, error));
}

bool
ScreenPlate::set_image (const GstOpenCLFrame *image, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  const PixelFormat &format = pixel_format_of (info);
  const cl_uint4 shifts = {{format.red, format.green, format.blue, format.alpha}};

  if (!image_ ()
      && !opencl::make_buffer (context, gsize (stride) * height, image_, error))
    return false;
  has_image_ = scale_plate.launch (queue, image_columns, height, error, image,
      cl_uint (bytes_of_pixel (info)), shifts, cl_uint (info->width),
      cl_uint (info->height), cl_uint (width), cl_uint (height), image_ (), stride);
  return has_image_;
}
} // namespace keying
