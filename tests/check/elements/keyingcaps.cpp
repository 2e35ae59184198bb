/* Tests of what the keying elements refuse, and that they say why
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <string>

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

namespace {
const char *const elements[] = {
    "chromakey", "noisereduce", "flowkey", "splashkey", "keyfill"};

#define ON_DEVICE "video/x-raw(memory:OpenCLMemory), framerate=30/1, "

const char *const refused[] = {
    ON_DEVICE "format=RGBA, width=0, height=48",
    ON_DEVICE "format=RGBA, width=64, height=0",
    ON_DEVICE "format=NV12, width=64, height=48",
    ON_DEVICE "format=RGBA64_LE, width=64, height=48",
    ON_DEVICE "format=RGBA, width=64, height=40000",
};

/* The last message at INFO that begins with "refused " */
void
note_refusal (GstDebugCategory *category, GstDebugLevel level, const gchar *file,
    const gchar *function, gint line, GObject *object, GstDebugMessage *message,
    gpointer noted)
{
  const gchar *text = gst_debug_message_get (message);
  if (level == GST_LEVEL_INFO && g_str_has_prefix (text, "refused "))
    *static_cast<std::string *> (noted) = text;
}
} // namespace

GST_START_TEST (test_what_no_kernel_takes_is_refused_with_a_reason_at_info)
{
  const char *name = elements[__i__];
  GstHarness *harness = gst_harness_new (name);
  GstPad *pad = gst_element_get_static_pad (harness->element, "sink");
  GstDebugLevel threshold = gst_debug_get_default_threshold ();
  std::string reason;

  gst_debug_set_default_threshold (GST_LEVEL_INFO);
  gst_debug_add_log_function (note_refusal, &reason, nullptr);
  for (const char *text : refused) {
    GstCaps *caps = gst_caps_from_string (text);
    reason.clear ();
    fail_if (gst_pad_query_accept_caps (pad, caps), "%s takes %s", name, text);
    fail_unless (reason.find ("expected video/x-raw(memory:OpenCLMemory)") != reason.npos,
        "%s refused %s without a reason: %s", name, text, reason.c_str ());
    gst_caps_unref (caps);
  }
  gst_debug_remove_log_function (note_refusal);
  gst_debug_set_default_threshold (threshold);
  gst_object_unref (pad);
  gst_harness_teardown (harness);
}
GST_END_TEST;

GST_START_TEST (test_what_the_kernels_take_is_accepted)
{
  GstHarness *harness = gst_harness_new (elements[__i__]);
  GstPad *pad = gst_element_get_static_pad (harness->element, "sink");
  for (const char *format : {"RGBA", "BGRA", "ARGB", "ABGR"}) {
    std::string text = std::string (ON_DEVICE "width=1, height=32768, format=") + format;
    GstCaps *caps = gst_caps_from_string (text.c_str ());
    fail_unless (gst_pad_query_accept_caps (pad, caps), "%s", text.c_str ());
    gst_caps_unref (caps);
  }
  gst_object_unref (pad);
  gst_harness_teardown (harness);
}
GST_END_TEST;

static Suite *
keying_caps_suite (void)
{
  Suite *suite = suite_create ("keyingcaps");
  TCase *tcase = tcase_create ("general");

  suite_add_tcase (suite, tcase);
  tcase_add_loop_test (tcase, test_what_no_kernel_takes_is_refused_with_a_reason_at_info,
      0, G_N_ELEMENTS (elements));
  tcase_add_loop_test (
      tcase, test_what_the_kernels_take_is_accepted, 0, G_N_ELEMENTS (elements));
  return suite;
}

GST_CHECK_MAIN (keying_caps);
