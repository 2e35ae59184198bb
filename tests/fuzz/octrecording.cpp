/* Fuzzing: .oct and raw recordings
 *
 * The first byte chooses between a whole file, a header alone, and a raw recording. Headers
 * are read in pieces of any size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/oct/recordings/octrecording.hpp"
#include "gst/oct/recordings/rawrecording.hpp"

#include <cmath>

using fuzz::promise;

namespace {
class InputSource : public oct::ByteSource {
public:
  InputSource (const guint8 *bytes, gsize count) : bytes (bytes), count (count) {}
  guint64 size () const override { return count; }
  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **) override
  {
    done = offset < count ? std::min (size, gsize (count - offset)) : 0;
    if (done > 0)
      memcpy (data, bytes + offset, done);
    return true;
  }

private:
  const guint8 *bytes;
  gsize count;
};

void
check_failure (bool good, GError *error)
{
  promise (good == !error, "a failure has a reason, and a success has none");
  promise (good || g_utf8_validate (error->message, -1, nullptr)
               || strlen (error->message) > 0,
      "a reason has a text");
  g_clear_error (&error);
}

void
check_calibration (const oct::Recording &recording)
{
  const oct::StreamCalibration &found = recording.calibration ();
  for (const auto *values : {&found.resample_map, &found.background}) {
    promise (values->empty () || values->size () == recording.samples (),
        "as many values as samples");
    for (double value : *values)
      promise (std::isfinite (value), "values are finite");
  }
  promise (std::isfinite (found.wavenumber_step), "steps are finite");
}

/* Most frames of a large file repeat. */
void
read_frames (oct::Recording &recording)
{
  const guint64 frames = recording.frames ();
  std::vector<guint8> bytes (recording.frame_bytes ());
  bool good = true;
  for (guint64 n = 0; good && n < std::min<guint64> (frames, 16); n++) {
    GError *error = nullptr;
    good = recording.read (n % 2 ? frames - 1 - n : n, bytes.data (), &error);
    check_failure (good, error);
  }
  GError *error = nullptr;
  good = recording.check_end (&error);
  check_failure (good, error);
}

void
open_and_read (oct::Recording &recording, fuzz::Input &input)
{
  GError *error = nullptr;
  const bool good = recording.open (
      std::make_shared<InputSource> (input.rest (), input.remaining ()), &error);
  check_failure (good, error);
  if (!good)
    return;
  check_calibration (recording);
  if (recording.frame_bytes () < 1 << 24)
    read_frames (recording);
}

void
read_header (fuzz::Input &input)
{
  const gsize piece = 1 + input.take<guint8> ();
  oct::OctHeader header;
  GError *error = nullptr;
  const bool good = oct::oct_header_read (
      [&] (void *data, gsize size, gsize &done, GError **) {
        done = std::min ({size, piece, input.remaining ()});
        memcpy (data, input.rest (), done);
        input.advance (done);
        return true;
      },
      header, &error);
  check_failure (good, error);
}

void
read_raw (fuzz::Input &input)
{
  oct::RawLayout layout = {};
  layout.format = &oct::raw_formats[input.choose (guint (oct::raw_format_count))];
  layout.samples = std::max<guint> (16, input.take<guint16> ());
  layout.lines = 1 + input.take<guint8> ();
  layout.header_bytes = input.take<guint16> ();
  oct::RawRecording recording (layout);
  open_and_read (recording, input);
}
} // namespace

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);
  switch (input.choose (3)) {
  case 0: {
    oct::OctRecording recording;
    open_and_read (recording, input);
    break;
  }
  case 1:
    read_header (input);
    break;
  default:
    read_raw (input);
  }
  return 0;
}
