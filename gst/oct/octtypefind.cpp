/* Typefinder for Thorlabs .oct recordings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <cstring>
#include <string>

#include "elements.h"

static GstStaticCaps oct_caps = GST_STATIC_CAPS ("application/x-thorlabs-oct");

/* Looks at the name of the first entry of a zip archive. Other archives that begin with a
 * folder of this name have forward slashes. */
static void
find_oct (GstTypeFind *find, gpointer)
{
  const gsize header = 30, longest = 10;
  const guint8 *data = gst_type_find_peek (find, 0, header + longest);

  if (!data || memcmp (data, "PK\3\4", 4) != 0)
    return;
  const std::string name (reinterpret_cast<const char *> (data) + header, longest);
  if (name == "Header.xml" || name.rfind ("data\\", 0) == 0)
    gst_type_find_suggest_empty_simple (
        find, GST_TYPE_FIND_NEARLY_CERTAIN, "application/x-thorlabs-oct");
}

GST_TYPE_FIND_REGISTER_DEFINE (oct, "application/x-thorlabs-oct", GST_RANK_PRIMARY,
    find_oct, "oct", gst_static_caps_get (&oct_caps), nullptr, nullptr);
