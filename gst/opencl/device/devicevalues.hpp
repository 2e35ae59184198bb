/* Values that a kernel writes and the host reads back asynchronously
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclerror.h>

#include <memory>
#include <vector>

namespace opencl {
/* Reads as many values as there are, and waits for them alone. A blocking read waits for
 * all commands of the queue, which another thread fills. */
template <typename Value>
bool
read_values (
    cl_command_queue queue, cl_mem from, std::vector<Value> &values, GError **error)
{
  auto block = std::make_unique<std::vector<Value>> (values.size ());
  gboolean is_over = FALSE;
  cl_event event;
  if (!gst_opencl_check (
          clEnqueueReadBuffer (queue, from, CL_FALSE, 0, values.size () * sizeof (Value),
              block->data (), 0, nullptr, Profiled (queue, command::download, &event)),
          "clEnqueueReadBuffer", error))
    return false;
  const cl::Event under_way (event);
  const bool good = gst_opencl_check (clFlush (queue), "clFlush", error)
                    && gst_opencl_wait (under_way (), &is_over, error);
  if (is_over)
    values.swap (*block);
  else
    (void)block.release (); /* the device may still write it */
  return good;
}

/* Enqueues the read at once. The host waits only when it needs the values. They are read
 * into pinned memory: with other memory the driver blocks until the read ends, and the
 * device runs out of commands. */
class ReadBack {
public:
  ReadBack () = default;
  ReadBack (const ReadBack &) = delete;
  ~ReadBack ()
  {
    if (is_under_way ())
      wait (nullptr);
  }

  /* `context` must outlive this object. */
  bool create_block (GstOpenCLContext *context, gsize wanted, GError **error)
  {
    count = wanted;
    block = PinnedBlock::make (context, bytes (), error);
    return block != nullptr;
  }

  gsize bytes () const { return count * sizeof (cl_uint); }

  /* Enqueues a read of the values in `from`. Waits for an earlier read first. */
  bool read (cl_command_queue queue, cl_mem from, GError **error)
  {
    cl_event event;
    if (is_under_way () && !wait (error))
      return false;
    if (!block) {
      g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_FAILED,
          "the device did not finish an earlier read");
      return false;
    }
    if (!gst_opencl_check (
            clEnqueueReadBuffer (queue, from, CL_FALSE, 0, bytes (), block->data (), 0,
                nullptr, Profiled (queue, command::download, &event)),
            "clEnqueueReadBuffer", error))
      return false;
    under_way = cl::Event (event);
    return gst_opencl_check (clFlush (queue), "clFlush", error);
  }

  bool is_under_way () const { return under_way () != nullptr; }

  /* Requires a pending read. Returns whether wait() would return at once. */
  bool has_ended () const
  {
    cl_int state = CL_COMPLETE;
    clGetEventInfo (
        under_way (), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    return state <= CL_COMPLETE;
  }

  /* Requires a pending read. Returns the values, or NULL with an error if the read
   * failed. */
  const cl_uint *wait (GError **error)
  {
    gboolean is_over = TRUE;
    const bool there = gst_opencl_wait (under_way (), &is_over, error);
    under_way = cl::Event ();
    if (!is_over)
      (void)block.release (); /* the device may still write it */
    return there ? reinterpret_cast<const cl_uint *> (block->data ()) : nullptr;
  }

private:
  gsize count = 0;
  cl::Event under_way; /* empty if no read is pending */
  std::unique_ptr<PinnedBlock> block;
};
} // namespace opencl
