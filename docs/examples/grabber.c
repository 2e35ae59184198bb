/* grabber: frames of a frame grabber's callback, in pinned memory that the device reads
 *
 * The grabber is simulated: a thread that calls a function for each frame. With a vendor's
 * library, that function is the callback that is registered there.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/app/app.h>
#include <math.h>

enum { SAMPLES = 1024, LINES = 256, FRAMES = 20, RATE = 25, WAITING = 8, MIRROR = 100 };

typedef struct {
  GstAppSrc *source;
  GstBufferPool *pool;
  GstElement *sink;
  guint64 number, lost;
} Grabber;

/* Returns the pool that openclupload offers, once the pipeline has started. */
static GstBufferPool *
find_pool (GstAppSrc *source)
{
  GstPad *pad = gst_element_get_static_pad (GST_ELEMENT (source), "src");
  GstCaps *caps;
  GstQuery *query;
  GstBufferPool *pool = NULL;

  while (!(caps = gst_pad_get_current_caps (pad)))
    g_usleep (1000);
  query = gst_query_new_allocation (caps, TRUE);
  if (gst_pad_peer_query (pad, query) && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  if (!pool || !gst_buffer_pool_set_active (pool, TRUE))
    g_error ("openclupload offers no pool: GST_DEBUG=2 says why");
  gst_query_unref (query);
  gst_caps_unref (caps);
  gst_object_unref (pad);
  return pool;
}

/* The vendor's library calls this with each frame. A library that fills memory of the
 * application gets that of a buffer instead, from gst_buffer_map (). */
static void
on_frame (Grabber *grabber, const guint16 *spectra)
{
  const guint64 number = grabber->number++;
  GstBuffer *buffer;

  if (gst_app_src_get_current_level_buffers (grabber->source) >= WAITING) {
    grabber->lost++;
    return;
  }
  if (gst_buffer_pool_acquire_buffer (grabber->pool, &buffer, NULL) != GST_FLOW_OK)
    return; /* the pipeline has stopped */
  gst_buffer_fill (buffer, 0, spectra, sizeof (guint16) * SAMPLES * LINES);
  GST_BUFFER_PTS (buffer) =
      number * GST_SECOND / RATE; /* also tells that frames are lost */
  GST_BUFFER_DURATION (buffer) = GST_SECOND / RATE;
  gst_app_src_push_buffer (grabber->source, buffer);
}

static gpointer
grab (gpointer data)
{
  Grabber *grabber = data;
  guint16 *spectra = g_new (guint16, SAMPLES * LINES);

  for (int i = 0; i < SAMPLES * LINES; i++)
    spectra[i] =
        (guint16)(2000 + 1000 * cos (2 * G_PI * MIRROR * (i % SAMPLES) / SAMPLES));
  for (int frame = 0; frame < FRAMES; frame++) {
    on_frame (grabber, spectra);
    if (frame == 0) /* which starts the pipeline, and takes longer */
      gst_element_get_state (grabber->sink, NULL, NULL, GST_CLOCK_TIME_NONE);
    g_usleep (G_USEC_PER_SEC / RATE);
  }
  gst_app_src_end_of_stream (grabber->source);
  g_free (spectra);
  return NULL;
}

/* Returns the brightest depth of the first A-line of a B-scan, which has a line of pixels for
 * each depth. The first depths have the light of the source. */
static int
brightest (GstSample *sample)
{
  GstMapInfo map;
  int found = 8;

  if (!gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ))
    g_error ("a B-scan cannot be read");
  for (int depth = found; depth < SAMPLES / 2; depth++)
    if (map.data[depth * LINES] > map.data[found * LINES])
      found = depth;
  gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  return found;
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GstElement *pipeline, *in, *out;
  GstCaps *caps;
  GstSample *sample;
  GThread *thread;
  Grabber grabber = {0};
  int depth = 0, shown = 0;

  gst_init (&argc, &argv);
  pipeline = gst_parse_launch (
      "appsrc name=in is-live=true format=time ! openclupload ! octwindowinterp ! octfft "
      "! "
      "video/x-raw(memory:OpenCLMemory),format=GRAY8 ! opencldownload ! "
      "appsink name=out sync=false",
      &error);
  if (!pipeline)
    g_error ("%s", error->message);
  in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, "GRAY16_LE",
      "width", G_TYPE_INT, SAMPLES, "height", G_TYPE_INT, LINES, "framerate",
      GST_TYPE_FRACTION, RATE, 1, NULL);
  grabber.source = GST_APP_SRC (in);
  grabber.sink = out;
  gst_app_src_set_caps (grabber.source, caps);
  gst_caps_unref (caps);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  grabber.pool = find_pool (grabber.source);
  thread = g_thread_new ("grabber", grab, &grabber);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (out)))) {
    depth = brightest (sample);
    shown++;
    gst_sample_unref (sample);
  }
  g_thread_join (thread);
  g_print ("%d frames shown, %d lost, the mirror is at depth %d\n", shown,
      (int)grabber.lost, depth);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (grabber.pool);
  gst_object_unref (in);
  gst_object_unref (out);
  gst_object_unref (pipeline);
  return 0;
}
