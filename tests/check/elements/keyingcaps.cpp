/* Tests of what the keying elements refuse, and that they say why
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

using namespace check;

namespace {
const char *const elements[] = {
    "chromakey", "noisereduce", "flowkey", "splashkey", "keyfill", "matteshape"};

#define ON_DEVICE "video/x-raw(memory:OpenCLMemory), framerate=30/1, "

const char *const refused[] = {
    ON_DEVICE "format=RGBA, width=0, height=48",
    ON_DEVICE "format=RGBA, width=64, height=0",
    ON_DEVICE "format=GRAY8, width=64, height=48",
    ON_DEVICE "format=ARGB64_LE, width=64, height=48",
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

TEST_ROWS (test_what_no_kernel_takes_is_refused_with_a_reason_at_info, elements)
{
  Harness harness (row);
  Owned<GstPad> pad = gst_element_get_static_pad (harness.element (), "sink");
  GstDebugLevel threshold = gst_debug_get_default_threshold ();
  std::string reason;

  gst_debug_set_default_threshold (GST_LEVEL_INFO);
  gst_debug_add_log_function (note_refusal, &reason, nullptr);
  for (const char *text : refused) {
    Owned<GstCaps> caps = caps_of (text);
    reason.clear ();
    fail_if (gst_pad_query_accept_caps (pad, caps), "takes %s", text);
    expect_says (reason, {"expected video/x-raw(memory:OpenCLMemory)"});
  }
  gst_debug_remove_log_function (note_refusal);
  gst_debug_set_default_threshold (threshold);
}

TEST_ROWS (test_what_the_kernels_take_is_accepted, elements)
{
  Harness harness (row);
  Owned<GstPad> pad = gst_element_get_static_pad (harness.element (), "sink");
  for (const char *format : {"RGBA", "BGRA", "ARGB", "ABGR"}) {
    std::string text = std::string (ON_DEVICE "width=1, height=32768, format=") + format;
    Owned<GstCaps> caps = caps_of (text);
    fail_unless (gst_pad_query_accept_caps (pad, caps), "%s", text.c_str ());
  }
}
