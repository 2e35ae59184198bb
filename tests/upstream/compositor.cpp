/* Runs GStreamer's own tests of `compositor` with openclcompositor in its place
 *
 * It stands in front of upstream's test, by --wrap of the linker's: the compositor is ours,
 * ordinary frames go through openclupload and openclconvert into each of its sink pads, and
 * through openclconvert and opencldownload out of it. The test itself is as it was.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <string>

extern "C" {
GstElement *__real_gst_element_factory_make (const gchar *factory, const gchar *name);
gboolean __real_gst_element_link (GstElement *from, GstElement *to);
GstPadLinkReturn __real_gst_pad_link (GstPad *from, GstPad *to);
GstPad *__real_gst_pad_get_peer (GstPad *pad);
gboolean __real_gst_pad_send_event (GstPad *pad, GstEvent *event);
GstFlowReturn __real_gst_pad_chain (GstPad *pad, GstBuffer *buffer);
gboolean __real_gst_pad_query (GstPad *pad, GstQuery *query);
GstCaps *__real_gst_pad_query_caps (GstPad *pad, GstCaps *filter);
GstElement *__real_gst_parse_launch (const gchar *text, GError **error);
void __real_gst_harness_set_src_caps_str (GstHarness *harness, const gchar *caps);
void __real_gst_harness_set_sink_caps_str (GstHarness *harness, const gchar *caps);
}

namespace {
bool
is_compositor (GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  return factory && g_str_equal (GST_OBJECT_NAME (factory), "openclcompositor");
}

/* Beside the compositor, in its bin. */
GstElement *
add_beside (GstElement *compositor, const char *description)
{
  GError *error = nullptr;
  GstElement *bin = gst_parse_bin_from_description (description, TRUE, &error);
  GstObject *parent = GST_OBJECT_PARENT (compositor);

  if (!bin)
    g_error ("%s: %s", description, error->message);
  gst_bin_add (GST_BIN (parent), bin);
  return bin;
}

const char *const feeder_of_pad = "openclcompositor-feeder";
const char *const pad_of_feeder = "openclcompositor-pad";

/* (transfer none): the pad for ordinary frames. It is made at the first call, because a pad
 * without input must make the compositor wait. */
GstPad *
feeder_of (GstPad *pad)
{
  GstElement *element = GST_PAD_PARENT (pad);

  if (!GST_PAD_IS_SINK (pad) || !GST_IS_ELEMENT (element) || !is_compositor (element))
    return pad;
  if (gpointer known = g_object_get_data (G_OBJECT (pad), feeder_of_pad))
    return GST_PAD (known);
  GstElement *bin = add_beside (element, "openclupload ! openclconvert");
  GstPad *out = gst_element_get_static_pad (bin, "src");
  GstPad *in = gst_element_get_static_pad (bin, "sink");
  if (__real_gst_pad_link (out, pad) != GST_PAD_LINK_OK)
    g_error ("openclconvert does not link with openclcompositor");
  gst_object_unref (out);
  g_object_set_data_full (G_OBJECT (pad), feeder_of_pad, in, gst_object_unref);
  g_object_set_data (G_OBJECT (in), pad_of_feeder, pad);
  gst_element_sync_state_with_parent (bin);
  return in;
}

/* Frames in memory that the caps are of: the harness has no bin for other elements. */
std::string
with_feature (const gchar *caps)
{
  const std::string text = caps, media = "video/x-raw";
  return media + "(memory:OpenCLMemory)" + text.substr (media.size ());
}
} // namespace

extern "C" {
GstElement *__wrap_gst_element_factory_make (const gchar *factory, const gchar *name);
gboolean __wrap_gst_element_link (GstElement *from, GstElement *to);
gboolean __wrap_gst_element_link_many (GstElement *from, GstElement *to, ...);
GstPadLinkReturn __wrap_gst_pad_link (GstPad *from, GstPad *to);
GstPad *__wrap_gst_pad_get_peer (GstPad *pad);
gboolean __wrap_gst_pad_send_event (GstPad *pad, GstEvent *event);
GstFlowReturn __wrap_gst_pad_chain (GstPad *pad, GstBuffer *buffer);
gboolean __wrap_gst_pad_query (GstPad *pad, GstQuery *query);
GstCaps *__wrap_gst_pad_query_caps (GstPad *pad, GstCaps *filter);
GstElement *__wrap_gst_parse_launch (const gchar *text, GError **error);
void __wrap_gst_harness_set_src_caps_str (GstHarness *harness, const gchar *caps);
void __wrap_gst_harness_set_sink_caps_str (GstHarness *harness, const gchar *caps);

GstElement *
__wrap_gst_element_factory_make (const gchar *factory, const gchar *name)
{
  const bool is_theirs = g_str_equal (factory, "compositor");
  return __real_gst_element_factory_make (is_theirs ? "openclcompositor" : factory, name);
}

gboolean
__wrap_gst_element_link (GstElement *from, GstElement *to)
{
  if (is_compositor (from)) {
    GstElement *download = add_beside (from, "openclconvert ! opencldownload");
    return __real_gst_element_link (from, download)
           && __real_gst_element_link (download, to);
  }
  if (!is_compositor (to))
    return __real_gst_element_link (from, to);
  GstPad *sink = gst_element_request_pad_simple (to, "sink_%u");
  GstPad *source = gst_element_get_static_pad (from, "src");
  const bool linked = __wrap_gst_pad_link (source, sink) == GST_PAD_LINK_OK;
  gst_object_unref (source);
  gst_object_unref (sink);
  return linked;
}

gboolean
__wrap_gst_element_link_many (GstElement *from, GstElement *to, ...)
{
  va_list more;
  bool linked = true;

  va_start (more, to);
  for (; to && linked; to = va_arg (more, GstElement *)) {
    linked = __wrap_gst_element_link (from, to);
    from = to;
  }
  va_end (more);
  return linked;
}

GstPadLinkReturn
__wrap_gst_pad_link (GstPad *from, GstPad *to)
{
  return __real_gst_pad_link (from, feeder_of (to));
}

GstPad *
__wrap_gst_pad_get_peer (GstPad *pad)
{
  GstPad *peer = __real_gst_pad_get_peer (pad);
  gpointer fed = peer ? g_object_get_data (G_OBJECT (peer), pad_of_feeder) : nullptr;

  if (!fed)
    return peer;
  gst_object_unref (peer);
  return GST_PAD (gst_object_ref (fed));
}

gboolean
__wrap_gst_pad_send_event (GstPad *pad, GstEvent *event)
{
  return __real_gst_pad_send_event (feeder_of (pad), event);
}

GstFlowReturn
__wrap_gst_pad_chain (GstPad *pad, GstBuffer *buffer)
{
  return __real_gst_pad_chain (feeder_of (pad), buffer);
}

gboolean
__wrap_gst_pad_query (GstPad *pad, GstQuery *query)
{
  return __real_gst_pad_query (feeder_of (pad), query);
}

GstCaps *
__wrap_gst_pad_query_caps (GstPad *pad, GstCaps *filter)
{
  return __real_gst_pad_query_caps (feeder_of (pad), filter);
}

GstElement *
__wrap_gst_parse_launch (const gchar *text, GError **error)
{
  const std::string theirs = " compositor ";
  std::string ours = text;
  const auto at = ours.find (theirs);

  if (at != std::string::npos)
    ours.replace (
        at, theirs.size (), " openclupload ! openclconvert ! openclcompositor ");
  return __real_gst_parse_launch (ours.c_str (), error);
}

void
__wrap_gst_harness_set_src_caps_str (GstHarness *harness, const gchar *caps)
{
  __real_gst_harness_set_src_caps_str (harness, with_feature (caps).c_str ());
}

void
__wrap_gst_harness_set_sink_caps_str (GstHarness *harness, const gchar *caps)
{
  __real_gst_harness_set_sink_caps_str (harness, with_feature (caps).c_str ());
}
}
