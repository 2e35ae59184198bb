/* Looks for a green or blue screen in the frames of a stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../input/inputformat.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <string>

namespace keying {
/* Asynchronous read-back of numbers that a kernel wrote, counted in the statistics */
class ReadBack : private opencl::ReadBack {
public:
  using opencl::ReadBack::create_block;
  using opencl::ReadBack::is_under_way;

  bool read (cl_command_queue queue, cl_mem from, GError **error)
  {
    if (!opencl::ReadBack::read (queue, from, error))
      return false;
    gst_opencl_count_download (bytes ());
    return true;
  }

  const cl_uint *wait (GError **error)
  {
    if (!has_ended ())
      gst_opencl_count_host_wait ();
    return opencl::ReadBack::wait (error);
  }
};

/* Finds the key colour of auto-key=screen. Until a frame has enough screen there is none.
 * Then the key follows the screen until it is final: until two looks agree on the colour
 * and the frame shows more than the screen. So a fade-in does not leave the key dark, and
 * the screen still replaces a card of one colour that was shown before it. */
class ScreenSearch {
public:
  /* Minimum part of the frame that must have the same green or blue */
  static constexpr gdouble least_share = 1. / 16;

  bool create_kernels (GstOpenCLContext *context, const InputFormat &format,
      const std::string &options, GError **error);

  /* Call before each frame. `time`: its running time. A new `revision` begins a new
   * search. */
  bool next (guint revision, GstClockTime time, GError **error);
  /* Returns true if look() must be called with this frame. */
  bool is_due () const { return is_due_; }
  bool look (const GstOpenCLFrame *frame, cl_command_queue queue, GError **error);
  /* Waits for the result of the last look. */
  bool finish (GError **error);

  /* 0xffRRGGBB, or 0 while no frame has had enough screen */
  guint key () const { return key_; }
  /* The same for its second tone, such as that of a floor. 0: it has none. */
  guint tone () const { return tone_; }
  /* Part of the frame with that colour, at the last look whose result is known */
  gdouble share () const { return share_; }
  /* Time without a screen until the last look */
  GstClockTime missing_for () const { return looked_at - started; }
  bool has_begun () const { return frames > 0; }

private:
  bool begin (guint revision, GError **error);
  bool learn (GError **error);

  InputFormat format;
  opencl::FrameKernel find_screen;
  cl::Buffer found;
  ReadBack numbers;
  guint revision_ = 0;
  guint64 frames = 0; /* of this search */
  GstClockTime started = 0, now = 0, looked_at = 0;
  bool is_due_ = false;
  bool waits = false; /* for the result of this look */
  bool is_final = false;
  guint key_ = 0, tone_ = 0;
  gdouble share_ = 0;
};
} // namespace keying
