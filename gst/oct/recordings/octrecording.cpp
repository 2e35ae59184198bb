/* Frames and calibration of a Thorlabs .oct recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "octrecording.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "../calibration/calibration.hpp"

namespace oct {
namespace {
const gsize most_frame_bytes = 256 << 20;
const char spectra_name[] = "data/Spectral0.data",
           float_name[] = "data/SpectralFloat.data";

bool
fail (GError **error, const std::string &what)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "%s", what.c_str ());
  return false;
}

std::string
text (guint64 number)
{
  return std::to_string (number);
}

/* Returns whether the name is that of the spectra of a B-scan: SpectralN.data, or
 * SpectralN_Cam1.data of a second camera. */
bool
is_spectra (const std::string &name, guint camera, guint &number)
{
  const char *const formats[] = {"Spectral%9u.data%n", "Spectral%9u_Cam1.data%n"};
  int end = 0;
  const std::string last = opencl::name_of_file (name, "/"); /* as archives have it */
  return sscanf (last.c_str (), formats[camera], &number, &end) == 1 && end > 0
         && last[gsize (end)] == '\0';
}

/* Returns whether a name is a relative path within the archive. */
bool
is_inside (const std::string &name)
{
  return !name.empty () && name[0] != '/' && name.find (':') == std::string::npos
         && ("/" + name + "/").find ("/../") == std::string::npos;
}

/* Removes missing ranges. */
void
tidy (std::vector<LineRange> &ranges)
{
  ranges.erase (std::remove_if (ranges.begin (), ranges.end (),
                    [] (const LineRange &range) { return range.begin == range.end; }),
      ranges.end ());
  std::sort (ranges.begin (), ranges.end (),
      [] (const LineRange &a, const LineRange &b) { return a.begin < b.begin; });
}

bool
check_ranges (const DataFile &file, const std::vector<LineRange> &ranges,
    const char *name, GError **error)
{
  guint last = 0;
  for (const LineRange &range : ranges) {
    if (range.begin < range.end && range.begin >= last && range.end <= file.size_x) {
      last = range.end;
      continue;
    }
    return fail (error, file.name + ": " + name + " from A-line " + text (range.begin)
                            + " to " + text (range.end)
                            + ", expected ascending ranges within " + text (file.size_x)
                            + " A-lines");
  }
  return true;
}

guint
line_count (const std::vector<LineRange> &ranges)
{
  guint count = 0;
  for (const LineRange &range : ranges)
    count += range.end - range.begin;
  return count;
}

bool
is_count (double number)
{
  return number >= 1 && number <= G_MAXINT32;
}

const DataFile *
find_file (const std::vector<DataFile> &files, const std::string &name)
{
  for (const DataFile &file : files) {
    if (file.name == name)
      return &file;
  }
  return nullptr;
}
} // namespace

bool
has_zip_signature (ByteSource &source)
{
  char begin[4];
  gsize done = 0;
  return source.read (0, begin, sizeof begin, done, nullptr) && done == sizeof begin
         && memcmp (begin, "PK\3\4", 4) == 0;
}

bool
OctRecording::open (std::shared_ptr<ByteSource> source, GError **error)
{
  if (!archive.open (std::move (source), error) || !read_header (error)
      || !list_spectra (error) || !check_format (error))
    return false;
  guint64 frame = 0;
  for (Entry &entry : entries) {
    if (!check_entry (entry, frame, error))
      return false;
    frame = entry.end_frame;
  }
  n_frames = frame;
  find_repeats ();
  find_steps ();
  if (!header.unknown_unit.empty ())
    add_warning ("the lengths in Header.xml have the unit " + header.unknown_unit
                 + ", expected px, mm, um, nm, cm or m: they are left out");
  return find_calibration (error);
}

bool
OctRecording::read_header (GError **error)
{
  const ZipArchive::Entry *entry = archive.find ("Header.xml");
  if (!entry)
    return fail (error, "Header.xml is missing in the zip archive, which is therefore "
                        "no .oct recording");
  ZipReader bytes (archive);
  auto read = [&] (void *data, gsize size, gsize &done, GError **why) {
    done = gsize (std::min<guint64> (size, entry->size - bytes.position ()));
    return done == 0 || bytes.read (data, done, why);
  };
  return bytes.open ("Header.xml", error) && oct_header_read (read, header, error);
}

/* One-dimensional mode has float32 spectra in one entry. */
void
OctRecording::find_entries ()
{
  bool has_other = false;
  for (gsize n = 0; n < header.files.size (); n++) {
    guint number;
    if (is_spectra (header.files[n].name, camera, number))
      entries.push_back ({number, n});
    has_other = has_other || is_spectra (header.files[n].name, 1 - camera, number);
  }
  if (camera == 0 && has_other)
    add_warning ("the recording has spectra of two cameras, of which those of the first "
                 "are output; camera=1 chooses the second");
  for (gsize n = 0; n < header.files.size () && entries.empty () && camera == 0; n++) {
    if (header.files[n].name == float_name)
      entries.push_back ({0, n});
  }
}

bool
OctRecording::list_spectra (GError **error)
{
  find_entries ();
  if (entries.empty ()) {
    const bool processed = std::any_of (header.files.begin (), header.files.end (),
        [] (const DataFile &file) { return file.type == "Real" && file.size_x > 1; });
    return fail (error,
        std::string ("Header.xml lists no spectra such as ")
            + (camera == 0 ? spectra_name : "data/Spectral0_Cam1.data of a second camera")
            + (processed ? ", only processed data: record it with raw spectra" : ""));
  }
  std::sort (entries.begin (), entries.end (),
      [] (const Entry &a, const Entry &b) { return a.number < b.number; });
  for (gsize n = 0; n < entries.size (); n++) {
    if (entries[n].number == entries[0].number + n)
      continue;
    return fail (error, "Header.xml lists Spectral" + text (entries[n].number)
                            + ".data, expected Spectral" + text (entries[0].number + n)
                            + ".data");
  }
  return true;
}

bool
OctRecording::check_format (GError **error)
{
  const DataFile &first = file_of (entries[0]);
  const struct {
    guint bytes;
    bool is_signed;
    const char *format;
  } formats[] = {{1, false, "U8"}, {1, true, "S8"}, {2, false, "U16LE"},
      {2, true, "S16LE"}, {4, false, "U32LE"}, {4, true, "S32LE"}};
  if (first.name == float_name && first.bytes_per_pixel == sizeof (gfloat))
    raw = find_raw_format ("F32LE");
  for (const auto &known : formats) {
    if (!raw && first.bytes_per_pixel == known.bytes
        && header.is_signed == known.is_signed)
      raw = find_raw_format (known.format);
  }
  if (!raw)
    return fail (error, first.name + ": " + text (first.bytes_per_pixel)
                            + " bytes per sample, expected 1, 2 or 4");
  if (first.size_z < least_samples || first.size_z > most_samples)
    return fail (error, first.name + ": " + text (first.size_z)
                            + " samples per A-line, expected " + text (least_samples)
                            + " to " + text (most_samples));
  n_samples = first.size_z;
  return true;
}

/* Finds the A-lines of an entry, and compares its size with the archive's. */
bool
OctRecording::check_entry (Entry &entry, guint64 first_frame, GError **error)
{
  DataFile &file = header.files[entry.file];
  const DataFile &first = file_of (entries[0]);
  if (!is_inside (file.name))
    return fail (error, "Header.xml lists " + file.name.substr (0, 200)
                            + ", expected a path within the archive");
  const ZipArchive::Entry *stored = archive.find (file.name);
  if (!stored)
    return fail (error, file.name + ": listed in Header.xml, but not in the zip archive");
  if (file.size_z != n_samples || file.bytes_per_pixel != first.bytes_per_pixel)
    return fail (error, file.name + ": " + text (file.size_z) + " samples of "
                            + text (file.bytes_per_pixel) + " bytes, expected "
                            + text (n_samples) + " of " + text (first.bytes_per_pixel)
                            + " as in " + first.name);
  tidy (file.scan);
  tidy (file.apodization);
  if (file.scan.empty ())
    file.scan = {
        {file.apodization.empty () ? 0 : file.apodization.back ().end, file.size_x}};
  if (!check_ranges (file, file.scan, "scan region", error)
      || !check_ranges (file, file.apodization, "apodization region", error))
    return false;
  const guint found_lines = line_count (file.scan);
  if (n_lines == 0)
    n_lines = found_lines;
  const guint64 bytes = guint64 (raw->line_bytes (n_samples)) * file.size_x;
  if (found_lines != n_lines)
    return fail (error, file.name + ": " + text (found_lines) + " A-lines, expected "
                            + text (n_lines) + " as in " + first.name);
  if (bytes > most_frame_bytes)
    return fail (error, file.name + ": " + text (bytes)
                            + " bytes for a B-scan, expected at most "
                            + text (most_frame_bytes));
  const guint64 count = stored->size / bytes;
  if (stored->size % bytes != 0 || (count != 1 && count != file.size_y))
    return fail (error, file.name + ": " + text (stored->size) + " bytes, expected "
                            + text (bytes) + " for " + text (file.size_x) + " A-lines of "
                            + text (n_samples) + " samples");
  entry.end_frame = first_frame + count;
  return true;
}

/* The repeats of a B-scan are adjacent. A negative size in y says that y counts repeats.
 * Some recordings state only the number of B-scans. */
void
OctRecording::find_repeats ()
{
  const double y = is_count (header.pixels_y) ? header.pixels_y : 1;
  double repeats =
      std::max (1.0, header.repeats_intensity) * std::max (1.0, header.repeats_speckle);
  if (header.size_y < 0)
    repeats = y;
  else if (repeats == 1 && y > 1)
    repeats = double (frames ()) / y;
  if (is_count (repeats) && repeats == std::floor (repeats)
      && frames () % guint64 (repeats) == 0)
    n_repeats = guint (repeats);
  else
    n_repeats = 1;
  const double lines =
      std::max (1.0, header.lines_intensity) * std::max (1.0, header.lines_speckle);
  if (is_count (lines) && lines == std::floor (lines) && n_lines % guint (lines) == 0)
    n_averaged_lines = guint (lines);
}

void
OctRecording::find_steps ()
{
  const double b_scans = double (frames ()) / n_repeats;
  if (header.size_x > 0)
    line_micrometres = header.size_x * 1000 / n_lines;
  if (header.size_y > 0 && b_scans > 1)
    b_scan_micrometres = header.size_y * 1000 / b_scans;
}

bool
OctRecording::find_calibration (GError **error)
{
  const DataFile &first = file_of (entries[0]);
  /* Some recordings repeat SizeReal in SizePixel, which is then one pixel, or have a wrong
   * unit there. */
  const bool is_plausible = header.pixels_z > 1 && header.pixels_z <= n_samples;
  const double depths = is_plausible ? header.pixels_z : n_samples / 2;
  const bool is_known = header.size_z > 0 && !std::isnan (header.pixels_z);
  const double range = is_known ? header.size_z : first.range_z;
  const double index = header.refractive_index > 0 ? header.refractive_index : 1;
  const double depth_step = range * 1000 / (is_known ? depths : n_samples / 2);
  found.refractive_index = index;
  found.centre_wavelength = header.central_wavelength;
  if (header.bit_depth >= 1 && header.bit_depth < raw->bits)
    found.full_scale = std::exp2 (header.bit_depth - header.is_signed) - 1;
  /* The ranges are those of the displayed image, which is divided by the index. */
  if (depth_step > 0)
    found.wavenumber_step = G_PI / (n_samples * depth_step * index);
  return find_map (error) && find_background (error);
}

/* Reads float32 values, one for each sample. They stay empty if there are none. */
bool
OctRecording::read_values (const char *name, std::vector<double> &values, GError **error)
{
  const ZipArchive::Entry *stored = archive.find (name);
  const DataFile *listed = find_file (header.files, name);
  values.clear ();
  if (!stored && listed)
    return fail (
        error, std::string (name) + ": listed in Header.xml, but not in the zip archive");
  if (!stored)
    return true;
  std::vector<guint8> bytes (n_samples * sizeof (gfloat));
  if (stored->size != bytes.size ())
    return fail (error, std::string (name) + ": " + text (stored->size)
                            + " bytes, expected " + text (bytes.size ()) + " for "
                            + text (n_samples) + " samples");
  ZipReader entry (archive);
  if (!entry.open (name, error) || !entry.read (bytes.data (), bytes.size (), error))
    return false;
  const RawFormat &floats = *find_raw_format ("F32LE");
  for (gsize n = 0; n < n_samples; n++) {
    values.push_back (floats.read (bytes.data (), n));
    if (!std::isfinite (values.back ()))
      return fail (error, std::string (name) + ": value " + text (n)
                              + " is not finite, expected a number");
  }
  return true;
}

bool
OctRecording::find_map (GError **error)
{
  const char name[] = "data/Chirp.data";
  std::vector<double> chirp;
  if (!read_values (name, chirp, error))
    return false;
  if (chirp.empty ())
    add_warning (std::string ("the recording has no ") + name
                 + ": samples are taken as even in wavenumber");
  return chirp.empty () || map_of_chirp (name, chirp, found.resample_map, error);
}

/* The apodization A-lines contain the dark level, and so does ApodizationSpectrum.data.
 * If there is neither, the dark level alone is the background. */
bool
OctRecording::find_background (GError **error)
{
  for (gsize n = 0; n < entries.size (); n++) {
    if (file_of (entries[n]).apodization.empty ())
      continue;
    const bool read = read_ranges (n, 0, nullptr, error);
    found.background = last_background;
    return read;
  }
  const double scale = header.electrons_per_count > 0 ? header.electrons_per_count : 1;
  for (const char *name : {"data/ApodizationSpectrum.data", "data/OffsetErrors.data"}) {
    if (!read_values (name, found.background, error))
      return false;
    for (double &value : found.background)
      value /= scale;
    if (!found.background.empty ())
      return true;
  }
  return true;
}

gsize
OctRecording::entry_of (guint64 frame) const
{
  return gsize (
      std::upper_bound (entries.begin (), entries.end (), frame,
          [] (guint64 wanted, const Entry &entry) { return wanted < entry.end_frame; })
      - entries.begin ());
}

/* Continues in the open entry if possible. */
bool
OctRecording::move_to (gsize entry, guint64 offset, GError **error)
{
  if (!reader.is_open () || open_entry != entry || reader.position () > offset) {
    open_entry = entry;
    if (!reader.open (file_of (entries[entry]).name, error))
      return false;
  }
  return reader.skip (offset - reader.position (), error);
}

/* Reads the A-lines of a frame in their order: those of the scan to `bytes` (nullable),
 * those of the apodization for their mean. */
bool
OctRecording::read_ranges (gsize entry, guint64 first_line, guint8 *bytes, GError **error)
{
  const DataFile &file = file_of (entries[entry]);
  const gsize line = raw->line_bytes (n_samples);
  std::vector<guint8> apodization (line);
  MeanSpectrum mean (n_samples);
  auto scan = file.scan.begin (), apo = file.apodization.begin ();

  while ((bytes && scan != file.scan.end ()) || apo != file.apodization.end ()) {
    const bool is_scan = bytes && scan != file.scan.end ()
                         && (apo == file.apodization.end () || scan->begin < apo->begin);
    const LineRange &range = is_scan ? *scan++ : *apo++;
    if (!move_to (entry, (first_line + range.begin) * line, error))
      return false;
    for (guint n = range.begin; n < range.end; n++) {
      guint8 *to = is_scan ? bytes : apodization.data ();
      if (!reader.read (to, line, error))
        return false;
      if (is_scan)
        bytes += line;
      else
        mean.add (*raw, to);
    }
  }
  last_background = mean.get ();
  return true;
}

bool
OctRecording::read (guint64 frame, guint8 *bytes, GError **error)
{
  const gsize n = entry_of (frame);
  const gsize line = raw->line_bytes (n_samples);
  const guint64 lines = file_of (entries[n]).size_x;
  const guint64 first_frame = n == 0 ? 0 : entries[n - 1].end_frame;
  const guint64 begin = (frame - first_frame) * lines;
  /* Reads to the end of the frame, so that the checksum is compared. */
  const bool good =
      read_ranges (n, begin, bytes, error) && move_to (n, (begin + lines) * line, error);
  if (!good)
    reader.close ();
  return good;
}
} // namespace oct
