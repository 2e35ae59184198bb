/* Streams that a device error ended, shared by all elements of a pipeline
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "failedstreams.hpp"

#include <gst/common/outermost.hpp>

#include <algorithm>
#include <mutex>
#include <set>

namespace opencl {
namespace {
using Groups = std::set<guint>;

/* Belongs to the pipeline, or to the outermost bin or element if there is none. */
struct FailedStreams {
  std::mutex lock;
  Groups groups;
};

GQuark
streams_quark ()
{
  static const GQuark quark = g_quark_from_static_string ("gst-opencl-failed-streams");
  return quark;
}

/* Returns the group ids of the streams of all pads. */
Groups
groups_of (GstElement *element)
{
  Groups groups;
  auto add = [] (GstElement *, GstPad *pad, gpointer groups) -> gboolean {
    guint group;
    GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_STREAM_START, 0);
    if (event && gst_event_parse_group_id (event, &group))
      static_cast<Groups *> (groups)->insert (group);
    gst_clear_event (&event);
    return TRUE;
  };
  gst_element_foreach_pad (element, add, &groups);
  return groups;
}

/* Calls `work` under the lock with the failed streams and those of the element. If no
 * stream has ever failed, it is called only if `makes` is set. */
template <typename Work>
void
with_failed_streams (GstElement *element, bool makes, Work work)
{
  GstObject *outermost = ref_outermost (element);

  GST_OBJECT_LOCK (outermost);
  auto *streams = static_cast<FailedStreams *> (
      g_object_get_qdata (G_OBJECT (outermost), streams_quark ()));
  if (!streams && makes) {
    streams = new FailedStreams;
    g_object_set_qdata_full (G_OBJECT (outermost), streams_quark (), streams,
        [] (gpointer data) { delete static_cast<FailedStreams *> (data); });
  }
  GST_OBJECT_UNLOCK (outermost);
  if (streams) {
    const Groups groups = groups_of (element);
    std::lock_guard<std::mutex> guard (streams->lock);
    work (streams->groups, groups);
  }
  gst_object_unref (outermost);
}
} // namespace

void
mark_streams_failed (GstElement *element)
{
  with_failed_streams (element, true, [] (Groups &failed, const Groups &groups) {
    failed.insert (groups.begin (), groups.end ());
  });
}

void
unmark_streams (GstElement *element)
{
  with_failed_streams (element, false, [] (Groups &failed, const Groups &groups) {
    for (guint group : groups)
      failed.erase (group);
  });
}

bool
has_failed_stream (GstElement *element)
{
  bool has_failed = false;
  with_failed_streams (element, false, [&] (Groups &failed, const Groups &groups) {
    has_failed = std::any_of (groups.begin (), groups.end (),
        [&failed] (guint group) { return failed.count (group) > 0; });
  });
  return has_failed;
}
} // namespace opencl
