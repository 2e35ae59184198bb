/* bscan: a whole application: spectra in, and how bright each depth of the tissue is */
#include <gst/app/app.h>

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GstElement *pipeline, *out;
  GstSample *sample;
  GstMapInfo map;

  gst_init (&argc, &argv);
  pipeline = gst_parse_launch (
      "octtestsrc num-buffers=1 ! octwindowinterp ! octfft ! "
      "video/x-raw(memory:OpenCLMemory),format=GRAY8,width=512,height=1024 ! "
      "opencldownload ! appsink name=out sync=false",
      &error);
  if (!pipeline)
    g_error ("%s", error->message);
  out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (out));
  if (!sample || !gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ))
    g_error ("no B-scan came: GST_DEBUG=2 says why");
  for (int depth = 0, sum = 0; depth < 1024; depth += 64, sum = 0) {
    for (int line = 0; line < 512; line++)
      sum += map.data[depth * 512 + line];
    g_print ("depth %4d: %.*s\n", depth, sum / 4096, "################################");
  }
  gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  gst_sample_unref (sample);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (out);
  gst_object_unref (pipeline);
  return 0;
}
