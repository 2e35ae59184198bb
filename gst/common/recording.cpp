/* Writes frames of video, OCT data and arrays to files, for sinks
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "recording.hpp"

#include <gst/common/buffers.hpp>
#include <gst/common/videoformats.hpp>

#include <algorithm>
#include <cstdlib>

namespace opencl {
/* --- growing files --- */

bool
GrowingFile::create_file (const std::string &location, const std::string &suffix,
    MakeHeader a_make_header, bool is_growing, GError **error)
{
  std::string header;

  abandon ();
  make_header = std::move (a_make_header);
  growing = is_growing;
  written = 0;
  if (!make_header (growing ? 0 : 1, header, error)
      || !file.create_file (location, suffix, error))
    return false;
  end = header.size ();
  return file.write (0, header.data (), header.size (), error);
}

/* Writes the frame first, so that the header never counts a missing frame. */
bool
GrowingFile::write_frame (const guint8 *data, gsize size, GError **error)
{
  std::string header;
  if (growing && !make_header (written + 1, header, error))
    return false;
  return file.write (end, data, size, error)
         && file.write (0, header.data (), header.size (), error);
}

bool
GrowingFile::append (const guint8 *data, gsize size, GError **error)
{
  if (!write_frame (data, size, error)) {
    /* Removes an incomplete frame. The file is valid even if this fails. */
    file.truncate (end);
    if (growing && written > 0)
      g_prefix_error (error, "%s has %" G_GUINT64_FORMAT " complete frames; ",
          file.name ().c_str (), written);
    return false;
  }
  end += size;
  written++;
  return true;
}

/* --- file names --- */

/* Finds the `%d`, `%5d` or `%05d` in the file name of a location. Returns false if there
 * is none. */
static bool
find_counter (const std::string &location, gsize &begin, gsize &end)
{
  begin = begin_of_name (location);
  for (; (begin = location.find ('%', begin)) != std::string::npos; begin++) {
    end = location.find_first_not_of ("0123456789", begin + 1);
    if (end != std::string::npos && location[end] == 'd' && end - begin < 5) {
      end++;
      return true;
    }
  }
  return false;
}

static bool
is_for_each_frame (const std::string &location)
{
  gsize begin, end;
  return find_counter (location, begin, end);
}

/* Returns the file name of a frame. It may contain other `%` sequences than `%d`, so this
 * does not use printf(). */
static std::string
location_of (const std::string &location, guint frame)
{
  gsize begin, end;
  if (!find_counter (location, begin, end))
    return location;
  const std::string width = location.substr (begin + 1, end - begin - 2);
  std::string number = std::to_string (frame);
  const gsize digits = gsize (atoi (width.c_str ()));
  if (number.size () < digits)
    number.insert (0, digits - number.size (), width[0] == '0' ? '0' : ' ');
  return location.substr (0, begin) + number + location.substr (end);
}

std::string
extension_of (const std::string &location)
{
  const gsize point = location.rfind ('.');
  return point == std::string::npos || point < begin_of_name (location)
             ? ""
             : location.substr (point);
}

bool
Recording::start ()
{
  std::string target;
  GError *error = nullptr;

  if (resolve_target (location_of (location, 0), target, &error))
    return true;
  fail (error);
  return false;
}

/* --- caps --- */

bool
Recording::read_caps (GstCaps *caps, FrameFormat &format, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  ArrayFormat array;

  is_video = gst_structure_has_name (structure, "video/x-raw");
  const bool known =
      is_video ? video_info_of_caps (caps, info) && array_of_video (&info, array, error)
               : array_of_caps (caps, array, error);
  if (!known)
    return false;
  format.type = array.type;
  format.shape = array.shape;
  format.complex =
      g_strcmp0 (gst_structure_get_string (structure, "format"), "CF32LE") == 0;
  if (format.complex) /* real and imaginary part */
    format.shape.pop_back ();
  return true;
}

bool
Recording::set_caps (GstCaps *caps)
{
  FrameFormat wanted;
  GError *error = nullptr;

  if (!read_caps (caps, wanted, &error)) {
    if (error)
      fail (error);
    return false;
  }
  FrameFormat whole = wanted;
  if (joins_arrays && !is_video && !first.shape.empty () && !whole.shape.empty ())
    whole.shape[0] = std::max (whole.shape[0], first.shape[0]);
  if (file.is_open () && whole != first) {
    fail (g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "%s has frames of another shape or type: use %%d in location to write one file a "
        "frame",
        location.c_str ()));
    return false;
  }
  joined = joined || (file.is_open () && wanted != first);
  format = wanted;
  return true;
}

/* --- frames --- */

bool
Recording::write_frame (const guint8 *data, gsize size, GError **error)
{
  const bool each = is_for_each_frame (location);

  if (!file.is_open ())
    first = format;
  elements += format.shape.empty () ? 0 : format.shape[0];
  if (!file.is_open ()
      && !file.create_file (
          location_of (location, frames), suffix,
          [this, each] (guint64 count, std::string &header, GError **why) {
            FrameFormat all = format;
            if (joined)
              all.shape.erase (all.shape.begin ());
            return make_header (all, !each, joined ? elements : count, header, why);
          },
          !each, error))
    return false;
  if (!file.append (data, size, error))
    return false;
  frames++;
  return !each || file.finish (error);
}

/* A memory whose transfer failed may map with a size of 0, after its owner has posted the
 * error. Then this returns false without another. */
static bool
has_contents (const GstMapInfo &map)
{
  return map.size > 0;
}

bool
Recording::write_video (GstBuffer *buffer, GError **error)
{
  const ArrayFormat array = {format.type, format.shape};
  const gsize lines = array.shape[0], line = array.bytes () / lines;
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "Cannot map a frame of %" G_GSIZE_FORMAT " bytes", gst_buffer_get_size (buffer));
    return false;
  }
  auto *data = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
  const gsize stride = gsize (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0));
  if (stride != line) {
    rows.resize (line * lines);
    for (gsize y = 0; y < lines; y++)
      std::copy_n (data + y * stride, line, rows.data () + y * line);
    data = rows.data ();
  }
  const bool written =
      has_contents (frame.map[0]) && write_frame (data, line * lines, error);
  gst_video_frame_unmap (&frame);
  return written;
}

bool
Recording::write_array (GstBuffer *buffer, GError **error)
{
  const gsize bytes = format.bytes ();
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "Cannot map an array of %" G_GSIZE_FORMAT " bytes", gst_buffer_get_size (buffer));
    return false;
  }
  const bool written = has_contents (map) && write_frame (map.data, bytes, error);
  gst_buffer_unmap (buffer, &map);
  return written;
}

GstFlowReturn
Recording::render (GstBuffer *buffer)
{
  const gsize has = gst_buffer_get_size (buffer);
  const gsize needed = is_video ? GST_VIDEO_INFO_SIZE (&info) : 0;
  GError *error = nullptr;

  if (failed)
    return GST_FLOW_ERROR;
  if (is_one_frame (buffer, is_video ? &info : nullptr, format.bytes (), &error)
      && has < needed && !gst_buffer_get_video_meta (buffer))
    refuse_frame_size (has, "at least ", needed, &error);
  if (error) {
    error = drop_invalid_frame (sink, n_invalid, error);
    return error ? fail (error) : GST_FLOW_OK;
  }
  n_invalid = 0;
  const bool written =
      is_video ? write_video (buffer, &error) : write_array (buffer, &error);
  return written ? GST_FLOW_OK : fail (error);
}

/* --- errors and end of stream --- */

GstFlowReturn
Recording::fail (GError *error, const Place &place)
{
  failed = true;
  file.abandon ();
  if (error)
    post_element_error (sink, error->domain, error->code, error, place);
  return GST_FLOW_ERROR;
}

void
Recording::finish ()
{
  GError *error = nullptr;

  if (!file.is_open () || failed)
    return;
  if (file.frames () == 0)
    file.abandon ();
  else if (!file.finish (&error))
    fail (error);
}

void
Recording::end ()
{
  finish ();
  if (frames == 0 && !failed)
    GST_ELEMENT_WARNING (sink, STREAM, FAILED,
        ("%s: no frame arrived until the end, so %s was not written",
            GST_OBJECT_NAME (sink), location.c_str ()),
        (nullptr));
}
} // namespace opencl
