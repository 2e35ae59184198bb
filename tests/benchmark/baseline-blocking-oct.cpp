/* opencl-bench: the OCT chain with blocking copies and allocation for each frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/gstopenclcontext.h>

#include <cmath>

namespace bench {
namespace {
const char *const source = R"(
kernel void
window_and_resample (global const ushort *raw, global float2 *spectrum,
    global const float *position, global const float *window, int samples, int lines)
{
  const int m = get_global_id (0), line = get_global_id (1);
  const float r = position[m];
  const int i = clamp ((int) r, 0, samples - 2);
  const float low = raw[line * samples + i], high = raw[line * samples + i + 1];
  spectrum[line * samples + m] =
      (float2) ((low + (r - i) * (high - low)) * window[m], 0.0f);
}
)";

using FFT = std::shared_ptr<GstOpenCLFFT>;

class Chain {
public:
  Chain (GstOpenCLContext *context, const OctFrame &frame, GError **error);

  explicit operator bool () const { return !*error; }
  bool run (const void *raw);

private:
  void make_tables ();
  void make_kernel (GstOpenCLContext *context);
  cl::Buffer buffer (size_t bytes, cl_mem_flags flags = 0, const void *data = nullptr);
  bool write (const cl::Buffer &to, size_t bytes, const void *from);
  bool read (const cl::Buffer &from, size_t bytes, void *to);
  bool check (cl_int code, const char *call)
  {
    return gst_opencl_check (code, call, error);
  }

  const OctFrame frame;
  GError **error;
  cl::Context handle;
  cl::CommandQueue queue;
  cl::Kernel kernel;
  FFT fft;
  std::vector<float> position, window;
  std::vector<float> spectrum, depth; /* complex, in host memory */
};

Chain::Chain (GstOpenCLContext *context, const OctFrame &frame, GError **error)
    : frame (frame), error (error),
      handle (gst_opencl_context_get_handle (context), true), position (frame.samples),
      window (frame.samples), spectrum (2 * size_t (frame.samples) * frame.lines),
      depth (spectrum.size ())
{
  cl_int code;
  queue = cl::CommandQueue (handle,
      cl::Device (gst_opencl_context_get_device (context), true),
      cl_command_queue_properties (0), &code);
  if (!check (code, "clCreateCommandQueue"))
    return;
  const auto library =
      gst_opencl_fft_library_accepts (GST_OPENCL_FFT_LIBRARY_CLFFT, frame.samples)
          ? GST_OPENCL_FFT_LIBRARY_CLFFT
          : GST_OPENCL_FFT_LIBRARY_VKFFT;
  if (GstOpenCLFFT *plan =
          gst_opencl_fft_new (context, library, frame.samples, frame.lines, FALSE, error))
    fft = FFT (plan, gst_opencl_fft_free);
  else
    return;
  make_tables ();
  make_kernel (context);
}

void
Chain::make_tables ()
{
  const double k_first = 1 / wavelength_min, k_last = 1 / wavelength_max;
  const unsigned n = frame.samples;
  for (unsigned m = 0; m < n; m++) {
    const double wavelength = 1 / (k_first + (k_last - k_first) * m / (n - 1));
    position[m] =
        (wavelength - wavelength_min) / (wavelength_max - wavelength_min) * (n - 1);
    window[m] = (1 - std::cos (2 * M_PI * m / (n - 1))) * 2 / (n - 1);
  }
}

void
Chain::make_kernel (GstOpenCLContext *context)
{
  cl_int code;
  cl_program built = gst_opencl_context_get_program (context, source, nullptr, error);
  if (!built)
    return;
  kernel = cl::Kernel (cl::Program (built), "window_and_resample", &code);
  check (code, "clCreateKernel");
}

cl::Buffer
Chain::buffer (size_t bytes, cl_mem_flags flags, const void *data)
{
  cl_int code;
  cl::Buffer made (
      handle, CL_MEM_READ_WRITE | flags, bytes, const_cast<void *> (data), &code);
  check (code, "clCreateBuffer");
  return made;
}

bool
Chain::write (const cl::Buffer &to, size_t bytes, const void *from)
{
  return check (
      queue.enqueueWriteBuffer (to, CL_TRUE, 0, bytes, from), "clEnqueueWriteBuffer");
}

bool
Chain::read (const cl::Buffer &from, size_t bytes, void *to)
{
  return check (
      queue.enqueueReadBuffer (from, CL_TRUE, 0, bytes, to), "clEnqueueReadBuffer");
}

bool
Chain::run (const void *raw)
{
  const size_t bytes = spectrum.size () * sizeof (float);
  const size_t raw_bytes = size_t (frame.bytes_in ());
  const cl::Buffer input = buffer (raw_bytes), resampled = buffer (bytes);
  const size_t table = frame.samples * sizeof (float);
  const cl::Buffer where = buffer (table, CL_MEM_COPY_HOST_PTR, position.data ());
  const cl::Buffer factor = buffer (table, CL_MEM_COPY_HOST_PTR, window.data ());
  if (*error || !write (input, raw_bytes, raw))
    return false;
  kernel.setArg (0, input);
  kernel.setArg (1, resampled);
  kernel.setArg (2, where);
  kernel.setArg (3, factor);
  kernel.setArg (4, cl_int (frame.samples));
  kernel.setArg (5, cl_int (frame.lines));
  if (!check (queue.enqueueNDRangeKernel (
                  kernel, cl::NullRange, cl::NDRange (frame.samples, frame.lines)),
          "clEnqueueNDRangeKernel")
      || !read (resampled, bytes, spectrum.data ()))
    return false;
  const cl::Buffer time = buffer (bytes), transformed = buffer (bytes);
  return !*error && write (time, bytes, spectrum.data ())
         && gst_opencl_fft_enqueue (fft.get (), queue (), time (), transformed (), error)
         && read (transformed, bytes, depth.data ());
}
} // namespace

void
measure_blocking_oct (GstOpenCLContext *context, const OctFrame &frame,
    const Buffer &spectra, const Timing &timing, Result &result)
{
  GError *error = nullptr;
  GstMapInfo map;
  if (!gst_buffer_map (spectra.get (), &map, GST_MAP_READ))
    return;
  {
    Chain chain (context, frame, &error);
    if (chain)
      result.rates = repeat (timing, [&] { return chain.run (map.data); });
  }
  for (double &rate : result.rates)
    rate *= frame.lines;
  if (error)
    result.error = error->message;
  g_clear_error (&error);
  gst_buffer_unmap (spectra.get (), &map);
}
} // namespace bench
