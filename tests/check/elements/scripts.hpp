/* Scripts of frames, events and settings, for tables of tests
 *
 * A script is a list of words:
 *
 *   5, 5-9      frame 5, or frames 5 to 9: at that time, with random content of that number
 *   5:2, 5:z    frame at time 5 with the content of frame 2, or with zeros
 *   5!, 5g, 5u  frame with the flag DISCONT or GAP, or without a timestamp
 *   5s          frame with the scan meta of volumes of 5 B-scans
 *   (5-7)       frames whose outputs are discarded
 *   g5          GAP event that stands for frame 5
 *   flush, eos, restart (through READY)
 *   [a=1 b=2]   sets properties of the first element together; [octfft a=1] those of octfft
 *   {CAPS}      sets the caps
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../folder.hpp"
#include "scantext.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/common/npyfile.hpp>

#include <map>

namespace check {
/* Files of a test. "@name" in a setting stands for the path of a file. */
class NamedFiles {
public:
  explicit NamedFiles (const std::map<std::string, std::string> &contents)
  {
    for (const auto &[name, bytes] : contents)
      paths["@" + name] = folder.write (name, bytes);
  }
  std::string put_into (std::string text) const
  {
    /* From the last name on: that of a longer name comes after that of its beginning. */
    for (auto entry = paths.rbegin (); entry != paths.rend (); ++entry)
      for (gsize at; (at = text.find (entry->first)) != std::string::npos;)
        text.replace (at, entry->first.size (), entry->second);
    return text;
  }
  Folder folder;

private:
  std::map<std::string, std::string> paths;
};

/* A .npy file of one dimension */
inline std::string
npy_file (const std::vector<float> &numbers)
{
  return opencl::npy_make_header (opencl::NumberType::f32, false, {numbers.size ()})
         + std::string (reinterpret_cast<const char *> (numbers.data ()),
             numbers.size () * sizeof (float));
}

/* Bytes of a frame of these caps; `content` "z" gives zeros. */
inline Bytes
frame_bytes (const std::string &caps, const std::string &content)
{
  Owned<GstCaps> parsed = gst_caps_from_string (caps.c_str ());
  fail_unless (parsed, "%s", caps.c_str ());
  GstVideoInfo info;
  std::vector<opencl::ArrayFormat> arrays;
  gsize size = 0;
  if (gst_video_info_from_caps (&info, parsed))
    size = info.size;
  else if (opencl::arrays_of_caps (parsed, arrays, nullptr))
    for (const opencl::ArrayFormat &array : arrays)
      size += array.bytes ();
  Bytes bytes (size ? size : 64);
  if (content == "z")
    return bytes;
  std::mt19937 random (guint (atoi (content.c_str ())));
  const bool floats =
      caps.find ("F32LE") != caps.npos || caps.find ("float32") != caps.npos;
  for (gsize at = 0; at + 3 < bytes.size () && floats; at += 4)
    GST_WRITE_FLOAT_LE (&bytes[at], float (random () % 1000) / 8);
  for (gsize at = 0; at < bytes.size () && !floats; at++)
    bytes[at] = guint8 (random ());
  return bytes;
}

struct ScriptOutput {
  std::string caps, scan;
  Bytes bytes;
  GstClockTime time, duration;
  bool discont, corrupted;
};

/* Plays scripts into a chain. */
class ScriptPlayer {
public:
  static constexpr GstClockTime each = GST_SECOND / 50;

  ScriptPlayer (const std::string &line, std::string a_caps)
      : harness (line),
        element (harness.find (line.substr (0, line.find (' ')).c_str ())),
        caps (std::move (a_caps))
  {
  }

  void play (const std::string &script)
  {
    std::string rest =
        script.substr (std::min (script.find_first_not_of (' '), script.size ()));
    while (!rest.empty ()) {
      const char *const ends = rest[0] == '[' ? "]" : rest[0] == '{' ? "}" : " ";
      const gsize end = std::min (rest.find (ends), rest.size ());
      word (rest.substr (0, end));
      rest.erase (0, end + 1);
      rest.erase (0, rest.find_first_not_of (' '));
    }
  }

  std::vector<ScriptOutput> outputs;
  Harness harness;

private:
  void word (const std::string &text)
  {
    if (text[0] == '[') {
      const std::string first = text.substr (1, text.find_first_of (" ]") - 1);
      const bool is_name = first.find ('=') == first.npos && !first.empty ();
      set_together (
          is_name ? harness.find (first.c_str ()).operator->() : element.operator->(),
          text.substr (1 + (is_name ? first.size () : 0)));
      return;
    }
    if (text[0] == '{')
      harness.set_caps (caps = text.substr (1));
    else if (!started)
      harness.set_caps (caps);
    started = true;
    if (text == "flush") {
      harness.flush ();
      harness.start_segment ();
    } else if (text == "eos")
      harness.send (gst_event_new_eos ());
    else if (text == "restart")
      harness.restart (caps);
    else if (text[0] == 'g')
      harness.send (gst_event_new_gap (guint (atoi (&text[1])) * each, each));
    else if (text[0] != '{')
      frames (text);
    collect (text[0] == '(');
  }

  void frames (const std::string &text)
  {
    char *end = nullptr;
    const auto first = guint (g_ascii_strtoull (&text[text[0] == '('], &end, 10));
    const guint last = *end == '-' ? guint (g_ascii_strtoull (end + 1, &end, 10)) : first;
    std::string content, flags = end;
    if (*end == ':') {
      const gsize length = end[1] == 'z' ? 1 : strspn (end + 1, "0123456789");
      content.assign (end + 1, length);
      flags = end + 1 + length;
    }
    for (guint n = first; n <= last; n++) {
      GstBuffer *buffer =
          buffer_of (frame_bytes (caps, content.empty () ? std::to_string (n) : content));
      GST_BUFFER_PTS (buffer) = n * each;
      GST_BUFFER_DURATION (buffer) = each;
      for (char flag : flags)
        mark (buffer, n, flag);
      harness.push (buffer);
    }
  }

  static void mark (GstBuffer *buffer, guint n, char flag)
  {
    if (flag == '!')
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    else if (flag == 'g')
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
    else if (flag == 'u')
      GST_BUFFER_PTS (buffer) = GST_CLOCK_TIME_NONE;
    else if (flag == 's') {
      GstOctScan scan = {};
      scan.frame = n, scan.volume = n / 5, scan.b_scan = n % 5;
      scan.b_scans = 5, scan.repeats = 1;
      gst_buffer_set_oct_scan (buffer, &scan);
    }
  }

  void collect (bool discarded)
  {
    while (const Owned<GstBuffer> buffer = gst_harness_try_pull (harness)) {
      Owned<GstCaps> made = harness.caps ();
      Owned<gchar> made_text = gst_caps_to_string (made);
      if (!discarded)
        outputs.push_back ({made_text.operator->(), scan_text (buffer),
            read_buffer (buffer), GST_BUFFER_PTS (buffer), GST_BUFFER_DURATION (buffer),
            bool (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT)),
            bool (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_CORRUPTED))});
    }
  }

  Owned<GstElement> element;
  std::string caps;
  bool started = false;
};

inline std::vector<ScriptOutput>
outputs_of_script (
    const std::string &line, const std::string &caps, const std::string &script)
{
  ScriptPlayer player (line, caps);
  player.play (script);
  const Outcome messages = player.harness.messages ();
  fail_unless (
      messages.errors.empty (), "%s: %s", script.c_str (), messages.line ().c_str ());
  return player.outputs;
}
} // namespace check
