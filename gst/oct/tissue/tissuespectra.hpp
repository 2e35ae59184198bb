/* Spectra of the simulated tissue and of a flat surface, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/testsettings.hpp"
#include "tissuemodel.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <memory>
#include <optional>

namespace oct {
/* Tables that all patterns share: the spectrometer, and the A-lines of a frame */
struct SampleTables {
  cl_mem position, dispersion, envelope;
  gsize groups; /* of 8 samples, padded to whole work-items */
  gsize groups_per_item;
  guint samples, lines;
  double turns_per_bin;                  /* phase of the light per bin of displacement */
  const std::vector<cl_float> &laterals; /* positions of A-lines, in lines */
};

class TissueSpectra {
public:
  /* Builds the kernels at the first call. */
  bool open (GstOpenCLContext *context, const char *options, GError **error);

  /* Computes the tables of valid settings and uploads them. */
  bool configure (
      const OctTestSettings &settings, const SampleTables &tables, GError **error);

  /* Enqueues a frame. Level, noise and seed may differ from those configured. */
  bool enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
      const SampleTables &tables, const GstOpenCLFrame &frame, GError **error);

private:
  /* The kernels' structures of the same names */
  struct Tissue {
    cl_float layers[tissue_layers], blood, gain, scattered;
  };
  struct Place {
    cl_float4 weights, loss;
    cl_float shift, moved;
    cl_int first;
    cl_uint nodes, cells, pitch;
    cl_uint padding[2];
  };
  struct Clock {
    cl_ulong frame, line;
    cl_uint reversed, padding;
  };

  /* Position of a frame in the tissue. Frames with equal positions share static tissue. */
  struct View {
    guint b_scan;
    TissuePoint moved; /* µm */
    guint seed;

    bool operator== (const View &other) const
    {
      return b_scan == other.b_scan && moved.x == other.moved.x
             && moved.y == other.moved.y && moved.z == other.moved.z
             && seed == other.seed;
    }
  };

  bool upload (cl::Buffer &buffer, const void *data, gsize size, GError **error);
  bool configure_displacements (
      const OctTestSettings &settings, const SampleTables &tables, GError **error);
  bool configure_laterals (const SampleTables &tables, GError **error);
  bool configure_nodes (const OctTestSettings &settings, GError **error);
  void list_rows (const OctTestSettings &settings);
  bool upload_columns (const TissueModel &model, GError **error);
  cl_float8 kernel_chord (const TissueModel &model, const TissueColumn &column,
      const ColumnChord &chord) const;
  bool allocate_planes (const SampleTables &tables, GError **error);

  View view_of (const OctTestSettings &settings, const OctTestMoment &moment) const;
  int row_of (const View &view) const;
  guint columns_of (const View &view) const;
  Place place_of (const View &view) const;
  bool enqueue_still (const View &view, const Place &place, const SampleTables &tables,
      cl_command_queue queue, GError **error);
  bool enqueue_flow (const OctTestSettings &settings, const OctTestMoment &moment,
      const View &view, const Place &place, const SampleTables &tables,
      cl_command_queue queue, GError **error);
  bool enqueue_flat (const OctTestSettings &settings, const OctTestMoment &moment,
      const SampleTables &tables, const GstOpenCLFrame &frame, GError **error);

  GstOpenCLContext *context = nullptr; /* outlives this */
  opencl::Kernel nodes_kernel, cells_kernel, still_kernel, flow_kernel, spectra_kernel,
      flat_kernel;

  TissueScan scan;
  Tissue tissue = {};
  double turns_of_centre = 0; /* phase per bin of displacement, mid-spectrum */
  cl_float4 loss = {};
  int first_node = 0;
  guint nodes = 0;       /* of a row */
  std::vector<int> rows; /* of nodes that any B-scan needs, in ascending order */
  guint pitch = 0;       /* cells of an A-line, padded to whole blocks */
  cl::Buffer boundaries, chords;
  cl::Buffer laterals, displacements;
  cl::Buffer still_nodes, flow_nodes;
  cl::Buffer still_cells, flow_cells;
  cl::Buffer real, imaginary; /* field of the static cells */
  std::optional<View> made;   /* the view that static tissue was computed for */

  using Definition = decltype (tissue_definition (OctTestSettings ()));
  std::optional<Definition> of_nodes; /* settings of the tables of nodes */
  TissueScan scan_of_nodes;
};

/* Scan of these settings, with automatic steps resolved */
TissueScan tissue_scan_of (const OctTestSettings &settings, guint samples, guint lines);

/* Number of columns of tissue that the tables of these settings have */
double tissue_columns (const OctTestSettings &settings, const TissueScan &scan);

/* Displacement of an A-line by the optical path of the scanner, in depth bins.
 * `line` is its position in lines. */
double curvature_at (
    const OctTestSettings &settings, const TissueScan &scan, double line, guint b_scan);
} // namespace oct
