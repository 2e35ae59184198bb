/* Finds out whether the pictures of a stream were mixed as light or as levels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "screensearch.hpp"

namespace keying {
/* Looks at the first frame, then at every fourth until enough pixels have been counted. The
 * first look waits for its result, since the stream may have only one frame. */
class Mixing {
public:
  bool create_counters (GstOpenCLContext *context, GError **error);

  /* Call for each frame that is keyed in light. */
  bool is_due ();
  /* Empties the counters, for the kernel count_mixing (). Adds what was counted before. */
  bool begin (cl_command_queue queue, GError **error);
  cl_mem votes () const { return counters (); }
  /* Reads the counters back. */
  bool end (cl_command_queue queue, GError **error);

  bool is_of_levels () const;

private:
  bool add (GError **error);

  cl::Buffer counters; /* of light and of levels */
  ReadBack numbers;
  guint64 frames = 0;
  guint looks = 0, of_light = 0, of_levels = 0;
};
} // namespace keying
