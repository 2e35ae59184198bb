/* Host mapping of a buffer that the device shares with the CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <gst/gst.h>

namespace opencl {
/* Whether a buffer that is mapped twice is at one address, so that the end of the first map
 * leaves the second one's bytes where they are. The standard promises it for memory of the
 * host's alone (CL_MEM_USE_HOST_PTR); rusticl maps others to a copy each. */
bool maps_in_place (const cl::Context &context, const cl::CommandQueue &queue);

/* One mapping of a whole buffer. It lasts until the device needs the buffer otherwise, so
 * that CPU maps one after the other cost one command, or none. The owner locks, waits for
 * those who use the buffer, and flushes the queues. */
class HostMapping {
public:
  explicit HostMapping (const cl::Buffer &buffer, gsize size)
      : buffer (buffer), size (size)
  {
  }

  /* Whether a CPU map for `access` is served by what is mapped or on its way. */
  bool covers (GstMapFlags access) const;
  bool exists () const { return bytes != nullptr; }
  bool is_writable () const { return bytes && writable; }

  /* Maps the buffer for `access` in place of what is mapped, of whose end `ended` is
   * then. `keeps_contents` false: the CPU writes what it wants to read. */
  bool enqueue (cl_command_queue queue, GstMapFlags access, bool keeps_contents,
      cl::Event &ended, GError **error);
  /* Hands the buffer to those behind `queue`; `event` is of that command. */
  bool enqueue_end (cl_command_queue queue, cl::Event &event, GError **error);
  /* The same where no command follows: on the queue that it was mapped on, flushed. */
  bool end_alone (cl::Event &event, GError **error);
  /* The map failed: there is nothing to undo. */
  void forget ();

  guint8 *data () const { return bytes; }
  /* When the bytes may be touched. */
  const cl::Event &ready () const { return mapped; }

private:
  const cl::Buffer &buffer; /* the owner's */
  const gsize size;
  guint8 *bytes = nullptr; /* or nullptr while it is not mapped */
  bool writable = false;
  cl_command_queue mapped_on = nullptr;
  cl::Event mapped;
};
} // namespace opencl
