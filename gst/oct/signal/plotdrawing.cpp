/* Draws curves of device memory and an overlay into frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "plotdrawing.hpp"

#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octplot.cl"

namespace oct {
namespace {
const gsize most_curves = 8;

std::vector<guint8>
palette_values (bool colours)
{
  std::vector<guint8> values;
  for (guint8 n = 0; n < guint8 (Colour::entries); n++) {
    const PaletteEntry &entry = palette_entry (Colour (n));
    if (colours)
      values.insert (values.end (), {entry.red, entry.green, entry.blue, G_MAXUINT8});
    else
      values.push_back (entry.grey ());
  }
  return values;
}
} // namespace

bool
PlotDrawing::create (
    GstOpenCLContext *context, gint columns, gint rows, bool colours, GError **error)
{
  const char *options = colours ? "-DPIXEL=uchar4" : "-DPIXEL=uchar";
  const std::vector<guint8> entries = palette_values (colours);
  const gsize pixels = gsize (columns) * gsize (rows);
  width = cl_uint (columns);
  height = cl_uint (rows);
  palette = opencl::make_table (context, entries.data (), entries.size (), error);
  if (!palette () || !find_spans.create (context, KERNELS, "find_spans", options, error)
      || !draw.create (context, KERNELS, "draw", options, error)
      || !opencl::make_buffer (
          context, sizeof (cl_float2) * most_curves * width, spans, error)
      || !opencl::make_buffer (context, pixels, overlay, error))
    return false;
  staging = opencl::PinnedBlock::make (context, pixels, error);
  return staging != nullptr;
}

/* An earlier upload ended long ago, unless the device hangs. */
bool
PlotDrawing::set_overlay (cl_command_queue queue, const Overlay &image, GError **error)
{
  gboolean is_over = TRUE;
  cl_event event = nullptr;
  if (uploaded () && !gst_opencl_wait (uploaded (), &is_over, error)) {
    if (!is_over)
      (void)staging.release (); /* the device may still read it */
    return false;
  }
  area = image.area ();
  memcpy (staging->data (), image.pixels ().data (), image.pixels ().size ());
  if (!gst_opencl_check (clEnqueueWriteBuffer (queue, overlay (), CL_FALSE, 0,
                             image.pixels ().size (), staging->data (), 0, nullptr,
                             opencl::Profiled (queue, opencl::command::upload, &event)),
          "clEnqueueWriteBuffer", error))
    return false;
  uploaded = cl::Event (event);
  gst_opencl_count_upload (image.pixels ().size ());
  return true;
}

bool
PlotDrawing::enqueue (cl_command_queue queue, const PlotCurves &plot,
    const GstOpenCLFrame *output, GError **error)
{
  cl_uint8 starts = {}, colours = {};
  const gsize curves =
      area.is_empty () ? 0 : std::min<gsize> (plot.curves.size (), most_curves);
  for (gsize n = 0; n < curves; n++) {
    starts.s[n] = plot.curves[n].start;
    colours.s[n] = cl_uint (plot.curves[n].colour);
  }
  const double step = (plot.x.high - plot.x.low) / std::max (area.width - 1, 1);
  const cl_int4 box = {{area.left, area.top, area.width, area.height}};
  return (curves == 0
             || find_spans.launch (queue, gsize (area.width), curves, error, plot.values,
                 cl_uint (plot.points), cl_uint (curves), starts, cl_float (plot.x.low),
                 cl_float (step), cl_int (plot.decibels), cl_float (plot.y.low),
                 cl_float (plot.y.high), cl_uint (area.width), cl_uint (area.height),
                 spans ()))
         && draw.launch (queue, width, height, error, spans (), cl_uint (curves), colours,
             box, overlay (), width, height, palette (), cl_uint (Colour::axes),
             output->data, cl_ulong (output->offset[0]), cl_int (output->stride[0]));
}
} // namespace oct
