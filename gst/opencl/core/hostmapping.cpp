/* Host mapping of a buffer that the device shares with the CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "hostmapping.hpp"

#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/profile.hpp>

#include <utility>

namespace opencl {
bool
maps_in_place (const cl::Context &context, const cl::CommandQueue &queue)
{
  constexpr gsize size = 4096;
  cl::Buffer buffer (clCreateBuffer (
      context (), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, nullptr));
  if (!buffer ())
    return false;
  void *places[2];
  for (void *&place : places)
    place = clEnqueueMapBuffer (
        queue (), buffer (), CL_TRUE, CL_MAP_READ, 0, size, 0, nullptr, nullptr, nullptr);
  for (void *place : places)
    if (place)
      clEnqueueUnmapMemObject (queue (), buffer (), place, 0, nullptr, nullptr);
  clFinish (queue ());
  return places[0] && places[0] == places[1];
}

static cl_map_flags
flags_of (GstMapFlags access, bool keeps_contents)
{
  if (!(access & GST_MAP_WRITE))
    return CL_MAP_READ;
  if (!(access & GST_MAP_READ) && !keeps_contents)
    return CL_MAP_WRITE_INVALIDATE_REGION;
  return CL_MAP_READ | CL_MAP_WRITE;
}

bool
HostMapping::covers (GstMapFlags access) const
{
  return bytes && (writable || !(access & GST_MAP_WRITE));
}

bool
HostMapping::enqueue (cl_command_queue queue, GstMapFlags access, bool keeps_contents,
    cl::Event &ended, GError **error)
{
  cl_int code;
  cl_event event = nullptr;
  void *place =
      clEnqueueMapBuffer (queue, buffer (), CL_FALSE, flags_of (access, keeps_contents),
          0, size, 0, nullptr, Profiled (queue, command::map, &event), &code);
  if (!gst_opencl_check (code, "clEnqueueMapBuffer", error))
    return false;
  cl::Event ready (event);
  /* Unmap the old mapping after the new one is made, so that the bytes stay valid for
   * readers. */
  bool replaced = !bytes || enqueue_end (queue, ended, error);
  bytes = static_cast<guint8 *> (place);
  writable = access & GST_MAP_WRITE;
  mapped_on = queue;
  mapped = std::move (ready);
  return replaced;
}

bool
HostMapping::unmap (cl_command_queue queue, cl_event *event, GError **error)
{
  const bool waits = queue != mapped_on;
  const cl_int code = clEnqueueUnmapMemObject (
      queue, buffer (), bytes, waits ? 1 : 0, waits ? &mapped () : nullptr, event);
  if (!gst_opencl_check (code, "clEnqueueUnmapMemObject", error))
    return false;
  forget ();
  return true;
}

bool
HostMapping::enqueue_end (cl_command_queue queue, cl::Event &event, GError **error)
{
  cl_event ended = nullptr;
  if (!unmap (queue, Profiled (queue, command::unmap, &ended), error))
    return false;
  event = cl::Event (ended);
  return true;
}

/* Not profiled: no element waits for it, and it may come after the pipeline has ended. */
bool
HostMapping::end_alone (cl::Event &event, GError **error)
{
  const cl_command_queue queue = mapped_on;
  cl_event ended = nullptr;
  const bool enqueued = unmap (queue, &ended, error);
  clFlush (queue);
  event = cl::Event (ended);
  return enqueued;
}

void
HostMapping::forget ()
{
  bytes = nullptr;
  mapped = cl::Event ();
}
} // namespace opencl
