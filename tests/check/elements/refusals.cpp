/* Tests of settings, files, frames and caps that elements refuse
 *
 * At the start a refusal is one error; while playing it is one warning, and the frames go on
 * with the settings before. Both say what is wrong.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scripts.hpp"

#include <cfloat>

#include <sys/stat.h>

using namespace check;
using depths::frame_caps;

namespace {
#define DEVICE "(memory:OpenCLMemory)"
#define VIDEO(format, size)                                                              \
  "video/x-raw" DEVICE ",format=" format "," size ",framerate=25/1"
#define ARRAY(type, dimensions)                                                          \
  "other/tensors" DEVICE ",format=static,num_tensors=1,types=" type                      \
  ",dimensions=(string)" dimensions ",framerate=25/1"
#define SPECTRA(samples)                                                                 \
  "application/x-oct" DEVICE ",domain=wavenumber,format=F32LE,samples=" samples          \
  ",lines=5,framerate=25/1"
#define NNSTREAMER "other/tensors" DEVICE ",framerate=30/1,format="
#define SOURCE(parameters) "source=\"kernel void k (" parameters ") { }\" "

using Parts = std::vector<std::string>; /* of a message */

std::string
lines_of (gsize count, const std::function<double (gsize)> &value)
{
  std::string lines;
  for (gsize n = 0; n < count; n++)
    lines += text ("%.17g\n", value (n));
  return lines;
}

/* Files for 128 samples, and others */
std::map<std::string, std::string>
contents ()
{
  const auto rising = [] (gsize n) { return 1187.176 + 1.9 * double (n); };
  return {
      {"right", lines_of (128, rising)},
      {"short", lines_of (127, rising)},
      {"nan", lines_of (128, [&] (gsize n) { return n == 7 ? NAN : rising (n); })},
      {"bent", lines_of (128,
                   [&] (gsize n) { return rising (n == 40   ? 41
                                                  : n == 41 ? 40
                                                            : n); })},
      {"negative", lines_of (128, [] (gsize n) { return double (n) - 1.5; })},
      {"zero", lines_of (128, [] (gsize) { return 0; })},
      {"odd", lines_of (128, [] (gsize n) { return 0.1 * (double (n) - 63.5); })},
      {"huge", lines_of (128, [] (gsize) { return 1e308; })},
      {"background", lines_of (128, [] (gsize n) { return 5000 + 3.0 * double (n); })},
      {"phase",
          lines_of (128, [] (gsize n) { return 20 * std::sin (0.02 * double (n)); })},
      {"window", lines_of (128, [] (gsize n) { return 1 + double (n % 5); })},
      {"oihw.npy", opencl::npy_make_header (opencl::NumberType::f32, false, {4, 3, 3, 3})
                       + std::string (432, '\0')},
      {"cut.npy", "no array"},
      {"thirty", lines_of (30, [] (gsize) { return 1; })},
      {"flat.txt", "# of a target\n\ncoefficients=<0, 1.5, 0, -3.25>\n"},
      {"wrong.txt", "window=hann\n"},
      {"x.txt", "coefficients=<0, x>"},
      {"commas.txt", "coefficients=0,5;3"},
      {"empty.txt", "coefficients="},
      {"latin1", "cat\ndo\xffg\n"},
      {"nul", std::string ("cat\0\n", 5)},
      {"long", "cat\n" + std::string (300, 'x')},
      {"large", std::string ((1 << 20) + 9, '\n')},
  };
}

/* --- at the start --- */

struct Start {
  std::string line, caps; /* of the input; a chain without an input has none */
  Parts parts;
  std::string label = line.substr (0, 100) + ": " + parts[0];
};

/* Values of octwindowinterp that are right for any frame */
const char *const mended =
    "wavelengths= resample-map= dispersion-phase= background-file= window-file= "
    "samples=0 first-sample=0 wavelength-min=0 wavelength-max=0 dispersion-a2=0 "
    "background=none window=hann "
    "window-width=1 window-centre=0.5";

std::vector<Start>
starts ()
{
  const std::string few = frame_caps ("CF32LE", 4, 40), spectra = SPECTRA ("1000");
  const char *const gray = VIDEO ("GRAY8", "width=128,height=3");
  const std::string depth = frame_caps ("F32LE"), channels = ARRAY ("float32", "3:8:8"),
                    deep = "openclconvolve kernel=@oihw.npy ",
                    images = "openclkernel " SOURCE (
                        "read_only image2d_t input, write_only image2d_t output"),
                    sampler = "openclkernel " SOURCE (
                        "read_only image2d_t input, write_only image2d_t output, "
                        "sampler_t how"),
                    numbers = "other/tensors,types=int32,dimensions=(string)4";
  std::vector<Start> rows = {
      {"octwindowinterp wavelengths=/no/such.npy", gray,
          {"wavelengths file /no/such.npy"}},
      {"octwindowinterp wavelengths=@short", gray,
          {"@short", "127 values", "expected 128"}},
      {"octwindowinterp wavelengths=@nan", gray, {"@nan", "value 7 is nan", "finite"}},
      {"octwindowinterp wavelengths=@bent", gray,
          {"@bent", "value 41", "strictly rising"}},
      {"octwindowinterp wavelengths=@negative", gray, {"@negative", "value 0 is -1.5"}},
      {"octwindowinterp resample-map=@negative", gray,
          {"value 0 is -1.5", "from -1 to 128"}},
      {"octwindowinterp wavelength-min=900", gray, {"900", "different values above 0"}},
      {"octwindowinterp wavelength-min=900 wavelength-max=900", gray,
          {"900", "different values"}},
      {"octwindowinterp wavelengths=@right resample-map=@right", gray,
          {"wavelengths and resample-map", "one"}},
      {"octwindowinterp dispersion-phase=@short", gray,
          {"dispersion-phase", "127 values"}},
      {"octwindowinterp dispersion-phase=@right dispersion-a2=1", gray,
          {"dispersion-phase", "dispersion-a2 1", "either"}},
      {"octwindowinterp background=file", gray, {"background-file", "not set"}},
      {"octwindowinterp background=file background-file=@short", gray,
          {"background-file", "127 values", "expected 128"}},
      {"octwindowinterp window=file", gray, {"window-file is not set", "window=file"}},
      {"octwindowinterp window=file window-file=/no/such.npy", gray,
          {"window-file file /no/such.npy"}},
      {"octwindowinterp window=file window-file=@short", gray,
          {"window-file", "@short", "127 values", "expected 128"}},
      {"octwindowinterp window=file window-file=@nan", gray,
          {"window-file", "@nan", "value 7 is nan"}},
      {"octwindowinterp window=file window-file=@zero", gray,
          {"window-file", "@zero", "sum of the window is 0"}},
      {"octwindowinterp window=file window-file=@odd", gray,
          {"window-file", "@odd", "sum of the window"}},
      {"octwindowinterp window=file window-file=@huge", gray,
          {"window-file", "@huge", "sum of the window is", "within the range"}},
      {"octwindowinterp window-width=0.01", gray,
          {"window-width is 0.01", "window-centre is 0.5", "2 of 128", "expected 8"}},
      {"octwindowinterp window=flattop window-width=0.015 window-centre=1", gray,
          {"window-width is 0.015", "1 of 128", "expected 8", "wider"}},
      {"octfilesink location=\"\"", depth, {"location is not set"}},
      {"octfilesink location=@.tiff", depth, {".nrrd or .nii"}},
      {"octfilesink location=/no/such/folder/a.nii", depth, {"No such file"}},
      {"octfilesink location=@fifo.nii", depth,
          {"fifo.nii: it is a FIFO, expected a regular file"}},
      {"octfilesink location=@.nrrd", ARRAY ("float16", "5"), {"float16"}},
      {"octfilesink location=@.nii", ARRAY ("uint8", "40000"), {"32767"}},
      {"npysink location=/no/such/folder/a.npy", ARRAY ("uint8", "3"),
          {"/no/such/folder/a.npy: No such file"}},
      {"npysink location=\"\"", ARRAY ("uint8", "3"), {"location is not set"}},
      {"octattenuation", frame_caps ("CF32LE"), {"depth step is unknown", "depth-step"}},
      {"octattenuation depth-step=3", frame_caps ("F32LE", 4, 40, "50/1", "decibels"),
          {"scale=linear"}},
      {"octattenuation depth-step=3 noise-depths=40", few,
          {"noise-depths has all depths"}},
      {"octattenuation depth-step=3 noise-depths=4 noise-floor=3", few,
          {"noise-depths and noise-floor"}},
      {"octattenuation depth-step=3 roll-off-file=nowhere.txt", few, {"nowhere.txt"}},
      {"octattenuation depth-step=3 roll-off-file=@thirty", few + ",depth-start=5",
          {"30 values, expected 40 or at least 45"}},
      {"octdoppler", frame_caps ("CF32LE", 4, 40, "0/1"), {"no framerate", "line-rate"}},
      {"octfft", SPECTRA ("15"), {"15 samples per A-line, expected 16 to 65536"}},
      {"octwindowinterp ! identity", VIDEO ("GRAY8", "width=15,height=1"),
          {"15 samples per A-line, expected 16 to 65536"}},
      {"octwindowinterp ! identity", VIDEO ("GRAY8", "width=65537,height=1"),
          {"65537 samples per A-line, expected 16 to 65536"}},
      {"octfft db-min=30 db-max=30", spectra,
          {"db-min is 30 and db-max is 30, expected db-min below db-max"}},
      {"octrender", ARRAY ("uint8", "2:3:4:5"), {"2:3:4:5", "depth:lines:b-scans"}},
      {"octsignal", frame_caps ("F32LE", 2, 64, "50/1", "velocity"),
          {"quantity=velocity"}},
      {"openclconvolve", channels, {"kernel is not set"}},
      {"openclconvolve kernel=<<1,2>,<3>>", channels, {"kernel=<<1,2>,<3>>"}},
      {"openclconvolve kernel=/nowhere.npy", channels, {"kernel cannot be read"}},
      {"openclconvolve kernel=<<<<<1>>>>>", channels, {"kernel="}},
      {deep, ARRAY ("float32", "5:8:8"),
          {"kernel of shape (4, 3, 3, 3) does not fit 5 channels"}},
      {deep + "groups=3", channels, {"in 3 groups"}},
      {deep + "bias=<1,2>", channels, {"bias has 2 numbers"}},
      {deep + "padding=0", ARRAY ("float32", "3:8:2"), {"3 rows"}},
      {deep + "dilation=9 padding=1", channels, {"19 rows"}},
      {deep, ARRAY ("float32", "3"), {"array of dimensions 3"}},
      {"openclkernelsrc expression=0 output-caps=other/tensors,types=uint8", "", {""}},
      {"openclkernelsrc expression=0 "
       "output-caps=other/tensors,types=int32,dimensions=(string)3:x",
          "", {""}},
      {images, VIDEO ("RGB", "width=8,height=2"),
          {"has none of format RGB, expected one of GRAY8, "}},
      {images, ARRAY ("float64", "8:2"),
          {"none of float64 with dimensions 8:2, expected W:H, 1:W:H"}},
      {images, ARRAY ("float32", "3:8:2"), {"none of float32 with dimensions 3:8:2"}},
      {images, ARRAY ("float32", "4:3:3:3"), {"none of float32 with dimensions 4:3:3:3"}},
      {images, VIDEO ("GRAY8", "width=1000000,height=1"),
          {"\"input\" is an image of 1000000x1 pixels"}},
      {"openclkernel " SOURCE ("read_only image3d_t input, global uchar *output"),
          VIDEO ("RGBA", "width=8,height=2"),
          {"image3d_t input\" has an unsupported type"}},
      {"openclkernel " SOURCE ("write_only image2d_t input, write_only image2d_t output"),
          VIDEO ("RGBA", "width=8,height=2"),
          {"\"input\" is an image, expected a read_only image"}},
      {sampler, VIDEO ("RGBA", "width=8,height=2"),
          {"\"sampler_t how\" needs words such as linear+clamp-to-edge"}},
      {sampler + "arguments=a,how=cubic", VIDEO ("RGBA", "width=8,height=2"),
          {"\"sampler_t how\" needs words"}},
      {sampler + "arguments=a,how=2", VIDEO ("RGBA", "width=8,height=2"),
          {"\"sampler_t how\" needs words"}},
      {images + "arguments=a,input=2", VIDEO ("RGBA", "width=8,height=2"),
          {"\"input\" is an input or the output, and cannot be set"}},
      {"openclkernel " SOURCE (
           "read_only image2d_t src, global uchar *one, global uchar *two"),
          VIDEO ("RGBA", "width=8,height=2"), {"has no argument \"output\""}},
      {"openclkernel expression=x",
          NNSTREAMER "static,num_tensors=2,types=(string)\"uint8,uint8\","
                     "dimensions=(string)\"3:4,3:4\"",
          {""}},
      {"openclkernel expression=x", NNSTREAMER "flexible", {""}},
      {"openclkernel expression=x", NNSTREAMER "sparse,num_tensors=1", {""}},
      {"opencltensordecoder label-file=@latin1", "", {"label-file", "@latin1", "line 2"}},
      {"opencltensordecoder label-file=@nul", "", {"label-file", "@nul", "line 1"}},
      {"opencltensordecoder label-file=@long", "", {"label-file", "@long", "line 2"}},
      {"opencltensordecoder label-file=@large", "",
          {"label-file", "@large", "of 1048576 bytes"}},
  };
  for (const char *properties :
      {"", "source=nonsense", "expression=nothing", "location=/no/such.cl",
          "source=\"kernel void k (global int *output, int n) { }\""})
    rows.push_back (
        {std::string ("openclkernelsrc output-caps=\"") + numbers + "\" " + properties,
            "", {""}});
  for (const char *settings :
      {"axes=2", "axes=0,1 operation=argmax", "axes=0,1 operation=cumulative-sum",
          "axes=0,1 operation=sort", "operation=histogram range=<1,1>",
          "operation=quantiles quantiles=<0.5,1.1>", "operation=quantiles"})
    rows.push_back ({std::string ("openclreduce ") + settings, ARRAY ("float32", "3:2"),
        {std::string (settings, strcspn (settings, " "))}});
  const std::pair<const char *, const char *> depths[] = {
      {"depth-start=500", "depth-start is 500 and depth-count is 0"},
      {"depth-start=8000", "depth-start is 8000 and depth-count is 0"},
      {"depth-count=501", "depth-start is 0 and depth-count is 501"},
      {"depth-start=490 depth-count=11", "depth-start is 490 and depth-count is 11"}};
  for (const auto &[settings, found] : depths)
    rows.push_back ({std::string ("octfft ") + settings, spectra,
        {found
            + std::string (", expected depths within the 500 of 1000 samples per "
                           "A-line")}});
  const std::pair<const char *, Parts> misfits[] = {
      {"octscan flyback=24", {"flyback=24", "24 A-lines"}},
      {"octscan lines=25", {"lines=25", "24 A-lines"}},
      {"octscan lines=20 flyback=5 b-scans-per-buffer=1",
          {"lines=20", "flyback=5", "24 A-lines", "25"}},
      {"octscan lines=13 b-scans-per-buffer=2",
          {"lines=13", "b-scans-per-buffer=2", "12 A-lines"}},
      {"octwindowinterp ! octfft ! octscan lines=30 columns=true",
          {"lines=30", "24 A-lines"}},
      {"octwindowinterp first-sample=40000", {"first-sample 40000", "256"}},
      {"octwindowinterp first-sample=250", {"first-sample 250", "256"}},
      {"octwindowinterp samples=8", {"samples 8", "256"}},
      {"octwindowinterp ! octfft depth-count=129", {"depth-count is 129", "128"}},
      {"octwindowinterp ! octfft depth-start=128", {"depth-start is 128", "128"}},
      {"octwindowinterp ! octfft depth-start=100 depth-count=29",
          {"depth-start is 100 and depth-count is 29", "128"}},
  };
  for (const auto &[line, parts] : misfits)
    rows.push_back ({line, VIDEO ("GRAY16_LE", "width=256,height=24"), parts});
  rows.push_back ({"octwindowinterp padded-samples=0",
      VIDEO ("GRAY16_LE", "width=8,height=24"), {"8 samples per A-line"}});
  for (const char *range : {"4.9e-324 wavelength-max=1e-323", "4.9e-324 wavelength-max=1",
           "1e-308 wavelength-max=1e-307", "1 wavelength-max=1.7e308",
           "1e200 wavelength-max=1e201", "1 wavelength-max=1.0000000000000002"})
    rows.push_back ({std::string ("octwindowinterp wavelength-min=") + range, gray,
        {"wavelength-min to wavelength-max"}});
#define OUTPUTS(types, dimensions, count)                                                \
  "output-caps=\"other/tensors,num_tensors=" #count ",types=(string)\\\"" types          \
  "\\\",dimensions=(string)\\\"" dimensions "\\\",framerate=25/1\" "
#define TWO SOURCE ("global int *output0, global int *output1")
  const std::pair<const char *, const char *> outputs[] = {
      {OUTPUTS ("int32,int32", "4,4", 2) "expression=x",
          "output-caps has num_tensors=2, but an expression has one output"},
      {OUTPUTS ("int32", "4,4", 2) TWO,
          "num_tensors=2 in array caps, but types=int32 and dimensions=4,4"},
      {OUTPUTS ("int32,int33", "4,4", 2) TWO,
          "types=int33 in array caps, expected one of"},
      {OUTPUTS ("int8,int8", "9223372036854775807,1", 2) TWO, "do not fit into memory"},
      {OUTPUTS ("int32", "4", 1) TWO,
          "has 2 outputs (output0 …), but the output's caps have 1 tensors: set "
          "num_tensors"},
      {OUTPUTS ("int32,int32", "4,4", 2)
              SOURCE ("global int *output0, global int *output1, global int *output2"),
          "has 3 outputs (output0 …), but the output's caps have 2 tensors: set "
          "num_tensors"},
      {OUTPUTS ("int32,int32", "4,4", 2) SOURCE ("global int *output"),
          "has no argument \"output0\"; the kernel's arguments: __global int *output"},
  };
  for (const auto &[settings, part] : outputs)
    rows.push_back (
        {std::string ("openclkernel ") + settings, ARRAY ("int32", "4"), {part}});
  return rows;
}

/* The errors of a run; a source adds its own to that of an element. */
Outcome
play_once (Pipeline &pipeline)
{
  Outcome outcome = pipeline.play ();
  auto &errors = outcome.errors;
  for (gsize n = errors.size (); n-- > 0;)
    if (errors.size () > 1
        && errors[n].find ("Internal data stream error") != errors[n].npos)
      errors.erase (errors.begin () + gssize (n));
  return outcome;
}
} // namespace

TEST_ROWS (test_refusals_at_the_start_are_one_error, starts ())
{
  const NamedFiles files (contents ());
  expect_equal (mkfifo (files.folder.file ("fifo.nii").c_str (), 0600), 0);
  const auto with_paths = [&] (std::string line) {
    for (const char *name : {"fifo.nii", ".nii", ".nrrd", ".tiff"})
      for (gsize at; (at = line.find (std::string ("@") + name)) != line.npos;)
        line.replace (at, strlen (name) + 1, files.folder.file (name));
    return files.put_into (line);
  };
  const bool is_sink = row.line.find ("sink ") != row.line.npos;
  const std::string input =
      row.caps.empty () ? ""
                        : text ("fakesrc num-buffers=1 format=time sizetype=fixed "
                                "filltype=pattern sizemax=%zu ! capsfilter name=in ! ",
                            frame_bytes (row.caps, "1").size ());
  Pipeline pipeline (
      input + with_paths (row.line) + " name=tested" + (is_sink ? "" : " ! fakesink"));
  Parts parts;
  for (const std::string &part : row.parts)
    parts.push_back (files.put_into (part));
  if (row.line.find ("tensordecoder") != row.line.npos) {
    LoneElement alone (launch (with_paths (row.line)));
    fail_if (alone.reaches_state (GST_STATE_PAUSED));
    alone.messages ().expect_one_error (parts);
    return;
  }
  if (!row.caps.empty ())
    gst_util_set_object_arg (G_OBJECT (pipeline["in"]), "caps", row.caps.c_str ());
  play_once (pipeline).expect_one_error (parts);
  if (row.line.find ("octwindowinterp") != 0 || row.line.find ("octwindowinterp !") == 0
      || row.line.find ("padded") != row.line.npos)
    return;
  pipeline.set_state (GST_STATE_NULL);
  pipeline.messages ();
  set_together (pipeline["tested"], mended);
  const Outcome outcome = play_once (pipeline);
  fail_unless (outcome.eos && outcome.errors.empty (), "%s", outcome.line ().c_str ());
}

/* --- while playing --- */

namespace {
/* Settings before two frames, the beginning of the warning (empty: none), and the settings of a
 * new element with the same output */
struct Turn {
  std::string set, warning, effective;
};

struct Playing {
  std::string label, line, caps;
  std::vector<Turn> turns;
};

std::vector<Playing>
playing ()
{
  const char *const gray = VIDEO ("GRAY16_LE", "width=128,height=3");
  const std::string spectra = SPECTRA ("1000"), fewer = "{" SPECTRA ("500") "}",
                    many = "{" + spectra + "}", all_depths = frame_caps ("CF32LE", 9, 40),
                    flat = "coefficients=<0,1.5,0,-3.25>",
                    list = ", expected numbers as in <1, 2.5>",
                    ones = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,",
                    polygon = "garbage-polygon=<0,0,0.5,0,0.5,1,0,1>",
                    shorter = " file @short: 127 values, expected 128";
  const std::vector<Turn> depths = {
      {"depth-start=500", "depth-start is 500 and depth-count is 0", ""},
      {"depth-start=450", "", "depth-start=450"},
      {"depth-count=100",
          "depth-start is 450 and depth-count is 100, expected depths within the 500 of "
          "1000 samples",
          "depth-start=450"},
      {"flip=true", "", "depth-start=450"}, /* the reason was already reported */
      {"flip=false", "", "depth-start=450"},
      {"depth-start=400", "", "depth-start=400 depth-count=100"},
      {"depth-start=8000", "depth-start is 8000", "depth-start=400 depth-count=100"},
      {"depth-start=0 depth-count=0", "", ""}};
  std::vector<Playing> rows = {
      {"octfft display range",
          "octfft ! capsfilter caps=\"video/x-raw" DEVICE ",format=GRAY16_LE\"", spectra,
          {{"db-min=70", "db-min is 70 and db-max is 60, expected db-min below", ""},
              {"db-max=120", "", "db-min=70 db-max=120"},
              {"db-max=50", "db-min is 70 and db-max is 50", "db-min=70 db-max=120"},
              {"db-max=40", "db-min is 70 and db-max is 40", "db-min=70 db-max=120"},
              {"db-min=10", "", "db-min=10 db-max=40"},
              {"db-max=5", "db-min is 10 and db-max is 5", "db-min=10 db-max=40"},
              {"db-min=30 db-max=90", "", "db-min=30 db-max=90"}}},
      {"octfft depths of images",
          "octfft ! capsfilter caps=\"video/x-raw" DEVICE ",format=GRAY16_LE\"", spectra,
          depths},
      {"octfft depths",
          "octfft ! capsfilter caps=\"application/x-oct" DEVICE ",format=F32LE\"",
          spectra, depths},
      {"octwindowinterp range", "octwindowinterp", gray,
          {{"wavelength-min=800", "wavelength-min 800 and wavelength-max 0: expected two",
               ""},
              {"wavelength-max=900", "", "wavelength-min=800 wavelength-max=900"},
              {"wavelength-min=900",
                  "wavelength-min 900 and wavelength-max 900: expected",
                  "wavelength-min=800 wavelength-max=900"},
              {"wavelength-max=1000", "", "wavelength-min=900 wavelength-max=1000"},
              {"wavelength-min=0", "wavelength-min 0 and wavelength-max 1000",
                  "wavelength-min=900 wavelength-max=1000"},
              {"wavelength-min=1433 wavelength-max=1187", "",
                  "wavelength-min=1433 wavelength-max=1187"},
              {"wavelength-min=0 wavelength-max=0", "", ""}}},
      {"octwindowinterp files", "octwindowinterp", gray,
          {{"wavelengths=/no/such.npy", "wavelengths file /no/such.npy", ""},
              {"wavelengths=@short", "wavelengths" + shorter, ""},
              {"wavelengths=@right", "", "wavelengths=@right"},
              {"wavelengths=/no/such.npy window=blackman", "wavelengths file /no",
                  "wavelengths=@right"},
              {"resample-map=@right", "wavelengths and resample-map are set",
                  "wavelengths=@right"},
              {"wavelengths=@right resample-map= window=hann", "", "wavelengths=@right"},
              {"dispersion-phase=/no/such.npy", "dispersion-phase file /no/such",
                  "wavelengths=@right"},
              {"dispersion-phase=@short", "dispersion-phase" + shorter,
                  "wavelengths=@right"},
              {"dispersion-phase=@phase", "",
                  "wavelengths=@right dispersion-phase=@phase"},
              {"dispersion-a2=0.001", "dispersion-phase ",
                  "wavelengths=@right dispersion-phase=@phase"},
              {"dispersion-a2=0 dispersion-phase=", "", "wavelengths=@right"},
              {"background=file", "background-file is not set, expected the path",
                  "wavelengths=@right"},
              {"background-file=@short", "background-file" + shorter,
                  "wavelengths=@right"},
              {"background-file=@background", "",
                  "wavelengths=@right background=file background-file=@background"},
              {"background-file=", "background-file is not set, expected the path",
                  "wavelengths=@right background=file background-file=@background"},
              {"background=none", "", "wavelengths=@right"},
              {"window=file", "window-file is not set, expected the path",
                  "wavelengths=@right"},
              {"window-file=@short", "window-file" + shorter, "wavelengths=@right"},
              {"window-file=@window", "",
                  "wavelengths=@right window=file window-file=@window"},
              {"window-file=/no/such.npy", "window-file file /no/such.npy",
                  "wavelengths=@right window=file window-file=@window"},
              {"window=hann", "", "wavelengths=@right"}}},
      {"octfft depths of other caps",
          "octfft ! capsfilter caps=\"video/x-raw" DEVICE ",format=GRAY16_LE\"", spectra,
          {{"depth-start=400", "", "depth-start=400"},
              {fewer, "depth-start is ", "depth-start=249 depth-count=1"},
              {many, "", "depth-start=400"},
              {"depth-start=200 depth-count=100", "", "depth-start=200 depth-count=100"},
              {fewer, "depth-start is ", "depth-start=150 depth-count=100"},
              {many, "", "depth-start=200 depth-count=100"},
              {"depth-start=0 depth-count=400", "", "depth-count=400"},
              {fewer, "depth-start is ", "depth-count=250"},
              {"depth-start=300 depth-count=0", "depth-start is 300", "depth-count=250"},
              {many, "", "depth-start=300"}}},
      {"octattenuation", "octattenuation depth-step=3", all_depths,
          {{"noise-depths=40", "noise-depths has all depths", ""},
              {"noise-depths=0 window-lines=3", "", "window-lines=3"}}},
      {"octdisplay", "octdisplay db-max=50",
          frame_caps ("F32LE", 9, 40, "50/1", "decibels"),
          {{"db-min=-30 db-max=30", "", "db-min=-30 db-max=30"},
              {"db-min=40", "db-min is 40 and db-max is 30", "db-min=-30 db-max=30"},
              {"db-min=-10", "", "db-min=-10 db-max=30"}}},
      {"octvolume", "octvolume b-scans=1 ! capsfilter caps=\"video/x-raw" DEVICE "\"",
          frame_caps ("F32LE", 9, 40),
          {{"slab-start=5 slab-depths=9", "", "slab-start=5 slab-depths=9"},
              {"db-min=70", "db-min is 70", "slab-start=5 slab-depths=9"},
              {"db-min=0", "", "slab-start=5 slab-depths=9"},
              {"surface-smooth=4", "surface-smooth is 4", "slab-start=5 slab-depths=9"}}},
      {"octscan", "octscan", VIDEO ("GRAY8", "width=64,height=20"),
          {{"flyback=5 first-line=1", "", "flyback=5 first-line=1"},
              {"flyback=20", "b-scans-per-buffer=1: B-scans have 20 A-lines",
                  "flyback=5 first-line=1"},
              {"flyback=0 first-line=0 lines=4", "", "lines=4"}}},
      {"octbackground", "octbackground method=recorded", all_depths + ",depth-start=5",
          {{"{" + all_depths + ",depth-start=9}",
               "method=recorded: the pattern has 40 depths from bin 5 on, but the input "
               "has 40 from bin 9 on; recording it again",
               ""},
              {"{" + all_depths + "}",
                  "method=recorded: the pattern has 40 depths from bin 9 on, but the "
                  "input has 40 from bin 0 on; recording it again",
                  ""},
              {"{" + frame_caps ("CF32LE", 9, 30) + "}",
                  "method=recorded: the pattern has 40 depths from bin 0 on, but the "
                  "input has 30 from bin 0 on; recording it again",
                  ""}}},
      {"octflatten", "octflatten", all_depths,
          {{"coefficients=<0,0,0,5>", "", "coefficients=<0,0,0,5>"},
              {"settings=@flat.txt", "", flat},
              {"settings=@wrong.txt",
                  "settings file @wrong.txt, line 1: \"window=hann\", expected a "
                  "property "
                  "of octflatten as NAME=VALUE",
                  flat},
              {"settings= settings=@x.txt", "\"coefficients=<0, x>\"" + list, flat},
              {"settings= settings=@commas.txt", "\"coefficients=0,5;3\"" + list, flat},
              {"settings= settings=@empty.txt", "\"coefficients=\"" + list, flat},
              {"settings= coefficients=<" + ones + "1>", "coefficients: 29 numbers",
                  flat},
              {"coefficients=<0,2>", "", "coefficients=<0,2>"},
              {"{" + frame_caps ("F32LE", 9, 40, "50/1", "amplitude") + "}", "",
                  "coefficients=<0,2>"}}},
      {"openclfft", "openclfft", ARRAY ("float32", "14:10:6"),
          {{"axes=3", "axes=3", ""}, {"axes=0,1,2", "axes=0,1,2", ""},
              {"axes=1,1", "axes=1,1", ""},
              {"axes=0 inverse=true half-spectrum=true", "dimensions=14:10:6", ""}}},
  };
  /* Rows of one property each, set from its first value and back */
  const struct {
    const char *label, *line, *caps, *property, *first;
    std::vector<std::pair<std::string, std::string>> wrong;
  } others[] = {
      {"chromakey", "chromakey garbage-polygon=<0,0,0.5,0,0.5,1,0,1>",
          VIDEO ("RGBA", "width=40,height=20"), "garbage-polygon",
          "<0,0,0.5,0,0.5,1,0,1>",
          {{"<0.1,0.2,0.3,0.4>", "4 numbers"},
              {"<0.1,0.2,0.3,0.4,0.5,0.6,0.7>", "7 numbers"},
              {"<0.1,0.2,0.3,0.4,0.5,1.5>", "1.5, expected 0 to 1"},
              {"<0.1,0.2,0.3,0.4,-0.1,0.5>", "-0.1, expected 0 to 1"},
              {"<0.1,0.2,(double)nan,0.4,0.5,0.5>", "nan, expected 0 to 1"}}},
      {"openclreduce", "openclreduce axes=0", ARRAY ("float32", "3:2"), "axes", "0",
          {{"2", "axes=2"}, {"-3", "axes=-3"}, {"0,0", "axes=0,0"}, {"1,-1", "axes=1,-1"},
              {"x", "axes=x"}, {"0,", "axes=0,"},
              {"99999999999999", "axes=99999999999999"}}},
      {"openclconvolve kernel", "openclconvolve kernel=<2>",
          VIDEO ("GRAY8", "width=16,height=4"), "kernel", "<2>",
          {{"<<1,2>,<3>>", "kernel"}, {"<<1,nan>>", "kernel"},
              {"/nowhere/kernel.npy", "kernel"}, {"@cut.npy", "kernel"}, {"", "kernel"},
              {"<<<<1>>>>", "kernel"}}},
      {"openclconvolve bias", "openclconvolve kernel=<2>",
          VIDEO ("GRAY8", "width=16,height=4"), "bias", "", {{"<1,2>", "bias"}}},
  };
  for (const auto &other : others) {
    std::vector<Turn> turns;
    for (const auto &[value, warning] : other.wrong) {
      turns.push_back ({other.property + ("=" + value), warning, ""});
      turns.push_back ({other.property + std::string ("=") + other.first, "", ""});
    }
    rows.push_back ({other.label, other.line, other.caps, turns});
  }
  return rows;
}
} // namespace

TEST_ROWS (test_refusals_while_playing_are_one_warning, playing ())
{
  const NamedFiles files (contents ());
  ScriptPlayer player (row.line, row.caps);
  player.play ("0:0");
  guint time = 0;
  std::string caps = row.caps;
  for (const Turn &turn : row.turns) {
    const bool sets_caps = turn.set[0] == '{';
    if (sets_caps)
      caps = turn.set.substr (1, turn.set.size () - 2);
    const auto expected = outputs_of_script (
        row.line, caps, files.put_into ("[" + turn.effective + "] 0:0"));
    player.outputs.clear ();
    player.play (files.put_into (text ("%s %u:0 %u:0",
        (sets_caps ? turn.set : "[" + turn.set + "]").c_str (), time + 1, time + 2)));
    time += 2;
    expect_equal (player.outputs.size (), gsize (2), turn.set);
    for (const ScriptOutput &output : player.outputs) {
      expect_equal (output.caps, expected[0].caps, turn.set);
      assert_same (output.bytes, expected[0].bytes, turn.set);
    }
    const Outcome messages = player.harness.messages ();
    fail_unless (messages.errors.empty (), "%s", messages.line ().c_str ());
    expect_equal (messages.warnings.size (), gsize (!turn.warning.empty ()), turn.set);
    if (!turn.warning.empty ())
      expect_contains (messages.warnings[0], {files.put_into (turn.warning)});
  }
}

/* --- caps --- */

namespace {
struct Caps {
  std::string element, caps, part; /* of the reason that is logged at INFO */
  std::string label = element + " " + caps;
};

std::vector<Caps>
refused_caps ()
{
#define SIZE ",width=16,height=16,framerate=25/1"
#define RAW "video/x-raw" DEVICE
  std::vector<Caps> rows = {
      {"openclconvert", RAW ",format=NV12_64Z32" SIZE, "NV12_64Z32"},
      {"openclconvert", RAW ",format=I420,width=0,height=16", "0x16"},
      {"openclconvert", "video/x-raw,format=I420" SIZE, "memory"},
      {"openclconvert", RAW ",format=I420,interlace-mode=fields" SIZE,
          "interlace-mode fields"},
      {"openclconvert",
          "video/x-raw(memory:OpenCLMemory,format:Interlaced),format=I420,"
          "interlace-mode=alternate" SIZE,
          "interlace-mode alternate"},
      {"openclcompositor", RAW ",format=P010_10LE" SIZE,
          "expected video/x-raw(memory:OpenCLMemory)"},
      {"openclcompositor", RAW ",format=RGBA,width=0,height=16",
          "expected video/x-raw(memory:OpenCLMemory)"},
      {"openclcompositor", RAW ",format=RGBA,interlace-mode=fields" SIZE,
          "expected video/x-raw(memory:OpenCLMemory)"},
      {"openclcompositor", "video/x-raw,format=RGBA" SIZE,
          "expected video/x-raw(memory:OpenCLMemory)"},
      {"openclupload", "video/x-raw(memory:CUDAMemory),format=RGB" SIZE, ""},
      {"chromakey", RAW ",format=RGBx" SIZE, "expected video/x-raw(memory:OpenCLMemory)"},
  };
  for (const char *element : {"chromakey", "noisereduce", "flowkey", "splashkey",
           "keyfill", "matterefine", "matteshape"})
    for (const char *caps : {"(memory:OpenCLMemory),format=RGBA,width=0,height=48",
             "(memory:OpenCLMemory),format=RGBA,width=64,height=0",
             "(memory:OpenCLMemory),format=GRAY8,width=64,height=48",
             "(memory:OpenCLMemory),format=ARGB64_LE,width=64,height=48",
             "(memory:OpenCLMemory),format=RGBA,width=64,height=40000",
             ",format=RGBA,width=64,height=48"})
      rows.push_back ({element, std::string ("video/x-raw") + caps,
          "expected video/x-raw(memory:OpenCLMemory)"});
  return rows;
}

/* Appends the messages at INFO */
void
note_message (GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *, gint,
    GObject *, GstDebugMessage *message, gpointer noted)
{
  if (level == GST_LEVEL_INFO)
    *static_cast<std::string *> (noted) += gst_debug_message_get (message);
}
} // namespace

TEST_ROWS (test_refusals_of_caps_say_why_at_info, refused_caps ())
{
  LoneElement element (row.element.c_str ());
  Owned<GstPad> pad = gst_element_get_static_pad (element, "sink");
  if (!pad)
    pad = gst_element_request_pad_simple (element, "sink_%u");
  const GstDebugLevel threshold = gst_debug_get_default_threshold ();
  std::string said;
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_set_default_threshold (GST_LEVEL_INFO);
  gst_debug_add_log_function (note_message, &said, nullptr);
  Owned<GstCaps> caps = gst_caps_from_string (row.caps.c_str ());
  fail_if (gst_pad_query_accept_caps (pad, caps));
  gst_debug_remove_log_function (note_message);
  gst_debug_set_default_threshold (threshold);
  gst_debug_add_log_function (gst_debug_log_default, nullptr, nullptr);
  expect_contains (said, {row.part});
}

/* --- links --- */

namespace {
struct Line {
  std::string line, part; /* of the warning; empty: none */
  std::string label = line;
};

std::vector<Line>
lines_to_link ()
{
  return {
      {"octtestsrc ! octfft ! octwindowinterp ! fakesink",
          "add octwindowinterp before octfft"},
      {"octtestsrc ! octwindowinterp ! octdisplay ! fakesink",
          "add octfft before octdisplay"},
      {"octtestsrc ! octdisplay ! fakesink",
          "add octwindowinterp ! octfft before octdisplay"},
      {"octrawparse samples=8 lines=2 ! octfft ! fakesink",
          "add openclupload ! octwindowinterp before octfft"},
      {"videotestsrc ! chromakey ! fakesink", "add openclupload before chromakey"},
      {"octtestsrc ! octwindowinterp ! octfft ! octdisplay ! fakesink", ""},
      {"videotestsrc ! openclupload ! openclconvert ! chromakey ! fakesink", ""},
      {"videotestsrc ! openclupload ! video/x-raw(memory:OpenCLMemory),format=RGBA ! "
       "keyfill name=fill ! fakesink  videotestsrc ! openclupload ! fill.background",
          ""},
      {"audiotestsrc ! chromakey ! fakesink", ""},
      {"videotestsrc ! octwindowinterp ! fakesink",
          "add openclupload before octwindowinterp"},
      {"octtestsrc ! octwindowinterp ! octfft ! octwindowinterp ! fakesink", ""},
  };
}

/* Appends the warnings of elements */
void
note_warning (GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *, gint,
    GObject *, GstDebugMessage *message, gpointer noted)
{
  const gchar *said = gst_debug_message_get (message);
  if (level == GST_LEVEL_WARNING && strstr (said, "cannot be linked"))
    *static_cast<std::string *> (noted) += said;
}
} // namespace

TEST_ROWS (test_failed_links_name_the_missing_element, lines_to_link ())
{
  const GstDebugLevel threshold = gst_debug_get_default_threshold ();
  std::string said;
  GError *error = nullptr;
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_set_default_threshold (GST_LEVEL_WARNING);
  gst_debug_add_log_function (note_warning, &said, nullptr);
  Owned<GstElement> pipeline = gst_parse_launch (row.line.c_str (), &error);
  gst_debug_remove_log_function (note_warning);
  gst_debug_set_default_threshold (threshold);
  gst_debug_add_log_function (gst_debug_log_default, nullptr, nullptr);
  g_clear_error (&error);
  fail_unless (
      row.part.empty () ? said.empty () : said.find (row.part) != std::string::npos,
      "\"%s\"", said.c_str ());
  fail_unless (said.find ("cannot") == said.rfind ("cannot"), "\"%s\"", said.c_str ());
}
