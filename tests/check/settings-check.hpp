/* Harness for tests of properties: several set at once, and the messages about them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <sstream>
#include <string>
#include <vector>

/* Last: its macro fail() breaks C++ headers. */
#include <gst/check/gstcheck.h>

namespace testing {
/* Sets "name=value name=value …" in one commit; "name=" sets NULL. */
inline void
set_together (gpointer object, const std::string &settings)
{
  std::istringstream words (settings);
  std::string word;
  g_object_freeze_notify (G_OBJECT (object));
  while (words >> word) {
    gsize equals = word.find ('=');
    std::string name = word.substr (0, equals), value = word.substr (equals + 1);
    if (value.empty ())
      g_object_set (object, name.c_str (), nullptr, nullptr);
    else
      gst_util_set_object_arg (G_OBJECT (object), name.c_str (), value.c_str ());
  }
  g_object_thaw_notify (G_OBJECT (object));
}

/* Fails unless exactly these warnings were posted since the last call. Each expected text
 * is the beginning of a message. Errors also fail the test; other messages are
 * discarded. */
inline void
expect_warnings (
    GstBus *bus, const std::string &when, const std::vector<std::string> &expected)
{
  std::vector<std::string> found;
  while (GstMessage *message = gst_bus_pop_filtered (
             bus, GstMessageType (GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    GError *error = nullptr;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, nullptr);
      ck_abort_msg ("%s: error \"%s\"", when.c_str (), error->message);
    }
    gst_message_parse_warning (message, &error, nullptr);
    found.push_back (error->message);
    g_error_free (error);
    gst_message_unref (message);
  }
  fail_unless (found.size () == expected.size (), "%s: %d warnings, expected %d: %s",
      when.c_str (), int (found.size ()), int (expected.size ()),
      found.empty () ? "" : found.back ().c_str ());
  for (gsize n = 0; n < found.size (); n++)
    fail_unless (found[n].compare (0, expected[n].size (), expected[n]) == 0,
        "%s: warning \"%s\", expected \"%s…\"", when.c_str (), found[n].c_str (),
        expected[n].c_str ());
}
} // namespace testing
