/* Simulated spectra of octtestsrc: a spectrometer, and patterns that it looks at
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "testsettings.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/kernel.hpp>

#include <memory>
#include <vector>

namespace oct {
/* The sample under the spectrometer. Derived classes have its tables and kernels. */
class TestPattern {
public:
  static std::unique_ptr<TestPattern> make (OctTestPattern pattern);
  virtual ~TestPattern () = default;

  /* Builds the kernels. */
  bool open (GstOpenCLContext *context, GError **error);

  /* Computes the tables of valid settings and uploads them. Enqueued frames keep their
   * own tables, so this does not wait. */
  bool configure (
      const OctTestSettings &settings, guint samples, guint lines, GError **error);

  /* Enqueues a frame. Settings without tables may differ from those configured. */
  bool enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
      const GstOpenCLFrame &frame, GError **error);

protected:
  virtual bool create_kernels (GError **error) = 0;
  virtual bool make_tables (GError **error) = 0;
  virtual bool enqueue_frame (const OctTestMoment &moment, GError **error) = 0;
  /* Returns the spectrum of the light source at a sample, from -1 to 1. */
  virtual double light_at (double off_centre) const;

  bool create (const char *file, std::initializer_list<opencl::NamedKernel> kernels,
      GError **error) const;
  bool allocate (cl::Buffer &buffer, gsize size, GError **error) const
  {
    return opencl::make_buffer (context, size, buffer, error);
  }
  template <typename Value>
  bool upload (cl::Buffer &buffer, const std::vector<Value> &values, GError **error) const
  {
    return opencl::make_table (context, values, buffer, error);
  }

  /* Launches a kernel that fills the frame, with arguments between the spectrometer and
   * the frame. */
  template <typename... Arguments>
  bool fill (opencl::Kernel &kernel, GError **error, const Arguments &...arguments)
  {
    return kernel.launch (queue, groups / groups_per_item, lines, error, spectrometer (),
        arguments..., output, data);
  }

  /* Position of a sample on the grid of even wavenumbers, and its dispersion in rad */
  double position_of (guint sample) const;
  double dispersion_at (double position) const;

  OctTestSettings settings;
  guint samples = 0, lines = 0;
  gsize groups = 0;             /* of 8 samples per A-line, padded to whole work-items */
  double turns_per_bin = 0;     /* phase of the light per bin of displacement */
  double bin_step = 0;          /* in units of the wavelength */
  std::vector<cl_float> places; /* lateral positions of A-lines, in lines */
  cl::Buffer spectrometer;      /* Samples of the kernels */
  cl_command_queue queue = nullptr; /* of the frame that is made */
  bool reversed = false;            /* its A-lines come from the last to the first */

private:
  struct Output { /* the kernels' structure of this name */
    cl_uint2 number;
    cl_float level, noise;
    cl_uint seed, samples, lines, offset, stride, reversed;
  };

  double wavenumber (double sample) const;
  double wavenumber_step () const;
  double place_of (guint line) const;
  bool configure_spectrometer (GError **error);

  GstOpenCLContext *context = nullptr; /* outlives this */
  gsize groups_per_item = 1;
  std::string options; /* of the kernels */
  Output output = {};  /* the frame that is made */
  cl_mem data = nullptr;
};

std::unique_ptr<TestPattern> make_skin ();
std::unique_ptr<TestPattern> make_retina ();
std::unique_ptr<TestPattern> make_flat_surface ();

/* Converts to a phase in the kernels' unit, 2^-32 turn. It wraps around, also if it is
 * negative. */
cl_uint fixed_turns (double turns);
/* Converts to a fixed-point number in units of 2^-32. Negative numbers wrap around. */
cl_ulong fixed_number (double number);
cl_uint2 fixed_depth (double depth);
} // namespace oct
