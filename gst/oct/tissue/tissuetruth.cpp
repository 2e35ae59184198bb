/* Files of the ground truth of the simulated tissue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuetruth.hpp"

#include "tissuespectra.hpp"

#include <gst/common/npyfile.hpp>
#include <gst/common/platform.hpp>

#include <glib/gstdio.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace oct {
namespace {
/* A .npy file of float32, written in parts */
class TruthFile {
public:
  TruthFile (const std::string &folder, const char *name)
      : path (folder + G_DIR_SEPARATOR_S + name)
  {
  }

  bool open (const std::vector<gsize> &shape, GError **error)
  {
    std::string target;
    if (!opencl::resolve_target (path, target, error)) /* opening a FIFO would block */
      return false;
    file.reset (g_fopen (target.c_str (), "wb"));
    if (!file)
      return fail (error);
    const std::string header =
        opencl::npy_make_header (opencl::NumberType::f32, false, shape);
    return fwrite (header.data (), 1, header.size (), file.get ()) == header.size ()
           || fail (error);
  }

  bool append (const std::vector<float> &values, GError **error)
  {
    return fwrite (values.data (), sizeof (float), values.size (), file.get ())
               == values.size ()
           || fail (error);
  }

  bool close (GError **error) { return fclose (file.release ()) == 0 || fail (error); }

private:
  bool fail (GError **error) const
  {
    const int code = errno;
    g_set_error (error, GST_RESOURCE_ERROR,
        code == ENOSPC ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_OPEN_WRITE,
        "truth-folder: cannot write %s: %s", path.c_str (), g_strerror (code));
    return false;
  }

  std::string path;
  std::unique_ptr<FILE, int (*) (FILE *)> file{nullptr, fclose};
};

bool
make_folder (const std::string &folder, GError **error)
{
  if (g_mkdir_with_parents (folder.c_str (), 0777) == 0)
    return true;
  const int code = errno;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
      "truth-folder: cannot make %s: %s", folder.c_str (), g_strerror (code));
  return false;
}

bool
write_curvature (const OctTestSettings &settings, const TissueScan &scan, GError **error)
{
  TruthFile file (settings.truth_folder, "curvature.npy");
  std::vector<float> values;
  for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
    for (guint line = 0; line < scan.lines; line++)
      values.push_back (float (curvature_at (settings, scan, line, b_scan)));
  }
  return file.open ({scan.b_scans, scan.lines}, error) && file.append (values, error)
         && file.close (error);
}

/* The tissue of a B-scan, as it is written */
struct TruthOfBScan {
  std::vector<float> boundaries, velocity, axial, attenuation;

  TruthOfBScan (const TissueModel &model, guint b_scan)
  {
    const TissueScan &scan = model.scan ();
    boundaries.resize (gsize (tissue_layers) * scan.lines);
    for (guint line = 0; line < scan.lines; line++) {
      const TissueColumn column = model.column (scan.x_of (line), scan.y_of (b_scan));
      for (guint n = 0; n < tissue_layers; n++)
        boundaries[gsize (n) * scan.lines + line] = float (column.boundaries[n]);
      for (guint bin = 0; bin < scan.depths; bin++)
        append (model, column, bin);
    }
  }

private:
  void append (const TissueModel &model, const TissueColumn &column, guint bin)
  {
    const ColumnChord *chord = column.chord_at (bin);
    const double profile = chord ? chord->profile (bin) : 0;
    velocity.push_back (chord ? float (profile * chord->speed) : 0);
    axial.push_back (chord ? float (profile * chord->axial) : 0);
    attenuation.push_back (float (model.attenuation_at (column, bin)));
  }
};
} // namespace

bool
write_tissue_truth (
    const OctTestSettings &settings, const TissueScan &scan, GError **error)
{
  if (!make_folder (settings.truth_folder, error)
      || !write_curvature (settings, scan, error))
    return false;
  if (settings.pattern == OCT_TEST_PATTERN_FLAT)
    return true;

  const TissueModel model (scan, settings.seed, settings.flow_velocity);
  TruthFile boundaries (settings.truth_folder, "boundaries.npy");
  TruthFile velocity (settings.truth_folder, "velocity.npy");
  TruthFile axial (settings.truth_folder, "velocity-axial.npy");
  TruthFile attenuation (settings.truth_folder, "attenuation.npy");
  const std::vector<gsize> volume = {scan.b_scans, scan.lines, scan.depths};
  bool written = boundaries.open ({scan.b_scans, tissue_layers, scan.lines}, error)
                 && velocity.open (volume, error) && axial.open (volume, error)
                 && attenuation.open (volume, error);
  for (guint b_scan = 0; written && b_scan < scan.b_scans; b_scan++) {
    const TruthOfBScan truth (model, b_scan);
    written = boundaries.append (truth.boundaries, error)
              && velocity.append (truth.velocity, error)
              && axial.append (truth.axial, error)
              && attenuation.append (truth.attenuation, error);
  }
  return written && boundaries.close (error) && velocity.close (error)
         && axial.close (error) && attenuation.close (error);
}

bool
write_motion_truth (const OctTestSettings &settings, const TissueScan &scan,
    guint64 frames, double frame_seconds, GError **error)
{
  TruthFile file (settings.truth_folder, "motion.npy");
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
         && file.open ({gsize (frames), 3}, error) && file.append (values, error)
         && file.close (error);
}
} // namespace oct
