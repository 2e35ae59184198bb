/* octfilesink: writes B-scans and volumes as NRRD or NIfTI-1 files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octfilesink
 *
 * Writes B-scans, B-scan images, volumes and other arrays as NRRD (`.nrrd`) or NIfTI-1
 * (`.nii`). The extension of `location` selects the format. The header contains the voxel
 * spacing from the caps (`depth-step`, `line-step`, `b-scan-step`) or from the properties
 * of the same names. 3D Slicer, ITK-SNAP, Fiji, `pynrrd` and `nibabel` open these files.
 *
 * Caps and properties are in micrometres, files in millimetres (`space directions` of
 * NRRD). Where some spacings are unknown, NRRD has the others, and NIfTI has 1 in their
 * place and no unit, with a WARNING. Where all are, they are 1 without a unit.
 * The coronal plane of a viewer is the B-scan as `octfft` shows it: depth goes down (I),
 * lines go to the patient's left (L), B-scans forwards (A). `depth-start` of the caps is
 * the origin's depth. Files of one or two axes are not rotated.
 *
 * One file grows with each frame along an additional axis: B-scans become a volume,
 * volumes a series. If the file name in `location` contains `%d`, each frame is written
 * to its own file instead. The axes are, fastest first, depth, A-lines, B-scans and
 * volumes. Images have the first two swapped. A single volume has three axes.
 *
 * A file has a temporary name with the same extension until it is complete, at EOS or
 * when the pipeline stops. The header of a growing file always counts the frames written
 * so far, so the file stays readable after a crash or on a full disk.
 *
 * An existing file is replaced. The new file keeps its mode and, where possible, its
 * owner. If `location` is a symbolic link, the target is replaced or created. Anything
 * else at `location`, such as a folder, a FIFO or a device, causes an element error.
 *
 * NIfTI allows at most 32767 voxels along an axis. Neither format supports float16.
 * Complex values are complex in NIfTI, and have a first axis of size 2 in NRRD.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=64 ! octscan b-scans=64 line-step=8 b-scan-step=8 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 wavelength-unit=nm ! octfft !
 * "application/x-oct(memory:OpenCLMemory)" ! opencldownload !
 * octfilesink location=volume.nrrd
 * ]|
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=64 ! octscan b-scans=32 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! octvolume !
 * "other/tensors(ANY),num_tensors=1" ! opencldownload !
 * octfilesink location=volume%d.nii depth-step=3.4
 * ]|
 *
 * Since: 0.3
 */
#include <gst/common/recording.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>

#include "elements.h"
#include "spectra/elementqueries.hpp"
#include "volume/volumeheader.hpp"

#define FILE_CAPS(features)                                                              \
  "application/x-oct" features ", format = (string) { U16LE, F32LE, CF32LE, U8, S8, "    \
  "S16LE, S32LE, U32LE }, samples = (int) [ 1, max ], lines = (int) [ 1, max ]; "        \
  "video/x-raw" features                                                                 \
  ", format = (string) { GRAY8, GRAY16_LE }; " TENSORS_CAPS (features)

namespace {
struct FileSinkSettings {
  std::string location;
  double depth_step = 0;
  double line_step = 0;
  double b_scan_step = 0;
};

const opencl::PropertyTable<FileSinkSettings> properties = {
    {"location", "Location",
        "Output file, .nrrd or .nii; with %d, as in volume%05d.nii, one file for each "
        "buffer, counted from 0",
        &FileSinkSettings::location, opencl::ready},
    {"depth-step", "Depth step",
        "Voxel spacing along depth in micrometres (0 = depth-step of the caps)",
        &FileSinkSettings::depth_step, {0, 1e9}, opencl::ready},
    {"line-step", "Line step",
        "Distance between A-lines in micrometres (0 = line-step of the caps)",
        &FileSinkSettings::line_step, {0, 1e9}, opencl::ready},
    {"b-scan-step", "B-scan step",
        "Distance between B-scans in micrometres (0 = b-scan-step of the caps)",
        &FileSinkSettings::b_scan_step, {0, 1e9}, opencl::ready},
};

/* File format, selected by the extension of the location. */
struct FileKind {
  const char *ending;
  bool (*make_header) (const oct::FileAxes &axes, std::string &header, GError **error);
};

const FileKind file_kinds[] = {
    {".nrrd", oct::make_nrrd_header},
    {".nii", oct::make_nifti_header},
};

/* (nullable) */
const FileKind *
kind_of (const std::string &location)
{
  for (const FileKind &kind : file_kinds) {
    if (opencl::extension_of (location) == kind.ending)
      return &kind;
  }
  return nullptr;
}

/* Recording whose headers contain the voxel spacing. */
class SpacedRecording : public opencl::Recording {
public:
  SpacedRecording (
      GstElement *sink, const FileSinkSettings &settings, const FileKind &kind)
      : Recording (sink, settings.location, kind.ending,
          [this, &kind] (const opencl::FrameFormat &format, bool growing, guint64 frames,
              std::string &header, GError **error) {
            const oct::FileAxes axes = oct::axes_of (format, growing, frames, spacing);
            warn_of_lengths (axes, kind);
            return kind.make_header (axes, header, error);
          }),
        element (sink), settings (settings)
  {
  }
  bool set_caps (GstCaps *caps) override;

private:
  void warn_of_lengths (const oct::FileAxes &axes, const FileKind &kind);

  GstElement *element;
  bool has_warned = false;
  const FileSinkSettings settings;
  oct::Spacing spacing;
};

oct::Spacing
spacing_of (const FileSinkSettings &settings, GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const char *const fields[] = {"depth-step", "line-step", "b-scan-step"};
  oct::Spacing spacing;
  gint numerator = 0, denominator = 1, first_depth = 0;

  spacing.image = gst_structure_has_name (structure, "video/x-raw");
  spacing.micrometres = {settings.depth_step, settings.line_step, settings.b_scan_step};
  for (guint n = 0; n < 3; n++) {
    if (spacing.micrometres[n] == 0)
      gst_structure_get_double (structure, fields[n], &spacing.micrometres[n]);
  }
  if (gst_structure_get_int (structure, "depth-start", &first_depth))
    spacing.first_depth = guint (std::max (first_depth, 0));
  if (gst_structure_get_fraction (structure, "framerate", &numerator, &denominator)
      && numerator > 0)
    spacing.seconds = double (denominator) / numerator;
  return spacing;
}

/* NIfTI has one unit for all lengths. */
void
SpacedRecording::warn_of_lengths (const oct::FileAxes &axes, const FileKind &kind)
{
  const char *const names[] = {"depth-step", "line-step", "b-scan-step"};
  std::string unknown;
  for (const oct::FileAxis &axis : axes.axes) {
    if (axis.along < oct::Along::time && !axis.has_step)
      unknown += (unknown.empty () ? "" : ", ") + std::string (names[gsize (axis.along)]);
  }
  if (has_warned || !axes.lacks_some || kind.make_header != oct::make_nifti_header)
    return;
  has_warned = true;
  GST_ELEMENT_WARNING (element, STREAM, FORMAT,
      ("Unknown lengths: %s. The file has no unit, and 1 in their place.",
          unknown.c_str ()),
      ("Set these properties, or those of octscan and octfft."));
}

bool
SpacedRecording::set_caps (GstCaps *caps)
{
  spacing = spacing_of (settings, caps);
  return Recording::set_caps (caps);
}
} // namespace

#define GST_TYPE_OCT_FILE_SINK (gst_oct_file_sink_get_type ())
G_DECLARE_FINAL_TYPE (GstOctFileSink, gst_oct_file_sink, GST, OCT_FILE_SINK, GstBaseSink)

struct _GstOctFileSink {
  GstBaseSink parent;

  opencl::Settings<FileSinkSettings> *settings;
  opencl::Recording *recording; /* nullable, see RecordingSink */
};

G_DEFINE_TYPE (GstOctFileSink, gst_oct_file_sink, GST_TYPE_BASE_SINK)
GST_ELEMENT_REGISTER_DEFINE (
    octfilesink, "octfilesink", GST_RANK_NONE, GST_TYPE_OCT_FILE_SINK)

/* --- the recording --- */

static opencl::Recording *
make_recording (GstOctFileSink *self)
{
  const FileSinkSettings settings = self->settings->committed ();
  const FileKind *kind = kind_of (settings.location);

  if (kind)
    return new SpacedRecording (GST_ELEMENT (self), settings, *kind);
  GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
      ("location is %s, expected the name of a .nrrd or .nii file",
          settings.location.empty () ? "not set" : settings.location.c_str ()),
      (nullptr));
  return nullptr;
}

/* --- the class --- */

static gboolean
gst_oct_file_sink_query (GstBaseSink *sink, GstQuery *query)
{
  if (oct::KeptDepths *depths = oct::asked_by<oct::KeptDepths> (query)) {
    depths->are_kept = true;
    return TRUE;
  }
  return GST_BASE_SINK_CLASS (gst_oct_file_sink_parent_class)->query (sink, query);
}

static void
gst_oct_file_sink_init (GstOctFileSink *self)
{
  self->settings = new opencl::Settings<FileSinkSettings> (self, properties);
  /* Files are written as fast as frames arrive. */
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
}

static void
gst_oct_file_sink_class_init (GstOctFileSinkClass *klass)
{
  opencl::install_settings<&GstOctFileSink::settings, &GstOctFileSink::recording> (
      klass, properties);
  opencl::describe_element (klass, "OCT file writer", "Sink/File",
      "Writes B-scans and volumes to NRRD and NIfTI files",
      {FILE_CAPS ("") "; " FILE_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")")});

  opencl::RecordingSink<GstOctFileSink, make_recording>::install (klass);
  GST_BASE_SINK_CLASS (klass)->query = gst_oct_file_sink_query;
}
