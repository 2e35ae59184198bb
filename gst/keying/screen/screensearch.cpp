/* Looks for a green or blue screen in the frames of a stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "screensearch.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

#include "../input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/screensearch.cl"

namespace keying {
namespace {
/* Samples per row and column, and work-items of find_screen(), which is one work-group */
const guint samples_across = 128;
const gsize group = 256;
const gsize numbers_found = 13; /* written by find_screen() */
const guint columns_at_side = 4;

/* Number of frames from one look to the next. The result of a look is read at the next
 * one, so that the thread does not wait. A screen is keyed at most 2 × 4 - 1 frames after
 * it appeared. */
const guint64 interval = 4;

/* A frame with this part of it in one green or blue may be a card. */
const gdouble card_share = 7. / 8;

/* Minimum saturation of a screen, (max - min) / max. Excludes white and grey walls in
 * greenish light. */
const gdouble least_saturation = 1. / 5;

/* Maximum differences, relative to the largest component: up to same_screen the key
 * stays, up to steady_light the light counts as steady. Up to `rounding` levels are
 * rounding errors. */
const gdouble same_screen = 1. / 8, steady_light = 1. / 32;
const gint rounding = 2;

/* Returns the time of a frame without a timestamp. */
GstClockTime
time_of_frame (const GstVideoInfo &info, guint64 frame)
{
  const bool has_rate = info.fps_n > 0 && info.fps_d > 0;
  return gst_util_uint64_scale (
      frame, GST_SECOND * (has_rate ? info.fps_d : 1), has_rate ? info.fps_n : 25);
}

/* The second tone reaches both sides of the frame, is even, and ends sharply. Minimum share of
 * it in the samples of each side, and in those of any other tone there; maximum number of
 * samples between both tones, relative to those of the second */
const gdouble least_at_side = 1. / 16, least_even = 0.6, most_between = 0.25;

/* Mean colour of sums and a count */
struct Mean {
  explicit Mean (const cl_uint *numbers)
      : red (mean (numbers[0], numbers[3])), green (mean (numbers[1], numbers[3])),
        blue (mean (numbers[2], numbers[3]))
  {
  }

  static gint mean (cl_uint sum, cl_uint count)
  {
    return gint (
        (2 * guint64 (sum) + count) / std::max (2 * guint64 (count), guint64 (1)));
  }
  guint argb () const
  {
    return 0xff000000 | guint (red) << 16 | guint (green) << 8 | guint (blue);
  }

  gint red, green, blue;
};

struct Found : Mean {
  explicit Found (const cl_uint *numbers)
      : Mean (numbers),
        share (
            is_colored () ? numbers[4] / gdouble (samples_across * samples_across) : 0),
        tone (has_tone (numbers + 5) ? Mean (numbers + 5).argb () : 0)
  {
  }

  static bool has_tone (const cl_uint *numbers)
  {
    const gdouble least = least_at_side * samples_across * columns_at_side;
    return std::min (numbers[4], numbers[5]) >= least
           && numbers[4] + numbers[5] >= least_even * numbers[3]
           && numbers[7] <= most_between * numbers[6]
           && numbers[6] >= ScreenSearch::least_share * samples_across * samples_across;
  }
  gint largest () const { return std::max ({red, green, blue}); }
  bool is_colored () const
  {
    return largest () - std::min ({red, green, blue}) >= least_saturation * largest ();
  }
  bool is_near (guint key, gdouble part) const
  {
    const Color other = color_of_argb (key);
    return std::max ({ABS (red - other.red), ABS (green - other.green),
               ABS (blue - other.blue)})
           <= std::max (gdouble (rounding), part * largest ());
  }

  gdouble share;
  guint tone;
};
} // namespace

bool
ScreenSearch::create_kernels (GstOpenCLContext *context, const InputFormat &of,
    const std::string &options, GError **error)
{
  format = of;
  find_screen.prepare (context, KERNELS, "find_screen",
      options + " -DSEEN=" + std::to_string (samples_across)
          + " -DSIDE=" + std::to_string (columns_at_side));
  return opencl::make_buffer (context, numbers_found * sizeof (cl_uint), found, error)
         && numbers.create_block (context, numbers_found, error);
}

bool
ScreenSearch::begin (guint revision, GError **error)
{
  if (numbers.is_under_way () && !numbers.wait (error))
    return false;
  revision_ = revision;
  frames = 0;
  is_final = false;
  key_ = tone_ = 0;
  share_ = 0;
  return true;
}

/* The first look waits for its result, since the stream may have only one frame. So does
 * the look after one second, since the application is warned if it finds no screen. */
bool
ScreenSearch::next (guint revision, GstClockTime time, GError **error)
{
  if (revision != revision_ && !begin (revision, error))
    return false;
  is_due_ = false;
  if (is_final)
    return true;
  now = GST_CLOCK_TIME_IS_VALID (time) ? time : time_of_frame (format.input (), frames);
  if (frames == 0 || now < started)
    started = looked_at = now; /* the beginning, or a flush */
  const bool overdue =
      !key_ && now - started >= GST_SECOND && missing_for () < GST_SECOND;
  const bool regular = frames % interval == 0;
  waits = frames == 0 || overdue;
  frames++;
  if ((regular || overdue) && numbers.is_under_way () && !learn (error))
    return false;
  is_due_ = (regular || overdue) && !is_final;
  return true;
}

bool
ScreenSearch::look (const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  const GstVideoInfo &info = format.output ();
  is_due_ = false;
  looked_at = now;
  return find_screen.launch_groups (queue, {1, 1, group}, error, format.of (frame),
             cl_uint (info.width), cl_uint (info.height), found ())
         && numbers.read (queue, found (), error) && (!waits || learn (error));
}

bool
ScreenSearch::finish (GError **error)
{
  return !numbers.is_under_way () || learn (error);
}

bool
ScreenSearch::learn (GError **error)
{
  const cl_uint *values = numbers.wait (error);
  if (!values)
    return false;
  const Found screen (values);
  share_ = screen.share;
  if (share_ < least_share)
    return true;
  is_final = key_ && share_ < card_share && screen.is_near (key_, steady_light);
  if (!key_ || !screen.is_near (key_, same_screen)) {
    key_ = screen.argb ();
    tone_ = screen.tone;
  }
  return true;
}
} // namespace keying
