/* Tests of settings and caps that change while an element plays
 *
 * After each change the output equals that of a new element with these settings and caps.
 * octknobs.cpp does so for all properties of OCT elements, within groups of frames.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scripts.hpp"

using namespace check;
using depths::frame_caps;

namespace {
struct Change {
  std::string label, line, caps;
  std::vector<std::string> changes; /* settings, or caps in braces */
};

#define DEVICE "(memory:OpenCLMemory)"

std::string
video (const std::string &format, int width, int height)
{
  return text ("video/x-raw" DEVICE ",format=%s,width=%d,height=%d,framerate=50/1",
      format.c_str (), width, height);
}

std::string
array (const std::string &type, const std::string &dimensions)
{
  return "other/tensors" DEVICE ",format=static,num_tensors=1,types=" + type
         + ",dimensions=(string)" + dimensions + ",framerate=50/1";
}

std::string
spectra (const std::string &format, int samples, int lines)
{
  return text ("application/x-oct" DEVICE ",domain=wavenumber,format=%s,samples=%d,"
               "lines=%d,framerate=50/1",
      format.c_str (), samples, lines);
}

/* Names in braces, each with the caps of a stream */
std::vector<std::string>
in_turn (const std::vector<std::string> &caps)
{
  std::vector<std::string> turns;
  for (const std::string &one : caps)
    turns.push_back ("{" + one + "}");
  return turns;
}

std::vector<Change>
changes ()
{
  return {
      {"openclconvolve", "openclconvolve kernel=<1>", video ("GRAY8", 16, 4),
          {"kernel=<<1,1,1>> scale=1", "border=clamp", "bias=-600", "scale=-1",
              "activation=relu", "stride=2 bias= scale=1"}},
      {"openclfft sizes", "openclfft", array ("float32", "10:6"),
          {"half-spectrum=true", "axes=0", "half-spectrum=false", "inverse=true axes=0,1",
              "inverse=false half-spectrum=true axes=1,0"}},
      {"openclfft equal caps", "openclfft", array ("float32", "2:6:6"),
          {"inverse=true", "inverse=false", "axes=0", "inverse=true", "axes=1",
              "axes=0 inverse=false"}},
      {"openclreduce", "openclreduce", array ("float32", "3:2"),
          {"axes=0", "axes=-1", "keep-dimensions=true", "operation=argmax",
              "axes= keep-dimensions=false", "operation=cumulative-sum"}},
      {"openclreduce operations", "openclreduce operation=sum axes=1",
          array ("float32", "9:6:4"),
          {"operation=mean", "operation=maximum", "operation=minimum", "operation=norm",
              "operation=sum", "operation=argmax", "operation=argmin"}},
      {"openclkernel arguments",
          "openclkernel expression=gain*x+w arguments=a,gain=1.0,w=@one.npy",
          array ("float32", "3"),
          {"arguments=a,gain=2.0,w=@one.npy", "arguments=a,gain=2.0,w=@two.npy",
              "expression=x-w"}},
      {"openclkernel output caps",
          "openclkernel location=@add.cl output-caps=other/tensors,dimensions=(string)5",
          array ("uint8", "10"),
          {"output-caps=other/tensors,dimensions=(string)3",
              "output-caps=other/tensors,dimensions=(string)10",
              "output-caps=other/tensors,dimensions=(string)5"}},
      {"openclkernel number of outputs", "openclkernel location=@copy.cl",
          array ("int32", "4"),
          {"location=@both.cl output-caps=other/tensors,num_tensors=2,types=(string)\""
           "int32,int16\",dimensions=(string)\"4,4\"",
              "location=@copy.cl output-caps="}},
      {"openclconvert colour map", "openclconvert", video ("GRAY8", 16, 16),
          {"colormap=viridis", "colormap=none", "colormap=turbo"}},
      {"openclconvert caps",
          "openclconvert ! capsfilter caps=\"video/x-raw" DEVICE
          ",format=RGBA,width=40,height=30\"",
          video ("I420", 40, 30),
          in_turn (
              {video ("GRAY8", 21, 13), video ("RGBA", 40, 30), video ("NV12", 80, 60)})},
      {"chromakey polygon", "chromakey ! noisereduce", video ("RGBA", 40, 20),
          {"garbage-polygon=<0,0,0.5,0,0.5,1,0,1>",
              "garbage-polygon=<1,0,1,1,0.25,1,0.25,0>", "garbage-polygon=<>"}},
      {"openclupload caps", "openclupload ! opencldownload",
          "video/x-raw,format=GRAY8,width=64,height=32",
          in_turn ({"video/x-raw,format=I420,width=320,height=240",
              "video/x-raw" DEVICE ",format=GRAY8,width=16,height=4",
              "application/octet-stream", "video/x-raw,format=GRAY8,width=4,height=2",
              "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved",
              "application/octet-stream" DEVICE,
              "video/x-raw,format=GRAY8,width=64,height=32"})},
      {"octwindowinterp dispersion", "octwindowinterp", video ("GRAY8", 130, 3),
          {"dispersion-a2=0.001", "dispersion-a2=0", "dispersion-a2=0.001"}},
      {"depth step",
          "octwindowinterp wavelength-min=1200 wavelength-max=1400 wavelength-unit=nm ! "
          "octfft ! capsfilter caps=application/x-oct" DEVICE ",format=F32LE",
          video ("GRAY16_LE", 64, 9),
          {"wavelength-min=1100", "wavelength-unit=none", "wavelength-unit=nm"}},
      {"octattenuation caps", "octattenuation",
          frame_caps ("CF32LE", 6, 70) + ",depth-step=(double)3",
          in_turn ({frame_caps ("CF32LE", 6, 70) + ",depth-step=(double)1.5"})},
      {"octwindowinterp caps", "octwindowinterp wavelength-min=800 wavelength-max=900",
          video ("GRAY8", 64, 3),
          in_turn ({video ("GRAY16_LE", 64, 3), video ("GRAY16_BE", 200, 3),
              video ("GRAY8", 200, 3), video ("GRAY8", 64, 3)})},
      {"octfft caps", "octfft", spectra ("F32LE", 64, 5),
          in_turn ({spectra ("CF32LE", 1000, 3), spectra ("F32LE", 1000, 3),
              spectra ("F32LE", 1000, 9), spectra ("CF32LE", 2048, 2)})},
  };
}

#define COPY "size_t n = get_global_id (0); output"
const std::map<std::string, std::string> contents = {
    {"one.npy", npy_file ({1})},
    {"two.npy", npy_file ({2})},
    {"add.cl", "kernel void k (global const uchar *input, global uchar *output) { " COPY
               "[n] = input[n] + 1; }"},
    {"copy.cl", "kernel void k (global const int *input, global int *output) { " COPY
                "[n] = input[n]; }"},
    {"both.cl", "kernel void k (global const int *input, global int *output0, global "
                "short *output1) { " COPY "0[n] = input[n]; output1[n] = 3; }"},
};
} // namespace

TEST_ROWS (test_changes_act_as_at_the_start, changes ())
{
  const NamedFiles files (contents);
  std::string script = "0:0", fresh;
  const std::string line = files.put_into (row.line);
  std::vector<ScriptOutput> expected = outputs_of_script (line, row.caps, script);
  guint time = 0;
  for (const std::string &change : row.changes) {
    const std::string words = files.put_into (change);
    const std::string step = words[0] == '{' ? words : "[" + words + "]";
    fresh = words[0] == '{' ? step : fresh + " " + step;
    script += " " + step + " " + std::to_string (++time) + ":0";
    const auto made = outputs_of_script (line, row.caps, fresh + " 0:0");
    expected.insert (expected.end (), made.begin (), made.end ());
    const ScriptOutput &last = expected[time], &before = expected[time - 1];
    fail_if (last.bytes == before.bytes && last.caps == before.caps, "%s changes nothing",
        change.c_str ());
  }
  const auto got = outputs_of_script (line, row.caps, script);
  expect_equal (got.size (), expected.size (), row.label);
  for (gsize n = 0; n < got.size (); n++) {
    const std::string what =
        row.label + ": " + (n ? row.changes[n - 1] : std::string ("start"));
    expect_equal (got[n].caps, expected[n].caps, what);
    assert_same (got[n].bytes, expected[n].bytes, what);
    expect_equal (got[n].time, n * ScriptPlayer::each, what);
  }
}
