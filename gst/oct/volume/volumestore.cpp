/* Volume in device memory, filled B-scan by B-scan, and which of its B-scans have arrived
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumestore.hpp"

#include <gst/common/buffers.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
namespace {
const char *const kernels = "/org/freedesktop/gstreamer/opencl/oct/octvolume.cl";
const gsize largest_tile = 16;
} // namespace

opencl::NumberType
volume_type_of (const DepthLayout &layout)
{
  if (!layout.video)
    return opencl::NumberType::f32;
  return layout.bytes == 1 ? opencl::NumberType::u8 : opencl::NumberType::u16;
}

bool
VolumeStore::create (GstOpenCLFilter *filter, const DepthLayout &of, guint b_scans,
    gsize of_bytes, GError **error)
{
  drop ();
  context = gst_opencl_filter_get_context (filter);
  input = of;
  rows = b_scans;
  if (!pool.create (filter, "a volume", of_bytes, error))
    return false;
  for (tile = largest_tile; tile > 1 && tile * tile > opencl::largest_group (context);)
    tile /= 2;
  const std::string options = options_of (input) + (input.image ? " -DTRANSPOSED" : "")
                              + " -DTILE=" + std::to_string (tile);
  return store.create (context, kernels, "store", options.c_str (), error);
}

bool
VolumeStore::update_mapped (const Update &enqueue, GError **error)
{
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  return with_mapped (volume.get (), nullptr, pool.bytes (), GST_MAP_WRITE, queue, error,
      [&] (const GstOpenCLFrame &frame) { return enqueue (frame, error); });
}

bool
VolumeStore::clear (const Rows &are_wanted, GError **error)
{
  const gsize row_bytes = pool.bytes () / rows;
  return update_mapped (
      [&] (const GstOpenCLFrame &frame, GError **why) {
        const cl_uchar zero = 0;
        cl_int code = CL_SUCCESS;
        for (guint row = 0; row < rows && code == CL_SUCCESS; row++) {
          if (are_wanted (row))
            code = clEnqueueFillBuffer (frame.queue, frame.data, &zero, sizeof zero,
                frame.offset[0] + row * row_bytes, row_bytes, 0, nullptr,
                opencl::Profiled (frame.queue, opencl::command::fill));
        }
        return bool (gst_opencl_check (code, "clEnqueueFillBuffer", why));
      },
      error);
}

/* Returns whether downstream holds the volume's memory, from share(). */
bool
VolumeStore::is_held () const
{
  return GST_MINI_OBJECT_REFCOUNT_VALUE (volume.get ()) > 1
         || GST_MINI_OBJECT_REFCOUNT_VALUE (gst_buffer_peek_memory (volume.get (), 0))
                > 1;
}

/* Replaces the volume by a copy that has no other owner. */
bool
VolumeStore::copy (GError **error)
{
  decltype (volume) made (pool.acquire (error));
  cl_event event = nullptr;

  if (!made)
    return false;
  const bool copied = gst_opencl_buffer_copy_async (
      context, made.get (), volume.get (), nullptr, &event, error);
  if (event)
    clReleaseEvent (event);
  volume = std::move (made);
  return copied;
}

bool
VolumeStore::ensure (bool zeroed, GError **error)
{
  if (volume)
    return !is_held () || copy (error);
  volume.reset (pool.acquire (error));
  return volume && (!zeroed || clear ([] (guint) { return true; }, error));
}

bool
VolumeStore::put (const GstOpenCLFrame *b_scan, guint row, GError **error)
{
  const PlacedBScan from (b_scan, input);
  const gsize groups[] = {
      (input.lines + tile - 1) / tile, (input.depths + tile - 1) / tile};
  const gsize number = opencl::info_of (volume_type_of (input)).size;

  return check_frame_alignment (b_scan, input.bytes, error)
         && update_mapped (
             [&] (const GstOpenCLFrame &frame, GError **why) {
               const cl_ulong place =
                   (frame.offset[0] + row * (pool.bytes () / rows)) / number;
               return store.set_all (why, from, frame.data, place)
                      && store.enqueue_box (frame.queue,
                          {groups[0] * tile, groups[1] * tile, 1}, {tile, tile, 1}, why);
             },
             error);
}

/* The parent meta keeps the pool's buffer alive as long as the returned one. */
GstBuffer *
VolumeStore::share () const
{
  GstBuffer *shared = gst_buffer_new ();
  gst_buffer_append_memory (
      shared, gst_memory_ref (gst_buffer_peek_memory (volume.get (), 0)));
  gst_buffer_add_parent_buffer_meta (shared, volume.get ());
  return shared;
}

void
VolumeRows::restart (guint rows)
{
  filled.assign (rows, false);
  missed.assign (rows, false);
  last.reset ();
  began_ = false;
  gaps = 0;
}

/* Marks the B-scan at `place` as lost. Its row may still be that of an earlier volume. */
void
VolumeRows::lose (guint64 place, std::vector<guint> &lost)
{
  const guint row = guint (place % rows ());
  lost.push_back (row);
  filled[row] = false;
  if (!missed[row])
    gaps++;
  missed[row] = true;
}

VolumeRows::Step
VolumeRows::next (guint64 place, bool last_of_place, bool empty)
{
  Step step;
  const bool same = last && *last == place;
  const bool is_next_volume = !last || place / rows () != volume_;

  step.row = guint (place % rows ());
  step.begins = is_next_volume || !began_;
  if (is_next_volume)
    std::fill (filled.begin (), filled.end (), false);
  /* B-scans before the very first one do not count as lost. */
  const guint64 from = last ? *last + 1 : place;
  if (place > from) {
    for (guint64 n = place - std::min<guint64> (place - from, rows () - 1); n < place;
         n++)
      lose (n, step.lost);
  }
  volume_ = place / rows ();
  last = place;
  step.stores = !empty;
  if (empty && !(same && filled[step.row]))
    lose (place, step.lost);
  if (!empty) {
    filled[step.row] = true;
    if (missed[step.row])
      gaps--;
    missed[step.row] = false;
  }
  began_ = true;
  step.completes = last_of_place && step.row + 1 == rows ();
  return step;
}
} // namespace oct
