/* Preloaded into a test program: GStreamer ends with it, so that the tracer `leaks` says
 * what is alive
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/gst.h>

__attribute__ ((destructor)) static void
end_gstreamer (void)
{
  if (gst_is_initialized ())
    gst_deinit ();
}
