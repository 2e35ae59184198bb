/* Tests of octfileparse
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gst/oct/octcalibration.h"
#include "gst/oct/calibration/calibration.hpp"
#include "gst/oct/recordings/octrecording.hpp"
#include "tests/check/folder.hpp"
#include "octarchive.hpp"
#include "playedframes.hpp"

#include <functional>
#include <numeric>

using namespace check;

namespace {
const GstClockTime frame_time = GST_SECOND / 25;

std::string
parsing (const std::string &path)
{
  return "filesrc location=" + path + " ! octfileparse name=parse";
}

/* The calibration event of a pad, as text for comparisons with fields */
Owned<GstEvent>
calibration_of (GstPad *pad)
{
  for (guint n = 0;; n++) {
    GstEvent *event =
        gst_pad_get_sticky_event (pad, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, n);
    if (!event || gst_event_is_oct_calibration (event))
      return event;
    gst_event_unref (event);
  }
}

std::vector<double>
array_of (GstEvent *event, const char *field)
{
  const GValue *array = gst_structure_get_value (gst_event_get_structure (event), field);
  std::vector<double> values;
  for (guint n = 0; array && n < gst_value_array_get_size (array); n++)
    values.push_back (g_value_get_double (gst_value_array_get_value (array, n)));
  return values;
}

double
number_of (GstEvent *event, const char *field)
{
  double value = 0;
  gst_structure_get_double (gst_event_get_structure (event), field, &value);
  return value;
}

/* Plays a recording, and returns its event. */
Owned<GstEvent>
played_calibration (const OctArchive &archive, Outcome *messages = nullptr)
{
  Folder folder;
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.start ();
  expect_played (player.frames (), archive.all_frames ());
  Outcome outcome = player.messages ();
  fail_unless (outcome.errors.empty (), "%s", outcome.line ().c_str ());
  if (messages)
    *messages = outcome;
  return calibration_of (player.pad ("out", "sink"));
}

std::vector<double>
mean_of_apodization (const OctArchive &archive)
{
  std::vector<double> mean (archive.samples);
  for (guint n = 0; n < archive.samples; n++) {
    for (guint line = 0; line < archive.apodization_lines; line++)
      mean[n] += OctArchive::sample (0, line, n);
    mean[n] /= archive.apodization_lines;
  }
  return mean;
}
} // namespace

/* Frames */

struct Layout {
  const char *label;
  std::function<void (OctArchive &)> change;
  const char *caps = "format=(string)U16LE, samples=(int)32, lines=(int)3";
};

TEST_ROWS (test_octfileparse_frames,
    std::vector<Layout>{
        {"as instruments write it", [] (OctArchive &) {}},
        {"forward slashes", [] (OctArchive &a) { a.separator = "/"; }},
        {"deflated", [] (OctArchive &a) { a.deflated = true; }},
        {"no apodization", [] (OctArchive &a) { a.apodization_lines = 0; }},
        {"one frame", [] (OctArchive &a) { a.frames = 1; }},
        {"one entry for all frames", [] (OctArchive &a) { a.per_entry = 4; }},
        {"two frames in an entry, deflated",
            [] (OctArchive &a) {
              a.per_entry = 2;
              a.deflated = true;
            }},
        {"bytes", [] (OctArchive &a) { a.bytes = 1; },
            "format=(string)U8, samples=(int)32, lines=(int)3"},
        {"signed bytes",
            [] (OctArchive &a) {
              a.bytes = 1;
              a.is_signed = true;
            },
            "format=(string)S8, samples=(int)32, lines=(int)3"},
        {"signed 16 bits", [] (OctArchive &a) { a.is_signed = true; },
            "format=(string)S16LE, samples=(int)32, lines=(int)3"},
        {"32 bits", [] (OctArchive &a) { a.bytes = 4; },
            "format=(string)U32LE, samples=(int)32, lines=(int)3"},
        {"signed 32 bits",
            [] (OctArchive &a) {
              a.bytes = 4;
              a.is_signed = true;
            },
            "format=(string)S32LE, samples=(int)32, lines=(int)3"},
        {"entries of no interest",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Colored\" SizeZ=\"2\" "
                                "SizeX=\"2\">data\\VideoImage.data"
                                "</DataFile>";
              a.further = {{"data\\VideoImage.data", "abcdefgh"}, {"../etc/passwd", "x"},
                  {"/absolute", "y"}, {"empty", ""}};
            }},
    })
{
  OctArchive archive;
  Folder folder;
  row.change (archive);
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.start ();
  const std::vector<PlayedFrame> frames = player.frames ();
  fail_unless (player.messages ().is_clean ());
  expect_played (frames, archive.all_frames ());
  expect_contains (player.caps (), {row.caps, "domain=(string)wavelength", "25/1"});
  for (gsize n = 0; n < frames.size (); n++) {
    expect_equal (frames[n].time, n * frame_time);
    expect_equal (frames[n].duration, frame_time);
  }
}

/* Regions of A-lines that are neither first nor contiguous */
TEST (test_octfileparse_regions)
{
  OctArchive archive;
  Folder folder;
  archive.apodization_lines = 0;
  archive.lines = 9;
  archive.attributes =
      "ScanRegionStart1=\"6\" ScanRegionEnd1=\"8\" "
      "ScanRegionStart0=\"1\" ScanRegionEnd0=\"3\" "
      "ApoRegionStart0=\"4\" ApoRegionEnd0=\"6\" NumberOfScanRegions=\"2\" ";
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.start ();
  std::vector<std::string> expected;
  for (guint n = 0; n < archive.frames; n++)
    expected.push_back (archive.lines_of (n, 1, 3) + archive.lines_of (n, 6, 8));
  expect_played (player.frames (), expected);
  expect_contains (player.caps (), {"lines=(int)4"});
  std::vector<double> mean;
  for (guint n = 0; n < archive.samples; n++)
    mean.push_back ((OctArchive::sample (0, 4, n) + OctArchive::sample (0, 5, n)) / 2.0);
  Owned<GstEvent> event = calibration_of (player.pad ("out", "sink"));
  expect_near (array_of (event, "background"), mean, 0, "background");
}

struct Scan {
  const char *label;
  const char *pixels, *real, *acquisition;
  const char *first, *last; /* of four frames */
  const char *b_scan_step;  /* (nullable) */
};

TEST_ROWS (test_octfileparse_scan_positions,
    {
        Scan{"volume", "<SizeY>4</SizeY>", "<SizeX>0.3</SizeX><SizeY>0.8</SizeY>", "",
            "frame 0 volume 0 b-scan 0/4 repeat 0/1",
            "frame 3 volume 0 b-scan 3/4 repeat 0/1", "b-scan-step=(double)200"},
        Scan{"speckle averaging", "<SizeY>2</SizeY>",
            "<SizeX>0.3</SizeX><SizeY>0.8</SizeY>",
            "<SpeckleAveraging><SlowAxis>2</SlowAxis></SpeckleAveraging>",
            "frame 0 volume 0 b-scan 0/2 repeat 0/2",
            "frame 3 volume 0 b-scan 1/2 repeat 1/2", "b-scan-step=(double)400"},
        Scan{"averaging of B-scans in two dimensions", "", "<SizeX>0.3</SizeX>",
            "<IntensityAveraging><BScans>4</BScans></IntensityAveraging>",
            "frame 0 volume 0 b-scan 0/1 repeat 0/4",
            "frame 3 volume 0 b-scan 0/1 repeat 3/4", nullptr},
        Scan{"repeats that are not stated", "<SizeY>2</SizeY>",
            "<SizeX>0.3</SizeX><SizeY>0.8</SizeY>", "",
            "frame 0 volume 0 b-scan 0/2 repeat 0/2",
            "frame 3 volume 0 b-scan 1/2 repeat 1/2", "b-scan-step=(double)400"},
        Scan{"negative size", "<SizeY>4</SizeY>", "<SizeX>0.3</SizeX><SizeY>-1</SizeY>",
            "", "frame 0 volume 0 b-scan 0/1 repeat 0/4",
            "frame 3 volume 0 b-scan 0/1 repeat 3/4", nullptr},
        Scan{"repeats that do not divide", "<SizeY>4</SizeY>",
            "<SizeX>0.3</SizeX><SizeY>0.8</SizeY>",
            "<SpeckleAveraging><SlowAxis>3</SlowAxis></SpeckleAveraging>",
            "frame 0 volume 0 b-scan 0/4 repeat 0/1",
            "frame 3 volume 0 b-scan 3/4 repeat 0/1", "b-scan-step=(double)200"},
    })
{
  OctArchive archive;
  Folder folder;
  archive.pixels = row.pixels;
  archive.real = row.real;
  archive.acquisition = row.acquisition;
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.start ();
  const std::vector<PlayedFrame> frames = player.frames ();
  expect_equal (frames.size (), 4u);
  expect_equal (frames[0].scan, row.first);
  expect_equal (frames[3].scan, row.last);
  expect_contains (player.caps (), {"line-step=(double)100"});
  if (row.b_scan_step)
    expect_contains (player.caps (), {row.b_scan_step});
  else
    fail_if (strstr (player.caps ().c_str (), "b-scan-step"));
}

/* Calibration */

TEST (test_octfileparse_calibration_event)
{
  OctArchive archive;
  archive.acquisition = "<RefractiveIndex>1.25</RefractiveIndex>";
  archive.instrument =
      "<CentralWavelength>1310.5</CentralWavelength><BitDepth>12</BitDepth>";
  Owned<GstEvent> event = played_calibration (archive);
  fail_unless (event != nullptr);
  expect_near (array_of (event, "background"), mean_of_apodization (archive), 0, "mean");
  /* 1.5 mm are 16 depths. */
  const double step = 1500.0 / 16;
  const double expected = G_PI / (archive.samples * step * 1.25);
  expect_near (std::vector{number_of (event, "wavenumber-step")}, std::vector{expected},
      1e-12 * expected, "wavenumber-step");
  expect_equal (number_of (event, "refractive-index"), 1.25);
  expect_equal (number_of (event, "centre-wavelength"), 1310.5);
  expect_equal (number_of (event, "full-scale"), 4095.0);

  /* The chirp at the sample of the map is the wavenumber's index. Between samples both
   * are smooth. */
  const std::vector<double> map = array_of (event, "resample-map");
  expect_equal (map.size (), archive.samples);
  auto place = [&] (double n) { return n + 0.05 * n * (31 - n) / 32; };
  for (guint m = 0; m < map.size (); m++)
    fail_unless (std::abs (place (map[m]) - m) < 1e-4, "%u: %g", m, place (map[m]));
}

struct Background {
  const char *label;
  bool reference, offset;
  double scaling;
  std::vector<double> (*expected) ();
};

/* Both are in electrons. A reference spectrum contains the dark level. */
TEST_ROWS (test_octfileparse_background_without_apodization,
    {
        Background{"reference spectrum", true, true, 4,
            [] { return std::vector<double> (32, 500 / 4.0); }},
        Background{"dark level", false, true, 4,
            [] { return std::vector<double> (32, 20 / 4.0); }},
        Background{
            "no scaling", false, true, 0, [] { return std::vector<double> (32, 20); }},
        Background{"nothing", false, false, 4, [] { return std::vector<double> (); }},
    })
{
  OctArchive archive;
  archive.apodization_lines = 0;
  if (row.scaling > 0)
    archive.instrument = text (
        "<BinaryToElectronCountScaling>%g</BinaryToElectronCountScaling>", row.scaling);
  if (row.reference)
    archive.further.emplace_back (
        "data\\ApodizationSpectrum.data", bytes_of (std::vector<gfloat> (32, 500)));
  if (row.offset)
    archive.further.emplace_back (
        "data\\OffsetErrors.data", bytes_of (std::vector<gfloat> (32, 20)));
  Owned<GstEvent> event = played_calibration (archive);
  expect_near (array_of (event, "background"), row.expected (), 0, "background");
}

struct Unit {
  std::string text;
  double pixel; /* 2.5 µm in that unit; 0: unknown */
};

/* Lengths of pixels and of the whole, each beside millimetres. RangeZ of the data files,
 * 1.5 mm for 16 depths, counts where these are left out. */
TEST_ROWS (test_octfileparse_units_of_length,
    {Unit{"mm", 2.5e-3}, Unit{"um", 2.5}, Unit{"\xc2\xb5m", 2.5}, Unit{"\xce\xbcm", 2.5},
        Unit{"\xb5m", 2.5}, Unit{"&#181;m", 2.5}, Unit{"&#x3bc;m", 2.5}, Unit{"nm", 2500},
        Unit{"cm", 2.5e-4}, Unit{"m", 2.5e-6}, Unit{"ell", 0}, Unit{"\xe6m", 0},
        Unit{"Mm", 0}, Unit{"", 0}})
{
  const std::string unit = "Unit=\"" + row.text + "\"";
  const auto sized = [] (double z) { return text ("<SizeZ>%.9g</SizeZ>", z); };
  for (const bool of_pixels : {true, false}) {
    OctArchive archive;
    Outcome messages;
    (of_pixels ? archive.unit_of_pixels : archive.unit_of_real) = unit;
    archive.pixels = sized (of_pixels ? (row.pixel > 0 ? row.pixel : 2.5) : 20);
    archive.real = sized (of_pixels ? 0.05 : 20 * (row.pixel > 0 ? row.pixel : 2.5));
    Owned<GstEvent> event = played_calibration (archive, &messages);
    const double step = row.pixel > 0 ? 2.5 : 1500.0 / 16;
    const double expected = G_PI / (archive.samples * step);
    expect_near (std::vector{number_of (event, "wavenumber-step")}, std::vector{expected},
        1e-6 * expected, row.text);
    expect_equal (messages.warnings.size (), gsize (row.pixel == 0));
    if (row.pixel == 0)
      expect_contains (messages.warnings[0], {"unit", "left out"});
  }
}

/* SizePixel is the size of a pixel (2.5 µm of 50 µm), the size of all pixels again, or of a
 * wrong unit. The last two would make less than two or more than 32 depths of 32 samples. */
TEST (test_octfileparse_implausible_pixels)
{
  for (const double pixel : {0.0025, 0.05, 0.0501, 2.5, 2.5e-6}) {
    OctArchive archive;
    archive.unit_of_pixels = "Unit=\"mm\"";
    archive.pixels = text ("<SizeZ>%.9g</SizeZ>", pixel);
    archive.real = "<SizeZ>0.05</SizeZ>";
    Owned<GstEvent> event = played_calibration (archive);
    const double step = pixel == 0.0025 ? 2.5 : 50.0 / 16;
    const double expected = G_PI / (archive.samples * step);
    expect_near (std::vector{number_of (event, "wavenumber-step")}, std::vector{expected},
        1e-6 * expected, text ("pixel of %g mm", pixel));
  }
}

TEST (test_octfileparse_warns_without_chirp)
{
  OctArchive archive;
  Outcome messages;
  archive.chirp.clear ();
  Owned<GstEvent> event = played_calibration (archive, &messages);
  expect_equal (array_of (event, "resample-map").size (), 0u);
  expect_equal (messages.warnings.size (), 1u);
  expect_contains (messages.warnings[0], {"data/Chirp.data", "even in wavenumber"});
}

/* Errors */

struct Wrong {
  const char *label;
  std::function<void (OctArchive &)> change;
  std::vector<std::string> parts;
};

const std::string regions = "ApoRegionStart0=\"0\" ApoRegionEnd0=\"2\" ";

TEST_ROWS (test_octfileparse_refuses,
    std::vector<Wrong>{
        {"no spectra",
            [] (OctArchive &a) {
              a.frames = 0;
              a.further_files = "<DataFile Type=\"Real\" SizeZ=\"16\" SizeX=\"3\">"
                                "data\\Intensity.data</DataFile>";
            },
            {"lists no spectra", "only processed data"}},
        {"no spectra and nothing else", [] (OctArchive &a) { a.frames = 0; },
            {"lists no spectra such as data/Spectral0.data"}},
        {"missing entry",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">data\\Spectral4.data</DataFile>";
            },
            {"data/Spectral4.data", "not in the zip archive"}},
        {"gap between entries",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">data\\Spectral9.data</DataFile>";
            },
            {"lists Spectral9.data, expected Spectral4.data"}},
        {"entry listed twice",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">data\\Spectral3.data</DataFile>";
            },
            {"lists Spectral3.data, expected Spectral4.data"}},
        {"two entries of one name",
            [] (OctArchive &a) {
              a.further = {{"data/Spectral1.data", "x"}};
            },
            {"two entries have the same name"}},
        {"path out of the archive",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">..\\Spectral4.data</DataFile>";
              a.further = {{"../Spectral4.data", std::string (320, 'a')}};
            },
            {"../Spectral4.data", "expected a path within the archive"}},
        {"absolute path",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">/Spectral4.data</DataFile>";
              a.further = {{"/Spectral4.data", std::string (320, 'a')}};
            },
            {"/Spectral4.data", "expected a path within the archive"}},
        {"other number of samples",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"33\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">data\\Spectral4.data</DataFile>";
              a.further = {{"data\\Spectral4.data", std::string (330, 'a')}};
            },
            {"data/Spectral4.data: 33 samples of 2 bytes, expected 32 of 2"}},
        {"other number of A-lines",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"5\" "
                                "BytesPerPixel=\"2\">data\\Spectral4.data</DataFile>";
              a.further = {{"data\\Spectral4.data", std::string (320, 'a')}};
            },
            {"data/Spectral4.data: 5 A-lines, expected 3"}},
        {"wrong size",
            [] (OctArchive &a) {
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"3\" "
                                "BytesPerPixel=\"2\">data\\Spectral4.data</DataFile>";
              a.further = {{"data\\Spectral4.data", std::string (191, 'a')}};
            },
            {"data/Spectral4.data: 191 bytes, expected 192 for 3 A-lines of 32"}},
        {"wrong number of frames in an entry",
            [] (OctArchive &a) {
              a.per_entry = 2;
              a.frames = 2;
              a.attributes = "ScanRegionStart1=\"0\" ";
              a.further_files = "<DataFile Type=\"Raw\" SizeZ=\"32\" SizeX=\"3\" "
                                "SizeY=\"2\" BytesPerPixel=\"2\">data\\Spectral1.data"
                                "</DataFile>";
              a.further = {{"data\\Spectral1.data", std::string (192 * 3, 'a')}};
            },
            {"data/Spectral1.data: 576 bytes, expected 192"}},
        {"bytes per sample", [] (OctArchive &a) { a.bytes = 3; },
            {"3 bytes per sample, expected 1, 2 or 4"}},
        {"too few samples", [] (OctArchive &a) { a.samples = 8; },
            {"8 samples per A-line, expected 16 to 65536"}},
        {"no whole number",
            [] (OctArchive &a) { a.attributes = "SizeY2=\"x\" ScanRegionEnd1=\"1x\" "; },
            {"ScanRegionEnd1=\"1x\" of a DataFile, expected a whole number"}},
        {"negative number",
            [] (OctArchive &a) { a.attributes = "ScanRegionEnd1=\"-5\" "; },
            {"ScanRegionEnd1=\"-5\" of a DataFile, expected a whole number"}},
        {"too many regions",
            [] (OctArchive &a) { a.attributes = "ScanRegionEnd16=\"5\" "; },
            {"ScanRegionEnd16", "expected at most 16 regions"}},
        {"region beyond the frame",
            [] (OctArchive &a) {
              a.attributes = "ScanRegionStart1=\"5\" ScanRegionEnd1=\"6\" ";
            },
            {"scan region from A-line 5 to 6", "within 5 A-lines"}},
        {"overlapping regions",
            [] (OctArchive &a) {
              a.attributes = "ScanRegionStart1=\"3\" ScanRegionEnd1=\"4\" ";
            },
            {"scan region from A-line 3 to 4", "expected ascending ranges"}},
        {"region that ends before it begins",
            [] (OctArchive &a) {
              a.attributes = "ApoRegionStart1=\"5\" ApoRegionEnd1=\"4\" ";
            },
            {"apodization region from A-line 5 to 4"}},
        {"short chirp", [] (OctArchive &a) { a.chirp.pop_back (); },
            {"data/Chirp.data: 124 bytes, expected 128 for 32 samples"}},
        {"chirp that does not rise", [] (OctArchive &a) { a.chirp[7] = a.chirp[6]; },
            {"data/Chirp.data: value 7", "expected strictly rising wavenumbers"}},
        {"chirp with NaN", [] (OctArchive &a) { a.chirp[7] = NAN; },
            {"data/Chirp.data: value 7 is not finite"}},
        {"listed reference spectrum is missing",
            [] (OctArchive &a) {
              a.apodization_lines = 0;
              a.further_files =
                  "<DataFile Type=\"Real\">data\\ApodizationSpectrum.data</DataFile>";
            },
            {"data/ApodizationSpectrum.data: listed in Header.xml, but not in"}},
        {"header that is no XML", [] (OctArchive &a) { a.pixels = "<SizeZ>16</SizeY>"; },
            {"Header.xml: ", "SizeY"}},
        {"entities", [] (OctArchive &a) { a.pixels = "&lol9;"; },
            {"Header.xml: ", "lol9"}},
        {"nested elements",
            [] (OctArchive &a) {
              for (guint n = 0; n < 100000; n++)
                a.pixels += "<a>";
            },
            {"Header.xml: more than 32 nested elements"}},
    })
{
  OctArchive archive;
  Folder folder;
  row.change (archive);
  const std::string path = folder.write ("a.oct", archive.written ());
  const Outcome outcome = run (parsing (path) + " ! fakesink");
  outcome.expect_one_error (row.parts);
  fail_unless (outcome.warnings.empty ());
}

TEST (test_octfileparse_refuses_other_files)
{
  Folder folder;
  ZipWriter other, wrong_root;
  other.add ("readme.txt", "text");
  wrong_root.add ("Header.xml", "<html></html>");
  for (const auto &[bytes, part] :
      {std::pair<std::string, const char *> ("", "no zip archive in 0 bytes"),
          std::pair<std::string, const char *> ("PK", "no zip archive in 2 bytes"),
          std::pair<std::string, const char *> (
              std::string (100000, 'x'), "no zip archive"),
          std::pair<std::string, const char *> (ZipWriter ().finished (), "Header.xml"),
          std::pair<std::string, const char *> (
              other.finished (), "Header.xml is missing"),
          std::pair<std::string, const char *> (
              wrong_root.finished (), "the document is <html>, expected <Ocity>")}) {
    const Outcome outcome = run (parsing (folder.write ("a.oct", bytes)) + " ! fakesink");
    outcome.expect_one_error ({part});
  }
}

namespace {
class MemorySource : public oct::ByteSource {
public:
  explicit MemorySource (std::string bytes) : bytes (std::move (bytes)) {}
  guint64 size () const override { return bytes.size (); }
  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **) override
  {
    done = offset < bytes.size () ? std::min (size, gsize (bytes.size () - offset)) : 0;
    memcpy (data, bytes.data () + std::min<guint64> (offset, bytes.size ()), done);
    return true;
  }

private:
  const std::string bytes;
};

/* Reads all frames. Fails the test if one is wrong, or if there is no reason for a
 * failure. */
bool
reads (const std::string &bytes, const OctArchive &archive, const std::string &label)
{
  GError *error = nullptr;
  oct::OctRecording recording;
  bool good = recording.open (std::make_shared<MemorySource> (bytes), &error);
  for (guint64 n = 0; good && n < recording.frames (); n++) {
    std::string frame (recording.frame_bytes (), '\0');
    good = recording.read (n, reinterpret_cast<guint8 *> (&frame[0]), &error);
    fail_if (good && frame != archive.frame (guint (n)), "%s", label.c_str ());
  }
  fail_unless (good == !error, "%s", label.c_str ());
  g_clear_error (&error);
  return good;
}
} // namespace

TEST (test_oct_recordings_of_any_length)
{
  for (const bool deflated : {false, true}) {
    OctArchive archive;
    archive.deflated = deflated;
    const std::string whole = archive.written ();
    fail_unless (reads (whole, archive, "whole"));
    for (gsize size = 0; size < whole.size (); size++)
      fail_if (reads (whole.substr (0, size), archive, to_text (size)));
  }
}

/* A changed bit is found, or it is in a part that nothing depends on, such as a date. */
TEST (test_oct_recordings_with_damage)
{
  for (const bool deflated : {false, true}) {
    OctArchive archive;
    archive.frames = 2;
    archive.deflated = deflated;
    const std::string whole = archive.written ();
    gsize refused = 0;
    for (gsize at = 0; at < whole.size (); at++) {
      std::string damaged = whole;
      damaged[at] = char (damaged[at] ^ (1 << at % 8));
      refused += !reads (damaged, archive, to_text (at));
    }
    fail_unless (refused > whole.size () * 3 / 4, "%zu of %zu", refused, whole.size ());
  }
}

/* Seeks */

struct Jump {
  const char *label;
  double rate;
  double start, stop; /* in frames; -1: the end */
  std::vector<guint> frames;
};

TEST_ROWS (
    test_octfileparse_seeks, std::vector<Jump>{
                                 {"forward", 1, 2, -1, {2, 3}},
                                 {"to the middle of a frame", 1, 1.5, -1, {1, 2, 3}},
                                 {"part", 1, 1, 3, {1, 2}},
                                 {"part that ends in a frame", 1, 1, 2.5, {1, 2}},
                                 {"to the beginning", 1, 0, -1, {0, 1, 2, 3}},
                                 {"backward", -1, 0, -1, {3, 2, 1, 0}},
                                 {"part backward", -1, 1, 3, {2, 1}},
                                 {"beyond the end", 1, 99, -1, {}},
                             })
{
  OctArchive archive;
  Folder folder;
  archive.per_entry = 2;
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.set_state (GST_STATE_PAUSED);
  auto time_at = [] (double frame) {
    return frame < 0 ? GST_CLOCK_TIME_NONE : GstClockTime (frame * double (frame_time));
  };
  fail_unless (player.seek (row.rate, GST_SEEK_FLAG_FLUSH, time_at (row.start),
      row.rate < 0 && row.stop < 0 ? 4 * frame_time : time_at (row.stop)));
  player.start ();
  std::vector<std::string> expected;
  for (guint n : row.frames)
    expected.push_back (archive.frame (n));
  const std::vector<PlayedFrame> frames = player.frames ();
  expect_played (frames, expected);
  for (gsize n = 0; n < frames.size (); n++)
    expect_equal (frames[n].time, row.frames[n] * frame_time);
  fail_unless (player.messages ().is_clean ());
}

/* As a player repeats it: segment seeks, and a flush at the end */
TEST (test_octfileparse_repeats)
{
  OctArchive archive;
  Folder folder;
  FramePlayer player (parsing (folder.write ("a.oct", archive.written ())));
  player.start ();
  for (guint n = 0; n < 5; n++) {
    expect_played (player.frames (), archive.all_frames (), to_text (n));
    fail_unless (player.seek (1,
        GstSeekFlags (GST_SEEK_FLAG_FLUSH | (n % 2 ? GST_SEEK_FLAG_KEY_UNIT : 0)), 0,
        GST_CLOCK_TIME_NONE));
  }
  expect_equal (player.frames (2).size (), 2u);
  for (guint n = 0; n < 20; n++)
    fail_unless (
        player.seek (1, GST_SEEK_FLAG_FLUSH, n % 4 * frame_time, GST_CLOCK_TIME_NONE));
  expect_equal (player.frames ().size (), 1u);
  fail_unless (player.messages ().is_clean ());
}

TEST (test_octfileparse_restarts_with_another_file)
{
  OctArchive archive, other;
  Folder folder;
  other.samples = 48;
  other.frames = 2;
  other.chirp.clear ();
  for (guint n = 0; n < 48; n++)
    other.chirp.push_back (gfloat (n));
  const std::string paths[] = {folder.write ("a.oct", archive.written ()),
      folder.write ("b.oct", other.written ())};
  std::vector<PlayedFrame> frames;
  Pipeline pipeline ("filesrc name=file ! octfileparse ! fakesink name=out");
  watch (pipeline.pad ("out", "sink"), GST_PAD_PROBE_TYPE_BUFFER,
      [&] (GstPadProbeInfo *info) {
        frames.push_back (played_frame (GST_PAD_PROBE_INFO_BUFFER (info)));
        return GST_PAD_PROBE_OK;
      });
  for (guint n = 0; n < 4; n++) {
    const OctArchive &expected = n % 2 ? other : archive;
    g_object_set (pipeline["file"], "location", paths[n % 2].c_str (), nullptr);
    pipeline.play_to_eos ();
    expect_played (frames, expected.all_frames (), to_text (n));
    Owned<GstEvent> event = calibration_of (pipeline.pad ("out", "sink"));
    expect_near (
        array_of (event, "background"), mean_of_apodization (expected), 0, "mean");
    pipeline.set_state (GST_STATE_READY);
    frames.clear ();
  }
}

TEST (test_octfileparse_needs_random_access)
{
  OctArchive archive;
  Folder folder;
  const Outcome outcome =
      run ("filesrc location=" + folder.write ("a.oct", archive.written ())
           + " ! queue ! octfileparse name=parse ! fakesink");
  const std::vector<std::string> errors = outcome.errors_of ("parse");
  expect_equal (errors.size (), 1u, outcome.line ());
  expect_contains (errors[0], {"cannot be read at random positions", "filesrc"});
}

/* decodebin starts a parser before it links it. */
TEST_ROWS (test_a_parser_waits_for_a_link, {"octfileparse", "npyparse"})
{
  OctArchive archive;
  Folder folder;
  const bool is_npy = std::string (row) == "npyparse";
  const std::string file =
      is_npy ? folder.path + "/a.npy" : folder.write ("a.oct", archive.written ());
  if (is_npy)
    fail_unless (
        run ("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8 ! npysink location="
             + file)
            .is_clean ());
  Pipeline pipeline (
      "filesrc location=" + file + " ! " + row + " name=parse fakesink name=out");
  pipeline.start ();
  g_usleep (150000);
  fail_unless (gst_element_link (pipeline["parse"], pipeline["out"]));
  pipeline.play_to_eos ();
}

TEST (test_octfileparse_is_found_by_type)
{
  OctArchive archive;
  Folder folder;
  FramePlayer player ("filesrc location=" + folder.write ("a.dat", archive.written ())
                      + " ! decodebin caps=application/x-oct");
  player.start ();
  expect_played (player.frames (), archive.all_frames ());
}

/* --- octwindowinterp uses the calibration --- */

namespace {
const char depths[] = " ! octfft scale=linear ! "
                      "application/x-oct(ANY),domain=depth,format=F32LE ! opencldownload";

std::vector<PlayedFrame>
depths_of (const std::string &source, std::string *caps = nullptr)
{
  FramePlayer player (source + depths);
  player.start ();
  std::vector<PlayedFrame> frames = player.frames ();
  const Outcome outcome = player.messages ();
  fail_unless (outcome.is_clean (), "%s", outcome.line ().c_str ());
  if (caps)
    *caps = player.caps ();
  return frames;
}

std::vector<std::string>
bytes_of_frames (const std::vector<PlayedFrame> &frames)
{
  std::vector<std::string> all;
  for (const PlayedFrame &frame : frames)
    all.push_back (frame.bytes);
  return all;
}

/* A recording, and files with the same spectra, chirp and background */
struct Recorded {
  OctArchive archive;
  Folder folder;
  std::string oct, raw, map, even, background;

  Recorded ()
  {
    archive.acquisition = "<RefractiveIndex>1.25</RefractiveIndex>";
    archive.is_steady = true;
    oct = folder.write ("a.oct", archive.written ());
    std::string samples, numbers;
    for (const std::string &frame : archive.all_frames ())
      samples += frame;
    for (double value : mean_of_apodization (archive))
      numbers += text ("%.17g\n", value);
    raw = folder.write ("a.raw", samples);
    map = write_map ("map.txt", {archive.chirp.begin (), archive.chirp.end ()});
    std::vector<double> all (archive.chirp.size ());
    std::iota (all.begin (), all.end (), 0);
    even = write_map ("even.txt", all);
    background = folder.write ("background.txt", numbers);
  }

  /* Writes the map of these places. */
  std::string write_map (const char *name, const std::vector<double> &places)
  {
    std::string lines;
    for (double value : oct::map_of_places (places))
      lines += text ("%.17g\n", value);
    return folder.write (name, lines);
  }

  /* `settings` may contain @even, a map that changes nothing. */
  std::string placed (std::string settings) const
  {
    const gsize at = settings.find ("@even");
    return at == std::string::npos ? settings : settings.replace (at, 5, even);
  }
  std::string from_oct (const std::string &between, const std::string &settings) const
  {
    return parsing (oct) + between + " ! openclupload ! octwindowinterp name=interp "
           + placed (settings);
  }
  std::string from_raw (const std::string &settings) const
  {
    return "filesrc location=" + raw
           + " ! octrawparse samples=32 lines=3 ! openclupload ! octwindowinterp "
           + placed (settings);
  }
  std::string all () const
  {
    return "resample-map=" + map + " background=file background-file=" + background;
  }
};
} // namespace

struct Way {
  const char *label;
  const char *between;
};

TEST_ROWS (test_octfileparse_calibration_passes,
    {
        Way{"directly", ""},
        Way{"queue", " ! queue"},
        Way{"tee and queue", " ! tee name=t ! queue ! fakesink t. ! queue"},
        Way{"identity", " ! identity"},
        Way{"capsfilter", " ! application/x-oct,samples=32"},
        Way{"octscan", " ! openclupload ! octscan"},
    })
{
  Recorded recorded;
  std::string caps;
  const auto expected = depths_of (recorded.from_raw (recorded.all ()));
  expect_equal (expected.size (), 4u);
  const auto got = depths_of (recorded.from_oct (row.between, ""), &caps);
  expect_played (got, bytes_of_frames (expected), row.label);
  /* 1.5 mm are 16 depths. */
  Owned<GstCaps> parsed = gst_caps_from_string (caps.c_str ());
  double step = 0;
  gst_structure_get_double (gst_caps_get_structure (parsed, 0), "depth-step", &step);
  fail_unless (std::abs (step - 1500.0 / 16) < 1e-9, "%g", step);
}

struct Winning {
  const char *label;
  const char *settings;   /* of both */
  bool chirp, background; /* of the recording are in effect */
};

TEST_ROWS (test_octfileparse_properties_win,
    {
        Winning{"no background", "background=none", true, false},
        Winning{"background of the frame", "background=frame", true, false},
        Winning{"wavelengths", "wavelength-min=800 wavelength-max=900", false, true},
        Winning{"map", "resample-map=@even", false, true},
        Winning{"dispersion", "dispersion-a2=0.01", true, true},
        Winning{"nufft", "interpolation=nufft", true, true},
        Winning{"padding", "padded-samples=64", true, true},
        Winning{"both", "background=none resample-map=@even", false, false},
    })
{
  Recorded recorded;
  const std::string settings =
      std::string (row.settings) + (row.chirp ? " resample-map=" + recorded.map : "")
      + (row.background ? " background=file background-file=" + recorded.background : "");
  const auto expected = depths_of (recorded.from_raw (settings));
  expect_played (depths_of (recorded.from_oct ("", row.settings)),
      bytes_of_frames (expected), row.label);
}

/* A part of the samples has the same depths as wavelengths of the same part. */
TEST (test_octfileparse_part_of_samples)
{
  Recorded recorded;
  std::string caps;
  const std::string part = "first-sample=4 samples=24 interpolation=none background=none";
  depths_of (recorded.from_oct ("", part), &caps);
  const auto &chirp = recorded.archive.chirp;
  const double whole = 1500.0 / 16, span = double (chirp[27] - chirp[4]) / 23;
  Owned<GstCaps> parsed = gst_caps_from_string (caps.c_str ());
  double step = 0;
  gst_structure_get_double (gst_caps_get_structure (parsed, 0), "depth-step", &step);
  const double expected = whole * 32 / 24 / span;
  fail_unless (std::abs (step / expected - 1) < 1e-6, "%g, expected %g", step, expected);

  const auto sliced = depths_of (recorded.from_oct ("", "first-sample=4 samples=24"));
  std::vector<double> places;
  for (guint n = 4; n < 28; n++)
    places.push_back ((chirp[n] - chirp[4]) / span);
  const std::string file = recorded.write_map ("part.txt", places);
  const auto by_hand = depths_of (
      recorded.from_raw ("first-sample=4 samples=24 resample-map=" + file
                         + " background=file background-file=" + recorded.background));
  expect_equal (sliced.size (), by_hand.size ());
  for (gsize n = 0; n < sliced.size (); n++) {
    const auto *a = reinterpret_cast<const gfloat *> (sliced[n].bytes.data ());
    const auto *b = reinterpret_cast<const gfloat *> (by_hand[n].bytes.data ());
    const gsize count = sliced[n].bytes.size () / sizeof (gfloat);
    expect_near (std::vector<gfloat> (a, a + count), std::vector<gfloat> (b, b + count),
        0.05, "depths");
  }
}

/* octfft's own index divides depths in air; the default is that of the recording. */
TEST (test_octfileparse_refractive_index)
{
  Recorded recorded;
  for (const auto &[setting, expected] :
      {std::pair ("0", 1500.0 / 16), std::pair ("1", 1500.0 / 16 * 1.25),
          std::pair ("1.5", 1500.0 / 16 * 1.25 / 1.5)}) {
    FramePlayer player (recorded.from_oct ("", "")
                        + " ! octfft refractive-index=" + setting
                        + " ! application/x-oct(ANY),domain=depth ! opencldownload");
    player.start ();
    player.frames ();
    Owned<GstCaps> parsed = gst_caps_from_string (player.caps ().c_str ());
    double step = 0;
    gst_structure_get_double (gst_caps_get_structure (parsed, 0), "depth-step", &step);
    fail_unless (
        std::abs (step / expected - 1) < 1e-9, "%g, expected %g", step, expected);
  }
}

/* A property that is set and unset while frames pass changes exactly the next frames. */
TEST (test_octfileparse_settings_change_while_playing)
{
  Recorded recorded;
  const auto calibrated =
      bytes_of_frames (depths_of (recorded.from_raw (recorded.all ())));
  const auto plain = bytes_of_frames (
      depths_of (recorded.from_raw ("background=none resample-map=@even")));
  FramePlayer player (recorded.from_oct (" ! identity name=gate", "") + depths);
  guint count = 0;
  Owned<GstPad> pad = player.pad ("gate", "src");
  watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
    set_together (player["interp"], count % 2
                                        ? "background=none resample-map=" + recorded.even
                                        : "background=auto resample-map=");
    count++;
    return GST_PAD_PROBE_OK;
  });
  player.start ();
  const auto frames = player.frames ();
  expect_equal (frames.size (), 4u);
  for (gsize n = 0; n < 4; n++)
    fail_unless (frames[n].bytes == (n % 2 ? plain : calibrated)[n], "frame %zu", n);
}

namespace {
GstEvent *
calibration_event (const std::string &fields)
{
  GstStructure *structure = gst_structure_from_string (
      (std::string (GST_OCT_CALIBRATION_NAME) + fields).c_str (), nullptr);
  fail_unless (structure != nullptr, "%s", fields.c_str ());
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, structure);
}

std::string
array_text (const std::vector<double> &values)
{
  std::string all = "<";
  for (double value : values)
    all += text ("%s(double)%.17g", all.size () > 1 ? "," : "", value);
  return all + ">";
}

/* octwindowinterp between pads of the test */
struct Interp : Harness {
  Interp ()
      : Harness ("openclupload ! octwindowinterp ! opencldownload",
          "application/x-oct, domain=wavelength, format=F32LE, samples=16, lines=1, "
          "framerate=0/1")
  {
  }

  std::vector<gfloat> pass_line (const std::vector<gfloat> &line)
  {
    Owned<GstBuffer> made =
        pass (gst_buffer_new_memdup (line.data (), line.size () * sizeof (gfloat)));
    const Bytes bytes = read_buffer (made);
    const auto *values = reinterpret_cast<const gfloat *> (bytes.data ());
    return {values, values + bytes.size () / sizeof (gfloat)};
  }
  /* The window comes from a line of ones. */
  void expect (const std::vector<double> &line, const std::string &when)
  {
    const std::vector<gfloat> given = numbers ();
    std::vector<gfloat> expected;
    for (gsize n = 0; n < 16; n++)
      expected.push_back (gfloat (line[n] * window (n)));
    expect_near (pass_line (given), expected, 1e-5, when);
  }
  static std::vector<gfloat> numbers ()
  {
    std::vector<gfloat> values;
    for (guint n = 0; n < 16; n++)
      values.push_back (gfloat (3 * n + 1));
    return values;
  }
  static double window (gsize n)
  {
    double sum = 0;
    auto hann = [] (gsize m) { return 0.5 - 0.5 * std::cos (2 * G_PI * m / 15.0); };
    for (gsize m = 0; m < 16; m++)
      sum += hann (m);
    return 2 * hann (n) / sum;
  }
};
} // namespace

/* The event applies to the frames after it, and ends with its stream. */
TEST (test_calibration_event_applies_in_order)
{
  Interp interp;
  std::vector<double> plain (16), shifted (16), half (16), map;
  for (gsize n = 0; n < 16; n++) {
    plain[n] = 3.0 * double (n) + 1;
    shifted[n] = plain[n] - 5;
    map.push_back (double (n) / 2);
    half[n] = 3 * map[n] + 1;
  }
  interp.expect (plain, "no event");
  interp.send (
      calibration_event (", background=" + array_text (std::vector<double> (16, 5))));
  interp.expect (shifted, "background");
  interp.send (calibration_event (", resample-map=" + array_text (map)));
  interp.expect (half, "map");
  interp.flush ();
  interp.start_segment ();
  interp.expect (half, "after a flush");
  interp.send (calibration_event (", unknown=(string)x, background=(int)3"));
  interp.expect (plain, "event without known fields");
  interp.send (calibration_event (", resample-map=" + array_text (map)));
  interp.expect (half, "map again");
  interp.send (gst_event_new_stream_start ("another"));
  interp.set_caps ("application/x-oct, domain=wavelength, format=F32LE, samples=16, "
                   "lines=1, framerate=0/1");
  interp.start_segment ();
  interp.expect (plain, "another stream");
  fail_unless (interp.messages ().is_clean ());
}

TEST (test_calibration_event_of_wrong_size)
{
  Interp interp;
  const std::vector<double> plain = [] {
    std::vector<double> values;
    for (gsize n = 0; n < 16; n++)
      values.push_back (3.0 * double (n) + 1);
    return values;
  }();
  interp.expect (plain, "no event");
  for (const char *field : {"resample-map", "background", "dispersion-phase"}) {
    interp.send (calibration_event (text (", %s=", field) + array_text ({1, 2, 3})));
    interp.expect (plain, field);
    const Outcome outcome = interp.messages ();
    fail_unless (outcome.errors.empty () && outcome.warnings.size () == 1, "%s",
        outcome.line ().c_str ());
    expect_contains (outcome.warnings[0], {"GstOctCalibration", field, "3 values", "16"});
    interp.send (calibration_event (""));
    interp.expect (plain, "without");
  }
}
