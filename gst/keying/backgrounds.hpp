/* Backgrounds of greenscreenbin: files, the stream of a pad, or a colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>
#include <gst/opencl/gstopenclmemory.h>

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <string>

/* Conversion to frames that keyfill accepts */
#define TO_FILL                                                                          \
  "openclupload ! openclconvert ! video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY    \
  "),format=RGBA ! queue"

namespace keying {
/* Creates a bin of a description, with ghost pads for its open pads if it has `pads`. Posts
 * a warning if it lacks an element. (transfer floating) (nullable) */
GstElement *parse_bin (gpointer poster, const char *description, bool pads = true);

/* Each background is a bin, whose pad `src` is linked to a pad of keyfill. The highest one
 * that has a frame is shown, and those below it are removed. */
class Backgrounds {
public:
  explicit Backgrounds (gpointer owner) : bin (owner) {}

  /* keyfill, and the transform whose output caps depend on whether there is a background */
  void set_elements (GstElement *keyfill, GstElement *transform);

  /* --- the file --- */

  void set_location (const gchar *location);
  bool has_location ();
  gchar *dup_location (); /* (nullable) */
  /* Restarts a film: its positions are not those of the foreground. */
  void restart_film ();

  /* --- the stream --- */

  /* Makes the bin of a stream, and returns its sink pad: (transfer full) (nullable) */
  GstPad *add_stream ();
  /* The stream is the background as soon as it has a frame. */
  void show_stream ();
  /* Replaces the stream, the target of `pad`, by a new one without frames. */
  void hide_stream (GstPad *pad);
  void remove_stream ();
  /* After GstBin has removed its children */
  void forget_stream ();

  /* --- the colour, and output formats --- */

  void set_color (guint argb);
  /* Returns whether there is nothing behind the foreground. */
  bool are_empty ();
  /* Lets the output have the 4:2:0 format that the element behind the bin prefers, unless
   * the background has alpha, and that element accepts it. */
  void prefer_formats (GstElement *download);

  /* --- the element --- */

  /* Running time of the foreground */
  void set_time (GstClockTime time);
  /* Starts and stops files. */
  void start ();
  void stop ();

  enum class Fate { post, warn, drop };
  /* Sets what becomes of an error of `child`, if that is a background. */
  bool judge_error (GstObject *child, Fate &fate);
  /* Starts and removes backgrounds in another thread. */
  void settle ();

private:
  struct Background {
    Backgrounds *all;
    std::string location; /* empty for a stream */
    guint revision = 0;   /* of the file, for which it was started */
    GstElement *bin = nullptr;
    GstPad *end = nullptr;  /* source pad of the bin; owned */
    GstPad *fill = nullptr; /* (nullable): pad of keyfill, if linked; owned */
    gulong block_probe = 0; /* probe that blocks `end` until then */
    bool is_first = false;  /* set before the start: its failure is an element error */
    bool is_over = false;   /* failed, replaced or unlinked; object lock */
    std::atomic<guint> frames{0};
  };
  using List = std::list<Background *>;

  static GstPadProbeReturn watch (GstPad *end, GstPadProbeInfo *, gpointer data);
  static void settle_now (GstElement *, gpointer data);
  static void dispose (Background *background);
  List present ();
  void count_frame (Background *background);
  Background *add (const char *description);
  Background *new_stream ();
  void link (Background *background);
  void remove (Background *background);
  void add_file (const std::string &path, guint revision, bool is_first);
  bool take_back_location (guint revision);
  bool remove_old ();
  void follow_location (bool is_first);

  bool has_alpha ();
  void narrow_formats (GstQuery *query);
  static GstPadProbeReturn answer_with_preferred_formats (
      GstPad *pad, GstPadProbeInfo *info, gpointer data);

  gpointer const bin;
  GstElement *fill = nullptr, *out = nullptr;
  std::mutex changing;                  /* held while backgrounds change */
  std::atomic<bool> has_started{false}; /* uses files */
  Background *stream = nullptr;         /* (nullable): of the pad; `changing` */
  List list; /* linked to fill, from the lowest; object lock, `changing` */
  std::optional<std::string> location; /* object lock */
  std::optional<std::string>
      shown_location;   /* the last that could be read; object lock */
  guint revision = 0;   /* counts settings and restarts of the file; object lock */
  guint opacity = 0xff; /* of the colour; object lock */
  GstClockTime now = 0; /* running time of the foreground; object lock */
};
} // namespace keying
