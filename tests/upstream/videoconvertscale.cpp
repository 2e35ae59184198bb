/* Runs GStreamer's own tests of `videoconvert` and `videoscale` with openclconvertbin in
 * their place
 *
 * The linker's --wrap puts it in front of upstream's tests. Frames go in and out in system
 * memory. The test itself is as it was. Its `videoconvert` beside a `videoscale` is that of
 * GStreamer.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <cstdarg>
#include <cstring>

extern "C" {
GstElement *__real_gst_element_factory_make (const gchar *factory, const gchar *name);
GstElementFactory *__real_gst_element_factory_find (const gchar *name);
GstHarness *__real_gst_harness_new (const gchar *element);
GstCaps *__real_gst_pad_query_caps (GstPad *pad, GstCaps *filter);

GstElement *__wrap_gst_element_factory_make (const gchar *factory, const gchar *name);
GstElementFactory *__wrap_gst_element_factory_find (const gchar *name);
GstHarness *__wrap_gst_harness_new (const gchar *element);
GstCaps *__wrap_gst_pad_query_caps (GstPad *pad, GstCaps *filter);
void __wrap_g_object_set (gpointer object, const gchar *first, ...);

GstElement *
__wrap_gst_element_factory_make (const gchar *factory, const gchar *name)
{
  const bool is_theirs = g_str_equal (factory, "videoscale");
  return __real_gst_element_factory_make (is_theirs ? "openclconvertbin" : factory, name);
}

GstElementFactory *
__wrap_gst_element_factory_find (const gchar *)
{
  return __real_gst_element_factory_find ("openclconvertbin");
}

GstHarness *
__wrap_gst_harness_new (const gchar *)
{
  return __real_gst_harness_new ("openclconvertbin");
}

/* Each test plays all formats that these caps have, and loses their features. */
GstCaps *
__wrap_gst_pad_query_caps (GstPad *pad, GstCaps *filter)
{
  GstCaps *all = __real_gst_pad_query_caps (pad, filter);
  GstCaps *system = gst_caps_from_string ("video/x-raw");
  GstCaps *in_system = gst_caps_simplify (gst_caps_intersect (all, system));

  gst_caps_unref (all);
  gst_caps_unref (system);
  return in_system;
}

/* The numbers of `method` have the same order as those of `scale-method`: nearest, bilinear,
 * four taps, Lanczos. */
void
__wrap_g_object_set (gpointer object, const gchar *first, ...)
{
  va_list more;

  va_start (more, first);
  g_object_set_valist (
      G_OBJECT (object), g_str_equal (first, "method") ? "scale-method" : first, more);
  va_end (more);
}
}
