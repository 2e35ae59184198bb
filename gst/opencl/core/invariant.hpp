/* Assertions of a debug build
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

/* Aborts with the number of an invariant, which the head of the file describes, if `condition`
 * does not hold. Without meson's option `debug`, the condition is compiled but not evaluated. */
#ifdef GST_OPENCL_CHECKS_INVARIANTS
#define CHECK_INVARIANT(number, condition)                                               \
  do {                                                                                   \
    if (!(condition))                                                                    \
      g_error ("%s:%d: invariant %d does not hold: %s", __FILE__, __LINE__, number,      \
          #condition);                                                                   \
  } while (false)
#else
#define CHECK_INVARIANT(number, condition) void (sizeof (bool (condition)))
#endif
