/* Backgrounds of greenscreenbin: files, the stream of a pad, or a colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "backgrounds.hpp"

#include <gst/base/gstbasetransform.h>
#include <gst/common/elementbin.hpp>
#include <gst/common/elementerror.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/platform.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>
#include <utility>

#define ON_DEVICE "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
/* Preferred formats of opaque output. From RGB, videoconvert and encoders make 4:4:4
 * video, which many players do not show. */
#define PREFERRED_FORMATS "video/x-raw, format={I420, NV12}"
#define ALPHA_FORMATS                                                                    \
  "video/x-raw, format={RGBA, BGRA, ARGB, ABGR, AYUV, VUYA, A420, GBRA, RGBA64_LE, "     \
  "ARGB64, AYUV64}"

using opencl::ObjectLock;

namespace keying {
static const char file_description[] =
    "filesrc name=source ! decodebin name=decoder async-handling=true "
    "expose-all-streams=false caps=\"video/x-raw(ANY)\" ! videoconvert ! " TO_FILL;

GstElement *
parse_bin (gpointer poster, const char *description, bool pads)
{
  GError *error = nullptr;
  GstElement *made = gst_parse_bin_from_description_full (
      description, pads, nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!made)
    GST_ELEMENT_WARNING (poster, CORE, MISSING_PLUGIN, ("%s", error->message), (nullptr));
  g_clear_error (&error);
  return made;
}

void
Backgrounds::set_elements (GstElement *keyfill, GstElement *transform)
{
  fill = keyfill;
  out = transform;
}

void
Backgrounds::set_time (GstClockTime time)
{
  ObjectLock lock (bin);
  now = GST_CLOCK_TIME_IS_VALID (time) ? time : now;
}

Backgrounds::List
Backgrounds::present ()
{
  ObjectLock lock (bin);
  return list;
}

/* --- one background --- */

/* Counts the frames. A file starts at the time of its first frame. */
GstPadProbeReturn
Backgrounds::watch (GstPad *, GstPadProbeInfo *, gpointer data)
{
  auto *background = static_cast<Background *> (data);
  if (background->frames++ == 0)
    background->all->count_frame (background);
  return GST_PAD_PROBE_PASS;
}

void
Backgrounds::count_frame (Background *background)
{
  GstClockTime begin;
  {
    ObjectLock lock (bin);
    begin = now;
    if (!background->location.empty () && location)
      shown_location = background->location;
  }
  if (!background->location.empty ())
    gst_pad_set_offset (background->end, gint64 (begin));
  settle ();
}

/* Adds the bin of a background, whose state is locked until it starts: (nullable) */
Backgrounds::Background *
Backgrounds::add (const char *description)
{
  const bool is_file = description == file_description;
  GstElement *made = parse_bin (bin, description, !is_file);
  if (!made)
    return nullptr;
  if (is_file) { /* the pad that waits for decodebin stays inside */
    GstPad *end = gst_bin_find_unlinked_pad (GST_BIN (made), GST_PAD_SRC);
    gst_element_add_pad (made, gst_ghost_pad_new ("src", end));
    gst_object_unref (end);
  }
  auto *background = new Background{this};
  background->bin = made;
  background->end = gst_element_get_static_pad (made, "src");
  gst_pad_add_probe (background->end,
      GstPadProbeType (GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER), watch,
      background, nullptr);
  gst_element_set_locked_state (made, TRUE);
  gst_bin_add (GST_BIN (bin), made);
  return background;
}

/* Links a background on top of the others. It is shown once it has a frame. */
void
Backgrounds::link (Background *background)
{
  static std::atomic<guint> number{0};
  const std::string name = "background_" + std::to_string (number++);
  background->fill = gst_element_request_pad_simple (fill, name.c_str ());
  gst_pad_link (background->end, background->fill);
  {
    ObjectLock lock (bin);
    list.push_back (background);
  }
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (out));
}

void
Backgrounds::dispose (Background *background)
{
  gst_clear_object (&background->fill);
  gst_clear_object (&background->end);
  delete background;
}

/* decodebin may stop while it finds the type of the file. Its type finder then pushes data
 * on a pad that is no longer in push mode, which GStreamer reports as a critical fault. So
 * the file is unlinked before. After an error decodebin refuses to stop with its bin. */
static void
stop_decoder (GstElement *file)
{
  GstElement *source = gst_bin_get_by_name (GST_BIN (file), "source");
  GstElement *decoder = gst_bin_get_by_name (GST_BIN (file), "decoder");
  if (decoder && decoder->numsrcpads == 0)
    gst_element_unlink (source, decoder);
  if (decoder) {
    gst_element_set_locked_state (decoder, TRUE);
    gst_element_set_state (decoder, GST_STATE_NULL);
  }
  gst_clear_object (&source);
  gst_clear_object (&decoder);
}

/* Releases the pad of keyfill first, since a frame may be blocked in it. Errors of the bin
 * are dropped until it is removed. */
void
Backgrounds::remove (Background *background)
{
  {
    ObjectLock lock (bin);
    background->is_over = true;
  }
  gst_element_set_locked_state (background->bin, TRUE);
  if (background->fill)
    gst_element_release_request_pad (fill, background->fill);
  stop_decoder (background->bin);
  opencl::remove_from_bin (bin, background->bin);
  {
    ObjectLock lock (bin);
    list.remove (background);
  }
  dispose (background);
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (out));
}

/* --- the file --- */

/* A bin starts its elements from the sinks on. Until decodebin has a source pad it counts
 * as a sink, so the elements behind it are started here, before it. */
static void
start_file (GstElement *file)
{
  for (GList *child = GST_BIN_CHILDREN (file); child; child = child->next) {
    const gchar *name = GST_OBJECT_NAME (child->data);
    if (!g_str_equal (name, "source") && !g_str_equal (name, "decoder"))
      gst_element_set_state (GST_ELEMENT (child->data), GST_STATE_PAUSED);
  }
  gst_element_set_locked_state (file, FALSE);
  gst_element_sync_state_with_parent (file);
}

/* Starts a file above the present background. */
void
Backgrounds::add_file (const std::string &path, guint of_revision, bool is_first)
{
  Background *file = add (file_description);
  if (!file)
    return;
  GstElement *source = gst_bin_get_by_name (GST_BIN (file->bin), "source");
  GError *error = nullptr;
  g_object_set (source, "location", path.c_str (), nullptr);
  file->location = path;
  file->revision = of_revision;
  file->is_first = is_first;
  /* Its changes of state are not those of the pipeline, which may change its own. */
  g_object_set (file->bin, "async-handling", TRUE, nullptr);
  link (file);
  if (opencl::check_regular (path, &error))
    start_file (file->bin);
  else
    opencl::post_element_error (source, error->domain, error->code, error);
  gst_object_unref (source);
}

/* Forgets a file that could not be read, unless another one was set since. Returns whether
 * the property has changed. */
bool
Backgrounds::take_back_location (guint of_revision)
{
  ObjectLock lock (bin);
  if (revision != of_revision)
    return false;
  location = shown_location;
  for (Background *file : list)
    file->revision = revision;
  return true;
}

/* Removes failed and replaced backgrounds: all below the highest that has a frame. Returns
 * whether the location has changed. */
bool
Backgrounds::remove_old ()
{
  List all = present ();
  bool is_covered = false, has_changed = false;
  for (auto entry = all.rbegin (); entry != all.rend (); ++entry) {
    Background *background = *entry;
    const guint of_revision = background->revision;
    const bool has_frame = background->frames > 0, has_failed = background->is_over;
    if (background != stream && (is_covered || has_failed)) {
      remove (background);
      has_changed |= has_failed && take_back_location (of_revision);
    } else if (has_frame) {
      is_covered = true;
    }
  }
  return has_changed;
}

/* Starts or removes files, so that the background becomes the one that was set. Call with
 * `changing` held. */
void
Backgrounds::follow_location (bool is_first)
{
  const bool has_stream = stream && stream->fill;
  const List all = present ();
  std::optional<std::string> wanted;
  guint latest;
  {
    ObjectLock lock (bin);
    latest = revision;
    if (!has_stream)
      wanted = location;
  }
  const bool is_new = wanted && (all.empty () || all.back ()->revision != latest);
  for (Background *file : all) {
    const bool is_unread = file->frames == 0;
    if (file != stream && (is_new ? is_unread : !wanted && !has_stream))
      remove (file);
  }
  if (is_new)
    add_file (*wanted, latest, is_first);
}

void
Backgrounds::settle_now (GstElement *, gpointer data)
{
  auto *self = static_cast<Backgrounds *> (data);
  bool has_changed = false;
  {
    std::lock_guard<std::mutex> guard (self->changing);
    if (self->has_started) {
      has_changed = self->remove_old ();
      self->follow_location (false);
    }
  }
  if (has_changed)
    g_object_notify (G_OBJECT (self->bin), "background-location");
}

void
Backgrounds::settle ()
{
  if (has_started)
    gst_element_call_async (GST_ELEMENT (bin), settle_now, this, nullptr);
}

void
Backgrounds::restart_film ()
{
  {
    ObjectLock lock (bin);
    if (list.empty () || list.back ()->frames <= 1)
      return;
    revision++;
  }
  settle ();
}

void
Backgrounds::set_location (const gchar *path)
{
  const std::optional<std::string> wanted =
      path ? std::make_optional<std::string> (path) : std::nullopt;
  {
    ObjectLock lock (bin);
    location = wanted;
    if (!path)
      shown_location.reset ();
    revision++;
  }
  settle ();
}

bool
Backgrounds::has_location ()
{
  ObjectLock lock (bin);
  return location.has_value ();
}

gchar *
Backgrounds::dup_location ()
{
  ObjectLock lock (bin);
  return location ? g_strdup (location->c_str ()) : nullptr;
}

/* keyfill must have started, so that the pads that it gets are active. */
void
Backgrounds::start ()
{
  std::lock_guard<std::mutex> guard (changing);
  set_time (0);
  if (stream)
    stream->frames = 0;
  has_started = true;
  if (has_location ())
    gst_element_set_state (fill, GST_STATE_PAUSED);
  follow_location (true);
}

void
Backgrounds::stop ()
{
  std::lock_guard<std::mutex> guard (changing);
  has_started = false;
  for (Background *file : present ())
    if (file != stream)
      remove (file);
}

bool
Backgrounds::judge_error (GstObject *child, Fate &fate)
{
  ObjectLock lock (bin);
  const auto found = std::find_if (list.begin (), list.end (),
      [&] (Background *background) { return GST_OBJECT (background->bin) == child; });
  if (found == list.end ())
    return false;
  Background *background = *found;
  if (background->is_over) {
    fate = Fate::drop;
  } else if (background->frames == 0 && !background->is_first) {
    background->is_over = true;
    fate = Fate::warn;
  } else {
    fate = Fate::post;
  }
  return true;
}

/* --- the stream --- */

static GstPadProbeReturn
block (GstPad *, GstPadProbeInfo *, gpointer)
{
  return GST_PAD_PROBE_OK;
}

/* Makes the bin of a stream that is not linked yet: (nullable) */
Backgrounds::Background *
Backgrounds::new_stream ()
{
  Background *made = add (TO_FILL);
  if (!made)
    return nullptr;
  made->block_probe = gst_pad_add_probe (
      made->end, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, block, nullptr, nullptr);
  gst_element_set_locked_state (made->bin, FALSE);
  gst_element_sync_state_with_parent (made->bin);
  return made;
}

GstPad *
Backgrounds::add_stream ()
{
  std::lock_guard<std::mutex> guard (changing);
  stream = new_stream ();
  return stream ? gst_element_get_static_pad (stream->bin, "sink") : nullptr;
}

void
Backgrounds::show_stream ()
{
  std::lock_guard<std::mutex> guard (changing);
  if (!stream || stream->fill)
    return;
  link (stream);
  gst_pad_remove_probe (stream->end, stream->block_probe);
}

void
Backgrounds::hide_stream (GstPad *pad)
{
  {
    std::lock_guard<std::mutex> guard (changing);
    Background *before = stream, *next = before->fill ? new_stream () : nullptr;
    if (next) {
      GstPad *target = gst_element_get_static_pad (next->bin, "sink");
      gst_ghost_pad_set_target (GST_GHOST_PAD (pad), target);
      gst_object_unref (target);
      stream = next;
      remove (before);
    }
  }
  settle ();
}

void
Backgrounds::remove_stream ()
{
  {
    std::lock_guard<std::mutex> guard (changing);
    remove (std::exchange (stream, nullptr));
  }
  settle ();
}

void
Backgrounds::forget_stream ()
{
  list.remove (stream);
  dispose (std::exchange (stream, nullptr));
}

/* --- formats --- */

void
Backgrounds::set_color (guint argb)
{
  if (!fill || !out)
    return;
  g_object_set (fill, "color", argb, nullptr);
  {
    ObjectLock lock (bin);
    opacity = argb >> 24;
  }
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (out));
}

bool
Backgrounds::has_alpha ()
{
  ObjectLock lock (bin);
  return opacity != 0xff && list.empty ();
}

bool
Backgrounds::are_empty ()
{
  ObjectLock lock (bin);
  return opacity == 0 && list.empty ();
}

static bool
accepts_any_of (GstCaps *accepted, const char *formats)
{
  GstCaps *caps = gst_caps_from_string (formats);
  const bool accepts = gst_caps_can_intersect (accepted, caps);
  gst_caps_unref (caps);
  return accepts;
}

/* Returns the PREFERRED_FORMATS that the element behind `source` prefers, as caps on the
 * device, or EMPTY. videoconvert lists the formats of the element behind it first, and
 * then all that it converts. So a consumer of full chroma, such as pngenc, keeps full
 * chroma. (transfer full) */
static GstCaps *
find_preferred_formats (GstPad *source, bool has_alpha)
{
  GstCaps *best = gst_caps_truncate (gst_pad_peer_query_caps (source, nullptr));
  GstCaps *preferred = gst_caps_from_string (PREFERRED_FORMATS);
  GstCaps *both = gst_caps_intersect (best, preferred);
  GstCaps *found = gst_caps_new_empty ();

  if (!gst_caps_is_empty (both) && !(has_alpha && accepts_any_of (best, ALPHA_FORMATS))) {
    gst_caps_append (found, gst_caps_from_string (ON_DEVICE));
    gst_caps_set_value (found, "format",
        gst_structure_get_value (gst_caps_get_structure (both, 0), "format"));
  }
  gst_caps_unref (both);
  gst_caps_unref (preferred);
  gst_caps_unref (best);
  return found;
}

/* Leaves only these formats in the answer to a CAPS query, if it has any of them. */
void
Backgrounds::narrow_formats (GstQuery *query)
{
  GstPad *source = gst_element_get_static_pad (GST_ELEMENT (bin), "src");
  opencl::narrow_answer (query, find_preferred_formats (source, has_alpha ()));
  gst_object_unref (source);
}

/* Narrows the formats that the transform finds behind it. ACCEPT_CAPS is answered alike: a
 * transform keeps its input's format if that is accepted. */
GstPadProbeReturn
Backgrounds::answer_with_preferred_formats (
    GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstCaps *asked;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    static_cast<Backgrounds *> (data)->narrow_formats (query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_ACCEPT_CAPS) {
    GstCaps *narrowed = gst_pad_query_caps (pad, nullptr);
    gst_query_parse_accept_caps (query, &asked);
    if (!gst_caps_can_intersect (asked, narrowed))
      gst_query_set_accept_caps_result (query, FALSE);
    gst_caps_unref (narrowed);
  }
  return GST_PAD_PROBE_OK;
}

void
Backgrounds::prefer_formats (GstElement *download)
{
  GstPad *sink = gst_element_get_static_pad (download, "sink");
  gst_pad_add_probe (sink,
      GstPadProbeType (GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL),
      answer_with_preferred_formats, this, nullptr);
  gst_object_unref (sink);
}
} // namespace keying
