/* Tests that frames that complete no group are a warning at EOS
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

#include "tests/check/folder.hpp"

using namespace check;
using namespace depths;

namespace {
struct Group {
  const char *label; /* elements; the last one warns */
  const char *warns;
  guint frames; /* that are needed */
  guint seen;   /* by the last element, after one frame less */
  guint needed;
};
const Group groups[] = {{"octaverage frames=4", "octaverage", 4, 3, 4},
    {"octangio repeats=3", "octangio", 3, 2, 3},
    {"octdynamic repeats=4", "octdynamic", 4, 3, 4},
    {"octdoppler between=frames", "octdoppler", 2, 1, 2},
    {"octangio repeats=2 ! octaverage frames=2", "octaverage", 4, 1, 2}};

/* Sends `frames` frames and EOS, and returns the warnings. */
std::vector<std::string>
warnings_after (Harness &harness, guint frames)
{
  harness.start_segment ();
  for (guint n = 0; n < frames; n++)
    harness.push (complex_frame (speckle (n), n));
  harness.send (gst_event_new_eos ());
  const Outcome outcome = harness.messages ();
  fail_unless (outcome.errors.empty (), "%s", outcome.line ().c_str ());
  return outcome.warnings;
}
} // namespace

TEST_ROWS (test_frames_that_complete_no_group_are_one_warning, groups)
{
  Harness harness (row.label, frame_caps ("CF32LE"));
  for (guint round = 0; round < 2; round++) {
    const std::vector<std::string> warnings = warnings_after (harness, row.frames - 1);
    fail_unless (warnings.size () == 1, "%zu warnings", warnings.size ());
    expect_contains (warnings[0], {row.warns, text (": %u frames arrived", row.seen),
                                      text ("needs %u complete", row.needed)});
    harness.flush ();
    expect_equal (warnings_after (harness, row.frames).size (), gsize (0));
    fail_unless (waiting (harness) > 0);
    harness.flush ();
    harness.restart (frame_caps ("CF32LE"));
  }
}

/* A flush forgets the frames before it; no frame at all is no loss. */
TEST_ROWS (test_no_frames_are_no_warning_of_a_group, groups)
{
  Harness harness (row.label, frame_caps ("CF32LE"));
  harness.push (complex_frame (speckle (1), 0));
  harness.flush ();
  expect_equal (warnings_after (harness, 0).size (), gsize (0));
}

TEST_ROWS (test_a_sink_that_writes_no_file_says_so,
    {"npysink location=%s/a.npy", "octfilesink location=%s/a.nrrd",
        "octfilesink location=%s/a%%d.nii"})
{
  Folder folder;
  const std::string sink = text (row, folder.path.c_str ());
  const std::string caps =
      " ! application/x-oct,domain=depth,format=F32LE,samples=8,lines=4,framerate=25/1 "
      "! ";
  for (guint frames : {0u, 1u}) {
    Pipeline pipeline (
        text ("fakesrc num-buffers=%u format=time sizetype=fixed sizemax=128", frames)
        + caps + sink);
    std::vector<std::string> warnings;
    pipeline.start ();
    fail_unless (soon ([&] {
      const Outcome outcome = pipeline.messages ();
      warnings.insert (
          warnings.end (), outcome.warnings.begin (), outcome.warnings.end ());
      return outcome.eos;
    }));
    fail_unless (warnings.size () == (frames ? 0 : 1), "%zu warnings", warnings.size ());
    if (frames == 0)
      expect_contains (warnings[0], {"no frame arrived", "/a"});
  }
}
