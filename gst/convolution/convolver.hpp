/* Runs a convolution on a device by one of several methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolution.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace compute {
/* A buffer for each purpose. It is as large as the largest that a convolver has reserved.
 * Convolvers that use it must run one after the other. */
class Workspace {
public:
  enum Buffer { gathered, transformed, products, parts, n_buffers };

  /* From any thread, before allocate() */
  void reserve (Buffer buffer, gsize bytes)
  {
    std::lock_guard<std::mutex> guard (lock);
    wanted[buffer] = std::max (wanted[buffer], bytes);
  }

  bool allocate (GstOpenCLContext *context, GError **error)
  {
    for (gsize n = 0; n < n_buffers; n++) {
      if (wanted[n] == allocated[n])
        continue;
      allocated[n] = 0;
      if (!opencl::make_buffer (context, wanted[n], buffers[n], error))
        return false;
      allocated[n] = wanted[n];
    }
    return true;
  }

  cl_mem operator[] (Buffer buffer) const { return buffers[buffer](); }

private:
  std::mutex lock;
  gsize wanted[n_buffers] = {}, allocated[n_buffers] = {};
  cl::Buffer buffers[n_buffers];
};

/* The device of a convolver, and the workspace that it shares */
struct Device {
  GstOpenCLContext *context;
  std::shared_ptr<Workspace> workspace;
};

/* Buffer of a frame, and the position of the array in it */
struct Region {
  cl_mem data = nullptr;
  Placement place;
  /* (nullable) Of an output, with Convolution::adds_residual: an array of the same type and
   * strides, and the offset of its first element in bytes. It may be the output itself. */
  cl_mem added = nullptr;
  gsize added_offset = 0;
};

/* --- a convolution on a device --- */

class Convolver {
public:
  virtual ~Convolver () = default;

  /* Returns a convolver for the method of `convolution`, or for the fastest one. Reads
   * the filters, builds the kernels, and allocates weights and work memory. Returns NULL
   * with an error if one of these fails or the method does not support `convolution`. */
  static std::unique_ptr<Convolver> create (
      GstOpenCLContext *context, const Convolution &convolution, GError **error);
  /* The same for given filters. The workspace must be allocated before the first frame.
   * video and float64 are not supported. */
  static std::unique_ptr<Convolver> create (const Device &device,
      const Convolution &convolution, const Filters &filters, GError **error);

  /* Waits for nothing and allocates nothing. */
  virtual bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) = 0;

  /* Takes effect with the next frame. Methods for arrays ignore it. */
  virtual void set_levels (const Levels &) {}

  Method method () const { return used_method; }

private:
  Method used_method = Method::direct;
};

/* Name of a method, as in the property `method` */
const char *name_of (Method method);

/* Posts one warning per process for each method that failed the self-check on the device.
 * Method::automatic does not choose these methods. */
void warn_of_wrong_methods (GstOpenCLContext *context, GstElement *element);

/* Returns true if the CPU kernels are used. GST_OPENCL_DEBUG=convolve-groups=0 in the
 * environment selects the CPU kernels on any device, =1 the GPU kernels. */
bool convolves_on_cpu (GstOpenCLContext *context);

/* --- methods --- */

/* Returns a new Kind, or nullptr if its create () fails. */
template <typename Kind, typename... Arguments>
std::unique_ptr<Convolver>
create_convolver (const Arguments &...arguments)
{
  auto made = std::make_unique<Kind> ();
  return made->create (arguments...) ? std::move (made) : nullptr;
}

using MakeConvolver = std::unique_ptr<Convolver> (*) (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Direct summation: depthwise if each channel has a filter of its own, as a matrix
 * product if a group has enough filters, otherwise tap by tap over planes */
std::unique_ptr<Convolver> make_direct (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

bool is_depthwise (const Convolution &convolution);
std::unique_ptr<Convolver> make_depthwise (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Rows, then columns: each kernel is a column times a row, and each group has one
 * channel. */
bool is_separable (const Convolution &convolution, const Filters &filters);
std::unique_ptr<Convolver> make_separable (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* 3×3 taps, one group, stride 1, dilation 1: 36 products instead of 144 */
bool is_winograd (const Convolution &convolution);
std::unique_ptr<Convolver> make_winograd (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* 16-bit arrays, on tensor cores */
bool has_tensor_cores (GstOpenCLContext *context);
bool is_half (GstOpenCLContext *context, const Convolution &convolution);
std::unique_ptr<Convolver> make_half (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Double precision, for float64 arrays */
std::unique_ptr<Convolver> make_double (
    GstOpenCLContext *context, const Convolution &convolution, GError **error);

/* Multiplication of Fourier spectra */
std::unique_ptr<Convolver> make_fft (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error);
} // namespace compute
