/* Simulated spectra of octtestsrc: tables, phantom and kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "testsettings.hpp"
#include "../tissue/tissuespectra.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <vector>

class OctTestSpectra {
public:
  /* Builds the kernels. */
  bool open (GstOpenCLContext *context, GError **error);

  /* Computes the tables of valid settings and uploads them. Enqueued frames keep their
   * own tables, so this does not wait. */
  bool configure (
      const OctTestSettings &settings, guint samples, guint lines, GError **error);

  /* Enqueues a frame. Level, noise and seed may differ from those configured. */
  bool enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
      const GstOpenCLFrame &frame, GError **error);

private:
  /* Displacement of the tissue at a moment */
  struct Motion {
    cl_uint flow = 0;               /* of the slowest blood, in turns */
    cl_uint2 displacement = {};     /* depth bins */
    cl_uint displacement_phase = 0; /* phase of the light, in turns */

    /* Displacement of blood along the beam, and its step from A-line to A-line */
    cl_uint advances = 0;
    cl_ulong start = 0, step = 0; /* depth cells, in units of 2^-32 */
    cl_uint start_phase = 0, step_phase = 0;
    cl_uint reversed = 0; /* A-lines are acquired from the last to the first */
  };

  oct::SampleTables sample_tables () const;
  bool upload (cl::Buffer &buffer, const void *data, gsize size, GError **error);
  bool allocate (cl::Buffer &buffer, gsize size, GError **error);

  double dispersion_at (const OctTestSettings &settings, double m) const;
  bool configure_samples (const OctTestSettings &settings, GError **error);
  bool configure_mirrors (const OctTestSettings &settings, GError **error);
  bool configure_tissue (const OctTestSettings &settings, GError **error);
  bool configure_still (GError **error);
  bool configure_moving (GError **error);

  double place_of (const OctTestSettings &settings, guint line) const;
  bool configure_places (const OctTestSettings &settings, GError **error);
  Motion motion_at (const OctTestSettings &settings, const OctTestMoment &moment) const;
  bool enqueue_scatterers (cl_command_queue queue, guint seed, guint kinds,
      const Motion &motion, const cl_uint4 &box, cl_mem to, GError **error);
  bool enqueue_still (cl_command_queue queue, guint seed, bool flows, GError **error);
  bool enqueue_tissue (const OctTestSettings &settings, const OctTestMoment &moment,
      cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr; /* outlives this */
  gsize largest_plane = 0;             /* maximum bytes of a plane of static tissue */
  opencl::Kernel mirrors, tissue, still_tissue, phase_factor, layers_of_tissue;
  gsize groups_per_item = 1;
  std::string options; /* of the kernels */

  OctTestPattern pattern = OCT_TEST_PATTERN_MIRRORS;
  guint samples = 0;
  guint lines = 0;
  gsize groups = 0; /* groups of 8 samples per A-line, padded to whole work-items */
  cl::Buffer position, dispersion, envelope;
  cl::Buffer fringes; /* of the mirrors */

  guint cells = 0;          /* depth cells, each with a scatterer */
  double depth_range = 0;   /* range that the layers scale with, in depth bins */
  double turns_per_bin = 0; /* phase of the light per bin of displacement */
  double bin_step = 0;      /* in units of the wavelength */
  cl::Buffer layers;
  std::vector<cl_float> line_places; /* lateral positions of A-lines, in lines */
  cl::Buffer places;
  cl::Buffer factor_real, factor_imaginary;
  bool keeps_still = false;
  bool still_is_made = false;
  guint still_seed = 0;
  bool still_flows = false;
  cl::Buffer still_real, still_imaginary;
  cl_uint4 moving = {}; /* first cell, cells, first line, lines */
  cl::Buffer reach;     /* moving cells of each A-line: first, count */
  cl::Buffer moving_scatterers;

  oct::TissueSpectra volume; /* patterns of tissue and of a flat surface */
};
