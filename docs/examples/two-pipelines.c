/* two-pipelines: a picture from one pipeline is keyed in another, in one context
 *
 * Both pipelines find the same context, since the application gives it to them. What the
 * first makes on the device is handed to the second as it is.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/opencl/opencl.h>

static GstElement *
launch (const gchar *description, GstOpenCLContext *context)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (description, &error);
  GstContext *shared;

  if (error) {
    g_printerr ("%s\n", error->message);
    exit (1);
  }
  shared = gst_opencl_context_to_gst_context (context);
  gst_element_set_context (pipeline, shared);
  gst_context_unref (shared);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  return pipeline;
}

/* Whether a buffer is device memory of @context, and so needs no copy there. */
static gboolean
is_of_context (GstBuffer *buffer, GstOpenCLContext *context)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return gst_is_opencl_memory (memory)
         && gst_opencl_memory_get_context (memory) == context;
}

/* Says how much of an RGBA picture is keyed out. */
static void
print_keyed (GstBuffer *buffer)
{
  GstMapInfo map;
  gsize n, keyed = 0;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return;
  for (n = 3; n < map.size; n += 4)
    keyed += map.data[n] == 0;
  g_print ("%u %% are keyed out\n", (guint)(100 * keyed / (map.size / 4)));
  gst_buffer_unmap (buffer, &map);
}

int
main (int argc, char *argv[])
{
  GstOpenCLContext *context;
  GstElement *first, *second, *from, *to, *out;
  GstSample *sample, *keyed;
  GError *error = NULL;
  guint n;

  gst_init (&argc, &argv);
  context = gst_opencl_context_new (NULL, &error);
  if (!context) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  first = launch ("videotestsrc num-buffers=3 pattern=ball background-color=0xff20a040 ! "
                  "openclupload ! openclconvert ! "
                  "video/x-raw(memory:OpenCLMemory),format=RGBA,width=320,height=240 ! "
                  "appsink name=from sync=false",
      context);
  second = launch ("appsrc name=to format=time ! chromakey key-color=0xff20a040 ! "
                   "opencldownload ! appsink name=out sync=false",
      context);
  from = gst_bin_get_by_name (GST_BIN (first), "from");
  to = gst_bin_get_by_name (GST_BIN (second), "to");
  out = gst_bin_get_by_name (GST_BIN (second), "out");

  for (n = 0; n < 3; n++) {
    sample = gst_app_sink_pull_sample (GST_APP_SINK (from));
    if (!sample || !is_of_context (gst_sample_get_buffer (sample), context)) {
      g_printerr ("no picture on the device\n");
      return 1;
    }
    gst_app_src_push_sample (GST_APP_SRC (to), sample);
    gst_sample_unref (sample);
    keyed = gst_app_sink_pull_sample (GST_APP_SINK (out));
    if (!keyed) {
      g_printerr ("no picture came back\n");
      return 1;
    }
    print_keyed (gst_sample_get_buffer (keyed));
    gst_sample_unref (keyed);
  }

  gst_element_set_state (first, GST_STATE_NULL);
  gst_element_set_state (second, GST_STATE_NULL);
  gst_object_unref (from);
  gst_object_unref (to);
  gst_object_unref (out);
  gst_object_unref (first);
  gst_object_unref (second);
  gst_object_unref (context);
  return 0;
}
