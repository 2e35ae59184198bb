/* Tests of octfilesink: headers, values, and files of interrupted recordings.
 * tests/check/pipelines/octfiles.py reads its files with other programs.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "fulldisk.hpp"
#include "tests/check/folder.hpp"

#include <csignal>
#include <fstream>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace check;
using namespace depths;

namespace {
/* Header and values of a file. */
struct Read {
  std::string header;
  Bytes values;
};

Read
read_file (const std::string &path)
{
  const std::string text = contents_of (path);
  const bool nrrd = text.compare (0, 4, "NRRD") == 0;
  const gsize end = nrrd ? text.find ("\n\n") + 2 : 352;
  fail_unless (
      end <= text.size () && (!nrrd || end > 2), "%s has no header", path.c_str ());
  return {text.substr (0, end), Bytes (text.begin () + gssize (end), text.end ())};
}

template <typename Number>
Number
number_at (const std::string &header, gsize place)
{
  Number number;
  memcpy (&number, header.data () + place, sizeof number);
  return number;
}

/* Direction of each axis in NIfTI's space of right, anterior and superior: depth down,
 * A-lines to the left, B-scans forwards. Axes of files with fewer axes keep their
 * order. */
const char *const volume = "ILA", *const picture = "LIA", *const flat = "RAS";

/* nifti1.h: dim is at 40, datatype at 70, bitpix at 72, pixdim at 76, vox_offset at 108,
 * xyzt_units at 123, sform_code at 254, srow_x at 280, magic at 344. */
void
expect_nifti (const std::string &header, const std::vector<gint16> &dim, gint16 datatype,
    gint16 bits, const std::vector<float> &pixdim, const std::string &ways)
{
  /* Negative and positive direction of each axis */
  const char *const rows[] = {"LR", "PA", "IS"};
  expect_equal (number_at<gint32> (header, 0), 348);
  expect_equal (number_at<gint16> (header, 40), gint16 (dim.size ()));
  for (gsize n = 0; n < 7; n++)
    expect_equal (number_at<gint16> (header, 42 + 2 * n),
        n < dim.size () ? dim[n] : gint16 (1), text ("dim[%zu]", n + 1));
  expect_equal (number_at<gint16> (header, 70), datatype);
  expect_equal (number_at<gint16> (header, 72), bits);
  for (gsize n = 0; n < pixdim.size (); n++)
    expect_equal (
        number_at<float> (header, 80 + 4 * n), pixdim[n], text ("pixdim[%zu]", n + 1));
  expect_equal (number_at<float> (header, 108), 352.0f);
  expect_equal (header.substr (344, 3), "n+1");
  fail_unless (number_at<gint16> (header, 254) > 0);
  for (gsize row = 0; row < 3; row++) {
    for (gsize n = 0; n < 3; n++)
      expect_equal (number_at<float> (header, 280 + 16 * row + 4 * n),
          ways[n] == rows[row][0]   ? -pixdim[n]
          : ways[n] == rows[row][1] ? pixdim[n]
                                    : 0.0f,
          text ("srow %zu, %zu", row, n));
  }
}

const char *const depth_caps =
    "application/x-oct,domain=depth,format=F32LE,samples=8,lines=3,framerate=9/1,"
    "depth-step=(double)2.5,line-step=(double)7";

Bytes
patterns (gsize size, guint frames)
{
  Bytes all;
  for (guint frame = 0; frame < frames; frame++) {
    const Bytes one = pattern (size, frame);
    all.insert (all.end (), one.begin (), one.end ());
  }
  return all;
}

/* All errors of the sink are the same. Its source then posts an error of its own. */
void
expect_first_error (const Outcome &outcome, const std::vector<std::string> &parts)
{
  const std::vector<std::string> errors = outcome.errors_of ("out");
  fail_if (errors.empty ());
  expect_contains (errors[0], parts);
  for (const std::string &error : errors)
    expect_equal (error, errors[0]);
}

/* appsrc ! octfilesink */
class Writer {
public:
  Writer (const std::string &caps, const std::string &location,
      const std::string &settings = "")
      : pipeline ("appsrc name=in format=time caps=\"" + caps
                  + "\" ! octfilesink name=out async=false location=" + location + " "
                  + settings)
  {
    pipeline.start ();
  }

  void push (gsize size, guint frames, guint first = 0)
  {
    for (guint n = first; n < first + frames; n++)
      gst_app_src_push_buffer (GST_APP_SRC (pipeline["in"]), pattern_buffer (size, n));
  }
  Outcome end ()
  {
    gst_app_src_end_of_stream (GST_APP_SRC (pipeline["in"]));
    return pipeline.play ();
  }

  Pipeline pipeline;
};
} // namespace

TEST (test_octfilesink_writes_a_nifti_header_of_the_spacing)
{
  Folder folder;
  const std::string file = folder.file ("a.nii");
  Writer writer (depth_caps, file, "b-scan-step=11");
  writer.push (96, 4);
  fail_unless (writer.end ().eos);
  const Read read = read_file (file);
  expect_nifti (read.header, {8, 3, 4}, 16, 32, {0.0025f, 0.007f, 0.011f}, volume);
  expect_equal (int (read.header[123]), 2, "mm");
  assert_same (read.values, patterns (96, 4), "values");
  expect_equal (folder.names ().size (), gsize (1));
}

namespace {
struct Kind {
  std::string label; /* caps */
  gsize size;
  gint16 nifti;
  gint16 bits;
  std::vector<gint16> dim;
  const char *nrrd; /* lines that it contains */
};

#define TENSORS(type, dimensions)                                                        \
  "other/tensors,format=static,num_tensors=1,types=" type                                \
  ",dimensions=(string)" dimensions ",framerate=4/1"

const Kind kinds[] = {
    {TENSORS ("uint8", "5:3:2"), 30, 2, 8, {5, 3, 2, 2},
        "type: uint8\ndimension: 4\nsizes: 5 3 2 2\n"},
    {TENSORS ("int16", "5:3"), 30, 4, 16, {5, 3, 2},
        "type: int16\ndimension: 3\nsizes: 5 3 2\n"},
    {TENSORS ("uint16", "5:3"), 30, 512, 16, {5, 3, 2},
        "type: uint16\ndimension: 3\nsizes: 5 3 2\n"},
    {TENSORS ("float32", "5:3:2"), 120, 16, 32, {5, 3, 2, 2},
        "type: float\ndimension: 4\nsizes: 5 3 2 2\n"},
    {TENSORS ("float64", "5"), 40, 64, 64, {5, 2},
        "type: double\ndimension: 2\nsizes: 5 2\n"},
    {TENSORS ("int64", "5"), 40, 1024, 64, {5, 2},
        "type: int64\ndimension: 2\nsizes: 5 2\n"},
    {"application/x-oct,domain=depth,format=CF32LE,samples=8,lines=3,framerate=9/1", 192,
        32, 64, {8, 3, 2}, "type: float\ndimension: 4\nsizes: 2 8 3 2\n"},
    {"application/x-oct,domain=wavelength,format=U16LE,samples=8,lines=3,framerate=9/1",
        48, 512, 16, {8, 3, 2}, "type: uint16\ndimension: 3\nsizes: 8 3 2\n"},
    {"video/x-raw,format=GRAY8,width=8,height=3,framerate=9/1", 24, 2, 8, {8, 3, 2},
        "type: uint8\ndimension: 3\nsizes: 8 3 2\n"},
};
} // namespace

TEST_ROWS (test_octfilesink_writes_numbers_of_each_type, kinds)
{
  for (const char *name : {"a.nii", "a.nrrd"}) {
    Folder folder;
    Writer writer (row.label, folder.file (name));
    writer.push (row.size, 2);
    fail_unless (writer.end ().eos);
    const Read read = read_file (folder.file (name));
    assert_same (read.values, patterns (row.size, 2), name);
    if (g_str_has_suffix (name, "nrrd"))
      expect_contains (
          read.header, {row.nrrd, "\nencoding: raw\n", "\nendian: little\n"});
    else
      expect_nifti (read.header, row.dim, row.nifti, row.bits, {1, 1, 1},
          row.dim.size () < 3                              ? flat
          : g_str_has_prefix (row.label.c_str (), "video") ? picture
                                                           : volume);
  }
}

TEST (test_octfilesink_says_in_nrrd_how_far_apart_voxels_are)
{
  Folder folder;
  const std::string file = folder.file ("a.nrrd");
  Writer writer (depth_caps, file, "b-scan-step=11");
  writer.push (96, 2);
  fail_unless (writer.end ().eos);
  const std::string header = read_file (file).header;
  expect_contains (
      header, {"\nspace: left-posterior-superior\nspace directions: "
               "(0,0,-0.0025) (0.007,0,0) (0,-0.011,0)\nspace origin: (0,0,0)\n"
               "space units: \"mm\" \"mm\" \"mm\"\n",
                  "\nkinds: domain domain domain\n"});
  /* NRRD does not allow these for an axis with a direction. */
  for (const char *field : {"spacings", "\nunits"})
    fail_unless (header.find (field) == std::string::npos, "%s", header.c_str ());
}

/* The distance between B-scans is unknown. */
TEST (test_octfilesink_guesses_no_length)
{
  Folder folder;
  for (const char *name : {"a.nrrd", "a.nii"}) {
    Writer writer (depth_caps, folder.file (name));
    std::vector<std::string> warnings;
    writer.push (96, 2);
    gst_app_src_end_of_stream (GST_APP_SRC (writer.pipeline["in"]));
    fail_unless (soon ([&] {
      const Outcome now = writer.pipeline.messages ();
      warnings.insert (warnings.end (), now.warnings.begin (), now.warnings.end ());
      return now.eos;
    }));
    const bool is_nifti = g_str_has_suffix (name, "nii");
    expect_equal (warnings.size (), gsize (is_nifti));
    if (is_nifti)
      expect_contains (warnings[0], {"Unknown lengths: b-scan-step."});
  }
  const std::string nrrd = read_file (folder.file ("a.nrrd")).header;
  expect_contains (nrrd, {"\nspacings: 0.0025 0.007 nan\naxis mins: 0 nan nan\n"
                          "units: \"mm\" \"mm\" \"\"\n"});
  fail_unless (nrrd.find ("space ") == std::string::npos, "%s", nrrd.c_str ());
  const std::string nifti = read_file (folder.file ("a.nii")).header;
  expect_nifti (nifti, {8, 3, 2}, 16, 32, {0.0025f, 0.007f, 1}, volume);
  expect_equal (int (nifti[123]), 0);
}

/* Depths as numbers for elements that keep them; levels of an image for those that show
 * them, and where they are asked for */
TEST (test_octfft_gives_numbers_to_elements_that_keep_depths)
{
  const std::string depths = "application/x-oct", levels = "video/x-raw";
  Folder folder;
  const std::string file =
      "opencldownload ! octfilesink location=" + folder.file ("v%d.nii");
  const struct {
    std::string behind;
    std::string expected;
  } rows[] = {
      {"octvolume b-scans=2 ! " + file, depths},
      {"octvolume b-scans=2 ! queue ! " + file, depths},
      {"octvolume b-scans=2 ! other/tensors(ANY),num_tensors=1 ! fakesink", depths},
      {file, depths},
      {"video/x-raw(ANY) ! octvolume b-scans=2 ! " + file, levels},
      {"octvolume b-scans=2 ! octrender frames=1 ! fakesink", levels},
      {"octvolume b-scans=2 ! fakesink", levels},
      {"fakesink", levels},
  };
  for (const auto &row : rows) {
    Pipeline pipeline ("octtestsrc num-buffers=2 ! video/x-raw(ANY),width=64,height=8 ! "
                       "octwindowinterp ! octfft name=fft ! "
                       + row.behind);
    pipeline.play_to_eos ();
    Owned<GstCaps> caps = gst_pad_get_current_caps (pipeline.pad ("fft", "src"));
    expect_equal (std::string (gst_structure_get_name (gst_caps_get_structure (caps, 0))),
        row.expected, row.behind);
  }
}

/* The time between volumes in seconds, at 5/2 volumes a second; unknown without a rate */
TEST (test_octfilesink_time_step_of_volumes)
{
  const struct {
    const char *rate;
    float step;
    int unit;
    const char *nrrd;
  } rates[] = {{"5/2", 0.4f, 8, "(0,0,0,0.4)"}, {"0/1", 1, 0, "(0,0,0,1)"},
      {"30000/1001", 1001 / 30000.0f, 8, "(0,0,0,0.0333666666667)"}};
  for (const auto &row : rates) {
    const std::string caps =
        "other/"
        "tensors,format=static,num_tensors=1,types=float32,dimensions=(string)5:3:2,"
        "depth-step=(double)2.5,line-step=(double)7,framerate="
        + std::string (row.rate);
    Folder folder;
    for (const char *name : {"a.nii", "a.nrrd"}) {
      Writer writer (caps, folder.file (name), "b-scan-step=11");
      writer.push (120, 3);
      fail_unless (writer.end ().eos);
    }
    const std::string header = read_file (folder.file ("a.nii")).header;
    expect_nifti (
        header, {5, 3, 2, 3}, 16, 32, {0.0025f, 0.007f, 0.011f, row.step}, volume);
    expect_equal (int (header[123]), 2 | row.unit, row.rate);
    expect_contains (read_file (folder.file ("a.nrrd")).header,
        {std::string (row.nrrd) + "\n",
            row.unit ? "units: \"mm\" \"mm\" \"mm\" \"s\"\n"
                     : "units: \"mm\" \"mm\" \"mm\" \"\"\n",
            "\nkinds: domain domain domain time\n"});
  }
}

/* A second volume adds the axis, in the same bytes of the header. */
TEST (test_octfilesink_single_volume_has_three_axes)
{
  const std::string caps = "other/tensors,format=static,num_tensors=1,types=float32,"
                           "dimensions=(string)5:3:2,depth-step=(double)2.5,"
                           "line-step=(double)7,framerate=4/1";
  std::string headers[2];
  for (gsize volumes : {1, 2}) {
    Folder folder;
    for (const char *name : {"a.nii", "a.nrrd"}) {
      Writer writer (caps, folder.file (name), "b-scan-step=11");
      writer.push (120, volumes);
      fail_unless (writer.end ().eos);
    }
    headers[volumes - 1] = read_file (folder.file ("a.nrrd")).header;
    const std::string nifti = read_file (folder.file ("a.nii")).header;
    if (volumes == 1)
      expect_nifti (nifti, {5, 3, 2}, 16, 32, {0.0025f, 0.007f, 0.011f, 1}, volume);
    expect_equal (int (nifti[123]), volumes == 1 ? 2 : 10);
  }
  expect_contains (
      headers[0], {"\ndimension: 3\nsizes: 5 3 2\nspace: left-posterior-superior\n",
                      "\nkinds: domain domain domain\n"});
  expect_contains (headers[1], {"\ndimension: 4\nsizes: 5 3 2 2\n"});
  expect_equal (headers[0].size (), headers[1].size ());
}

/* The origin is the depth of the first bin in both formats. */
TEST (test_octfilesink_says_where_the_first_depth_is)
{
  Folder folder;
  for (const char *name : {"a.nii", "a.nrrd"}) {
    Writer writer (std::string (depth_caps) + ",depth-start=(int)40", folder.file (name),
        "b-scan-step=11");
    writer.push (96, 2);
    fail_unless (writer.end ().eos);
  }
  expect_contains (
      read_file (folder.file ("a.nrrd")).header, {"\nspace origin: (0,0,-0.1)\n"});
  const std::string header = read_file (folder.file ("a.nii")).header;
  for (gsize row = 0; row < 3; row++)
    expect_equal (
        number_at<float> (header, 280 + 16 * row + 12), row == 2 ? -0.1f : 0.0f);
}

/* Columns of an image are A-lines. */
TEST (test_octfilesink_swaps_the_spacing_of_a_picture)
{
  Folder folder;
  const std::string file = folder.file ("a.nii");
  Writer writer ("video/x-raw,format=GRAY8,width=8,height=3,framerate=9/1", file,
      "depth-step=2 line-step=5 b-scan-step=9");
  writer.push (24, 2);
  fail_unless (writer.end ().eos);
  expect_nifti (
      read_file (file).header, {8, 3, 2}, 2, 8, {0.005f, 0.002f, 0.009f}, picture);
  expect_equal (int (read_file (file).header[123]), 2, "mm");
}

TEST (test_octfilesink_has_a_file_for_each_frame_where_it_counts)
{
  Folder folder;
  Writer writer (depth_caps, folder.file ("v%02d.nii"));
  writer.push (96, 3);
  fail_unless (writer.end ().eos);
  fail_unless (
      folder.names () == std::vector<std::string> ({"v00.nii", "v01.nii", "v02.nii"}));
  for (guint n = 0; n < 3; n++) {
    const Read read = read_file (folder.file (text ("v%02u.nii", n)));
    expect_nifti (read.header, {8, 3}, 16, 32, {0.0025f, 0.007f, 1}, flat);
    assert_same (read.values, pattern (96, n), text ("file %u", n));
  }
}

TEST_ROWS (test_octfilesink_leaves_a_file_that_is_right_on_a_full_disk,
    std::vector<std::string>{"nii", "nrrd"})
{
  Folder folder;
  Writer writer (depth_caps, folder.file ("a." + row));
  room = 96 * 3 + 40;
  writer.push (96, 5);
  const Outcome outcome = writer.pipeline.play ();
  room = -1;
  expect_first_error (outcome, {" has 3 complete frames; ", "No space left"});
  writer.pipeline.set_state (GST_STATE_NULL);
  const std::vector<std::string> names = folder.names ();
  expect_equal (names.size (), gsize (1));
  fail_unless (g_str_has_suffix (names[0].c_str (), ("." + row).c_str ()));
  const Read read = read_file (folder.file (names[0]));
  assert_same (read.values, patterns (96, 3), "what was written before");
  if (row == "nii")
    expect_nifti (read.header, {8, 3, 3}, 16, 32, {0.0025f, 0.007f, 1}, volume);
  else
    expect_contains (read.header, {"\nsizes: 8 3 3\n"});
}

/* Prefix for a program that is not ours but loads plugins built with a sanitizer */
static std::string
sanitizer_for_others ()
{
  std::ifstream maps ("/proc/self/maps");
  for (std::string line; std::getline (maps, line);) {
    if (line.find ("/libasan.so") != std::string::npos
        || line.find ("/libtsan.so") != std::string::npos)
      return "env LD_PRELOAD=" + line.substr (line.find ('/')) + " ";
  }
  return "";
}

/* Runs in a process of its own, which is killed after some frames. */
TEST_ROWS (test_octfilesink_leaves_a_file_that_is_right_when_it_is_killed,
    std::vector<std::string>{"nii", "nrrd"})
{
  Folder folder;
  const std::string line =
      "exec " + sanitizer_for_others ()
      + "gst-launch-1.0 -q videotestsrc is-live=true pattern=black ! "
        "video/x-raw,format=GRAY8,width=8,height=3,framerate=100/1 ! octfilesink "
        "location="
      + folder.file ("a." + row);
  const pid_t child = fork ();
  if (child == 0) {
    execl ("/bin/sh", "sh", "-c", line.c_str (), nullptr);
    _exit (127);
  }
  const gsize some_frames = 20;
  const bool written = soon ([&] {
    const std::vector<std::string> names = folder.names ();
    return names.size () == 1
           && contents_of (folder.file (names[0])).size () > 512 + some_frames * 24;
  });
  kill (child, SIGKILL);
  waitpid (child, nullptr, 0);
  fail_unless (written, "no file was written");
  const Read read = read_file (folder.file (folder.names ()[0]));
  const gsize frames =
      row == "nii" ? gsize (number_at<gint16> (read.header, 46))
                   : gsize (atoi (read.header.c_str () + read.header.find ("8 3 ") + 4));
  fail_unless (frames >= some_frames && frames * 24 <= read.values.size (),
      "%zu frames of %zu bytes", frames, read.values.size ());
}
