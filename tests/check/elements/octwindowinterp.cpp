/* Tests of octwindowinterp: each step from raw spectra to windowed spectra that are even
 * in wavenumber
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <glib/gstdio.h>
#include <gst/check/gstharness.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/video.h>
#include <string>
#include <vector>

#include <gst/common/npyfile.hpp>

#include "../octreference.hpp"
#include "../one-context.hpp"
#include "../opencl-check.hpp"
#include "tablefile.hpp"

using check::Owned;

namespace {
using check::TableFile;
using reference::Values;
using Spectra = reference::Line;

struct Chain : reference::Chain {
  guint shift = 0;
};

/* A frame of raw spectra: values and memory layout */
struct Frame {
  std::string format;
  gsize samples, lines;
  Values values;
  gsize offset = 0;  /* of the first line, in bytes */
  gsize padding = 0; /* after each line, in bytes */

  bool video () const { return format[0] == 'G'; }
  gsize bytes () const { return format == "GRAY8" ? 1 : format == "F32LE" ? 4 : 2; }
  gsize stride () const { return samples * bytes () + padding; }
};

/* Fringes on a bright, sloped background, with noise: different in every sample and line.
 * The same seed gives the same frame. */
Frame
make_frame (const std::string &format, gsize samples, gsize lines, guint32 seed = 1)
{
  Frame frame{format, samples, lines, Values (samples * lines)};
  double full = format == "GRAY8" ? 255 : format == "F32LE" ? 2.7 : 65535;
  GRand *random = g_rand_new_with_seed (seed);
  for (gsize n = 0; n < frame.values.size (); n++) {
    double u = double (n % samples) / samples, line = double (n / samples);
    double fringe = std::cos (2 * G_PI * u * (5 + line) + seed);
    double value = full * (0.3 + 0.2 * u + 0.2 * fringe + 0.25 * g_rand_double (random));
    frame.values[n] = format == "F32LE" ? double (float (value)) : std::floor (value);
  }
  g_rand_free (random);
  return frame;
}

void
write_value (const Frame &frame, guint8 *to, double value)
{
  if (frame.format == "GRAY8")
    *to = guint8 (value);
  else if (frame.format == "GRAY16_BE")
    GST_WRITE_UINT16_BE (to, guint16 (value));
  else if (frame.format == "F32LE")
    GST_WRITE_FLOAT_LE (to, float (value));
  else
    GST_WRITE_UINT16_LE (to, guint16 (value));
}

/* Fills bytes around the A-lines with values that must not affect the output. */
check::Bytes
bytes_of (const Frame &frame)
{
  check::Bytes bytes (frame.offset + frame.stride () * frame.lines, 0x5a);
  for (gsize n = 0; n < frame.values.size (); n++)
    write_value (frame,
        &bytes[frame.offset + n / frame.samples * frame.stride ()
               + n % frame.samples * frame.bytes ()],
        frame.values[n]);
  return bytes;
}

void
describe_layout (const Frame &frame, GstBuffer *buffer)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {frame.offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {gint (frame.stride ())};
  if (!frame.video ())
    gst_buffer_resize (buffer, frame.offset, frame.stride () * frame.lines);
  else if (frame.offset
           || frame.stride () != GST_ROUND_UP_4 (frame.samples * frame.bytes ()))
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        gst_video_format_from_string (frame.format.c_str ()), frame.samples, frame.lines,
        1, offsets, strides);
}

GstBuffer *
new_buffer (GstOpenCLContext *context, const Frame &frame)
{
  GstBuffer *buffer = check::device_buffer (context, bytes_of (frame));
  describe_layout (frame, buffer);
  return buffer;
}

Owned<GstCaps>
caps_of (const Frame &frame)
{
  return check::caps_of (check::text (
      frame.video ()
          ? "video/x-raw(memory:OpenCLMemory), width=%zu, height=%zu, framerate=25/1, "
            "format=%s"
          : "application/x-oct(memory:OpenCLMemory), domain=wavelength, samples=%zu, "
            "lines=%zu, framerate=25/1, format=%s",
      frame.samples, frame.lines, frame.format.c_str ()));
}

/* The element of a launch line, with a test application around it */
class Element : public check::Harness {
public:
  explicit Element (const std::string &line) : Harness (check::launch (line)) {}

  bool start (const Frame &frame)
  {
    send (gst_event_new_stream_start ("spectra"));
    return set_caps (frame);
  }

  bool set_caps (const Frame &frame)
  {
    const bool accepted = send (gst_event_new_caps (caps_of (frame)));
    start_segment ();
    return accepted;
  }

  GstFlowReturn push (const Frame &frame)
  {
    return Harness::push (new_buffer (context, frame));
  }

  Spectra process (const Frame &frame)
  {
    const check::Bytes bytes = check::read_buffer (pass (new_buffer (context, frame)));
    const gsize parts = output_format () == "CF32LE" ? 2 : 1;
    Spectra spectra;
    for (const guint8 *at = bytes.data (); at < bytes.data () + bytes.size ();
         at += 4 * parts)
      spectra.emplace_back (
          GST_READ_FLOAT_LE (at), parts == 2 ? GST_READ_FLOAT_LE (at + 4) : 0.0);
    return spectra;
  }

  std::string output_format ()
  {
    return gst_structure_get_string (gst_caps_get_structure (caps (), 0), "format");
  }

  /* Returns the errors, or warnings, posted since the last call. */
  std::vector<std::string> errors () { return messages ().errors; }
  std::vector<std::string> warnings () { return messages ().warnings; }

  Owned<GstOpenCLContext> context = check::new_context ();
};

/* Values of samples after the shift */
Values
numbers_of (const Frame &frame, guint shift = 0)
{
  Values numbers = frame.values;
  for (double &number : numbers)
    number = frame.format == "F32LE" ? number : guint (number) >> shift;
  return numbers;
}

Spectra
expected_spectra (const Frame &frame, const Chain &chain)
{
  const Values x = numbers_of (frame, chain.shift);
  Spectra spectra;
  for (auto line = x.begin (); line != x.end (); line += frame.samples) {
    Spectra made = reference::spectrum_of (chain, Values (line, line + frame.samples));
    spectra.insert (spectra.end (), made.begin (), made.end ());
  }
  return spectra;
}

/* Tolerance of float32, relative to a full-scale sample at the window's maximum */
void
fail_unless_spectra (
    const Spectra &found, const Frame &frame, const Chain &chain, const std::string &what)
{
  Spectra expected = expected_spectra (frame, chain);
  Values w = chain.scaled_window (frame.samples);
  double full = 0, top = 0, worst = 0;
  for (double value : frame.values)
    full =
        std::max (full, frame.format == "F32LE" ? value : guint (value) >> chain.shift);
  for (double value : w)
    top = std::max (top, std::abs (value));
  fail_unless_equals_int (found.size (), expected.size ());
  for (gsize n = 0; n < found.size (); n++) {
    double error = std::abs (found[n] - expected[n]) / (full * top);
    fail_unless (error < 5e-7, "%s, %s %d x %d: point %d is (%g, %g), expected (%g, %g)",
        what.c_str (), frame.format.c_str (), int (frame.samples), int (frame.lines),
        int (n), found[n].real (), found[n].imag (), expected[n].real (),
        expected[n].imag ());
    worst = std::max (worst, error);
  }
  GST_INFO ("%s: worst %g of full scale", what.c_str (), worst);
}

Spectra
process_one (const std::string &launch, const Frame &frame)
{
  Element element (launch);
  fail_unless (element.start (frame));
  Spectra spectra = element.process (frame);
  fail_unless (element.errors ().empty ());
  return spectra;
}

void
check_spectra (const std::string &properties, const Frame &frame, const Chain &chain)
{
  fail_unless_spectra (
      process_one ("octwindowinterp " + properties, frame), frame, chain, properties);
}

/* Wavelengths of a spectrometer: monotonic, and bent by some percent of the range */
Values
make_wavelengths (gsize samples)
{
  Values wavelengths (samples);
  for (gsize j = 0; j < samples; j++) {
    double u = double (j) / (samples - 1);
    wavelengths[j] = 1187.176 + 245.666 * (u + 0.067 * u * (1 - u));
  }
  return wavelengths;
}

Values
mean_of (const Frame &frame, guint shift = 0)
{
  return reference::mean_of (numbers_of (frame, shift), frame.samples);
}

Values
even_wavelengths (double first, double last, gsize samples)
{
  Values wavelengths (samples);
  for (gsize j = 0; j < samples; j++)
    wavelengths[j] = first + (last - first) * j / (samples - 1);
  return wavelengths;
}

Chain
with_map (const Values &wavelengths)
{
  Chain chain;
  chain.map = reference::map_of (wavelengths);
  return chain;
}

const char *const all_formats[] = {"GRAY8", "GRAY16_LE", "GRAY16_BE", "U16LE", "F32LE"};
const gsize all_samples[] = {64, 65, 999, 1001, 1024, 2048, 16384};
} // namespace

TEST (test_octwindowinterp_takes_every_format_of_every_size)
{
  for (const char *format : all_formats) {
    for (gsize samples : all_samples) {
      Values wavelengths = make_wavelengths (samples);
      TableFile file (wavelengths);
      Chain chain = with_map (wavelengths);
      for (gsize lines : {1, 7})
        check_spectra ("wavelengths=" + file.path,
            make_frame (format, samples, lines, lines), chain);
    }
  }
}

TEST (test_octwindowinterp_output_caps_say_what_the_spectra_are)
{
  Element element ("octwindowinterp");
  fail_unless (element.start (make_frame ("GRAY16_LE", 128, 9)));
  const Owned<GstCaps> caps = element.caps (),
                       expected = check::caps_of (
                           "application/x-oct(memory:OpenCLMemory), domain=wavenumber, "
                           "format=F32LE, samples=128, lines=9, framerate=25/1");
  fail_unless (
      gst_caps_is_strictly_equal (caps, expected), "%" GST_PTR_FORMAT, caps.operator->());
}

TEST (test_octwindowinterp_multiplies_by_each_window)
{
  for (const char *window :
      {"rectangular", "hann", "hamming", "blackman", "gaussian", "tukey", "flattop"}) {
    for (gsize samples : {64, 1001}) {
      Chain chain;
      chain.window = window;
      check_spectra (
          std::string ("window=") + window, make_frame ("GRAY16_LE", samples, 3), chain);
    }
  }
}

namespace {
/* An asymmetrical window with negative values */
Values
window_values (gsize samples)
{
  Values values;
  for (gsize m = 0; m < samples; m++) {
    const double u = double (m) / double (samples - 1);
    values.push_back (37 * (1.3 - u) * std::sin (G_PI * u) - 2 * std::cos (9 * u) - 0.5);
  }
  return values;
}
} // namespace

/* As text and as .npy */
TEST (test_octwindowinterp_multiplies_by_the_window_of_a_file)
{
  for (gsize samples : {64, 1001}) {
    Chain chain;
    chain.window_file = window_values (samples);
    const TableFile text (chain.window_file);
    const check::Folder folder;
    std::string npy = opencl::npy_make_header (opencl::NumberType::f64, false, {samples});
    npy.append (reinterpret_cast<const char *> (chain.window_file.data ()),
        samples * sizeof (double));
    for (const std::string &path : {text.path, folder.write ("window.npy", npy)}) {
      const std::string window = "window=file window-file=" + path;
      check_spectra (window, make_frame ("GRAY16_LE", samples, 3), chain);
      Values wavelengths = make_wavelengths (samples);
      const TableFile file (wavelengths);
      Chain resampled = chain;
      resampled.map = reference::map_of (wavelengths);
      resampled.phase = reference::phase_of (samples, 1e-4, 1e-8);
      check_spectra (
          window + " dispersion-a2=1e-4 dispersion-a3=1e-8 wavelengths=" + file.path,
          make_frame ("GRAY16_LE", samples, 3), resampled);
    }
  }
}

/* The values of the window at the selected samples, or between them for half the width */
TEST (test_octwindowinterp_window_of_a_file_can_be_moved)
{
  const gsize samples = 129;
  Values straight, expected (samples);
  for (gsize m = 0; m < samples; m++)
    straight.push_back (1 + double (m));
  for (gsize m = 16; m <= 80; m++) /* a quarter of the spectrum before the middle */
    expected[m] = 1 + 2 * (double (m) - 16);
  const TableFile file (straight);
  Chain chain;
  chain.window_file = expected;
  check_spectra (
      "window=file window-width=0.5 window-centre=0.375 window-file=" + file.path,
      make_frame ("F32LE", samples, 2), chain);
}

TEST (test_octwindowinterp_resamples_rising_and_falling_wavelengths)
{
  for (const char *interpolation : {"none", "linear", "cubic", "lanczos", "lanczos16"}) {
    for (gsize samples : {65, 1024}) {
      Values rising = make_wavelengths (samples);
      Values falling (rising.rbegin (), rising.rend ());
      for (const Values &wavelengths : {rising, falling}) {
        TableFile file (wavelengths);
        Chain chain;
        chain.window = "rectangular"; /* also shows the ends */
        chain.interpolation = interpolation;
        chain.map = reference::map_of (wavelengths);
        check_spectra (std::string ("window=rectangular interpolation=") + interpolation
                           + " wavelengths=" + file.path,
            make_frame ("U16LE", samples, 3), chain);
      }
    }
  }
}

TEST (test_octwindowinterp_resamples_a_range_of_even_wavelengths)
{
  check_spectra ("wavelength-min=790 wavelength-max=910",
      make_frame ("GRAY16_LE", 512, 2), with_map (even_wavelengths (790, 910, 512)));
}

TEST (test_octwindowinterp_map_slightly_outside_the_samples)
{
  Chain chain;
  chain.window = "rectangular";
  for (gsize m = 0; m < 256; m++)
    chain.map.push_back (-0.4 + m * 256.1 / 255);
  TableFile file (chain.map);
  for (const char *interpolation : {"linear", "cubic", "lanczos", "lanczos16"}) {
    chain.interpolation = interpolation;
    check_spectra (std::string ("window=rectangular interpolation=") + interpolation
                       + " resample-map=" + file.path,
        make_frame ("F32LE", 256, 3), chain);
  }
}

/* A-lines 2 and 5 contain NaN, infinity and -infinity. */
static Frame
make_broken_frame ()
{
  Frame frame = make_frame ("F32LE", 300, 9);
  frame.values[2 * 300 + 7] = NAN;
  frame.values[5 * 300 + 7] = INFINITY;
  frame.values[5 * 300 + 299] = -INFINITY;
  return frame;
}

TEST (test_octwindowinterp_mean_ignores_nonfinite_samples)
{
  Frame frame = make_broken_frame ();
  Chain chain;
  chain.background = mean_of (frame);
  Spectra found = process_one ("octwindowinterp background=frame", frame);
  Spectra expected = expected_spectra (frame, chain);
  for (gsize n = 0; n < found.size (); n++) {
    const bool finite = std::isfinite (frame.values[n]);
    fail_unless_equals_int (std::isfinite (found[n].real ()), finite);
    fail_unless (!finite || std::abs (found[n] - expected[n]) < 1e-7,
        "point %d is %g, expected %g", int (n), found[n].real (), expected[n].real ());
  }
}

/* Reported after some later frame, or at EOS. */
TEST (test_octwindowinterp_says_once_how_many_samples_are_not_finite)
{
  const struct {
    const char *launch;
    int frames;
  } cases[] = {{"octwindowinterp", 1}, {"octwindowinterp background=rolling", 100}};
  for (const auto &entry : cases) {
    Element element (entry.launch);
    Frame frame = make_broken_frame ();
    fail_unless (element.start (frame));
    for (int n = 0; n < entry.frames; n++)
      element.process (frame);
    std::vector<std::string> early = element.warnings ();
    fail_unless (early.size () == (entry.frames > 1 ? 1u : 0u));
    gst_harness_push_event (element.harness, gst_event_new_eos ());
    const check::Outcome late = element.messages ();
    std::vector<std::string> warnings = late.warnings;
    warnings.insert (warnings.end (), early.begin (), early.end ());
    fail_unless_equals_int (warnings.size (), 1);
    int count = atoi (strstr (warnings[0].c_str (), ": ") + 2);
    fail_unless (count > 0 && count % 3 == 0 && count <= 3 * entry.frames, "%s",
        warnings[0].c_str ());
    fail_unless (warnings[0].find ("NaN or infinite") != std::string::npos);
    fail_unless (late.errors.empty ());
  }
}

/* Error of linear interpolation on a fringe, by depth. The documents state it as the
 * reason for the other interpolations. */
TEST (test_octwindowinterp_linear_loses_what_its_theory_says)
{
  const struct {
    int bin;
    double loss, loss_tolerance, artefacts;
  } known[] = {{50, -0.02, 0.02, -87}, {200, -0.28, 0.02, -64}, {400, -1.14, 0.03, -51},
      {600, -2.59, 0.03, -42}, {800, -4.71, 0.1, -35}, {950, -6.77, 0.5, -30}};
  const gsize n = 2048, lines = G_N_ELEMENTS (known);
  Values wavelengths = make_wavelengths (n);
  TableFile file (wavelengths);
  double k0 = 1 / wavelengths[0], span = 1 / wavelengths[n - 1] - k0;

  Frame frame{"F32LE", n, lines, Values (n * lines)};
  for (gsize i = 0; i < frame.values.size (); i++) {
    double m = (1 / wavelengths[i % n] - k0) / span * (n - 1);
    frame.values[i] = 100 * std::cos (2 * G_PI * known[i / n].bin * m / n);
  }
  Spectra spectra = process_one ("octwindowinterp wavelengths=" + file.path, frame);

  for (gsize line = 0; line < lines; line++) {
    Values magnitude (n / 2);
    double rest = 0;
    for (gsize bin = 0; bin < n / 2; bin++) {
      std::complex<double> sum = 0;
      for (gsize m = 0; m < n; m++)
        sum += spectra[line * n + m] * std::polar (1.0, -2 * G_PI * (bin * m % n) / n);
      magnitude[bin] = std::abs (sum);
      if (std::abs (int (bin) - known[line].bin) > 3)
        rest += magnitude[bin] * magnitude[bin] / (n / 2);
    }
    gsize peak =
        std::max_element (magnitude.begin (), magnitude.end ()) - magnitude.begin ();
    double loss = 20 * std::log10 (magnitude[peak] / 100);
    double artefacts = 20 * std::log10 (std::sqrt (rest) / magnitude[peak]);
    fail_unless_equals_int (peak, known[line].bin);
    fail_unless (std::abs (loss - known[line].loss) < known[line].loss_tolerance,
        "bin %d: %.3f dB, expected %.2f", known[line].bin, loss, known[line].loss);
    fail_unless (std::abs (artefacts - known[line].artefacts) < 3,
        "bin %d: artefacts at %.1f dB, expected %.0f", known[line].bin, artefacts,
        known[line].artefacts);
  }
}

TEST (test_octwindowinterp_honours_strides_and_offsets_of_any_byte)
{
  for (const char *format : all_formats) {
    for (gsize offset : {0, 1, 2, 4, 7}) {
      for (gsize padding : {0, 1, 2, 64}) {
        Frame frame = make_frame (format, 129, 5, 3);
        frame.offset = offset;
        frame.padding = frame.video () ? padding : 0;
        check_spectra ("", frame, Chain ());
      }
    }
  }
}

TEST (test_octwindowinterp_shifts_integers_right_and_leaves_floats)
{
  for (const char *format : all_formats) {
    for (guint shift : {1, 4, 15}) {
      Frame frame = make_frame (format, 200, 3);
      Chain chain;
      chain.shift = shift;
      if (strcmp (format, "GRAY8") == 0 && shift == 15)
        continue; /* no bits are left to compare */
      check_spectra ("bit-shift=" + std::to_string (shift), frame, chain);
    }
  }
}

TEST (test_octwindowinterp_subtracts_frame_mean_before_resampling)
{
  for (const char *format : all_formats) {
    for (gsize lines : {1, 2, 17, 1025}) {
      Frame frame = make_frame (format, 96, lines, lines);
      frame.offset = lines == 17 ? 3 : 0;
      Values wavelengths = make_wavelengths (96);
      TableFile file (wavelengths);
      Chain chain = with_map (wavelengths);
      chain.background = mean_of (frame);
      check_spectra ("background=frame wavelengths=" + file.path, frame, chain);
    }
  }
}

TEST (test_octwindowinterp_subtracts_a_file_after_the_shift)
{
  Frame frame = make_frame ("GRAY16_BE", 321, 3);
  Chain chain;
  chain.shift = 4;
  for (gsize n = 0; n < 321; n++)
    chain.background.push_back (1000 + 3.25 * n);
  TableFile file (chain.background);
  check_spectra (
      "bit-shift=4 background=file background-file=" + file.path, frame, chain);
}

TEST (test_octwindowinterp_rolling_background_is_mean_of_previous_frames)
{
  Element element ("octwindowinterp background=rolling background-frames=3");
  std::vector<Frame> frames;
  std::vector<Values> numbers;
  for (gsize n = 0; n < 8; n++) {
    frames.push_back (make_frame ("GRAY16_LE", 250, 33, 10 + n));
    numbers.push_back (frames[n].values);
  }
  fail_unless (element.start (frames[0]));
  for (gsize n = 0; n < frames.size (); n++) {
    Chain chain;
    chain.background = reference::rolling_mean (numbers, n, 3, 250);
    fail_unless_spectra (element.process (frames[n]), frames[n], chain,
        "rolling, frame " + std::to_string (n));
  }
}

TEST (test_octwindowinterp_compensates_dispersion_by_file)
{
  Frame frame = make_frame ("F32LE", 333, 5);
  Chain chain;
  for (gsize m = 0; m < 333; m++)
    chain.phase.push_back (20 * std::sin (0.02 * m) + 0.5);
  TableFile file (chain.phase);
  chain.background = mean_of (frame);
  check_spectra ("background=frame dispersion-phase=" + file.path, frame, chain);
}

static void
count_uncalibrated (GstDebugCategory *category, GstDebugLevel level, const gchar *,
    const gchar *, gint, GObject *, GstDebugMessage *message, gpointer count)
{
  if (level == GST_LEVEL_INFO
      && strcmp (gst_debug_category_get_name (category), "octwindowinterp") == 0
      && strstr (gst_debug_message_get (message), "no calibration"))
    ++*static_cast<int *> (count);
}

TEST (test_octwindowinterp_says_that_it_has_no_calibration)
{
  int count = 0;
  Frame frame = make_frame ("GRAY8", 64, 2);
  gst_debug_remove_log_function (nullptr); /* removes the handler that prints */
  gst_debug_add_log_function (count_uncalibrated, &count, nullptr);
  gst_debug_set_threshold_from_string ("octwindowinterp:4", FALSE);
  process_one ("octwindowinterp wavelength-min=1 wavelength-max=2", frame);
  fail_unless_equals_int (count, 0);
  process_one ("octwindowinterp", frame);
  fail_unless_equals_int (count, 1);
  gst_debug_remove_log_function (count_uncalibrated);
}

TEST (test_octwindowinterp_no_transfers_and_no_waits_per_frame)
{
  const struct {
    const char *launch;
    guint launches; /* per frame */
  } chains[] = {{"octwindowinterp", 1}, {"octwindowinterp background=frame", 3},
      {"octwindowinterp background=rolling dispersion-a2=1e-4", 3}};
  for (const auto &chain : chains) {
    Element element (chain.launch);
    Frame frame = make_frame ("GRAY16_LE", 512, 64);
    const Owned<GstBuffer> buffer = new_buffer (element.context, frame);
    fail_unless (element.start (frame));
    expect_equal (check::counts_of (element.element ()).uploads, 1); /* the tables */
    for (int n = 0; n < 3; n++)
      element.pass (gst_buffer_ref (buffer));
    const GstOpenCLCounts before = check::counts_of (element.element ());
    for (int n = 0; n < 48; n++)
      element.pass (gst_buffer_ref (buffer));
    const GstOpenCLCounts after = check::counts_of (element.element ());
    fail_unless_equals_uint64 (after.uploads, before.uploads);
    fail_unless_equals_uint64 (after.downloads, before.downloads);
    fail_unless_equals_uint64 (after.host_waits, before.host_waits);
    /* One frame in 16 is checked for saturated samples. */
    fail_unless_equals_uint64 (after.launches - before.launches, 48 * chain.launches + 3);
  }
}
