/* opencl-bench: keying with a launch, buffers and a blocking read for each step
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "keyingchain.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclcontext.h>

namespace bench {
namespace {
const char *const source = R"(
int
difference (uchar4 a, uchar4 b)
{
  return abs_diff (a.x, b.x) + abs_diff (a.y, b.y) + abs_diff (a.z, b.z);
}

uchar
key_at (global const uchar4 *frame, int x, int y, int width, int height, uchar outside)
{
  return x < 0 || y < 0 || x >= width || y >= height ? outside : frame[y * width + x].w;
}

/* Each kernel reads `from` and writes `to`; `unkeyed` is the frame before keying. */
kernel void
chromakey (global const uchar4 *unkeyed, global const uchar4 *from, global uchar4 *to,
    global const int *size, global const int *limit)
{
  const int at = get_global_id (1) * size[0] + get_global_id (0);
  uchar4 pixel = from[at];
  if (difference (pixel, (uchar4) (0, 255, 0, 255)) < *limit)
    pixel.w = 0;
  to[at] = pixel;
}

kernel void
noisereduce (global const uchar4 *unkeyed, global const uchar4 *from, global uchar4 *to,
    global const int *size, global const int *limit)
{
  const int x = get_global_id (0), y = get_global_id (1), w = size[0], h = size[1];
  uchar4 pixel = from[y * w + x];
  const int keyed = (key_at (from, x - 1, y, w, h, 0) == 0)
                    + (key_at (from, x + 1, y, w, h, 0) == 0)
                    + (key_at (from, x, y - 1, w, h, 0) == 0)
                    + (key_at (from, x, y + 1, w, h, 0) == 0);
  if (pixel.w == 0 && keyed < 3)
    pixel.w = 255;
  to[y * w + x] = pixel;
}

kernel void
flowkey (global const uchar4 *unkeyed, global const uchar4 *from, global uchar4 *to,
    global const int *size, global const int *limit)
{
  const int x = get_global_id (0), y = get_global_id (1), w = size[0], h = size[1];
  const int dx[4] = {-1, 1, 0, 0}, dy[4] = {0, 0, -1, 1};
  uchar4 pixel = from[y * w + x];
  for (int i = 0; i < 4; i++)
    if (pixel.w != 0 && key_at (from, x + dx[i], y + dy[i], w, h, 255) == 0
        && difference (unkeyed[y * w + x], unkeyed[(y + dy[i]) * w + x + dx[i]]) < *limit)
      pixel.w = 0;
  to[y * w + x] = pixel;
}
)";

/* Steps of one frame */
const struct {
  const char *kernel;
  unsigned times;
} steps[] = {{"chromakey", 1}, {"noisereduce", noise_steps}, {"flowkey", flow_steps},
    {"noisereduce", noise_steps}};

class Chain {
public:
  Chain (GstOpenCLContext *context, unsigned width, unsigned height, GError **error);

  explicit operator bool () const { return !*error; }
  bool run (const void *frame);

private:
  bool step (const char *name, const void *frame);
  cl::Buffer buffer (size_t bytes, const void *data);
  bool check (cl_int code, const char *call)
  {
    return gst_opencl_check (code, call, error);
  }

  const cl_int size[2];
  const cl_int limit = 20; /* of 765: tolerance 0.025 */
  GError **error;
  cl::Context handle;
  cl::CommandQueue queue;
  cl::Program program;
  std::vector<guint8> state; /* in host memory, between two steps */
};

Chain::Chain (GstOpenCLContext *context, unsigned width, unsigned height, GError **error)
    : size{cl_int (width), cl_int (height)}, error (error),
      handle (gst_opencl_context_get_handle (context), true),
      state (size_t (width) * height * 4)
{
  cl_int code;
  queue = cl::CommandQueue (handle,
      cl::Device (gst_opencl_context_get_device (context), true),
      cl_command_queue_properties (0), &code);
  if (check (code, "clCreateCommandQueue"))
    program = cl::Program (
        gst_opencl_context_get_program (context, source, nullptr, error), false);
}

/* Without data, the buffer is write-only. */
cl::Buffer
Chain::buffer (size_t bytes, const void *data)
{
  cl_int code;
  const cl_mem_flags flags =
      data ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_WRITE_ONLY;
  cl::Buffer made (handle, flags, bytes, const_cast<void *> (data), &code);
  check (code, "clCreateBuffer");
  return made;
}

bool
Chain::step (const char *name, const void *frame)
{
  cl_int code;
  cl::Kernel kernel (program, name, &code);
  if (!check (code, "clCreateKernel"))
    return false;
  const cl::Buffer to = buffer (state.size (), nullptr);
  const cl::Buffer arguments[] = {buffer (state.size (), frame),
      buffer (state.size (), state.data ()), to, buffer (sizeof size, size),
      buffer (sizeof limit, &limit)};
  if (*error)
    return false;
  for (unsigned i = 0; i < G_N_ELEMENTS (arguments); i++)
    kernel.setArg (i, arguments[i]);
  return check (queue.enqueueNDRangeKernel (
                    kernel, cl::NullRange, cl::NDRange (size[0], size[1])),
             "clEnqueueNDRangeKernel")
         && check (queue.enqueueReadBuffer (to, CL_TRUE, 0, state.size (), state.data ()),
             "clEnqueueReadBuffer");
}

bool
Chain::run (const void *frame)
{
  memcpy (state.data (), frame, state.size ());
  for (const auto &which : steps)
    for (unsigned i = 0; i < which.times; i++)
      if (!step (which.kernel, frame))
        return false;
  return true;
}
} // namespace

void
measure_blocking_keying (GstOpenCLContext *context, unsigned width, unsigned height,
    const Buffer &frame, const Timing &timing, Result &result)
{
  GError *error = nullptr;
  GstMapInfo map;
  if (!gst_buffer_map (frame.get (), &map, GST_MAP_READ))
    return;
  {
    Chain chain (context, width, height, &error);
    if (chain)
      result.rates = repeat (timing, [&] { return chain.run (map.data); });
  }
  if (error)
    result.error = error->message;
  g_clear_error (&error);
  gst_buffer_unmap (frame.get (), &map);
}
} // namespace bench
