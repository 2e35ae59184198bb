/* Volume in device memory, filled B-scan by B-scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumestore.hpp"

#include <gst/common/buffers.hpp>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclbuffer.h>

#include <utility>

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

VolumeStore::~VolumeStore ()
{
  drop ();
  opencl::release_pool (&pool);
}

void
VolumeStore::drop ()
{
  gst_clear_buffer (&volume);
}

bool
VolumeStore::fail_without_memory (GError **error) const
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      "failed to allocate a volume of %" G_GSIZE_FORMAT " bytes", bytes);
  return false;
}

bool
VolumeStore::create (GstOpenCLFilter *filter, const DepthLayout &of, guint b_scans,
    gsize of_bytes, GError **error)
{
  drop ();
  opencl::release_pool (&pool);
  context = gst_opencl_filter_get_context (filter);
  input = of;
  rows = b_scans;
  bytes = of_bytes;
  pool = gst_opencl_filter_new_pool (filter, FALSE, bytes);
  if (!pool || !gst_buffer_pool_set_active (pool, TRUE))
    return fail_without_memory (error);
  for (tile = largest_tile; tile > 1 && tile * tile > opencl::largest_group (context);)
    tile /= 2;
  const std::string options = options_of (input) + (input.image ? " -DTRANSPOSED" : "")
                              + " -DTILE=" + std::to_string (tile);
  return store.create (context, kernels, "store", options.c_str (), error);
}

/* (transfer full) (nullable) */
GstBuffer *
VolumeStore::acquire (GError **error)
{
  GstBuffer *buffer = nullptr;
  if (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr) != GST_FLOW_OK)
    fail_without_memory (error);
  return buffer;
}

bool
VolumeStore::change (const Change &enqueue, GError **error)
{
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  cl_event event = nullptr;
  GstOpenCLFrame frame;

  if (!gst_opencl_frame_map (&frame, nullptr, bytes, volume, queue, GST_MAP_WRITE, error))
    return false;
  const bool enqueued = enqueue (frame, error);
  const bool finished = gst_opencl_frames_unmap (
      queue, nullptr, &frame, &event, enqueued ? error : nullptr);
  if (event)
    clReleaseEvent (event);
  return enqueued && finished;
}

bool
VolumeStore::clear (const Rows &are_wanted, GError **error)
{
  const gsize row_bytes = bytes / rows;
  return change (
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
  return GST_MINI_OBJECT_REFCOUNT_VALUE (volume) > 1
         || GST_MINI_OBJECT_REFCOUNT_VALUE (gst_buffer_peek_memory (volume, 0)) > 1;
}

/* Replaces the volume by a copy that has no other owner. */
bool
VolumeStore::copy (GError **error)
{
  GstBuffer *made = acquire (error);
  cl_event event = nullptr;

  if (!made)
    return false;
  const bool copied =
      gst_opencl_buffer_copy_async (context, made, volume, nullptr, &event, error);
  if (event)
    clReleaseEvent (event);
  gst_buffer_unref (std::exchange (volume, made));
  return copied;
}

bool
VolumeStore::ensure (bool zeroed, GError **error)
{
  if (volume)
    return !is_held () || copy (error);
  volume = acquire (error);
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
         && change (
             [&] (const GstOpenCLFrame &frame, GError **why) {
               const cl_ulong place = (frame.offset[0] + row * (bytes / rows)) / number;
               return store.set_all (why, from.data, from.offset, from.line_step,
                          from.depth_step, from.depths, from.lines, frame.data, place)
                      && store.enqueue_box (frame.queue,
                          {groups[0] * tile, groups[1] * tile, 1}, {tile, tile, 1}, why);
             },
             error);
}

GstBuffer *
VolumeStore::take ()
{
  return std::exchange (volume, nullptr);
}

/* The parent meta keeps the pool's buffer alive as long as the returned one. */
GstBuffer *
VolumeStore::share () const
{
  GstBuffer *shared = gst_buffer_new ();
  gst_buffer_append_memory (shared, gst_memory_ref (gst_buffer_peek_memory (volume, 0)));
  gst_buffer_add_parent_buffer_meta (shared, volume);
  return shared;
}
} // namespace oct
