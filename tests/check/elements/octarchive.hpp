/* Writes .oct recordings of the published layout, without the code under test
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../harness.hpp"

#include <gio/gio.h>

namespace check {
/* Bytes of numbers, lowest byte first */
template <typename T>
std::string
bytes_of (const std::vector<T> &values)
{
  return {reinterpret_cast<const char *> (values.data ()), values.size () * sizeof (T)};
}

/* Zip archive as PKWARE's APPNOTE.TXT describes it */
class ZipWriter {
public:
  void add (const std::string &name, const std::string &bytes, bool deflated = false)
  {
    const std::string stored = deflated ? compressed (bytes) : bytes;
    const std::string common =
        number (20, 2) + number (0, 2) + number (deflated ? 8 : 0, 2) + number (0, 4)
        + number (checksum (bytes), 4) + number (stored.size (), 4)
        + number (bytes.size (), 4) + number (name.size (), 2) + number (0, 2);
    directory += "PK\1\2" + number (20, 2) + common + number (0, 2 + 2 + 2 + 4)
                 + number (entries.size (), 4) + name;
    entries += "PK\3\4" + common + name + stored;
    count++;
  }

  std::string finished () const
  {
    return entries + directory + "PK\5\6" + number (0, 4) + number (count, 2)
           + number (count, 2) + number (directory.size (), 4)
           + number (entries.size (), 4) + number (0, 2);
  }

private:
  static std::string number (guint64 value, gsize size)
  {
    std::string bytes;
    for (gsize n = 0; n < size; n++)
      bytes += char (n < 8 ? value >> (8 * n) : 0);
    return bytes;
  }

  static guint32 checksum (const std::string &bytes)
  {
    guint32 sum = ~0u;
    for (const char c : bytes) {
      sum ^= guint8 (c);
      for (guint n = 0; n < 8; n++)
        sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
  }

  static std::string compressed (const std::string &bytes)
  {
    std::string result (bytes.size () + 1024, '\0');
    gsize read = 0, written = 0;
    GZlibCompressor *compressor = g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_RAW, 6);
    const GConverterResult status = g_converter_convert (G_CONVERTER (compressor),
        bytes.data (), bytes.size (), &result[0], result.size (),
        G_CONVERTER_INPUT_AT_END, &read, &written, nullptr);
    g_object_unref (compressor);
    fail_unless (status == G_CONVERTER_FINISHED && read == bytes.size ());
    result.resize (written);
    return result;
  }

  std::string entries, directory;
  guint count = 0;
};

/* A recording of `frames` B-scans of unsigned 16-bit samples. Fields may be changed
 * before it is written. */
struct OctArchive {
  guint samples = 32, lines = 3, frames = 4, apodization_lines = 2;
  std::vector<std::string> spectra; /* bytes of each entry */
  std::string format = "U16LE";
  guint bytes = 2;
  bool is_signed = false;
  guint per_entry = 1;
  bool is_steady = false; /* all frames have the apodization of the first */
  std::string attributes; /* further ones of each spectrum */
  std::string real = "<SizeZ>1.5</SizeZ><SizeX>0.3</SizeX><SizeY>0.8</SizeY>";
  std::string pixels = "<SizeZ>16</SizeZ><SizeX>3</SizeX>";
  std::string unit_of_real = "Unit=\"mm\"", unit_of_pixels; /* attributes */
  std::string acquisition;
  std::string instrument;
  std::string further_files;
  std::vector<std::pair<std::string, std::string>> further; /* entries */
  std::vector<gfloat> chirp;
  std::string separator = "\\";
  bool deflated = false;

  OctArchive ()
  {
    for (guint n = 0; n < samples; n++)
      chirp.push_back (gfloat (n + 0.05 * n * (samples - 1 - n) / samples));
  }

  guint all_lines () const { return lines + apodization_lines; }

  static guint16 sample (guint frame, guint line, guint n)
  {
    return guint16 (1000 + 389 * frame + 57 * line + 13 * n * (line + 1) + (n * n) % 17);
  }

  /* A-lines `begin` to `end` - 1 of a frame. The first ones are the apodization. */
  std::string lines_of (guint frame, guint begin, guint end) const
  {
    std::string all;
    for (guint line = begin; line < end; line++) {
      for (guint n = 0; n < samples; n++) {
        const bool of_first = is_steady && line < apodization_lines;
        const guint32 value = sample (of_first ? 0 : frame, line, n);
        all.append (reinterpret_cast<const char *> (&value), bytes);
      }
    }
    return all;
  }

  /* Bytes of a frame without the apodization */
  std::string frame (guint n) const
  {
    return lines_of (n, apodization_lines, all_lines ());
  }

  std::string header () const
  {
    std::string files;
    for (guint n = 0; n < frames / per_entry; n++)
      files += text ("<DataFile Type=\"Raw\" SizeZ=\"%u\" SizeX=\"%u\" SizeY=\"%u\" "
                     "RangeZ=\"1.5\" BytesPerPixel=\"%u\" %s",
                   samples, all_lines (), per_entry, bytes, attributes.c_str ())
               + (apodization_lines > 0
                       ? text ("ApoRegionStart0=\"0\" ApoRegionEnd0=\"%u\" "
                               "ScanRegionStart0=\"%u\" ScanRegionEnd0=\"%u\"",
                           apodization_lines, apodization_lines, all_lines ())
                       : "")
               + text (">data\\Spectral%u.data</DataFile>\n", n);
    if (!chirp.empty ())
      files += "<DataFile Type=\"Real\">data\\Chirp.data</DataFile>\n";
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Ocity "
           "version=\"1.0\">\n<DataFiles>"
           + files + further_files
           + "</DataFiles>\n<Image Type=\"RawSpectra\"><SizePixel " + unit_of_pixels + ">"
           + pixels + "</SizePixel><SizeReal " + unit_of_real + ">" + real
           + "</SizeReal></Image><Acquisition>" + acquisition
           + "</Acquisition><Instrument>"
           + text ("<RawDataIsSigned>%s</RawDataIsSigned>", is_signed ? "True" : "False")
           + instrument + "</Instrument></Ocity>\n";
  }

  std::string written () const
  {
    ZipWriter zip;
    zip.add ("Header.xml", header (), deflated);
    for (guint n = 0; n < frames; n += per_entry) {
      std::string all;
      for (guint k = n; k < n + per_entry; k++)
        all += lines_of (k, 0, all_lines ());
      zip.add (
          "data" + separator + text ("Spectral%u.data", n / per_entry), all, deflated);
    }
    if (!chirp.empty ())
      zip.add ("data" + separator + "Chirp.data", bytes_of (chirp), deflated);
    for (const auto &[name, content] : further)
      zip.add (name, content);
    return zip.finished ();
  }

  std::vector<std::string> all_frames () const
  {
    std::vector<std::string> all;
    for (guint n = 0; n < frames; n++)
      all.push_back (frame (n));
    return all;
  }
};
} // namespace check
