/* Tests of the errors about files that a user names: their codes, and no wait for a FIFO
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"

#include <sys/stat.h>

using namespace check;

namespace {
#define VIDEO                                                                            \
  "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=16,height=16 ! "           \
  "openclupload ! "
#define SPECTRA "octtestsrc num-buffers=1 ! video/x-raw(ANY),width=64,height=16 ! "

struct Row {
  std::string label;
  const char *line; /* %s: the file */
};

const std::vector<Row> rows = {
    {"model", VIDEO "openclinference model-file=%s ! fakesink"},
    {"labels", VIDEO "opencltensordecoder label-file=%s ! fakesink"},
    {"program", VIDEO "openclkernel location=%s ! fakesink"},
    {"argument", VIDEO "openclkernel source=\"kernel void k (global const uchar *input, "
                       "global uchar *output, global const float *w) {}\" "
                       "arguments=\"arguments,w=(string)%s\" ! fakesink"},
    {"filter", VIDEO "openclconvolve kernel=%s ! fakesink"},
    {"bias", VIDEO "openclconvolve kernel=\"<<1>>\" bias=%s ! fakesink"},
    {"plate", VIDEO "chromakey method=chroma plate=file plate-location=%s ! fakesink"},
    {"background of a screen",
        "videotestsrc ! video/x-raw,format=RGBA,width=16,height=16 ! greenscreenbin "
        "background-location=%s ! fakesink"},
    {"wavelengths", SPECTRA "octwindowinterp wavelengths=%s ! octfft ! fakesink"},
    {"resample-map", SPECTRA "octwindowinterp resample-map=%s ! octfft ! fakesink"},
    {"window", SPECTRA "octwindowinterp window=file window-file=%s ! octfft ! fakesink"},
    {"phase", SPECTRA "octwindowinterp dispersion-phase=%s ! octfft ! fakesink"},
    {"background",
        SPECTRA "octwindowinterp background=file background-file=%s ! octfft ! fakesink"},
    {"settings", SPECTRA "octwindowinterp settings=%s ! octfft ! fakesink"},
    {"settings of octflatten",
        SPECTRA "octwindowinterp ! octfft ! octflatten settings=%s ! fakesink"},
    {"settings of octscan",
        SPECTRA "octwindowinterp ! octfft ! octscan settings=%s ! fakesink"},
    {"depths", SPECTRA "octwindowinterp ! octfft ! octbackground method=file location=%s "
                       "! octdisplay ! fakesink"},
    {"roll-off", SPECTRA "octwindowinterp ! octfft ! octattenuation depth-step=5 "
                         "roll-off-file=%s ! fakesink"},
};

void
expect_code (const std::string &line, gint code)
{
  Pipeline pipeline (line);
  pipeline.start ();
  Owned<GstMessage> message = gst_bus_timed_pop_filtered (
      pipeline.bus, timeout, GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  fail_unless (message != nullptr, "%s: no message", line.c_str ());
  fail_unless (GST_MESSAGE_TYPE (message.operator->()) == GST_MESSAGE_ERROR, "%s: EOS",
      line.c_str ());
  GError *error = nullptr;
  gst_message_parse_error (message, &error, nullptr);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, code), "%s: %s %d: %s",
      line.c_str (), g_quark_to_string (error->domain), error->code, error->message);
  g_error_free (error);
}
} // namespace

TEST_ROWS (test_a_file_has_the_code_of_what_is_wrong_with_it, rows)
{
  Folder folder;
  const std::string fifo = folder.file ("fifo.npy"), other = folder.file ("folder.npy");
  fail_unless (mkfifo (fifo.c_str (), 0600) == 0 && mkdir (other.c_str (), 0700) == 0);
  expect_code (
      text (row.line, folder.file ("none.npy").c_str ()), GST_RESOURCE_ERROR_NOT_FOUND);
  expect_code (text (row.line, other.c_str ()), GST_RESOURCE_ERROR_OPEN_READ);
  expect_code (text (row.line, fifo.c_str ()), GST_RESOURCE_ERROR_OPEN_READ);
}

TEST (test_the_description_of_a_model_is_no_fifo)
{
  Folder folder;
  const std::string model = folder.write ("net.onnx", red_matte_model ().bytes ());
  fail_unless (mkfifo (folder.file ("net.onnx.modelinfo").c_str (), 0600) == 0);
  expect_code (text (rows[0].line, model.c_str ()), GST_RESOURCE_ERROR_OPEN_READ);
}
