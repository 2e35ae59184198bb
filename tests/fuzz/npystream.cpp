/* Fuzzing: a stream of .npy files through npyparse
 *
 * The first byte says whether it is pushed in pieces or read from a file, in which somebody
 * seeks.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstreamer.hpp"

#include <gst/check/gstharness.h>

#include <sys/mman.h>
#include <unistd.h>

using fuzz::promise;

static void
push_in_pieces (fuzz::Input &input)
{
  const gsize piece = 1 + input.take<guint8> () * 16;
  GstHarness *harness = gst_harness_new ("npyparse");

  gst_harness_set_src_caps_str (harness, "application/x-npy");
  while (input.remaining () > 0) {
    const gsize n = std::min (piece, input.remaining ());
    GstBuffer *buffer = gst_buffer_new_memdup (input.rest (), n);
    input.advance (n);
    if (gst_harness_push (harness, buffer) != GST_FLOW_OK)
      break;
  }
  gst_harness_push_event (harness, gst_event_new_eos ());
  while (GstBuffer *buffer = gst_harness_try_pull (harness)) {
    promise (gst_buffer_get_size (buffer) > 0, "a frame holds something");
    gst_buffer_unref (buffer);
  }
  gst_harness_teardown (harness);
}

static void
wait_for_end (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, 20 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  promise (message != nullptr, "a file ends, or is refused");
  gst_message_unref (message);
  gst_object_unref (bus);
}

static void
read_and_seek (fuzz::Input &input)
{
  static const int descriptor = memfd_create ("array", 0);
  const auto flags = GstSeekFlags (GST_SEEK_FLAG_FLUSH | input.take<guint8> () << 1);
  const gdouble rate = input.choose (2) ? -1 : 1;
  const guint64 begin = input.take<guint32> () * guint64 (1000);
  GstElement *pipeline = gst_pipeline_new (nullptr);
  GstElement *source = fuzz::make_element ("filesrc");
  GstElement *parser = fuzz::make_element ("npyparse");
  GstElement *sink = fuzz::make_element ("fakesink");
  gchar *path = g_strdup_printf ("/proc/self/fd/%d", descriptor);

  promise (ftruncate (descriptor, 0) == 0, "room for a file");
  promise (pwrite (descriptor, input.rest (), input.remaining (), 0)
               == gssize (input.remaining ()),
      "room for a file's bytes");
  g_object_set (source, "location", path, nullptr);
  g_object_set (sink, "sync", FALSE, nullptr);
  g_free (path);
  gst_bin_add_many (GST_BIN (pipeline), source, parser, sink, nullptr);
  promise (gst_element_link_many (source, parser, sink, nullptr), "they link");
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  if (gst_element_get_state (pipeline, nullptr, nullptr, 20 * GST_SECOND)
      == GST_STATE_CHANGE_SUCCESS) {
    gst_element_seek (pipeline, rate, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET,
        rate > 0 ? begin : 0, GST_SEEK_TYPE_SET, rate > 0 ? GST_CLOCK_TIME_NONE : begin);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    if (!(flags & GST_SEEK_FLAG_SEGMENT))
      wait_for_end (pipeline);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);

  fuzz::start_gstreamer ();
  if (input.choose (2))
    read_and_seek (input);
  else
    push_in_pieces (input);
  return 0;
}
