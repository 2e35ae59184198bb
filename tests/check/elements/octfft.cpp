/* Tests of octfft: depths from spectra, as numbers and as images
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclmemory.h>

#include "../fft-libraries.hpp"
#include "../octreference.hpp"

#include "../one-context.hpp"
#include "../opencl-check.hpp"
#include <gst/check/gstharness.h>

using check::set_together;
using fourier::Complex;
using fourier::Line;

namespace {
const gsize lengths[] = {64, 1000, 1001, 1024, 2039, 2048, 16384};
const char *const input_formats[] = {"F32LE", "CF32LE"};
const char *const output_formats[] = {"GRAY8", "GRAY16_LE", "F32LE", "CF32LE"};
const double float_error = 2e-6; /* of a line's largest bin */

/* A frame of float32 spectra, in pairs if complex */
struct Spectra {
  gsize samples, lines;
  bool complex;
  std::vector<float> values;

  Spectra (gsize samples, gsize lines, bool complex = false)
      : samples (samples), lines (lines), complex (complex),
        values (samples * lines * (complex ? 2 : 1))
  {
  }

  gsize bytes () const { return values.size () * sizeof (float); }

  Line line (gsize l) const
  {
    Line line (samples);
    for (gsize n = 0; n < samples; n++) {
      const float *at = &values[(l * samples + n) * (complex ? 2 : 1)];
      line[n] = Complex (at[0], complex ? at[1] : 0);
    }
    return line;
  }

  /* Bins 0 to samples / 2 - 1 of each line. */
  std::vector<Line> depths () const
  {
    std::vector<Line> depths;
    for (gsize l = 0; l < lines; l++)
      depths.push_back (reference::depths_of (line (l)));
    return depths;
  }

  std::string caps () const
  {
    return "application/x-oct(memory:OpenCLMemory), domain=wavenumber, format="
           + std::string (complex ? "CF32LE" : "F32LE")
           + ", samples=" + std::to_string (samples) + ", lines=" + std::to_string (lines)
           + ", framerate=25/1";
  }
};

/* Scaled so that the bins lie in the middle of the default display range. */
Spectra
make_noise (gsize samples, gsize lines, bool complex = false, unsigned seed = 1)
{
  Spectra spectra (samples, lines, complex);
  std::mt19937 random (seed);
  float most = 50 / std::sqrt (float (samples));
  std::uniform_real_distribution<float> noise (-most, most);
  for (float &value : spectra.values)
    value = noise (random);
  return spectra;
}

/* Impulses, one per A-line: all bins of an A-line have the amplitude of its impulse. */
Spectra
make_impulses (gsize samples, const std::vector<float> &amplitudes)
{
  Spectra spectra (samples, amplitudes.size ());
  for (gsize l = 0; l < amplitudes.size (); l++)
    spectra.values[l * samples] = amplitudes[l];
  return spectra;
}

/* Output in the order [line][depth] */
struct Output {
  std::string format;
  gsize lines = 0, depths = 0;
  std::vector<Complex> values;

  Complex at (gsize line, gsize depth) const { return values[line * depths + depth]; }
};

class Element : public check::Harness {
public:
  explicit Element (const std::string &line = "octfft") : Harness (check::launch (line))
  {
  }

  void want (const std::string &format)
  {
    const bool picture = format[0] == 'G';
    const std::string caps =
        (picture ? "video/x-raw(memory:OpenCLMemory), format="
                 : "application/x-oct(memory:OpenCLMemory), domain=depth, format=")
        + format;
    gst_harness_set_sink_caps_str (harness, caps.c_str ());
  }

  bool set_caps (const std::string &text)
  {
    if (!std::exchange (started, true))
      send (gst_event_new_stream_start ("spectra"));
    const bool accepted = send (gst_event_new_caps (check::caps_of (text)));
    start_segment ();
    return accepted;
  }

  GstBuffer *new_buffer (const Spectra &spectra, gsize offset = 0)
  {
    check::Bytes bytes (offset + spectra.bytes (), 0x7f);
    memcpy (&bytes[offset], spectra.values.data (), spectra.bytes ());
    GstBuffer *buffer = check::device_buffer (context, bytes);
    gst_buffer_resize (buffer, offset, spectra.bytes ());
    GST_BUFFER_PTS (buffer) = 0;
    return buffer;
  }

  GstFlowReturn push (const Spectra &spectra)
  {
    return Harness::push (new_buffer (spectra));
  }

  Output pull () { return read (Harness::pull ()); }

  Output read (GstBuffer *buffer)
  {
    const check::Owned<GstCaps> current = caps ();
    const GstStructure *structure = gst_caps_get_structure (current, 0);
    return gst_structure_has_name (structure, "video/x-raw")
               ? read_picture (current, buffer)
               : read_lines (structure, buffer);
  }

  Output process (const Spectra &spectra)
  {
    if (current_caps != spectra.caps ()) {
      fail_unless (set_caps (spectra.caps ()));
      current_caps = spectra.caps ();
    }
    fail_unless_equals_int (push (spectra), GST_FLOW_OK);
    return pull ();
  }

  bool restart ()
  {
    gst_element_set_state (element (), GST_STATE_READY);
    started = false;
    current_caps.clear ();
    return gst_element_set_state (element (), GST_STATE_PLAYING)
           != GST_STATE_CHANGE_FAILURE;
  }

  void expect_no_error () { fail_unless (messages ().errors.empty ()); }

  check::Owned<GstOpenCLContext> context = check::new_context ();

private:
  static Output read_picture (GstCaps *caps, GstBuffer *buffer)
  {
    GstVideoInfo info;
    GstVideoFrame frame;
    fail_unless (gst_video_info_from_caps (&info, caps));
    fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
    Output output = {GST_VIDEO_INFO_NAME (&info), gsize (GST_VIDEO_INFO_WIDTH (&info)),
        gsize (GST_VIDEO_INFO_HEIGHT (&info)), {}};
    for (gsize l = 0; l < output.lines; l++) {
      for (gsize d = 0; d < output.depths; d++) {
        auto *row = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
        row += d * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
        output.values.push_back (
            output.format == "GRAY8" ? row[l] : GST_READ_UINT16_LE (row + 2 * l));
      }
    }
    gst_video_frame_unmap (&frame);
    return output;
  }

  static Output read_lines (const GstStructure *structure, GstBuffer *buffer)
  {
    gint lines = 0, depths = 0;
    gst_structure_get (
        structure, "lines", G_TYPE_INT, &lines, "samples", G_TYPE_INT, &depths, nullptr);
    Output output = {gst_structure_get_string (structure, "format"), gsize (lines),
        gsize (depths), {}};
    fail_unless_equals_string (gst_structure_get_string (structure, "domain"), "depth");
    const gsize parts = output.format == "CF32LE" ? 2 : 1;
    const check::Bytes bytes = check::read_buffer (buffer);
    fail_unless_equals_uint64 (bytes.size (), output.lines * output.depths * parts * 4);
    for (const guint8 *at = bytes.data (); at < bytes.data () + bytes.size ();
         at += parts * 4)
      output.values.emplace_back (
          GST_READ_FLOAT_LE (at), parts == 2 ? GST_READ_FLOAT_LE (at + 4) : 0);
    return output;
  }

  bool started = false;
  std::string current_caps;
};

/* Display settings of the element, and so the expected value of a bin */
struct Expected : reference::Display {
  gsize start = 0;
};

/* Fails unless the output lies between the values of slightly smaller and slightly larger
 * amplitudes. */
void
assert_between (double got, double least, double most, double slack, const Output &output,
    gsize line, gsize depth)
{
  fail_unless (got >= least - slack && got <= most + slack,
      "%s line %" G_GSIZE_FORMAT " depth %" G_GSIZE_FORMAT
      ": %.9g, expected %.9g to %.9g",
      output.format.c_str (), line, depth, got, least, most);
}

void
assert_value (const Output &output, gsize line, gsize depth, Complex bin, double error,
    const Expected &expected)
{
  Complex got = output.at (line, depth);
  double less = std::max (std::abs (bin) - error, 0.0), more = std::abs (bin) + error;

  if (output.format == "CF32LE")
    assert_between (std::abs (got - bin), 0, error, 0, output, line, depth);
  else if (output.format == "F32LE")
    assert_between (got.real (), expected.level (less), expected.level (more),
        1e-6 * std::abs (expected.level (more)), output, line, depth);
  else {
    double full = output.format == "GRAY8" ? 255 : 65535;
    assert_between (got.real (), expected.pixel (less, full), expected.pixel (more, full),
        0.5 + 1e-6 * full, output, line, depth);
  }
}

void
assert_output (
    const Output &output, const Spectra &spectra, const Expected &expected = Expected ())
{
  std::vector<Line> depths = spectra.depths ();
  fail_unless_equals_uint64 (output.lines, spectra.lines);
  fail_unless (expected.start + output.depths <= spectra.samples / 2);
  for (gsize l = 0; l < output.lines; l++) {
    double largest = 0;
    for (const Complex &bin : depths[l])
      largest = std::max (largest, std::abs (bin));
    for (gsize d = 0; d < output.depths; d++)
      assert_value (
          output, l, d, depths[l][expected.start + d], float_error * largest, expected);
  }
}

void
assert_depths (const Output &output, gsize expected)
{
  fail_unless_equals_uint64 (output.depths, expected);
}
} // namespace

/* Values */

/* Each format and input needs a program of its own: all of them with the usual length and with
 * one that is not a power of two, one with others. */
TEST (test_octfft_gives_the_first_half_of_the_bins_in_every_format)
{
  gsize next = 0;
  for (gsize samples : lengths) {
    const bool all = samples == 1024 || samples == 1000;
    for (gsize n = 0; n < (all ? 8 : 1); n++, next++) {
      const Spectra spectra = make_noise (samples, 5, next % 2);
      const char *format = output_formats[next / 2 % 4];
      Element octfft;
      octfft.want (format);
      const Output output = octfft.process (spectra);
      expect_equal (output.format, format);
      assert_depths (output, samples / 2);
      assert_output (output, spectra);
    }
  }
}

TEST (test_octfft_linear_scale_gives_amplitudes)
{
  Expected expected;
  expected.linear = true;
  expected.db_min = 10;
  expected.db_max = 40;
  for (const char *format : {"GRAY8", "GRAY16_LE", "F32LE"}) {
    Element octfft ("octfft scale=linear db-min=10 db-max=40");
    octfft.want (format);
    Spectra spectra = make_noise (1000, 5);
    assert_output (octfft.process (spectra), spectra, expected);
  }
}

TEST (test_octfft_takes_any_number_of_lines_and_depths)
{
  for (gsize samples : {64, 127}) {
    for (gsize lines : {1, 2, 31, 32, 33, 65, 257}) {
      Element octfft;
      Spectra spectra = make_noise (samples, lines);
      assert_output (octfft.process (spectra), spectra);
    }
  }
}

TEST (test_octfft_pixels_are_rounded_half_to_even_and_clamped)
{
  const std::vector<float> amplitudes = {0, 0.5, 1.5, 2.5, 100.25, 253.5, 254.5, 255, 300,
      65533.5, 65534.5, 65535, 70000, 1e9};
  const struct {
    const char *format, *launch;
    double full;
  } cases[] = {
      /* 20 log10 (255) and 20 log10 (65535): an amplitude of 1 is one level. */
      {"GRAY8", "octfft scale=linear db-min=-1000 db-max=48.13080360867910341", 255},
      {"GRAY16_LE", "octfft scale=linear db-min=-1000 db-max=96.32946607530499", 65535},
  };
  for (const auto &entry : cases) {
    Element octfft (entry.launch);
    octfft.want (entry.format);
    Output output = octfft.process (make_impulses (64, amplitudes));
    for (gsize l = 0; l < amplitudes.size (); l++) {
      double expected = std::min (std::rint (double (amplitudes[l])), entry.full);
      for (gsize d = 0; d < output.depths; d++)
        fail_unless_equals_float (output.at (l, d).real (), expected);
    }
  }
}

TEST (test_octfft_display_range_goes_from_black_to_white)
{
  const double db_min = -20, db_max = 40;
  const std::vector<double> levels = {-130, -20.5, -20, -19, 0, 10, 39.5, 40, 40.5, 150};
  std::vector<float> amplitudes;
  for (double level : levels)
    amplitudes.push_back (float (std::pow (10, level / 20)));
  for (double full : {255.0, 65535.0}) {
    Element octfft ("octfft db-min=-20 db-max=40");
    octfft.want (full == 255 ? "GRAY8" : "GRAY16_LE");
    Output output = octfft.process (make_impulses (64, amplitudes));
    for (gsize l = 0; l < levels.size (); l++) {
      double expected =
          std::clamp ((levels[l] - db_min) / (db_max - db_min), 0.0, 1.0) * full;
      assert_between (output.at (l, 3).real (), expected, expected, 0.51, output, l, 3);
    }
  }
}

TEST (test_octfft_silence_is_minus_120_db)
{
  Element octfft;
  octfft.want ("F32LE");
  Output output = octfft.process (Spectra (64, 3));
  for (const Complex &value : output.values)
    fail_unless (std::abs (value.real () + 120) < 1e-4, "%g dB", value.real ());
}

/* With every FFT library, an A-line with NaN has no valid output. Its neighbours, one of
 * which may share its transform, are not affected. */
TEST (test_octfft_what_is_not_finite_has_no_depth_and_stays_in_its_line)
{
  const float broken[] = {NAN, INFINITY};
  for (const char *launch : {"octfft", "octfft fft-library=vkfft",
           "octfft fft-library=vkfft scale=linear", "octfft scale=linear"}) {
    for (float value : broken) {
      Spectra spectra = make_noise (256, 6);
      Element octfft (launch);
      Expected expected;
      expected.linear = strstr (launch, "linear");
      octfft.want ("F32LE");
      Spectra with = spectra;
      with.values[2 * 256 + 100] = with.values[5 * 256 + 3] = value;
      Output output = octfft.process (with);
      std::vector<Line> depths = spectra.depths ();
      for (gsize l = 0; l < output.lines; l++) {
        for (gsize d = 0; d < output.depths; d++) {
          if (l == 2 || l == 5)
            assert_between (output.at (l, d).real (), expected.level (0),
                expected.level (0), 1e-4, output, l, d);
          else
            assert_value (output, l, d, depths[l][d], 1e-3, expected);
        }
      }
    }
  }
}

/* Also if the last A-lines do not fill a batch. */
TEST (test_octfft_in_one_launch_and_in_two_is_the_same)
{
  const struct {
    const char *launch;
    gsize samples;
    std::vector<gsize> lines;
  } cases[] = {{"octfft fused=always", 2048, {1, 5, 16, 39, 150}},
      {"octfft fused=always", 64, {150}}, {"octfft fused=never", 2048, {39}}};
  for (const auto &entry : cases) {
    for (gsize lines : entry.lines) {
      for (gsize n = 0; n < 4; n++) {
        for (bool complex : {false, true}) {
          if (entry.samples == 64 && complex != (n % 2 == 0))
            continue;
          Spectra spectra = make_noise (entry.samples, lines, complex);
          Element octfft (entry.launch);
          octfft.want (output_formats[n]);
          assert_output (octfft.process (spectra), spectra);
        }
      }
    }
  }
}

/* Depths */

TEST (test_octfft_depth_start_and_count_cut_a_part_out)
{
  const struct {
    const char *launch;
    gsize start, count; /* 0: all that remain */
  } cases[] = {
      {"octfft depth-start=7", 7, 0},
      {"octfft depth-count=33", 0, 33},
      {"octfft depth-start=40 depth-count=100", 40, 100},
      {"octfft depth-start=499 depth-count=1", 499, 1},
      {"octfft depth-start=499", 499, 0},
      {"octfft depth-count=500", 0, 500},
  };
  for (gsize samples : {1001, 1024}) {
    Spectra spectra = make_noise (samples, 5);
    for (const auto &entry : cases) {
      Element octfft (entry.launch);
      for (const char *format : output_formats) {
        octfft.want (format);
        Expected expected;
        expected.start = entry.start;
        Output output = octfft.process (spectra);
        assert_depths (output, entry.count ? entry.count : samples / 2 - entry.start);
        assert_output (output, spectra, expected);
      }
    }
  }
}

/* Buffers */

TEST (test_octfft_leaves_its_input_as_it_is)
{
  for (const char *input : input_formats) {
    Spectra spectra = make_noise (2039, 3, g_str_equal (input, "CF32LE"));
    Element octfft;
    fail_unless (octfft.set_caps (spectra.caps ()));
    const check::Owned<GstBuffer> buffer = octfft.new_buffer (spectra);
    octfft.pass (gst_buffer_ref (buffer));
    fail_unless (
        gst_buffer_memcmp (buffer, 0, spectra.values.data (), spectra.bytes ()) == 0);
  }
}

TEST (test_octfft_takes_input_that_begins_anywhere_in_its_memory)
{
  for (gsize offset : {1, 4, 100, 4096}) {
    for (const char *input : input_formats) {
      Spectra spectra = make_noise (1000, 3, g_str_equal (input, "CF32LE"));
      Element octfft;
      fail_unless (octfft.set_caps (spectra.caps ()));
      assert_output (
          octfft.read (octfft.pass (octfft.new_buffer (spectra, offset))), spectra);
    }
  }
}

static GstPadProbeReturn
propose_padded_pool (GstPad *pad, GstPadProbeInfo *info, gpointer context)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstCaps *caps = nullptr;
  GstVideoInfo video;
  GstVideoAlignment alignment;

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation (query, &caps, nullptr);
  fail_unless (gst_video_info_from_caps (&video, caps));
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = 16;
  alignment.padding_right = 44;
  alignment.padding_top = 3;
  const check::Owned<GstBufferPool> pool =
      gst_opencl_buffer_pool_new (GST_OPENCL_CONTEXT (context));
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, GST_VIDEO_INFO_SIZE (&video), 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  gst_query_add_allocation_pool (query, pool, GST_VIDEO_INFO_SIZE (&video), 0, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

TEST (test_octfft_honours_the_stride_and_offset_of_its_output)
{
  for (const char *format : {"GRAY8", "GRAY16_LE"}) {
    Element octfft;
    octfft.want (format);
    gst_pad_add_probe (octfft.harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        propose_padded_pool, octfft.context.operator->(), nullptr);
    Spectra spectra = make_noise (128, 37);
    fail_unless (octfft.set_caps (spectra.caps ()));
    const check::Owned<GstBuffer> buffer = octfft.pass (octfft.new_buffer (spectra));
    GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
    fail_unless (meta != nullptr);
    fail_unless (meta->stride[0] >= 37 + 16 + 44, "stride %d", meta->stride[0]);
    fail_unless (meta->offset[0] > 0);
    assert_output (octfft.read (buffer), spectra);
  }
}

TEST (test_octfft_makes_no_round_trip)
{
  for (const char *description : {"octfft fused=never", "octfft"}) {
    Spectra spectra = make_noise (1024, 9);
    Element octfft (description);
    fail_unless (octfft.set_caps (spectra.caps ()));
    const check::Owned<GstBuffer> buffer = octfft.new_buffer (spectra);
    /* The first use uploads what the CPU wrote. */
    octfft.pass (gst_buffer_ref (buffer));
    guint builds = gst_opencl_context_get_n_builds (octfft.context);
    const GstOpenCLCounts before = check::counts_of (octfft.element ());
    for (guint n = 0; n < 10; n++)
      octfft.pass (gst_buffer_ref (buffer));
    const GstOpenCLCounts after = check::counts_of (octfft.element ());
    fail_unless_equals_uint64 (after.uploads, before.uploads);
    fail_unless_equals_uint64 (after.downloads, before.downloads);
    fail_unless_equals_uint64 (after.host_waits, before.host_waits);
    /* Transform and depth, in two launches or in one. */
    guint64 launches = (after.launches - before.launches) / 10;
    fail_unless (launches == 2 || (launches == 1 && !strstr (description, "never")));
    fail_unless_equals_int (gst_opencl_context_get_n_builds (octfft.context), builds);
  }
}

/* Caps */

static void
assert_caps (
    GstElement *element, const char *pad_name, const char *filter, const char *expected)
{
  const check::Owned<GstPad> pad = gst_element_get_static_pad (element, pad_name);
  const check::Owned<GstCaps> caps =
      gst_caps_make_writable (gst_pad_query_caps (pad, nullptr));
  /* Grid cases come after the others; the reference does not cover them. */
  for (guint n = gst_caps_get_size (caps); n-- > 0;) {
    if (gst_structure_has_field (gst_caps_get_structure (caps, n), "oversampling"))
      gst_caps_remove_structure (caps, n);
  }
  fail_unless (gst_caps_is_equal (caps, check::caps_of (expected)),
      "%s: %s pad has %" GST_PTR_FORMAT ", expected %s", filter, pad_name,
      caps.operator->(), expected);
}

TEST (test_octfft_caps_downstream_follow_those_upstream)
{
  Element octfft ("octfft depth-start=10");
  gst_harness_set_src_caps_str (octfft.harness,
      "application/x-oct(memory:OpenCLMemory), domain=wavenumber, format=CF32LE, "
      "samples=1001, lines=7, framerate=30/1");
  assert_caps (octfft.element (), "src", "samples=1001, lines=7",
      "video/x-raw(memory:OpenCLMemory), format={GRAY8, GRAY16_LE}, width=7, height=490, "
      "framerate=30/1; application/x-oct(memory:OpenCLMemory), domain=depth, "
      "format={F32LE, CF32LE}, samples=490, lines=7, framerate=30/1");
}

TEST (test_octfft_caps_upstream_follow_those_downstream)
{
  Element octfft ("octfft depth-start=10");
  gst_harness_set_sink_caps_str (octfft.harness,
      "video/x-raw(memory:OpenCLMemory), format=GRAY8, width=7, height=490, "
      "framerate=30/1");
  assert_caps (octfft.element (), "sink", "width=7, height=490",
      "application/x-oct(memory:OpenCLMemory), domain=wavenumber, format={F32LE, "
      "CF32LE}, "
      "samples=[1000, 1001], lines=7, framerate=30/1");
  gst_harness_set_sink_caps_str (octfft.harness,
      "application/x-oct(memory:OpenCLMemory), domain=depth, format=F32LE, "
      "samples=[90, 190], lines=[1, 7], framerate=30/1");
  assert_caps (octfft.element (), "sink", "samples=[90, 190]",
      "application/x-oct(memory:OpenCLMemory), domain=wavenumber, format={F32LE, "
      "CF32LE}, "
      "samples=[200, 401], lines=[1, 7], framerate=30/1");
}

TEST (test_octfft_makes_the_8_bit_picture_when_downstream_has_no_wish)
{
  Element octfft;
  expect_equal (octfft.process (make_noise (64, 3)).format, std::string ("GRAY8"));
  fail_unless (gst_caps_is_subset (
      octfft.caps (), check::caps_of ("video/x-raw(ANY), framerate=25/1")));
}

TEST (test_octfft_makes_the_8_bit_picture_also_through_opencldownload)
{
  const check::Harness harness ("octfft ! opencldownload", Spectra (64, 3).caps ());
  const check::Owned<GstCaps> caps = harness.caps ();
  fail_unless (gst_caps_is_equal (caps, check::caps_of ("video/x-raw, format=GRAY8, "
                                                        "width=3, height=32, "
                                                        "framerate=25/1")),
      "%" GST_PTR_FORMAT, caps.operator->());
}

/* Bad input */

TEST (test_octfft_fails_once_when_clfft_cannot_take_the_length)
{
  const Spectra spectra = make_noise (2039, 3);
  Element octfft ("octfft fft-library=clfft");
  octfft.set_caps (spectra.caps ());
  fail_if (octfft.push (spectra) == GST_FLOW_OK);
  fail_if (octfft.push (spectra) == GST_FLOW_OK);
  octfft.messages ().expect_one_error (
      {check::has_clfft ()
              ? "clFFT cannot transform 2039 samples: prime factors must be at most 13; "
                "use fft-library=vkfft or auto"
              : "Built without clFFT: use fft-library=vkfft or auto"});
  set_together (octfft.element (), "fft-library=auto");
  fail_unless (octfft.restart ());
  assert_output (octfft.process (spectra), spectra);
  octfft.expect_no_error ();
}
