/* Host mapping of a buffer that the device shares with the CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <gst/gst.h>

namespace opencl {
/* Returns true if two maps of a buffer have the same address, so that the second stays
 * valid when the first ends. The standard guarantees that only for CL_MEM_USE_HOST_PTR.
 * rusticl copies other buffers for each map. */
bool maps_in_place (const cl::Context &context, const cl::CommandQueue &queue);

/* One mapping of a whole buffer. It lasts until the device needs the buffer, so that
 * successive CPU maps take one command or none. The owner locks, waits for commands that
 * use the buffer, and flushes the queues. */
class HostMapping {
public:
  explicit HostMapping (const cl::Buffer &buffer, gsize size)
      : buffer (buffer), size (size)
  {
  }

  /* Returns true if the existing or pending mapping serves a CPU map for `access`. */
  bool covers (GstMapFlags access) const;
  bool exists () const { return bytes != nullptr; }
  bool is_writable () const { return bytes && writable; }

  /* Maps the buffer for `access` and ends the existing mapping, whose last event is then
   * `ended`. If `keeps_contents` is false, a map for writing only may discard the
   * contents. */
  bool enqueue (cl_command_queue queue, GstMapFlags access, bool keeps_contents,
      cl::Event &ended, GError **error);
  /* Ends the mapping for later commands on `queue`. `event` is that of the unmap. */
  bool enqueue_end (cl_command_queue queue, cl::Event &event, GError **error);
  /* Ends the mapping if no command follows, on the queue that mapped the buffer. Flushes
   * it. */
  bool end_alone (cl::Event &event, GError **error);
  /* Call it if the map failed, so that nothing needs to be unmapped. */
  void forget ();

  guint8 *data () const { return bytes; }
  /* Event after which the bytes may be accessed */
  const cl::Event &ready () const { return mapped; }

private:
  bool unmap (cl_command_queue queue, cl_event *event, GError **error);

  const cl::Buffer &buffer; /* owned by the caller */
  const gsize size;
  guint8 *bytes = nullptr; /* nullptr while it is not mapped */
  bool writable = false;
  cl_command_queue mapped_on = nullptr;
  cl::Event mapped;
};
} // namespace opencl
