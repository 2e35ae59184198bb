/* The repeated B-scans of one position: kept on the device, aligned, with their mean power
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "repeatgroup.hpp"
#include "../depth/structuremeta.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclerror.h>

namespace oct {
bool
RepeatGroup::prepare (GstOpenCLFilter *element, guint wanted, const DepthLayout &layout,
    const Alignment::Limits &limits, bool builds, bool rolls, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (element);
  repeats = wanted;
  rolling = rolls;
  input = layout;
  shifts = limits;
  const gsize bytes = input.depths * input.lines * sizeof (cl_float);
  return (!builds || alignment.create (context, repeats, error))
         && kept.resize (
             context, holds () ? 0 : (repeats - 1 + rolling) * input.size (), error)
         && alignment.resize (context, repeats, input.depths, input.lines, shifts, error)
         && pool.create (element, "buffers", bytes, error);
}

bool
RepeatGroup::keep (
    const GstOpenCLFrame *frame, guint position, cl_command_queue queue, GError **error)
{
  if (holds ()) {
    held.hold (frame, position);
    return true;
  }
  cl_int code = clEnqueueCopyBuffer (queue, frame->data, kept (), frame->offset[0],
      position * input.size (), input.size (), 0, nullptr,
      opencl::Profiled (queue, opencl::command::copy));
  return gst_opencl_check (code, "clEnqueueCopyBuffer", error);
}

void
RepeatGroup::attach_structure (GstBuffer *buffer, gsize depths, gsize lines)
{
  structure = pool.acquire (nullptr);
  if (structure)
    set_structure (buffer, structure, depths, lines);
}

/* Held frames must be mapped. */
Repeats
RepeatGroup::repeats_with (const GstOpenCLFrame *last) const
{
  Repeats all (repeats, input.depths, input.lines);
  all.oldest = rolling ? guint ((seen + 1) % repeats) : 0;
  for (guint n = 0; n + 1 < repeats; n++) {
    if (holds ())
      all.set_repeat (n, held.frames ()[n].data, held.frames ()[n].offset[0]);
    else
      all.set_repeat (n, kept (), (all.oldest + n) % repeats * input.size ());
  }
  all.set_repeat (repeats - 1, last->data, last->offset[0]);
  return all;
}

bool
RepeatGroup::compute (const GstOpenCLFrame *last, const Computation &computation,
    cl_command_queue queue, GError **error)
{
  if (!structure)
    return pool.fail_without_memory (error);
  auto compute_aligned = [&] (const GstOpenCLFrame &powers) {
    Repeats aligned = repeats_with (last);
    return (!shifts.any ()
               || alignment.align (repeats_with (last), aligned, queue, error))
           && computation (aligned, powers);
  };
  return with_mapped (structure, nullptr, pool.bytes (), GST_MAP_WRITE, queue, error,
      [&] (const GstOpenCLFrame &powers) {
        const bool made =
            held.map (false, input.size (), queue, error) && compute_aligned (powers);
        return held.release (queue, made ? error : nullptr) && made;
      });
}
} // namespace oct
