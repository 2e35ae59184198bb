/* A recording of raw spectra, read frame by frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>
#include <string>

#include <gst/common/platform.hpp>

#include "../calibration/streamcalibration.hpp"
#include "rawformat.hpp"

namespace oct {
using opencl::ByteSource;

/* Layout of a recording that contains only samples, after a header that is skipped */
struct RawLayout {
  const RawFormat *format;
  guint samples, lines;
  guint64 header_bytes;
  guint background_lines = 0; /* A-lines before those of each frame */

  gsize background_bytes () const
  {
    return format->line_bytes (samples) * background_lines;
  }
  gsize output_bytes () const { return format->line_bytes (samples) * lines; }
  gsize frame_bytes () const { return background_bytes () + output_bytes (); }
  guint64 frame_at (guint64 offset) const
  {
    return (offset - header_bytes) / frame_bytes ();
  }
  /* Returns caps without a framerate. (transfer full) */
  GstCaps *make_caps () const;
};

/* Mean of A-lines that are added one by one */
class MeanSpectrum {
public:
  explicit MeanSpectrum (gsize samples) : sums (samples) {}

  void add (const RawFormat &format, const guint8 *line)
  {
    for (gsize j = 0; j < sums.size (); j++)
      sums[j] += format.read (line, j);
    lines++;
  }
  /* Empty without A-lines */
  std::vector<double> get () const
  {
    std::vector<double> mean;
    for (gsize j = 0; j < sums.size () && lines > 0; j++)
      mean.push_back (sums[j] / lines);
    return mean;
  }

private:
  std::vector<double> sums;
  guint lines = 0;
};

class Recording {
public:
  virtual ~Recording () = default;

  virtual bool open (std::shared_ptr<ByteSource> source, GError **error) = 0;

  /* Reads the A-lines of a frame, which are contiguous. Frames in order need no
   * search. */
  virtual bool read (guint64 frame, guint8 *bytes, GError **error) = 0;

  /* Fails if the recording does not end with its last frame. */
  virtual bool check_end (GError **) { return true; }

  /* Background of the frame that was read last, or empty */
  const std::vector<double> &background () const { return last_background; }

  const RawFormat &format () const { return *raw; }
  guint samples () const { return n_samples; }
  guint lines () const { return n_lines; }
  guint64 frames () const { return n_frames; }
  gsize frame_bytes () const { return raw->line_bytes (n_samples) * n_lines; }

  /* Frames n * repeats to (n + 1) * repeats - 1 show the same B-scan. 0: the position of
   * frames is unknown. */
  guint repeats () const { return n_repeats; }
  /* Number of adjacent A-lines that the instrument averages for its display */
  guint averaged_lines () const { return n_averaged_lines; }
  /* Distances in µm, or 0 if unknown */
  double line_step () const { return line_micrometres; }
  double b_scan_step () const { return b_scan_micrometres; }
  const StreamCalibration &calibration () const { return found; }
  /* Text of a warning, or empty */
  const std::string &warning () const { return warning_text; }

protected:
  void add_warning (const std::string &text)
  {
    warning_text += (warning_text.empty () ? "" : "; ") + text;
  }

  const RawFormat *raw = nullptr;
  guint n_samples = 0, n_lines = 0, n_repeats = 0, n_averaged_lines = 1;
  guint64 n_frames = 0;
  double line_micrometres = 0, b_scan_micrometres = 0;
  StreamCalibration found;
  std::vector<double> last_background;
  std::string warning_text;
};
} // namespace oct
