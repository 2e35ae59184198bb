/* Whether the element of a streaming thread stops
 *
 * A driver's compiler cannot be interrupted, and an element may build dozens of programs for
 * one frame. A stop waits only for the program that is being built: later builds are refused.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* While in scope, the calling thread is a streaming thread of `element`. */
class StopScope {
public:
  explicit StopScope (GstElement *element);
  ~StopScope ();
  StopScope (const StopScope &) = delete;
  StopScope &operator= (const StopScope &) = delete;

  /* Sets `error` if the element stops, and remembers that, so that what fails of it is not
   * reported. */
  static bool refuses_builds (GError **error);
  /* Returns whether a build was refused in this scope. */
  static bool has_refused ();

private:
  GstElement *const element;
  StopScope *const outer;
  bool refused = false;
};
} // namespace opencl
