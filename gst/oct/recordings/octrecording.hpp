/* Frames and calibration of a Thorlabs .oct recording
 *
 * A recording is a zip archive. Header.xml describes the other entries:
 * data/Spectral0.data, data/Spectral1.data … contain the samples of one B-scan each, or
 * of several. An A-line is contiguous. The first A-lines of a B-scan are those of the
 * reference arm alone (apodization). data/Chirp.data has the position of each sample on
 * the grid of even wavenumbers, data/ApodizationSpectrum.data the spectrum of the
 * reference arm, and data/OffsetErrors.data the dark level. The latter two are in
 * electrons.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>
#include <vector>

#include "octheader.hpp"
#include "recording.hpp"
#include "ziparchive.hpp"

namespace oct {
class OctRecording : public Recording {
public:
  /* `camera`: 0 or 1, whose spectra are read */
  explicit OctRecording (guint camera = 0) : camera (camera) {}

  /* Reads the header, the directory and the calibration. Fails for any inconsistency. */
  bool open (std::shared_ptr<ByteSource> source, GError **error) override;

  /* The mean of the A-lines of the apodization is the frame's background. */
  bool read (guint64 frame, guint8 *bytes, GError **error) override;

private:
  struct Entry {
    guint number;          /* N of SpectralN.data */
    gsize file;            /* index into the header's files */
    guint64 end_frame = 0; /* number of frames up to the end of this entry */
  };
  using Ranges = std::vector<LineRange>;

  bool read_header (GError **error);
  bool list_spectra (GError **error);
  bool check_entry (Entry &entry, guint64 first_frame, GError **error);
  bool check_format (GError **error);
  void find_entries ();
  void find_repeats ();
  void find_steps ();
  bool find_calibration (GError **error);
  bool find_background (GError **error);
  bool find_map (GError **error);
  bool read_ranges (gsize entry, guint64 first_line, guint8 *bytes, GError **error);
  bool read_values (const char *name, std::vector<double> &values, GError **error);

  const DataFile &file_of (const Entry &entry) const { return header.files[entry.file]; }
  gsize entry_of (guint64 frame) const;
  bool move_to (gsize entry, guint64 offset, GError **error);

  const guint camera;
  ZipArchive archive;
  OctHeader header;
  std::vector<Entry> entries;

  ZipReader reader{archive};
  gsize open_entry = 0; /* that `reader` reads */
};

/* Returns whether a file begins as a zip archive. */
bool has_zip_signature (ByteSource &source);
} // namespace oct
