/* Tests of the fused kernel from raw spectra to depth, against double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

#include "gst/oct/depth/depthengine.hpp"
#include "gst/oct/calibration/spectrumtables.hpp"

#include "../octreference.hpp"
#include "../one-context.hpp"
#include "../opencl-check.hpp"
#include "tablefile.hpp"

using fourier::Complex;
using namespace oct;

namespace {
const bool takes_long = check::set_test_timeout (600);

using reference::decibels;
using reference::Values;

const guint8 untouched = 0xa5;
const double black = 10, white = 90; /* of the pictures, in dB */
const double tolerance = 2e-6; /* relative to the largest bin, as for the FFT libraries */

/* Parameters of a test case */
struct Case {
  guint samples = 2048;
  guint lines = 5;
  Interpolation interpolation = Interpolation::linear;
  SampleFormat input = SampleFormat::u16le;
  DepthFormat output = DepthFormat::complex;
  bool dispersion = false;
  bool background = false;
  bool logarithmic = true;
  WindowFunction window = WindowFunction::hann;
  guint shift = 0;
  guint first = 0;
  guint depths = 0; /* 0: all */
  gsize input_offset = 0;
  gsize input_gap = 0; /* bytes between A-lines */
  gsize output_offset = 0;
  gsize output_gap = 0;
  gsize local_memory = 0;
  DepthForm form = DepthForm::automatic;
  bool gridded () const { return interpolation == Interpolation::nufft; }
  guint wanted_depths () const { return depths ? depths : samples / 2 - first; }
  bool picture () const
  {
    return output == DepthFormat::gray8 || output == DepthFormat::gray16;
  }
};

gsize
bytes_of (SampleFormat format)
{
  const gsize bytes[] = {1, 2, 2, 4};
  return bytes[gsize (format)];
}

gsize
bytes_of (DepthFormat format)
{
  const gsize bytes[] = {1, 2, 4, 8};
  return bytes[gsize (format)];
}

class Device {
public:
  Device () : context (check::new_context ()), queue (check::queue_of (context)) {}
  ~Device () { gst_object_unref (context); }

  cl::Buffer buffer (const void *contents, gsize bytes) const
  {
    cl_int code;
    cl::Buffer made (clCreateBuffer (gst_opencl_context_get_handle (context),
        CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, const_cast<void *> (contents),
        &code));
    fail_unless_equals_int (code, CL_SUCCESS);
    return made;
  }

  check::Bytes read (const cl::Buffer &buffer, gsize bytes) const
  {
    check::Bytes contents (bytes);
    fail_unless_equals_int (clEnqueueReadBuffer (queue, buffer (), CL_TRUE, 0, bytes,
                                contents.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    return contents;
  }

  GstOpenCLContext *context;
  cl_command_queue queue;
};

/* A smooth map that runs forward and back, slightly beyond both ends */
Values
make_map (guint samples)
{
  Values map (samples);
  for (guint m = 0; m < samples; m++) {
    double u = double (m) / (samples - 1);
    map[m] = (samples - 1) * (u + 0.15 * u * (1 - u)) + 0.3 * std::sin (40 * u);
  }
  return map;
}

/* The spectra of a few mirrors on a large background, with noise. */
class Spectra {
public:
  explicit Spectra (const Case &of)
      : lines (of.lines, Values (of.samples)),
        stride (of.samples * bytes_of (of.input) + of.input_gap),
        bytes (of.input_offset + of.lines * stride, untouched)
  {
    std::mt19937 random (of.samples + of.lines);
    std::uniform_real_distribution<double> uniform (0, 1);
    double full = of.input == SampleFormat::u8 ? 255 : 65535;
    for (guint l = 0; l < of.lines; l++) {
      double depth = uniform (random) * of.samples / 2;
      for (guint j = 0; j < of.samples; j++) {
        double fringe = std::cos (2 * G_PI * depth * j / of.samples)
                        + 0.1 * std::cos (2 * G_PI * 0.11 * j + l);
        double value = 0.5 + 0.2 * fringe + 0.1 * uniform (random);
        lines[l][j] = store (of, l, j, value * full);
      }
    }
  }

  std::vector<Values> lines; /* values after the shift */
  gsize stride;
  check::Bytes bytes;

private:
  double store (const Case &of, guint line, guint sample, double value)
  {
    guint8 *at = &bytes[of.input_offset + line * stride + sample * bytes_of (of.input)];
    if (of.input == SampleFormat::f32le) {
      float number = float (value);
      guint32 word;
      memcpy (&word, &number, sizeof word);
      GST_WRITE_UINT32_LE (at, word);
      return number;
    }
    guint integer = guint (value);
    if (of.input == SampleFormat::u8)
      *at = guint8 (integer);
    else if (of.input == SampleFormat::u16le)
      GST_WRITE_UINT16_LE (at, integer);
    else
      GST_WRITE_UINT16_BE (at, integer);
    return integer >> of.shift;
  }
};

const char *
name_of (Interpolation interpolation)
{
  const char *const names[] = {
      "none", "linear", "cubic", "lanczos", "nufft", "lanczos16"};
  return names[gsize (interpolation)];
}

/* Tables of octwindowinterp, and their reference */
struct Tables : SpectrumTables {
  reference::Chain chain;
  bool gridded, turned; /* grid points have a phase */

  explicit Tables (const Case &of) : gridded (of.gridded ()), turned (of.dispersion)
  {
    const double n = of.samples;
    SpectrumSettings settings;
    chain.interpolation = name_of (of.interpolation);
    chain.window = of.window == WindowFunction::hann ? "hann" : "rectangular";
    chain.map = make_map (of.samples);
    for (guint j = 0; of.background && j < of.samples; j++)
      chain.background.push_back (
          100 + 20 * std::sin (0.01 * j) + 9 * std::sin (1.3 * j));
    const check::TableFile map (chain.map), background (chain.background);
    settings.interpolation = of.interpolation;
    settings.window.function = of.window;
    if (gridded) {
      settings.calibration.wavelength_min = 1187;
      settings.calibration.wavelength_max = 1433;
    } else if (of.interpolation != Interpolation::none)
      settings.calibration.resample_map.path = map.path;
    if (of.dispersion) {
      settings.dispersion.a2 = 36 / n / n;
      settings.dispersion.a3 = -32 / n / n / n;
      chain.phase = reference::phase_of (
          of.samples, settings.dispersion.a2, settings.dispersion.a3);
    }
    settings.background_from_file = of.background;
    settings.background.path = of.background ? background.path : "";
    fail_unless (
        spectrum_tables_load (settings, of.samples, of.dispersion, *this, nullptr));
  }

  /* Points of the transform; 0: those of the samples */
  guint transformed () const { return gridded ? guint (points) : 0; }

  double number (gsize word) const
  {
    float value;
    memcpy (&value, &words[word], sizeof value);
    return double (value);
  }

  /* First half of the depths of a grid, as the tables define it. elements_nufft tests their
   * values. */
  fourier::Line depths_of_grid (Values line) const
  {
    const gint last = gint (line.size ()) - 1;
    const gsize first = turned ? 2 * points : 0;
    for (gsize j = 0; j < chain.background.size (); j++)
      line[j] -= chain.background[j];
    fourier::Line grid (points);
    for (gsize p = 0; p < points; p++) {
      for (gsize t = 0; t < taps; t++)
        grid[p] += number (first + points + t * (points + weight_gap) + p)
                   * line[CLAMP (gint (words[first + p]) + gint (t), 0, last)];
      if (turned)
        grid[p] *= Complex (number (2 * p), number (2 * p + 1));
    }
    fourier::Line bins = fourier::transform (grid);
    bins.resize (line.size () / 2);
    return bins;
  }

  fourier::Line depths_of (const Values &line) const
  {
    return gridded ? depths_of_grid (line)
                   : reference::depths_of (reference::spectrum_of (chain, line));
  }
};

EngineFormat
format_of (const Case &of, gsize taps, guint points = 0)
{
  EngineFormat format;
  format.input = of.input;
  format.output = of.output;
  format.samples = of.samples;
  format.taps = taps;
  format.points = points;
  format.oversampling = of.gridded () ? 2 : 1;
  format.complex = of.dispersion;
  format.background = of.background;
  format.local_memory = of.local_memory;
  format.form = of.form;
  return format;
}

/* Result of a case on the device */
struct Result {
  check::Bytes bytes;
  gsize stride;

  double number (const Case &of, guint line, guint depth, guint part = 0) const
  {
    gsize column = of.picture () ? line : depth, row = of.picture () ? depth : line;
    const guint8 *at = &bytes[of.output_offset + row * stride
                              + column * bytes_of (of.output) + part * sizeof (float)];
    if (of.output == DepthFormat::gray8)
      return *at;
    if (of.output == DepthFormat::gray16)
      return GST_READ_UINT16_LE (at);
    float value;
    memcpy (&value, at, sizeof value);
    return double (value);
  }
};

Result
run (const Device &device, const Case &of, const Tables &tables, const Spectra &spectra,
    guint *broken = nullptr)
{
  guint rows = of.picture () ? of.wanted_depths () : of.lines;
  guint columns = of.picture () ? of.lines : of.wanted_depths ();
  Result result;
  result.stride = columns * bytes_of (of.output) + of.output_gap;
  result.bytes.assign (of.output_offset + rows * result.stride + 4096, untouched);

  cl::Buffer input = device.buffer (spectra.bytes.data (), spectra.bytes.size ());
  cl::Buffer table = device.buffer (tables.words.data (), 4 * tables.words.size ());
  cl::Buffer output = device.buffer (result.bytes.data (), result.bytes.size ());
  RawSpectra raw = {input (), of.input_offset, cl_long (spectra.stride), of.samples,
      of.lines, of.shift, nullptr};
  if (broken)
    raw.counter = std::make_shared<cl::Buffer> (device.buffer (broken, sizeof *broken));
  DepthOutput where = {output (), of.output_offset, gssize (result.stride), of.first,
      of.wanted_depths (), of.logarithmic, black, white};

  GError *error = nullptr;
  auto depth = DepthEngine::make_fused (
      device.context, format_of (of, tables.taps, tables.transformed ()), &error);
  fail_unless (depth
                   && depth->enqueue (device.queue, raw, table (), table (),
                       cl_uint (tables.background_offset), where, &error),
      "%u samples: %s", of.samples, error ? error->message : "no error");
  result.bytes = device.read (output, result.bytes.size ());
  if (broken)
    memcpy (broken, device.read (*raw.counter, sizeof *broken).data (), sizeof *broken);
  return result;
}

/* Tolerances: for complex depths and amplitudes relative to the largest bin, for images
 * slightly more than half a level. For decibels, the change that an error of that part of
 * the largest bin causes. */
void
assert_value (const Case &of, const Result &result, guint line, guint depth, Complex bin,
    double largest)
{
  double amplitude = std::abs (bin), allowed = tolerance * largest;
  double got = result.number (of, line, depth);
  double expected = of.logarithmic ? decibels (amplitude) : amplitude;
  double off = got - expected;
  double slack = allowed;
  if (of.output == DepthFormat::complex) {
    off = std::abs (Complex (got, result.number (of, line, depth, 1)) - bin);
  } else if (of.logarithmic) {
    slack = decibels (amplitude + allowed) - decibels (amplitude - allowed) + 1e-5;
  }
  if (of.picture ()) {
    double full = of.output == DepthFormat::gray8 ? 255 : 65535;
    double shade = (expected - black) / (white - black) * full;
    off = got - CLAMP (shade, 0, full);
    slack = slack / (white - black) * full + 0.5 + 2e-6 * full;
  }
  fail_unless (std::abs (off) <= slack,
      "form %d, input %d, %u samples, %u lines, line %u, depth %u: %.9g, expected %.9g "
      "within %g of it",
      int (of.form), int (of.input), of.samples, of.lines, line, depth, got, got - off,
      slack);
}

/* Bytes around the depths must not change. */
void
assert_gaps_untouched (const Case &of, const Result &result)
{
  guint rows = of.picture () ? of.wanted_depths () : of.lines;
  guint columns = of.picture () ? of.lines : of.wanted_depths ();
  gsize used = columns * bytes_of (of.output);
  for (gsize n = 0; n < result.bytes.size (); n++) {
    bool gap = n < of.output_offset || (n - of.output_offset) % result.stride >= used
               || (n - of.output_offset) / result.stride >= rows;
    fail_unless (!gap || result.bytes[n] == untouched,
        "%u samples, %u lines: byte %" G_GSIZE_FORMAT " between the rows is written to",
        of.samples, of.lines, n);
  }
}

/* Returns true if the device has enough local memory. */
bool
fits (const Device &device, const Case &of)
{
  GError *error = nullptr;
  Tables tables (of);
  bool fits = DepthEngine::make_fused (device.context,
                  format_of (of, tables.taps, tables.transformed ()), &error)
              != nullptr;
  if (!fits)
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
  g_clear_error (&error);
  return fits;
}

void
assert_right_in_form (const Device &device, const Case &of)
{
  Tables tables (of);
  Spectra spectra (of);
  Result result = run (device, of, tables, spectra);

  for (guint l = 0; l < of.lines; l++) {
    fourier::Line bins = tables.depths_of (spectra.lines[l]);
    double largest = 0;
    for (guint b = 0; b < of.samples / 2; b++)
      largest = std::max (largest, std::abs (bins[b]));
    for (guint d = 0; d < of.wanted_depths (); d++)
      assert_value (of, result, l, d, bins[of.first + d], largest);
  }
  assert_gaps_untouched (of, result);
}

using Change = std::function<void (Case &)>;

/* Changes a copy of `of`, and appends it to the cases. */
void
add (std::vector<Case> &cases, const Change &change, Case of = {})
{
  change (of);
  cases.push_back (of);
}

const DepthFormat outputs[] = {
    DepthFormat::gray8, DepthFormat::gray16, DepthFormat::levels, DepthFormat::complex};

/* Lengths, interpolations and inputs. Complex transforms use the steps of real ones of
 * another length. Hann's window is 0 at the ends, and would hide errors there. */
std::vector<Case>
cases_of_spectra ()
{
  std::vector<Case> cases;
  for (guint samples = 64; samples <= 16384; samples *= 2)
    for (bool dispersion : {false, true})
      if (!dispersion || samples == 64 || samples == 1024 || samples == 16384)
        add (cases, [&] (Case &of) {
          of.samples = samples, of.lines = 3, of.dispersion = dispersion;
        });
  for (const auto &[samples, dispersion] : {std::pair (64u, true), {512u, false},
           {2048u, false}, {2048u, true}, {8192u, false}})
    add (cases, [&, &length = samples, &turned = dispersion] (Case &of) {
      of.samples = length, of.lines = 3, of.interpolation = Interpolation::nufft;
      of.dispersion = turned, of.background = length < 2048;
    });
  for (SampleFormat input : {SampleFormat::u16be, SampleFormat::f32le})
    add (cases, [&] (Case &of) {
      of.samples = 1024, of.lines = 37, of.interpolation = Interpolation::nufft;
      of.input = input, of.dispersion = input == SampleFormat::u16be;
      of.output = of.dispersion ? DepthFormat::gray16 : DepthFormat::gray8;
      of.first = 3, of.depths = 400;
    });
  for (SampleFormat input :
      {SampleFormat::u8, SampleFormat::u16le, SampleFormat::u16be, SampleFormat::f32le})
    for (gsize odd : {0, 1})
      add (cases, [&] (Case &of) {
        of.samples = 512, of.input = input, of.input_offset = odd * bytes_of (input);
        of.shift = input == SampleFormat::f32le ? 0 : guint (2 * odd);
        of.input_gap = 3 * odd * bytes_of (input);
      });
  for (Interpolation interpolation : {Interpolation::none, Interpolation::linear,
           Interpolation::cubic, Interpolation::lanczos, Interpolation::lanczos16})
    for (WindowFunction window : {WindowFunction::hann, WindowFunction::rectangular})
      add (cases, [&] (Case &of) {
        of.samples = 512, of.window = window, of.interpolation = interpolation;
        of.dispersion = interpolation == Interpolation::cubic;
        of.background =
            window == WindowFunction::rectangular && interpolation != Interpolation::none;
      });
  return cases;
}

/* Any number of A-lines, depths, and places of rows in a buffer */
std::vector<Case>
cases_of_outputs ()
{
  std::vector<Case> cases;
  for (guint samples : {64, 2048, 8192})
    add (cases, [&] (Case &of) {
      of.samples = samples, of.output = DepthFormat::gray8;
      of.lines = samples > 2048 ? 5 : 39;
    });
  for (guint samples : {64, 512})
    for (guint lines : {1, 2, 15, 17, 33, 131, 517})
      for (DepthFormat output : {DepthFormat::gray8, DepthFormat::levels})
        add (cases, [&] (Case &of) {
          of.samples = samples, of.lines = lines, of.output = output;
        });
  Case usual;
  usual.samples = 512;
  usual.lines = 19;
  add (cases, [] (Case &of) { of.output = DepthFormat::levels, of.dispersion = true; });
  for (DepthFormat output : outputs) {
    usual.output = output;
    add (
        cases, [] (Case &of) { of.logarithmic = false; }, usual);
    for (guint first : {0u, 1u, 100u})
      for (guint depths : {1u, 37u, 0u})
        add (
            cases, [&] (Case &of) { of.first = first, of.depths = depths; }, usual);
    for (gsize offset : {1, 2})
      for (gsize gap : {1, 3})
        add (
            cases,
            [&] (Case &of) {
              of.lines = 36, of.output_offset = offset * bytes_of (output);
              of.output_gap = gap * bytes_of (output);
            },
            usual);
  }
  return cases;
}

/* Local memory for which samples and transform, real and imaginary parts, both or neither
 * share memory in turn; for 12 instead of 16 A-lines per work-group; and for 16, 8 and 4
 * lanes, and for each of them from 64 A-lines in a tile of an image to as few as possible */
std::vector<Case>
cases_of_little_memory ()
{
  const struct {
    DepthForm form;
    guint samples, lines;
    DepthFormat output;
    bool grid, dispersion;
    SampleFormat input;
    std::vector<gsize> bytes;
  } rows[] = {
      {DepthForm::groups, 2048, 7, DepthFormat::complex, true, false, SampleFormat::u16le,
          {50000, 27000}},
      {DepthForm::groups, 2048, 61, DepthFormat::gray8, true, false, SampleFormat::u16le,
          {49152}},
      {DepthForm::groups, 2048, 7, DepthFormat::complex, true, true, SampleFormat::u16le,
          {43000}},
      {DepthForm::groups, 2048, 7, DepthFormat::complex, false, true, SampleFormat::u16le,
          {26000, 17500, 17000, 16500, 9000}},
      {DepthForm::groups, 2048, 7, DepthFormat::complex, false, false,
          SampleFormat::f32le, {26000, 17500, 17000, 16500}},
      {DepthForm::groups, 2048, 19, DepthFormat::gray8, false, false, SampleFormat::u16le,
          {40000, 30000, 13000}},
      {DepthForm::lanes, 512, 67, DepthFormat::gray8, false, false, SampleFormat::u16le,
          {73000, 51000}},
      {DepthForm::lanes, 512, 603, DepthFormat::gray8, false, false, SampleFormat::u16le,
          {19500}},
      {DepthForm::lanes, 512, 67, DepthFormat::gray16, false, false, SampleFormat::u16le,
          {39000}},
      {DepthForm::lanes, 512, 603, DepthFormat::gray16, false, false, SampleFormat::u16le,
          {26000}},
      {DepthForm::lanes, 512, 603, DepthFormat::levels, false, false, SampleFormat::u16le,
          {35000, 17500}},
  };
  std::vector<Case> cases;
  for (const auto &row : rows)
    for (gsize bytes : row.bytes)
      add (cases, [&] (Case &of) {
        of.form = row.form, of.samples = row.samples, of.lines = row.lines;
        of.output = row.output, of.dispersion = row.dispersion, of.input = row.input;
        of.interpolation = row.grid ? Interpolation::nufft : of.interpolation;
        of.local_memory = bytes;
      });
  return cases;
}

/* In all forms of the kernel that fit the device, unless the case has one. The preferred one
 * must fit 2048 samples. */
void
check_cases (const std::vector<Case> &cases)
{
  Device device;
  for (const Case &of : cases) {
    fail_unless (of.samples > 2048 || fits (device, of));
    for (DepthForm form : {DepthForm::groups, DepthForm::lanes}) {
      Case in_form = of;
      in_form.form = form;
      if (of.form == DepthForm::automatic ? fits (device, in_form) : of.form == form)
        assert_right_in_form (device, in_form);
    }
  }
}
} // namespace

TEST (test_fused_depths_of_all_spectra_are_right)
{
  check_cases (cases_of_spectra ());
}

TEST (test_fused_depths_are_right_in_every_output)
{
  check_cases (cases_of_outputs ());
}

TEST (test_fused_depths_need_little_local_memory)
{
  check_cases (cases_of_little_memory ());
}

/* Value of an output without an amplitude */
static double
nothing_of (const Case &of)
{
  return of.picture () || !of.logarithmic ? 0 : -120;
}

/* A pair of A-lines shares a transform: A-line 2 is the first of a pair, 5 the second. */
TEST (test_what_is_not_finite_is_black_in_its_own_line_alone)
{
  const float broken[] = {NAN, INFINITY, -INFINITY};
  Device device;
  for (DepthForm form : {DepthForm::groups, DepthForm::lanes}) {
    for (DepthFormat output : {DepthFormat::gray8, DepthFormat::levels}) {
      for (bool logarithmic : {true, false}) {
        Case of;
        of.samples = 256;
        of.input = SampleFormat::f32le;
        of.output = output;
        of.lines = 7;
        of.form = form;
        of.logarithmic = logarithmic;
        Tables tables (of);
        Spectra spectra (of);
        Result before = run (device, of, tables, spectra);
        for (gsize n = 0; n < 3; n++)
          memcpy (&spectra.bytes[(n ? 5 : 2) * spectra.stride + 400 + 4 * n], &broken[n],
              sizeof broken[n]);
        guint counted = 0;
        Result after = run (device, of, tables, spectra, &counted);
        fail_unless_equals_int (counted, 3);
        for (guint l = 0; l < of.lines; l++) {
          for (guint d = 0; d < of.samples / 2; d++) {
            const bool broken_line = l == 2 || l == 5;
            double expected = broken_line ? nothing_of (of) : before.number (of, l, d);
            /* The other A-line of the pair has other rounding errors. */
            double slack =
                broken_line ? 1e-4 : 1e-3 * std::abs (expected) + of.picture ();
            fail_unless (std::abs (after.number (of, l, d) - expected) <= slack,
                "line %u, depth %u: %g, expected %g", l, d, after.number (of, l, d),
                expected);
          }
        }
      }
    }
  }
}

/* An odd last A-line has no partner, or leaves lanes unused: each sample is counted
 * once. */
TEST (test_what_is_not_finite_in_an_odd_last_line_is_counted_once)
{
  Device device;
  for (DepthForm form : {DepthForm::groups, DepthForm::lanes}) {
    for (guint lines : {1, 7, 9}) {
      Case of;
      of.samples = 256;
      of.input = SampleFormat::f32le;
      of.output = DepthFormat::levels;
      of.lines = lines;
      of.form = form;
      Tables tables (of);
      Spectra spectra (of);
      const float broken[] = {NAN, INFINITY};
      guint counted = 0;
      memcpy (&spectra.bytes[(lines - 1) * spectra.stride + 400], broken, sizeof broken);
      run (device, of, tables, spectra, &counted);
      fail_unless (
          counted == 2, "form %d, %u lines: counted %u", int (form), lines, counted);
    }
  }
}

TEST (test_a_frame_is_one_launch)
{
  Device device;
  Case of;
  of.samples = 64;
  of.lines = 300;
  of.output = DepthFormat::gray8;
  GstOpenCLCounts before, after;
  GstOpenCLStatistics *statistics = gst_opencl_statistics_of (nullptr);
  gst_opencl_statistics_get_counts (statistics, &before);
  run (device, of, Tables (of), Spectra (of));
  gst_opencl_statistics_get_counts (statistics, &after);
  fail_unless_equals_uint64 (after.launches - before.launches, 1);
}

TEST (test_other_lengths_are_refused_by_name)
{
  Device device;
  for (guint samples : {2u, 32u, 1000u, 1536u, 2047u, 32768u}) {
    for (DepthForm form : {DepthForm::groups, DepthForm::lanes}) {
      Case of;
      of.samples = samples;
      of.form = form;
      GError *error = nullptr;
      fail_if (DepthEngine::is_fused_faster (device.context, format_of (of, 2)));
      fail_if (DepthEngine::make_fused (device.context, format_of (of, 2), &error));
      fail_unless (strstr (error->message, std::to_string (samples).c_str ()) != nullptr);
      fail_unless (strstr (error->message, "power of two") != nullptr);
      g_error_free (error);
    }
  }
}

TEST (test_a_cpu_does_it_in_lanes_and_a_gpu_in_groups)
{
  Device device;
  cl_device_type type = 0;
  clGetDeviceInfo (gst_opencl_context_get_device (device.context), CL_DEVICE_TYPE,
      sizeof type, &type, nullptr);
  const bool cpu = type & CL_DEVICE_TYPE_CPU;
  Case of;
  fail_unless (DepthEngine::is_fused_faster (device.context, format_of (of, 2)));
  of.form = DepthForm::lanes;
  fail_unless_equals_int (
      DepthEngine::is_fused_faster (device.context, format_of (of, 2)), cpu);
  of.form = DepthForm::groups;
  fail_unless_equals_int (
      DepthEngine::is_fused_faster (device.context, format_of (of, 2)), !cpu);
}

TEST (test_values_that_are_not_aligned_are_refused)
{
  Device device;
  Case of;
  of.samples = 64;
  of.output = DepthFormat::levels;
  Tables tables (of);
  cl::Buffer buffer = device.buffer (tables.words.data (), 4 * tables.words.size ());
  GError *error = nullptr;
  auto depth = DepthEngine::make_fused (device.context, format_of (of, 2), &error);
  fail_unless (depth != nullptr);
  RawSpectra raw = {buffer (), 0, 128, of.samples, 1, 0, nullptr};
  DepthOutput where = {buffer (), 2, 128, 0, 32, true, black, white};
  fail_if (depth->enqueue (device.queue, raw, buffer (), buffer (), 0, where, &error));
  fail_unless (strstr (error->message, "multiples of 4") != nullptr);
  g_error_free (error);
}
