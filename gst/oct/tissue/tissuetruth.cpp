/* Files of the ground truth of the simulated tissue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuetruth.hpp"

#include <gst/common/npyfile.hpp>
#include <gst/common/recording.hpp>

#include <glib/gstdio.h>

#include <algorithm>
#include <cerrno>

namespace oct {
namespace {
bool
make_folder (const std::string &folder, GError **error)
{
  if (g_mkdir_with_parents (folder.c_str (), 0777) == 0)
    return true;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
      "truth-folder: cannot make %s: %s", folder.c_str (), g_strerror (errno));
  return false;
}

/* Creates a .npy file of float32 in the folder. */
bool
create (opencl::GrowingFile &file, const OctTestSettings &settings, const char *name,
    const std::vector<gsize> &shape, GError **error)
{
  const auto make_header = [shape] (guint64, std::string &header, GError **) {
    header = opencl::npy_make_header (opencl::NumberType::f32, false, shape);
    return true;
  };
  return file.create (
      settings.truth_folder + G_DIR_SEPARATOR_S + name, "", make_header, false, error);
}

bool
append (opencl::GrowingFile &file, const std::vector<float> &values, GError **error)
{
  return file.append (reinterpret_cast<const guint8 *> (values.data ()),
      values.size () * sizeof values[0], error);
}

bool
write_whole (const OctTestSettings &settings, const char *name,
    const std::vector<gsize> &shape, const std::vector<float> &values, GError **error)
{
  opencl::GrowingFile file;
  return create (file, settings, name, shape, error) && append (file, values, error)
         && file.finish (error);
}

/* The tissue of a B-scan, as it is written */
struct TruthOfBScan {
  std::vector<float> boundaries, velocity, axial, attenuation, cell_rate, cell_share;

  TruthOfBScan (
      const TissueModel &model, const TissueScan &scan, guint b_scan, double most_rate)
      : boundaries (gsize (tissue_layers) * scan.lines)
  {
    for (guint line = 0; line < scan.lines; line++) {
      const TissueColumn column = model.column (scan.x_of (line), scan.y_of (b_scan));
      for (guint n = 0; n < tissue_layers; n++)
        boundaries[gsize (n) * scan.lines + line] = float (column.boundaries[n]);
      for (guint bin = 0; bin < scan.depths; bin++) {
        const VesselChord *chord = column.chord_at (bin);
        velocity.push_back (chord ? float (chord->profile (bin) * chord->speed) : 0);
        axial.push_back (chord ? float (chord->profile (bin) * chord->axial) : 0);
        attenuation.push_back (float (column.attenuation_at (bin)));
        const MovingCells cells = column.cells_at (bin);
        cell_rate.push_back (float (cells.rate * most_rate));
        cell_share.push_back (float (cells.share));
      }
    }
  }
};

bool
write_volume (const OctTestSettings &settings, const TissueScan &scan, GError **error)
{
  const TissueModel model (scan, settings.seed, settings.flow_velocity);
  const std::vector<gsize> volume = {scan.b_scans, scan.lines, scan.depths};
  const struct {
    const char *name;
    std::vector<gsize> shape;
    std::vector<float> TruthOfBScan::*values;
  } parts[] = {
      {"boundaries.npy", {scan.b_scans, tissue_layers, scan.lines},
          &TruthOfBScan::boundaries},
      {"velocity.npy", volume, &TruthOfBScan::velocity},
      {"velocity-axial.npy", volume, &TruthOfBScan::axial},
      {"attenuation.npy", volume, &TruthOfBScan::attenuation},
      {"cell-rate.npy", volume, &TruthOfBScan::cell_rate},
      {"cell-share.npy", volume, &TruthOfBScan::cell_share},
  };
  /* The last two only if cells move */
  const gsize n_parts = G_N_ELEMENTS (parts) - (settings.cell_rate > 0 ? 0 : 2);
  opencl::GrowingFile files[G_N_ELEMENTS (parts)];
  bool written = true;
  for (gsize n = 0; written && n < n_parts; n++)
    written = create (files[n], settings, parts[n].name, parts[n].shape, error);
  for (guint b_scan = 0; written && b_scan < scan.b_scans; b_scan++) {
    const TruthOfBScan truth (model, scan, b_scan, settings.cell_rate);
    for (gsize n = 0; written && n < n_parts; n++)
      written = append (files[n], truth.*parts[n].values, error);
  }
  return written && std::all_of (files, files + n_parts, [&] (opencl::GrowingFile &file) {
    return file.finish (error);
  });
}

/* Names the property in an error about a file. */
bool
named (bool written, GError **error)
{
  if (!written)
    g_prefix_error (error, "truth-folder: cannot write ");
  return written;
}
} // namespace

bool
write_tissue_truth (
    const OctTestSettings &settings, const TissueScan &scan, GError **error)
{
  std::vector<float> curvature;
  for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
    for (guint line = 0; line < scan.lines; line++)
      curvature.push_back (float (curvature_at (settings, scan, line, b_scan)));
  }
  const bool flat = settings.pattern == OCT_TEST_PATTERN_FLAT;
  return make_folder (settings.truth_folder, error)
         && named (write_whole (settings, "curvature.npy", {scan.b_scans, scan.lines},
                       curvature, error)
                       && (flat || write_volume (settings, scan, error)),
             error);
}

bool
write_motion_truth (const OctTestSettings &settings, const TissueScan &scan,
    guint64 frames, double frame_seconds, GError **error)
{
  std::vector<float> values;
  for (guint64 frame = 0; frame < frames; frame++) {
    TissuePoint moved = {};
    if (settings.motion > 0)
      moved =
          tissue_motion (settings.seed, settings.motion, double (frame) * frame_seconds);
    values.push_back (float (moved.x / scan.line_step));
    values.push_back (float (moved.y / scan.b_scan_step));
    values.push_back (float (moved.z / scan.depth_step));
  }
  return make_folder (settings.truth_folder, error)
         && named (
             write_whole (settings, "motion.npy", {gsize (frames), 3}, values, error),
             error);
}
} // namespace oct
