/* Tests of lost frames, gaps, flushes and restarts of all elements that remember frames
 *
 * An element gives the outputs of new elements that got only the frames of a whole group.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scripts.hpp"

#include <regex>

using namespace check;
using depths::frame_caps;

namespace {
/* Each of `expected` is the script of a new element. An output after a discontinuity has the
 * flag DISCONT: the first of a script that begins with "!". One that lacks frames has the flag
 * CORRUPTED: those of a script that begins with "?". */
struct Loss {
  std::string label, line, caps, script;
  std::vector<std::string> expected;
};

const std::string on_device = " ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"",
                  volume = " ! capsfilter caps=\"other/tensors(memory:OpenCLMemory)\"";
const std::string spectra = "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=64,"
                            "height=9,framerate=50/1",
                  picture = "video/x-raw(memory:OpenCLMemory),format=RGBA,width=64,"
                            "height=48,framerate=50/1",
                  numbers =
                      "other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,"
                      "types=float32,dimensions=(string)4,framerate=50/1",
                  volumes =
                      "other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,"
                      "types=float32,dimensions=(string)12:9:5,framerate=50/1";

std::vector<Loss>
losses ()
{
  const std::string shorter = std::regex_replace (spectra, std::regex ("64"), "32"),
                    smaller = std::regex_replace (picture, std::regex ("64"), "30");
  const std::string real = frame_caps ("F32LE"), complex = frame_caps ("CF32LE"),
                    small_real = frame_caps ("F32LE", 3, 5),
                    small_complex = frame_caps ("CF32LE", 3, 5);
  return {
      {"octaverage nothing lost", "octaverage frames=4", real, "0-7", {"0-3", "4-7"}},
      {"octaverage within", "octaverage frames=4", real, "0 1 3! 4-7", {"! 4-7"}},
      {"octaverage first of a group", "octaverage frames=4", real, "0-3 5! 6-11",
          {"0-3", "! 8-11"}},
      {"octaverage over a border", "octaverage frames=4", real, "0-2 6! 7-11",
          {"! 8-11"}},
      {"octaverage a whole group", "octaverage frames=4", real, "0-3 8! 9-11",
          {"0-3", "! 8-11"}},
      {"octaverage rolling", "octaverage frames=3 rolling=true", real, "0-2 5! 6-8",
          {"0-2", "! 5-8"}},
      {"octaverage rolling, after 2 of 3", "octaverage frames=3 rolling=true", real,
          "0 1 4! 5-7", {"0 1", "! 4-7"}},
      {"octaverage gap", "octaverage frames=2", real, "0 1 2g 3-5", {"0 1", "! 4 5"}},
      {"octaverage two breaks", "octaverage frames=2", real, "0-3 5! 6-9",
          {"0-3", "! 6-9"}},
      {"octaverage flush", "octaverage frames=2", real, "0 flush 10 11", {"! 10 11"}},
      {"octangio first of a place", "octangio", complex, "0-3 5! 6-11",
          {"0-3", "! 8-11"}},
      {"octangio within a place", "octangio", complex, "0-5 7! 8-11", {"0-3", "! 8-11"}},
      {"octangio last of a place", "octangio", complex, "0-2 4! 5-11", {"! 4-11"}},
      {"octangio one of each", "octangio", complex, "0 2! 3-6 9! 10-15", {"! 12-15"}},
      {"octangio a whole place", "octangio", complex, "0-3 8! 9-11", {"0-3", "! 8-11"}},
      {"octangio gap", "octangio method=speckle-variance", complex, "0-5 6g 7-11",
          {"0-3", "! 8-11"}},
      {"octangio gap event", "octangio method=speckle-variance", complex, "0 1 g2 3-7",
          {"! 4-7"}},
      {"octangio flush", "octangio method=speckle-variance", complex, "0 1 flush 22-27",
          {"! 24-27"}},
      {"octangio other caps", "octangio repeats=2", complex,
          "0 {" + small_complex + "} 1 2 3", {"! {" + small_complex + "} (0-1) 2 3"}},
      {"octaverage other caps", "octaverage frames=3", real, "0 {" + small_real + "} 1-5",
          {"! {" + small_real + "} 3-5"}},
      {"octangio lost", "octangio repeats=2 projection-resolved=true", complex, "0 3!",
          {}},
      {"octdoppler lost", "octdoppler between=frames", complex, "0-2 3! 4 5",
          {"0-2", "! 3-5"}},
      {"octdoppler gap", "octdoppler between=frames", complex, "0-2 3g 4 5",
          {"0-2", "! 4 5"}},
      {"octdoppler flush", "octdoppler between=frames", complex, "0 flush 1 2",
          {"! 1 2"}},
      {"octbackground restart", "octbackground method=recorded segment-lines=8", complex,
          "0 1 restart 2 3 restart 4 5", {"0 1", "! 2 3", "! 4 5"}},
      {"octregister flush", "octregister volumes=2", volumes, "0 flush 1 2", {"! 1 2"}},
      {"octscan three lost", "octscan repeats=2 b-scans=3 reverse=odd", spectra, "0-4 8!",
          {"0-4", "! (0-7) 8"}},
      {"octscan a volume lost", "octscan repeats=2 b-scans=3 reverse=odd", spectra,
          "0-4 23!", {"0-4", "! (0-22) 23"}},
      {"octscan nothing lost", "octscan repeats=2 b-scans=3 reverse=odd", spectra,
          "0-4 5!", {"0-4", "! (0-4) 5"}},
      {"octscan without times", "octscan repeats=2 b-scans=3 reverse=odd", spectra,
          "0-4u 5u!", {"0-4u", "! (0-5u) 6:5u"}},
      {"octvolume times", "octvolume b-scans=5" + volume, real, "0 1 4! 5 7! 8-14",
          {"!? 0 1 2:z 3:z 4", "!? (0-4) 5 6:z 7-9", "(0-9) 10-14"}},
      {"octvolume gaps", "octvolume b-scans=5" + volume, real, "0 1 2g 3g 4 5 6g 7-14",
          {"? 0 1 2:z 3:z 4", "? (0-4) 5 6:z 7-9", "(0-9) 10-14"}},
      {"octvolume numbers", "octvolume b-scans=5" + volume, real, "0s 1s 4s 5s 7s 8-14s",
          {"? 0-1s 2:zs 3:zs 4s", "? (0-4s) 5s 6:zs 7-9s", "(0-9s) 10-14s"}},
      {"octvolume projection, times", "octvolume b-scans=5 emit=volume" + on_device, real,
          "0 1 4! 5 7! 8-14", {"!? 0 1 2:z 3:z 4", "!? (0-4) 5 6:z 7-9", "(0-9) 10-14"}},
      {"octvolume projection, gaps", "octvolume b-scans=5 emit=volume" + on_device, real,
          "0 1 2g 3g 4 5 6g 7-14",
          {"? 0 1 2:z 3:z 4", "? (0-4) 5 6:z 7-9", "(0-9) 10-14"}},
      {"octvolume projection, numbers", "octvolume b-scans=5 emit=volume" + on_device,
          real, "0s 1s 4s 5s 7s 8-14s",
          {"? 0-1s 2:zs 3:zs 4s", "? (0-4s) 5s 6:zs 7-9s", "(0-9s) 10-14s"}},
      {"octvolume flush", "octvolume b-scans=5" + volume, real, "0-2 flush 20-24",
          {"! 20-24"}},
      {"octvolume projection", "octvolume b-scans=5 emit=volume" + on_device, real,
          "0-2 flush 20-24 eos", {"! 20-24"}},
      {"matterefine flush", "matterefine smoothing=0.9", picture, "0 flush 1",
          {"0", "1"}},
      {"matterefine discontinuity", "matterefine smoothing=0.9", picture, "0 1!",
          {"0", "! 1"}},
      {"matterefine another grid", "matterefine smoothing=0.9", picture,
          "0 [subsample=3] 1 [subsample=1] 2", {"0", "[subsample=3] 1", "2"}},
      {"matterefine without smoothing", "matterefine smoothing=0.9", picture,
          "0 [smoothing=0] 1 [smoothing=0.9] 2", {"0", "[smoothing=0] 1", "2"}},
      {"openclkernel discontinuity", "openclkernel expression=\"previous + x\"", numbers,
          "0-2 3! 4", {"0-2", "! 3 4"}},
      {"openclkernel keeps its state",
          "openclkernel keep-state=true "
          "expression=\"previous + x\"",
          numbers, "0-2 3! 4", {"0-2", "! (0-2) 3 4"}},
      {"splashkey flush", "splashkey", picture, "0-2 flush 3", {"0-2", "(0-2) 3"}},
      {"splashkey block size", "splashkey block-size=16", picture,
          "0-2 [block-size=5] 3-5 [block-size=64] 6-8",
          {"0-2", "[block-size=5] 3-5", "[block-size=64] 6-8"}},
      {"octfft other depths", "octwindowinterp ! octfft depth-count=20" + on_device,
          spectra, "0 [octfft depth-start=10] 1 2",
          {"0", "! [octfft depth-start=10] 1 2"}},
      {"octregister settings", "octregister volumes=3", volumes,
          "0 [axial-shift=3 b-scan-shift=1] 1 [volumes=2] 2 [volumes=4] 3 [volumes=2] 4 "
          "5",
          {"! [axial-shift=3 b-scan-shift=1 volumes=2] (0-3) 4 5"}},
      {"octdoppler between", "octdoppler between=frames window-lines=1", complex,
          "0 1 [between=lines] 2 [between=frames] 3 4 [between=lines] 5",
          {"0 1", "! [between=lines] 2", "! 3 4", "! [between=lines] 5"}},
      {"octwindowinterp other caps", "octwindowinterp background=rolling", spectra,
          "0-2 {" + shorter + "} 3 4", {"0-2", "{" + shorter + "} 3 4"}},
      {"matterefine another size", "matterefine smoothing=0.9", picture,
          "0 {" + smaller + "} 1 {" + picture + "} 2", {"0", "{" + smaller + "} 1", "2"}},
      {"openclkernel state array",
          "openclkernel location=@sums.cl arguments=a,sum=@0.npy", numbers, "0-2 3! 4",
          {"0-2", "! 3 4"}},
      {"octwindowinterp restart", "octwindowinterp background=rolling", spectra,
          "0-2 restart 3 4", {"0-2", "3 4"}},
      {"octwindowinterp other shift", "octwindowinterp background=rolling", spectra,
          "0-2 [bit-shift=3] 3 4", {"0-2", "[bit-shift=3] 3 4"}},
      {"octwindowinterp other length", "octwindowinterp background=rolling", spectra,
          "0-2 [background-frames=5] 3 4", {"0-2", "[background-frames=5] 3 4"}},
  };
}

std::string
described (const ScriptOutput &output)
{
  return text ("%" G_GINT64_FORMAT " ms, %" G_GINT64_FORMAT " ms long, %s%s%s",
      gint64 (output.time / GST_MSECOND), gint64 (output.duration / GST_MSECOND),
      output.scan.c_str (), output.discont ? ", DISCONT" : "",
      output.corrupted ? ", CORRUPTED" : "");
}
} // namespace

TEST_ROWS (test_losses_leave_whole_groups, losses ())
{
  const NamedFiles files ({{"0.npy", npy_file ({0, 0, 0, 0})},
      {"sums.cl",
          "kernel void k (global const float *input, global float *output, global "
          "float *sum) { size_t n = get_global_id (0); output[n] = sum[n] += "
          "input[n]; }"}});
  const std::string line = files.put_into (row.line);
  const std::vector<ScriptOutput> got = outputs_of_script (line, row.caps, row.script);
  std::vector<ScriptOutput> expected;
  for (const std::string &script : row.expected) {
    const std::string marks = script.substr (0, script.find_first_not_of ("!?"));
    auto made = outputs_of_script (line, row.caps, script.substr (marks.size ()));
    fail_if (made.empty (), "%s: no output", script.c_str ());
    for (ScriptOutput &output : made)
      output.corrupted = marks.find ('?') != marks.npos, output.discont = false;
    made.front ().discont = marks.find ('!') != marks.npos;
    expected.insert (expected.end (), made.begin (), made.end ());
  }
  std::string all;
  for (const ScriptOutput &output : got)
    all += described (output) + "; ";
  expect_equal (got.size (), expected.size (), all);
  for (gsize n = 0; n < got.size (); n++) {
    const std::string what = row.label + ", output " + std::to_string (n);
    expect_equal (described (got[n]), described (expected[n]), what);
    expect_equal (got[n].caps, expected[n].caps, what);
    assert_same (got[n].bytes, expected[n].bytes, what);
  }
}
