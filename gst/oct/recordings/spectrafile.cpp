/* Loads A-lines from files of any supported format
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrafile.hpp"

#include <gst/common/npyfile.hpp>

#include <algorithm>
#include <cstring>

#include "../calibration/valuesfile.hpp"
#include "octrecording.hpp"
#include "rawrecording.hpp"

namespace oct {
namespace {
using Values = std::vector<double>;

const guint most_lines_at_once = 256;
const guint64 most_frames = 16; /* whose A-lines are kept */

bool
begins_as (ByteSource &source, const void *magic, gsize size)
{
  guint8 begin[8];
  gsize done = 0;
  return source.read (0, begin, size, done, nullptr) && done == size
         && memcmp (begin, magic, size) == 0;
}

bool
fail (GError **error, const std::string &what)
{
  g_set_error (
      error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "%s", what.c_str ());
  return false;
}

void
add_lines (const Values &lines, Values &sum)
{
  for (gsize n = 0; n < lines.size (); n++)
    sum[n % sum.size ()] += lines[n];
}

void
divide (Values &sum, double count)
{
  for (double &value : sum)
    value /= count;
}

bool
load_npy (const char *path, SpectraFile &file, GError **error)
{
  std::vector<gsize> shape;
  if (!opencl::npy_load_doubles (path, file.lines, shape, error))
    return false;
  if (shape.empty () || shape.back () == 0 || file.lines.size () % shape.back ())
    return fail (error, std::string (path) + ": expected A-lines of real numbers");
  file.samples = guint (shape.back ());
  file.frame_lines = shape.size () > 1 ? shape[shape.size () - 2] : 1;
  file.mean.assign (file.samples, 0);
  add_lines (file.lines, file.mean);
  divide (file.mean, double (file.lines.size () / file.samples));
  return true;
}

bool
load_frames (Recording &recording, SpectraFile &file, GError **error)
{
  std::vector<guint8> bytes (recording.frame_bytes ());
  const RawFormat &format = recording.format ();
  const gsize line = format.line_bytes (recording.samples ());
  Values lines (gsize (recording.samples ()) * recording.lines ());
  const guint64 kept = std::min (recording.frames (), most_frames);
  file.samples = recording.samples ();
  file.frame_lines = recording.lines ();
  file.mean.assign (file.samples, 0);
  for (guint64 frame = 0; frame < recording.frames (); frame++) {
    if (!recording.read (frame, bytes.data (), error))
      return false;
    for (gsize n = 0; n < lines.size (); n++)
      lines[n] = format.read (&bytes[n / file.samples * line], n % file.samples);
    add_lines (lines, file.mean);
    if (frame == file.lines.size () / lines.size () * recording.frames () / kept)
      file.lines.insert (file.lines.end (), lines.begin (), lines.end ());
  }
  divide (file.mean, double (recording.frames ()) * recording.lines ());
  file.calibration = recording.calibration ();
  return recording.check_end (error);
}

/* Chooses the number of A-lines to read at once, which must divide that of the file. */
guint
lines_at_once (const SpectraLayout &layout, guint64 bytes)
{
  const guint64 samples = bytes - std::min (bytes, layout.header_bytes);
  const guint64 all = samples / layout.format->line_bytes (layout.samples);
  guint lines = guint (std::clamp<guint64> (all, 1, most_lines_at_once));
  while (all % lines != 0)
    lines--;
  return lines;
}

bool
load_raw (std::shared_ptr<ByteSource> source, SpectraLayout layout, SpectraFile &file,
    GError **error)
{
  layout.lines = lines_at_once (layout, source->size ());
  RawRecording recording (layout);
  return recording.open (source, error) && recording.check_end (error)
         && load_frames (recording, file, error);
}

bool
load_source (const char *path, const std::shared_ptr<opencl::RegularFile> &source,
    const SpectraLayout &layout, SpectraFile &file, GError **error)
{
  if (begins_as (*source, opencl::npy_magic, sizeof opencl::npy_magic))
    return load_npy (path, file, error);
  if (has_zip_signature (*source)) {
    OctRecording recording;
    return recording.open (source, error) && load_frames (recording, file, error);
  }
  if (layout.format)
    return load_raw (source, layout, file, error);
  return fail (
      error, "neither .npy nor .oct, expected the layout of its samples (--raw)");
}
} // namespace

bool
parse_spectra_layout (const std::string &text, SpectraLayout &layout, GError **error)
{
  gchar **words = g_strsplit (text.c_str (), ",", 3);
  const guint count = g_strv_length (words);
  guint64 samples = 0, header = 0;
  const RawFormat *format = find_raw_format (count > 1 ? words[1] : "U16LE");
  const bool good =
      count > 0 && format
      && g_ascii_string_to_unsigned (
          words[0], 10, least_samples, most_samples, &samples, nullptr)
      && (count < 3
          || g_ascii_string_to_unsigned (words[2], 10, 0, G_MAXINT64, &header, nullptr));
  g_strfreev (words);
  if (good)
    layout = {format, guint (samples), 1, header};
  else
    fail (error, text.substr (0, 80)
                     + ": expected SAMPLES[,FORMAT[,HEADER-BYTES]] with 16 to 65536 "
                       "samples per A-line, such as 2048,U16LE");
  return good;
}

bool
load_spectra (
    const char *path, const SpectraLayout &layout, SpectraFile &file, GError **error)
{
  const auto source = std::make_shared<opencl::RegularFile> ();
  if (source->open (path, error) && load_source (path, source, layout, file, error))
    return true;
  if (error && *error && !strstr ((*error)->message, path))
    g_prefix_error (error, "%s: ", path);
  return false;
}
} // namespace oct
