/* Local colours of the screen (clean plate) and of the subject beside its edges, and mattes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "screenplate.hpp"

#include "../garbagepolygon.hpp"
#include "../input/pixelformats.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclfilter.h>

#include <algorithm>
#include <cmath>

#define FOLDER "/org/freedesktop/gstreamer/opencl/keying/"
#define PLATE_KERNELS FOLDER "plate.cl"
#define SUBJECT_KERNELS FOLDER "subject.cl"
#define MATTE_KERNELS FOLDER "mattes.cl"

namespace keying {
/* --- the screen --- */

namespace {
/* Blocks along the shorter side of a frame, and samples along each side of a block. Block
 * sizes are multiples of 16. */
const guint blocks_across = 14;
const guint samples_across = 16;
/* Work-items of kernels that process all blocks in one work-group */
const gsize smoothing_group = 256;
/* Minimum chroma of screen samples, relative to the expected colour: of encoded levels
 * and linear light, in the first pass (key colour) and the others (measured colour) */
const cl_float least_chroma[2][3] = {{0.6f, 0.75f, 0.9f}, {0.4f, 0.6f, 0.79f}};
} // namespace

const opencl::EnumTypeOf<Plate> plate_type ("GstKeyingPlate",
    {
        {Plate::none, "Key colour at every position", "none"},
        {Plate::adaptive, "Measured in each frame, near the key colour", "adaptive"},
        {Plate::measured,
            "Measured in each frame, and remembered where the foreground covers the "
            "screen",
            "measured"},
        {Plate::frozen,
            "Last measured plate (measured in the first frame if there is none)",
            "frozen"},
        {Plate::file, "Image of the empty screen, from the plate pad or plate-location",
            "file"},
    });

bool
ScreenPlate::create_kernels (GstOpenCLContext *of, const GstVideoInfo *info,
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
    measure_screen[linear].prepare (context, PLATE_KERNELS, "measure_screen", all);
    smooth_screen[linear].prepare (context, PLATE_KERNELS, "smooth_screen", all);
  }
  remember_screen.prepare (context, PLATE_KERNELS, "remember_screen", options[0] + more);
  scale_plate.prepare (context, PLATE_KERNELS, "scale_plate", options[0] + more);

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

/* Several passes, since the measured colour separates screen from foreground better than the
 * key colour. So a screen may become dark slowly, but not at once, as at dark green cloth. */
bool
ScreenPlate::measure (const ScreenKey &key, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  const opencl::Groups blocks = {
      block_columns, block_rows, samples_across * samples_across / 8};

  for (cl_uint round : {0, 1, 2}) {
    if (!measure_screen[key.linear].launch_groups (queue, blocks, error, input,
            cl_uint (width), cl_uint (height), key.auto_key, key.use_auto_key, key.color,
            key.tone, screen (), round, size, least_chroma[key.linear][round],
            measured ())
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

/* --- the subject --- */

/* As in subject.cl */
const cl_int block_size = 8;

struct Kind {
  cl_float4 all;
  alignas (cl_float4) cl_int kind;
  cl_float distance, transparent, core;
};

struct Block {
  cl_float4 color;
  alignas (cl_float4) cl_int kind;
  cl_float closed;
};

void
SubjectColors::prepare (
    GstOpenCLContext *of, const GstVideoInfo *info, const std::string (&options)[2])
{
  context = of;
  block_columns = (info->width + block_size - 1) / block_size;
  block_rows = (info->height + block_size - 1) / block_size;
  for (guint linear : {0, 1}) {
    for (guint extras : {0, 1}) {
      const std::string all = options[linear] + extras_option (extras);
      measuring[linear][extras].prepare (
          context, SUBJECT_KERNELS, "measure_subject", all);
      compare[linear][extras].prepare (
          context, SUBJECT_KERNELS, "compare_with_subject", all);
    }
  }
  make_core.prepare (context, SUBJECT_KERNELS, "make_core", options[0]);
  spread_across.prepare (context, SUBJECT_KERNELS, "spread_across", options[0]);
  spread_down.prepare (context, SUBJECT_KERNELS, "spread_down", options[0]);
}

bool
SubjectColors::make_buffers (GError **error)
{
  const gsize count = gsize (block_columns) * block_rows;
  return subject ()
         || (opencl::make_buffer (context, count * sizeof (cl_float4), measured, error)
             && opencl::make_buffer (context, count * sizeof (Kind), kinds, error)
             && opencl::make_buffer (
                 context, 2 * count * sizeof (cl_float4), across, error)
             && opencl::make_buffer (context, count * sizeof (Block), subject, error));
}

bool
SubjectColors::spread (cl_command_queue queue, GError **error)
{
  const gsize columns = gsize (block_columns), rows = gsize (block_rows);
  return make_core.launch (queue, columns, rows, error, measured (), kinds (),
             block_columns, block_rows)
         && spread_across.launch (queue, columns, rows, error, measured (), block_columns,
             block_rows, across ())
         && spread_down.launch (queue, columns, rows, error, across (), kinds (),
             block_columns, block_rows, subject ());
}

/* --- mattes --- */

void
Mattes::prepare (
    GstOpenCLContext *of, const GstVideoInfo *info, const std::string &options)
{
  context = of;
  width = info->width, height = info->height;
  scale_matte.prepare (context, MATTE_KERNELS, "scale_matte", options);
  apply_mattes.prepare (context, MATTE_KERNELS, "apply_mattes", options);
}

bool
Mattes::scale (Matte &matte, const GstOpenCLFrame *frame, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  if (!matte.plane ()
      && !opencl::make_buffer (context, gsize (width) * height, matte.plane, error))
    return false;
  return scale_matte.launch (queue, width, height, error, frame, cl_uint (info->width),
      cl_uint (info->height), cl_uint (width), cl_uint (height), matte.plane ());
}

bool
Mattes::follow (GstOpenCLFilter *filter, opencl::AuxiliaryStreams &streams,
    GstClockTime time, cl_command_queue queue, GError **error)
{
  for (Matte *matte : {&garbage, &holdout}) {
    auto scale_this = [&] (const GstOpenCLFrame *frame,
                          const opencl::AuxiliaryStream::Frame &of) {
      return scale (*matte, frame, &of.info, queue, error);
    };
    if (!matte->frame.follow (
            filter, streams, matte->name, time, queue, scale_this, error))
      return false;
  }
  return true;
}

bool
Mattes::set_polygon (const std::vector<double> &corners, GError **error)
{
  if (corners == polygon)
    return true;
  polygon.clear ();
  if (!corners.empty ()) {
    const std::vector<guint8> matte = matte_of_polygon (corners, width, height);
    outside = opencl::make_table (context, matte.data (), matte.size (), error);
    if (!outside ())
      return false;
  }
  polygon = corners;
  return true;
}

bool
Mattes::apply (const InputFrame &input, const GstOpenCLFrame *output, gdouble opacity,
    cl_command_queue queue, GError **error)
{
  const bool has_garbage = garbage.frame.exists ();
  const bool has_holdout = holdout.frame.exists ();
  const bool has_polygon = !polygon.empty ();
  if (!has_any ())
    return true;
  cl_mem any = has_garbage   ? garbage.plane ()
               : has_holdout ? holdout.plane ()
                             : outside ();
  return apply_mattes.launch (queue, width, height, error, input, output, cl_uint (width),
      cl_uint (height), cl_uint (has_garbage), any, cl_uint (has_holdout),
      has_holdout ? holdout.plane () : any, cl_uint (has_polygon),
      has_polygon ? outside () : any, cl_float (opacity));
}
} // namespace keying
