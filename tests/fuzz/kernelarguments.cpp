/* Fuzzing: a kernel's arguments and launches, by index, size and value
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstreamer.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclkernel.h>

using fuzz::promise;

static const char *const source =
    "#include <frame.clh>\n"
    "__kernel void fill (FRAME (, output), uint width, uint height, uchar value,\n"
    "    __local float4 *work, double8_or_not wide) {\n"
    "  uint x = get_global_id (0), y = get_global_id (1);\n"
    "  if (x < width && y < height) work[0] = (float4) (value, x, y, wide.x); }\n";

namespace {
struct Device {
  GstOpenCLContext *context;
  GstOpenCLKernel *kernel;
  GstMemory *memory;
  cl_command_queue queue;
};

void
succeed (const GError *error)
{
  promise (!error, error ? error->message : "");
}

Device
open_device ()
{
  GError *error = nullptr;
  Device device{};

  fuzz::start_gstreamer ();
  device.context = gst_opencl_context_new (nullptr, &error);
  succeed (error);
  device.kernel = gst_opencl_kernel_new (
      device.context, source, "fill", "-Ddouble8_or_not=float8", &error);
  succeed (error);
  device.memory = gst_opencl_memory_new (device.context, 4096, &error);
  succeed (error);
  device.queue = gst_opencl_context_get_queue (device.context, GST_OPENCL_QUEUE_COMPUTE);
  return device;
}

/* FALSE has a reason, TRUE has none. */
template <typename Call>
void
judge (Call call)
{
  GError *error = nullptr;
  const gboolean done = call (&error);
  promise (done == (error == nullptr), "a call that fails says why");
  g_clear_error (&error);
}

void
set_value (const Device &device, fuzz::Input &input, guint index)
{
  guint8 value[256];
  const gsize size = input.take<guint8> ();

  for (guint8 &byte : value)
    byte = input.take<guint8> ();
  /* No driver can tell that an address is no cl_mem. */
  if (index == 0 && size == sizeof (cl_mem))
    return;
  judge ([&] (GError **error) {
    return gst_opencl_kernel_set_value (device.kernel, index, size, value, error);
  });
}

void
set_frame (const Device &device, fuzz::Input &input, guint index)
{
  GstOpenCLFrame frame{};
  GstMapInfo map;

  promise (
      gst_memory_map (device.memory, &map, GstMapFlags (GST_MAP_OPENCL | GST_MAP_READ)),
      "device memory maps");
  frame.data = reinterpret_cast<cl_mem> (map.data);
  frame.offset[0] = input.take<guint64> ();
  frame.stride[0] = input.take<gint32> ();
  judge ([&] (GError **error) {
    return gst_opencl_kernel_set_frame (device.kernel, index, &frame, 0, error);
  });
  gst_memory_unmap (device.memory, &map);
}

void
set_local (const Device &device, fuzz::Input &input, guint index)
{
  const gsize size = input.take<guint16> ();

  judge ([&] (GError **error) {
    return gst_opencl_kernel_set_local (device.kernel, index, size, error);
  });
}

/* A small number of work-items, for speed, in groups of any size */
void
launch (const Device &device, fuzz::Input &input)
{
  const gsize global[] = {input.take<guint8> (), input.take<guint8> (), input.choose (3)};
  const gsize local[] = {input.take<gsize> (), input.choose (9), input.choose (3)};
  const guint dimensions = 1 + input.choose (3);
  const bool with_groups = input.choose (2);

  judge ([&] (GError **error) {
    return gst_opencl_launch (device.queue, gst_opencl_kernel_get_handle (device.kernel),
        dimensions, global, with_groups ? local : nullptr, error);
  });
  clFinish (device.queue);
}
} // namespace

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const Device device = open_device ();
  fuzz::Input input (data, size);

  while (input.remaining () > 0) {
    const guint action = input.choose (4);
    const guint index = input.take<guint8> ();
    switch (action) {
    case 0:
      set_value (device, input, index);
      break;
    case 1:
      set_frame (device, input, index);
      break;
    case 2:
      set_local (device, input, index);
      break;
    default:
      launch (device, input);
    }
  }
  return 0;
}
