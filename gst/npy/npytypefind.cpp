/* Typefinder for NumPy's .npy files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <cstring>

#include "elements.h"
#include <gst/common/npyfile.hpp>

static GstStaticCaps npy_caps = GST_STATIC_CAPS ("application/x-npy");

static void
find_npy (GstTypeFind *find, gpointer)
{
  const guint8 *data = gst_type_find_peek (find, 0, sizeof opencl::npy_magic);

  if (data && memcmp (data, opencl::npy_magic, sizeof opencl::npy_magic) == 0)
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_MAXIMUM, "application/x-npy");
}

GST_TYPE_FIND_REGISTER_DEFINE (npy, "application/x-npy", GST_RANK_PRIMARY, find_npy,
    "npy", gst_static_caps_get (&npy_caps), nullptr, nullptr);
