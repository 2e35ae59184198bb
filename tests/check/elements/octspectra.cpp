/* Tests of spectra in formats of cameras and digitizers: each gives the depths of its
 * numbers, in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthchain.hpp"
#include "tests/check/folder.hpp"

using check::Bytes;
using check::DepthChain;
using reference::Values;

namespace {
using Integers = std::vector<gint64>;

/* Writes the bytes of an A-line; each A-line starts at a byte. */
using Layout = void (*) (const Integers &line, Bytes &bytes);

template <guint size, bool big_endian>
void
lay_out (const Integers &line, Bytes &bytes)
{
  for (gint64 value : line) {
    for (guint n = 0; n < size; n++)
      bytes.push_back (guint8 (value >> 8 * (big_endian ? size - 1 - n : n)));
  }
}

/* GenICam's Mono10p and Mono12p: a stream of bits, lowest bit first */
template <guint bits>
void
lay_out_bits (const Integers &line, Bytes &bytes)
{
  std::vector<bool> stream;
  for (gint64 value : line) {
    for (guint bit = 0; bit < bits; bit++)
      stream.push_back (value >> bit & 1);
  }
  stream.resize ((stream.size () + 7) / 8 * 8);
  for (gsize n = 0; n < stream.size (); n += 8) {
    guint8 byte = 0;
    for (guint bit = 0; bit < 8; bit++)
      byte |= guint8 (stream[n + bit] << bit);
    bytes.push_back (byte);
  }
}

/* Mono12Packed: the upper eight bits of one sample, the lower four of both, the upper
 * eight of the other */
void
lay_out_pairs (const Integers &line, Bytes &bytes)
{
  for (gsize n = 0; n < line.size (); n += 2) {
    const gint64 second = n + 1 < line.size () ? line[n + 1] : 0;
    bytes.push_back (guint8 (line[n] >> 4));
    bytes.push_back (guint8 ((line[n] & 15) | (second & 15) << 4));
    if (n + 1 < line.size ())
      bytes.push_back (guint8 (second >> 4));
  }
}

struct Kind {
  const char *format;
  gint64 least, most;
  Layout layout;
};

const Kind kinds[] = {
    {"U8", 0, 255, lay_out<1, false>},
    {"S8", -128, 127, lay_out<1, false>},
    {"U16LE", 0, 65535, lay_out<2, false>},
    {"U16BE", 0, 65535, lay_out<2, true>},
    {"S16LE", -32768, 32767, lay_out<2, false>},
    {"S16BE", -32768, 32767, lay_out<2, true>},
    {"S32LE", -2147483648LL, 2147483647, lay_out<4, false>},
    {"U32LE", 0, 4294967295LL, lay_out<4, false>},
    {"MONO10P", 0, 1023, lay_out_bits<10>},
    {"MONO12P", 0, 4095, lay_out_bits<12>},
    {"MONO12PACKED", 0, 4095, lay_out_pairs},
};

struct Frame {
  Bytes bytes;
  std::vector<Integers> lines;
};

Frame
make_frame (const Kind &kind, gsize samples, gsize lines)
{
  std::mt19937 random{guint (samples + lines)};
  std::uniform_int_distribution<gint64> any (kind.least, kind.most);
  Frame frame;
  for (gsize l = 0; l < lines; l++) {
    Integers line;
    for (gsize j = 0; j < samples; j++)
      line.push_back (any (random));
    line[0] = kind.least;
    line[samples - 1] = kind.most;
    kind.layout (line, frame.bytes);
    frame.lines.push_back (line);
  }
  return frame;
}

/* Reference for samples `first` to `end` of all A-lines, with or without subtraction
 * of their mean */
fourier::Line
expected_of (const Frame &frame, guint shift, gsize first, gsize end, bool mean)
{
  fourier::Line bins;
  std::vector<Values> lines;
  Values sum (end - first);
  for (const Integers &line : frame.lines) {
    Values x;
    for (gsize j = first; j < end; j++)
      x.push_back (double (line[j] >> shift));
    for (gsize j = 0; j < x.size (); j++)
      sum[j] += x[j] / double (frame.lines.size ());
    lines.push_back (x);
  }
  for (const Values &x : lines) {
    reference::Chain chain;
    if (mean)
      chain.background = sum;
    const fourier::Line of = reference::depths_of (reference::spectrum_of (chain, x));
    bins.insert (bins.end (), of.begin (), of.end ());
  }
  return bins;
}

void
assert_near (
    const fourier::Line &found, const fourier::Line &expected, const std::string &what)
{
  double largest = 0, worst = 0;
  fail_unless_equals_int (found.size (), expected.size ());
  for (gsize b = 0; b < found.size (); b++) {
    largest = std::max (largest, std::abs (expected[b]));
    worst = std::max (worst, std::abs (found[b] - expected[b]));
  }
  fail_unless (
      worst < 5e-6 * largest, "%s: %g of the largest", what.c_str (), worst / largest);
}
} // namespace

TEST (test_every_kind_of_sample_becomes_its_depths)
{
  for (const Kind &kind : kinds) {
    const Frame frame = make_frame (kind, 256, 5);
    DepthChain chain ("background=frame", "", 256, 5, kind.format);
    assert_near (chain.pass_bytes (frame.bytes), expected_of (frame, 0, 0, 256, true),
        kind.format);
  }
}

/* If an A-line ends within a byte, the next one starts at the next byte. Tested fused and
 * not fused. */
TEST (test_packed_lines_of_odd_length_begin_with_a_byte)
{
  for (gsize n : {8, 9, 10}) {
    const Frame frame = make_frame (kinds[n], 99, 5);
    DepthChain chain ("", "fused=never fft-library=vkfft", 99, 5, kinds[n].format);
    assert_near (chain.pass_bytes (frame.bytes), expected_of (frame, 0, 0, 99, false),
        kinds[n].format);
  }
}

/* Signed samples keep their sign. */
TEST (test_every_kind_of_sample_is_shifted_and_cropped)
{
  const gsize samples = 345;
  for (const Kind &kind : kinds) {
    const Frame frame = make_frame (kind, samples, 3);
    DepthChain chain (
        "bit-shift=3 first-sample=77 samples=256", "", samples, 3, kind.format);
    assert_near (chain.pass_bytes (frame.bytes),
        expected_of (frame, 3, 77, 77 + 256, false), kind.format);
  }
}

/* Deferred work for octfft keeps its own samples, however late it runs. */
TEST (test_frames_that_wait_keep_their_samples)
{
  const gsize samples = 256;
  DepthChain chain ("! tee name=t ! fakesink async=false sync=false "
                    "t. ! queue max-size-buffers=4",
      "", samples, 2, "S16LE");
  for (guint n = 0; n < 20; n++) {
    Kind kind = kinds[4];
    kind.most -= n;
    const Frame frame = make_frame (kind, samples, 2);
    assert_near (chain.pass_bytes (frame.bytes),
        expected_of (frame, 0, 0, samples, false), "frame " + std::to_string (n));
  }
}

/* Raw spectra are recorded unchanged. */
TEST (test_integers_are_recorded_by_npysink_and_read_again)
{
  const struct {
    const char *format, *type;
    gsize bytes;
  } all[] = {{"U8", "|u1", 1}, {"S8", "|i1", 1}, {"S16LE", "<i2", 2}, {"S32LE", "<i4", 4},
      {"U32LE", "<u4", 4}};
  for (const auto &of : all) {
    const check::Folder folder;
    const std::string path = folder.file ("a.npy");
    const Bytes bytes = check::pattern (2 * 3 * 16 * of.bytes, 7);
    {
      check::Harness sink ("npysink location=" + path,
          std::string ("application/x-oct,domain=wavelength,samples=16,lines=3,"
                       "framerate=25/1,format=")
              + of.format);
      const auto middle = bytes.begin () + gssize (bytes.size () / 2);
      fail_unless_equals_int (
          sink.push (check::buffer_of (Bytes (bytes.begin (), middle))), GST_FLOW_OK);
      fail_unless_equals_int (
          sink.push (check::buffer_of (Bytes (middle, bytes.end ()))), GST_FLOW_OK);
      sink.send (gst_event_new_eos ());
    }
    const std::string text = check::contents_of (path);
    fail_unless (text.find (std::string ("'descr': '") + of.type) != std::string::npos,
        "%s: %s", of.format, text.substr (0, 100).c_str ());
    fail_unless (text.find ("(2, 3, 16)") != std::string::npos);
    fail_unless (text.size () > bytes.size ()
                 && std::equal (bytes.rbegin (), bytes.rend (), text.rbegin (),
                     [] (guint8 is, char was) { return is == guint8 (was); }));
  }
}

/* For applications that read a file one frame at a time */
TEST (test_a_file_of_nothing_but_samples_is_read_by_filesrc)
{
  const gsize samples = 256, lines = 3, frames = 4;
  Bytes all;
  std::vector<Frame> made;
  for (gsize n = 0; n < frames; n++) {
    Kind kind = kinds[4];
    kind.least += n;
    made.push_back (make_frame (kind, samples, lines));
    all.insert (all.end (), made[n].bytes.begin (), made[n].bytes.end ());
  }
  const check::Folder folder;
  const std::string name = folder.write ("a.raw", {all.begin (), all.end ()});
  check::Pipeline pipeline (
      "filesrc location=" + name + " blocksize=" + std::to_string (samples * lines * 2)
      + " ! application/x-oct,domain=wavelength,format=S16LE,samples=256,lines=3,"
        "framerate=25/1 ! openclupload ! octwindowinterp ! octfft ! "
        "application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE ! "
        "opencldownload ! appsink name=out sync=false");
  pipeline.start ();
  for (gsize n = 0; n < frames; n++) {
    check::Owned<GstSample> sample = pipeline.pull ();
    fail_unless (sample);
    const Bytes bytes = check::read_buffer (gst_sample_get_buffer (sample));
    fourier::Line bins (bytes.size () / 8);
    for (gsize b = 0; b < bins.size (); b++)
      bins[b] = {
          GST_READ_FLOAT_LE (&bytes[8 * b]), GST_READ_FLOAT_LE (&bytes[8 * b + 4])};
    assert_near (bins, expected_of (made[n], 0, 0, samples, false), "file");
  }
}

namespace {
/* A-lines in which every fourth sample is `peak`, and all others are 100 */
Bytes
frame_of_peaks (const Kind &kind, gint64 peak)
{
  const gsize samples = 256, lines = 40;
  Bytes bytes;
  for (gsize l = 0; l < lines; l++) {
    Integers line;
    for (gsize j = 0; j < samples; j++)
      line.push_back (j % 4 == 3 ? peak : 100);
    kind.layout (line, bytes);
  }
  return bytes;
}

struct Saturation {
  std::string label; /* settings of octwindowinterp */
  const char *format;
  gint64 full, less; /* at full scale and below it */
};

const Saturation saturations[] = {
    {"", "U8", 255, 254},
    {"", "S8", 127, 126},
    {"", "S8", -128, -127},
    {"", "U16LE", 65535, 65534},
    {"", "U16BE", 65535, 65534},
    {"", "S16LE", 32767, 32766},
    {"", "S16LE", -32768, -32767},
    {"", "S16BE", 32767, 32766},
    {"", "S32LE", 2147483647, 2147480000},
    {"", "S32LE", -2147483648LL, -2147480000},
    {"", "U32LE", 4294967295LL, 4294960000LL},
    {"", "MONO10P", 1023, 1022},
    {"", "MONO12P", 4095, 4094},
    {"", "MONO12PACKED", 4095, 4094},
    {"bit-shift=4", "U16LE", 0xfff0, 0xffe0},
    {"bit-shift=4", "U16BE", 0xffff, 0xffef},
    {"full-scale=4095", "U16LE", 4095, 4094},
    {"full-scale=1000", "MONO12P", 1000, 999},
    {"first-sample=128", "U16LE", 65535, 65534},
    {"first-sample=128", "MONO12P", 4095, 4094},
    {"interpolation=cubic wavelength-min=1 wavelength-max=2", "U16LE", 65535, 65534},
};

const Kind &
kind_of (const char *format)
{
  return *std::find_if (std::begin (kinds), std::end (kinds),
      [&] (const Kind &kind) { return g_str_equal (kind.format, format); });
}
} // namespace

/* With octfft fused and not fused. */
TEST_ROWS (test_saturated_samples_are_a_warning_once_until_it_ends, saturations)
{
  const Kind &kind = kind_of (row.format);
  const Bytes full = frame_of_peaks (kind, row.full),
              less = frame_of_peaks (kind, row.less);
  for (const char *fused : {"fused=auto", "fused=never"}) {
    DepthChain chain (row.label, fused, 256, 40, row.format);
    auto pass = [&] (const Bytes &bytes) {
      for (int n = 0; n < 34; n++)
        chain.pass_bytes (bytes);
      return chain.harness.messages ().warnings;
    };
    const std::string when = row.label + row.format + fused;
    const std::vector<std::string> first = pass (full);
    expect_equal (first.size (), 1, when);
    check::expect_contains (first[0], {"octwindowinterp", "25 %", "saturated"});
    expect_equal (pass (full).size (), 0, when + " still");
    expect_equal (pass (less).size (), 0, when + " ended");
    expect_equal (pass (full).size (), 1, when + " again");
  }
}

TEST (test_saturated_samples_are_reported_at_eos)
{
  for (const char *format : {"U16LE", "S16LE"}) {
    DepthChain chain ("", "", 256, 40, format);
    const Kind &kind = kind_of (format);
    chain.pass_bytes (frame_of_peaks (kind, kind.most));
    expect_equal (chain.harness.messages ().warnings.size (), 0, "at once");
    chain.harness.send (gst_event_new_eos ());
    const check::Outcome messages = chain.harness.messages ();
    expect_equal (messages.warnings.size (), 1, format);
    check::expect_contains (messages.warnings[0], {"25 %"});
  }
}

/* Each A-line is checked once within 256 frames. */
TEST (test_one_saturated_a_line_is_seen)
{
  const Kind &kind = kind_of ("U16LE");
  for (const char *fused : {"fused=auto", "fused=never"}) {
    for (gsize saturated : {15, 37}) {
      DepthChain chain ("", fused, 256, 40, "U16LE");
      Bytes frame = frame_of_peaks (kind, 1000);
      const gsize line = frame.size () / 40;
      std::fill_n (frame.begin () + gssize (saturated * line), line, 0xff);
      for (int n = 0; n < 256; n++)
        chain.pass_bytes (frame);
      chain.harness.send (gst_event_new_eos ());
      expect_equal (chain.harness.messages ().warnings.size (), 1,
          std::string (fused) + " " + std::to_string (saturated));
    }
  }
}

/* --- means of float samples --- */

namespace {
/* Pushes a frame of these A-lines several times. Returns the largest difference of the
 * subtracted background from the mean in double precision, for the first A-line. */
double
error_of_mean (
    const std::string &background, const std::vector<Values> &lines, guint frames)
{
  const gsize samples = lines[0].size ();
  check::Harness harness ("openclupload ! octwindowinterp window=rectangular "
                              + background
                              + " ! application/x-oct(memory:OpenCLMemory),"
                                "domain=wavenumber,format=F32LE ! opencldownload",
      "application/x-oct,domain=wavelength,framerate=25/1,format=F32LE,samples="
          + std::to_string (samples) + ",lines=" + std::to_string (lines.size ()));
  Bytes frame (4 * samples * lines.size ()), rest;
  Values mean (samples);
  for (gsize n = 0; n < samples * lines.size (); n++) {
    const float value = float (lines[n / samples][n % samples]);
    GST_WRITE_FLOAT_LE (&frame[4 * n], value);
    mean[n % samples] += double (value) / double (lines.size ());
  }
  for (guint n = 0; n < frames; n++)
    rest = check::read_buffer (harness.pass (check::buffer_of (frame)));
  fail_unless_equals_int (rest.size (), frame.size ());
  double worst = 0;
  for (gsize j = 0; j < samples; j++) {
    const double value = GST_READ_FLOAT_LE (&rest[4 * j]) * double (samples) / 2;
    worst = std::max (worst, std::abs (lines[0][j] - value - mean[j]));
  }
  return worst;
}

/* Not a multiple of any vector's width */
const gsize samples_of_mean = 1030;
} // namespace

/* Large numbers cancel out, and their sums need more bits than a float has. Without
 * compensated summation the mean is off by 0.2 or more. */
TEST (test_mean_of_float_lines_that_cancel_out)
{
  const gsize count = 2000;
  std::vector<Values> lines (count, Values (samples_of_mean));
  for (gsize n = 1; n < count; n++) {
    for (gsize j = 0; j < samples_of_mean; j++) {
      const double large = 256 * (900 + double (j % 400));
      const double odd = 2 * double (j % 50) + 1;
      lines[n][j] = n < count * 3 / 4 ? large : odd - 3 * large;
    }
  }
  const double error = error_of_mean ("background=frame", lines, 1);
  fail_unless (error < 0.05, "off by %g", error);
}

TEST (test_mean_of_many_float_frames)
{
  Values line;
  for (gsize j = 0; j < samples_of_mean; j++)
    line.push_back (1 + 0.9 * double (j) / double (samples_of_mean));
  const double error =
      error_of_mean ("background=rolling background-frames=1024", {line}, 1000);
  fail_unless (error < 1e-6, "off by %g", error);
}

namespace {
#define BYTES_8192 "format=U16LE,samples=256,lines=16,framerate=25/1"

/* Frames of 8192 bytes, in blocks of other sizes */
const struct {
  std::string label;
  const char *elements;
} readers[] = {
    {"spectra", "application/x-oct,domain=wavelength," BYTES_8192
                " ! openclupload ! octwindowinterp ! octfft"},
    {"raw video", "video/x-raw,format=GRAY16_LE,width=256,height=16,framerate=25/1 ! "
                  "openclupload ! octwindowinterp ! octfft"},
    {"packed", "application/x-oct,domain=wavelength,format=MONO12P,samples=1024,"
               "lines=5,framerate=25/1 ! openclupload ! octwindowinterp"},
    {"scan", "application/x-oct,domain=wavelength," BYTES_8192
             " ! openclupload ! octscan flyback=1"},
    {"depths", "application/x-oct,domain=depth,format=CF32LE,samples=64,lines=16,"
               "framerate=25/1 ! openclupload ! octbackground"},
    {"held depths", "application/x-oct,domain=depth,format=F32LE,samples=128,lines=16,"
                    "framerate=25/1 ! openclupload ! octaverage frames=2"},
    {"video", "video/x-raw,format=RGBA,width=64,height=32,framerate=25/1 ! openclupload"},
    {"array", "other/tensors,format=static,num_tensors=1,types=float32,"
              "dimensions=(string)256:8,framerate=25/1 ! openclupload ! "
              "openclkernel expression=x"},
    {"recorded array", "application/x-oct,domain=wavelength," BYTES_8192
                       " ! npysink location=/dev/shm/x.npy"},
    {"recorded video", "video/x-raw,format=GRAY16_LE,width=256,height=16,framerate=25/1"
                       " ! npysink location=/dev/shm/x.npy"},
};

gsize
frame_of (const std::string &reader)
{
  return reader == "packed" ? 7680 : 8192;
}

check::Outcome
read_in_blocks (const char *elements, gsize block, gsize all)
{
  const check::Folder folder;
  const std::string name = folder.write ("a.raw", std::string (all, '\1'));
  std::string line = "filesrc location=" + name + " blocksize=" + std::to_string (block)
                     + " ! " + elements;
  const gsize at = line.find ("/dev/shm/x.npy");
  if (at != std::string::npos)
    line.replace (at, strlen ("/dev/shm/x.npy"), folder.file ("x.npy"));
  else
    line += " ! fakesink";
  return check::play_with_warnings (check::Pipeline (line));
}
} // namespace

TEST_ROWS (test_ten_blocks_that_are_not_one_frame_are_an_error, readers)
{
  const gsize frame = frame_of (row.label);
  const gsize blocks[] = {2 * frame, 3 * frame, frame + frame / 2, frame / 2, frame - 1};
  for (gsize block : blocks) {
    const check::Outcome outcome = read_in_blocks (row.elements, block, 30 * frame);
    expect_equal (outcome.warnings.size (), 9u);
    fail_if (outcome.errors.empty (), "%zu", block);
    check::expect_contains (
        outcome.errors[0], {check::text ("%zu bytes", block), check::text ("%zu", frame),
                               check::text ("blocksize=%zu", frame)});
  }
  fail_unless (read_in_blocks (row.elements, frame, 6 * frame).is_clean ());
}

TEST (test_a_file_that_ends_within_a_frame_is_a_warning)
{
  for (const auto &reader : readers) {
    const gsize frame = frame_of (reader.label);
    const check::Outcome outcome = read_in_blocks (reader.elements, frame, 5 * frame / 2);
    fail_unless (outcome.eos && outcome.errors.empty (), "%s", reader.label.c_str ());
    expect_equal (outcome.warnings.size (), 1u, reader.label);
    check::expect_contains (outcome.warnings[0], {check::text ("%zu bytes", frame / 2)});
  }
}
