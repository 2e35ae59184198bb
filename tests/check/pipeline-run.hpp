/* What tests of elements and pipelines share: running one to its end, and known bytes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace testing {
/* How a pipeline ended. */
struct Outcome {
  bool eos = false;
  std::vector<std::string> errors; /* "element: message", in the order of posting */

  /* Of the element whose name is `element`. */
  std::vector<std::string> errors_of (const char *element) const;
};

/* A pipeline of a launch line; a line that does not parse fails the test. */
GstElement *launch (const std::string &line);

/* Sets `pipeline` to PLAYING and waits for EOS, or for an error and, for a moment, for
 * further ones. */
Outcome play (GstElement *pipeline);

/* launch(), play(), and back to NULL. */
Outcome run (const std::string &line);

/* What is on the bus by now, without waiting. */
Outcome collect (GstBus *bus);

/* Names of all elements of the project's plugins that are there. */
std::vector<std::string> element_names ();

/* Bytes that differ from place to place and from seed to seed. */
guint8 pattern (gsize position, guint seed);

/* (transfer full): a buffer of ordinary memory, filled with pattern(). */
GstBuffer *pattern_buffer (gsize size, guint seed);

/* Fails the test unless `buffer` holds `size` bytes of pattern(). */
void check_pattern (GstBuffer *buffer, gsize size, guint seed);

/* Resident memory of this process in KiB. */
gsize resident_kib ();
} // namespace testing
