/* Tells whether a frame was mixed as light or as levels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "screensearch.hpp"

namespace keying {
class Mixing {
public:
  bool create_counters (GstOpenCLContext *context, GError **error);

  /* Empties the counters, for the kernel count_mixing (). */
  bool begin (cl_command_queue queue, GError **error);
  cl_mem votes () const { return counters (); }
  /* Waits for the counters. Sets `pixels` to the number of edge pixels that were compared
   * if these say that levels were mixed, else to 0. */
  bool end (cl_command_queue queue, guint &pixels, GError **error);

private:
  cl::Buffer counters; /* as votes of count_mixing () */
  ReadBack numbers;
};
} // namespace keying
