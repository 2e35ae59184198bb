/* Tests of octwindowinterp sharpen=true: the dispersion of a phantom whose truth is known, and
 * what ends a search
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../harness.hpp"
#include "../slowness.hpp"
#include "sourceframes.hpp"

using namespace check;

namespace {
const bool may_take_long = set_test_timeout (60);

const guint samples = 1024, lines = 64;
const double half = samples / 2;
const char *const spectrometer = "wavelength-min=1187 wavelength-max=1433";

/* In rad at the ends of the spectrum */
struct Dispersion {
  guint seed;
  double square, cube;
};

std::string
phantom (const Dispersion &of, const char *pattern = "tissue")
{
  return text ("pattern=%s seed=%u b-scans=8 dispersion-a2=%.12g dispersion-a3=%.12g",
      pattern, of.seed, of.square / (half * half), of.cube / (half * half * half));
}

std::string
input_caps (const char *format = "GRAY16_LE", guint n_lines = lines)
{
  return text ("video/x-raw(memory:OpenCLMemory),format=%s,width=%u,height=%u,"
               "framerate=30/1",
      format, samples, n_lines);
}

/* Result of a search: a message, or a warning */
struct Found {
  bool has_message = false;
  double square = 0, cube = 0, square_error = 0, cube_error = 0;
  std::vector<std::string> warnings;
};

Found
found_on (GstBus *bus)
{
  Found found;
  while (GstMessage *message = gst_bus_pop (bus)) {
    const GstStructure *fields = gst_message_get_structure (message);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT
        && gst_structure_has_name (fields, "octwindowinterp-dispersion")) {
      fail_if (found.has_message);
      found.has_message = true;
      fail_unless (gst_structure_get (fields, "square", G_TYPE_DOUBLE, &found.square,
          "cube", G_TYPE_DOUBLE, &found.cube, "square-error", G_TYPE_DOUBLE,
          &found.square_error, "cube-error", G_TYPE_DOUBLE, &found.cube_error, nullptr));
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      GError *error = nullptr;
      gst_message_parse_warning (message, &error, nullptr);
      found.warnings.push_back (error->message);
      g_error_free (error);
    } else {
      fail_if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR);
    }
    gst_message_unref (message);
  }
  return found;
}

void
expect_refused (const Found &found, const std::string &reason)
{
  fail_if (found.has_message);
  fail_unless (found.warnings.size () == 1
                   && found.warnings[0].find ("not found: ") != std::string::npos
                   && found.warnings[0].find (reason) != std::string::npos,
      "%zu warnings: %s", found.warnings.size (),
      found.warnings.empty () ? "" : found.warnings[0].c_str ());
}

/* B-scans of one phantom, which are made once */
const std::vector<SourceFrame> &
scans ()
{
  static const std::vector<SourceFrame> made =
      frames_of (phantom ({17, -61, 5}), sized (device_caps, samples, lines), 4);
  return made;
}

/* (transfer full) */
GstBuffer *
scan (guint n, const std::string &format = "GRAY16_LE")
{
  Bytes bytes;
  for (guint16 value : scans ()[n % 4].samples) {
    guint8 word[4];
    const gsize size = format == "F32LE" ? 4 : 2;
    if (format == "F32LE")
      GST_WRITE_FLOAT_LE (word, float (value));
    else if (format == "GRAY16_BE")
      GST_WRITE_UINT16_BE (word, value);
    else
      GST_WRITE_UINT16_LE (word, value);
    bytes.insert (bytes.end (), word, word + size);
  }
  GstBuffer *buffer = buffer_of (bytes);
  GST_BUFFER_PTS (buffer) = n * GST_SECOND / 30;
  return buffer;
}

/* octwindowinterp of the spectrometer, and the octfft that its work is deferred to */
Harness
sharpening (const std::string &more = "sharpen=true")
{
  return Harness (text ("octwindowinterp %s %s ! octfft", spectrometer, more.c_str ()),
      input_caps ());
}

void
push_scans (Harness &harness, guint from, guint to)
{
  for (guint n = from; n < to; n++)
    harness.pass (scan (n));
}

double
property (Harness &harness, const char *name)
{
  double value = 0;
  g_object_get (harness.find ("octwindowinterp").operator->(), name, &value, nullptr);
  return value;
}

/* Ends the stream, which waits for the result. */
Found
end (Harness &harness)
{
  harness.send (gst_event_new_eos ());
  return found_on (harness.bus);
}

void
expect_truth (const Found &found, double square, double cube)
{
  fail_unless (found.has_message && found.warnings.empty (), "%s",
      found.warnings.empty () ? "" : found.warnings[0].c_str ());
  fail_unless (
      std::abs (found.square - square) <= 0.3, "%g, expected %g", found.square, square);
  fail_unless (std::abs (found.cube - cube) <= std::min (found.cube_error, 1.0),
      "%g within %g, expected %g", found.cube, found.cube_error, cube);
}
} // namespace

/* A phantom of the spectrometer, until its end, which waits for the result */
class Phantom : public Pipeline {
public:
  explicit Phantom (const std::string &source, const std::string &more = "")
      : Pipeline (
          text ("octtestsrc %s num-buffers=6 ! video/x-raw(ANY),width=%u,height=%u "
                "! octwindowinterp name=interp %s sharpen=true %s ! octfft ! "
                "fakesink",
              source.c_str (), samples, 2 * lines, spectrometer, more.c_str ()))
  {
  }
  Found result ()
  {
    start ();
    const Owned<GstMessage> last = gst_bus_timed_pop_filtered (bus, timeout,
        GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ELEMENT | GST_MESSAGE_WARNING
                        | GST_MESSAGE_ERROR));
    fail_unless (last, "no result");
    gst_bus_post (bus, gst_message_ref (last));
    return found_on (bus);
  }
  double property (const char *name)
  {
    double value = 0;
    g_object_get ((*this)["interp"], name, &value, nullptr);
    return value;
  }
};

TEST_ROWS (test_sharpen_finds_dispersion,
    std::vector<Dispersion>{{41, 37, -6}, {42, -88, 3.5}, {44, -3, 0}})
{
  Phantom pipeline (phantom (row));
  const Found found = pipeline.result ();
  expect_truth (found, row.square, row.cube);
  const double a2 = pipeline.property ("dispersion-a2"),
               a3 = pipeline.property ("dispersion-a3");
  fail_unless (std::abs (a2 * half * half - found.square) < 1e-9, "%g", a2);
  fail_unless (std::abs (a3 * half * half * half - found.cube) < 1e-9, "%g", a3);
}

/* A dispersion that was set does not count, and is removed. */
TEST_ROWS (test_sharpen_finds_none_where_there_is_none, {51, 52})
{
  Phantom pipeline (
      phantom ({guint (row), 0, 0}), "dispersion-a2=2e-4 dispersion-a3=1e-8");
  const Found found = pipeline.result ();
  fail_unless (found.has_message && found.square == 0 && found.cube == 0);
  fail_unless (pipeline.property ("dispersion-a2") == 0);
  fail_unless (pipeline.property ("dispersion-a3") == 0);
}

TEST (test_sharpen_refuses_a_mirror)
{
  Phantom pipeline (
      phantom ({1, 30, 0}, "mirrors") + " depths=\"<300>\" amplitudes=\"<2000>\"");
  expect_refused (pipeline.result (), "sharper");
  fail_unless (pipeline.property ("dispersion-a2") == 0);
}

TEST_ROWS (test_sharpen_takes_samples, {std::string ("GRAY16_BE"), std::string ("F32LE")})
{
  Harness harness = sharpening ();
  harness.set_caps (
      row == "F32LE" ? text ("application/x-oct(memory:OpenCLMemory),domain=wavelength,"
                             "format=F32LE,samples=%u,lines=%u,framerate=30/1",
          samples, lines)
                     : input_caps (row.c_str ()));
  for (guint n = 0; n < 4; n++)
    harness.pass (scan (n, row));
  expect_truth (end (harness), -61, 5);
}

/* Frames go on while it searches, and have the dispersion after that. */
TEST (test_sharpen_does_not_stall)
{
  Harness harness = sharpening ("");
  push_scans (harness, 0, 2);
  set_together (harness.find ("octwindowinterp"), "sharpen=true");
  push_scans (harness, 2, 9);
  const Found before = found_on (harness.bus);
  fail_if (before.has_message || !before.warnings.empty ());
  fail_unless (property (harness, "dispersion-a2") == 0);
  fail_unless (soon ([&] { return property (harness, "dispersion-a2") != 0; }));
  push_scans (harness, 9, 11);
  expect_truth (end (harness), -61, 5);
}

/* The reason is said once, and nothing is found. */
TEST (test_sharpen_needs_enough_spectra)
{
  Harness few = sharpening ();
  push_scans (few, 0, 3);
  expect_refused (end (few), "the stream ended before 4 B-scans");

  Harness narrow = sharpening ();
  narrow.set_caps (input_caps ("GRAY16_LE", 63));
  for (guint n = 0; n < 4; n++)
    narrow.pass (pattern_buffer (gsize (2) * samples * 63, n));
  expect_refused (end (narrow), "63 A-lines, expected at least 64");
}

/* While it collects, and while it searches */
TEST_ROWS (test_sharpen_is_cancelled, {2, 4})
{
  Harness caps = sharpening ();
  push_scans (caps, 0, guint (row));
  caps.set_caps (input_caps ("GRAY16_LE", lines / 2));
  for (guint n = 0; n < 5; n++)
    caps.pass (pattern_buffer (samples * lines, n));
  expect_refused (found_on (caps.bus), "caps changed");

  Harness changed = sharpening ();
  push_scans (changed, 0, guint (row));
  set_together (changed.find ("octwindowinterp"), "window=hamming");
  push_scans (changed, 4, 9);
  expect_refused (end (changed), "settings changed");

  for (const char *last : {"sharpen=false", ""}) {
    Harness left = sharpening ();
    push_scans (left, 0, guint (row));
    if (*last) {
      set_together (left.find ("octwindowinterp"), last);
      push_scans (left, 4, 9);
    } else {
      left.restart (input_caps ());
      push_scans (left, 0, 5);
    }
    const Found found = end (left);
    fail_if (found.has_message || !found.warnings.empty ());
    fail_unless (property (left, "dispersion-a2") == 0);
  }
}

/* A search that was set again takes new spectra. */
TEST (test_sharpen_again)
{
  Harness harness = sharpening ();
  push_scans (harness, 0, 2);
  set_together (harness.find ("octwindowinterp"), "sharpen=false");
  set_together (harness.find ("octwindowinterp"), "sharpen=true");
  push_scans (harness, 2, 6);
  expect_truth (end (harness), -61, 5);
}

/* B-scans before and after a seek are of the same sample. */
TEST_ROWS (test_sharpen_survives_flush, {2, 4})
{
  Harness harness = sharpening ();
  push_scans (harness, 0, guint (row));
  harness.flush ();
  harness.start_segment ();
  push_scans (harness, 2, 6);
  expect_truth (end (harness), -61, 5);
}
