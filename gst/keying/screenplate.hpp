/* Clean plate: the colour of the screen in each block, also behind the foreground
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/kernel/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/opencl.h>

#include <string>

#include "input/inputformat.hpp"

namespace keying {
enum class Plate {
  none,     /* the key is the screen's colour all over */
  adaptive, /* measured in each frame */
  measured, /* the same, and remembered */
  frozen,   /* as it was measured last */
  file,     /* a picture */
};

GType plate_get_type (void);

/* The key as kernels take it */
struct ScreenKey {
  cl_mem auto_key; /* what is used instead of `color` */
  cl_uint use_auto_key;
  cl_uint color;
  guint revision; /* of what auto_key holds */
  bool linear;    /* colours are light */

  bool operator== (const ScreenKey &other) const
  {
    return use_auto_key == other.use_auto_key && linear == other.linear
           && (use_auto_key ? revision == other.revision : color == other.color);
  }
};

class ScreenPlate {
public:
  /* For frames of `info`. `options`: of kernels for such pixels, of levels and of light */
  bool create (GstOpenCLContext *context, const GstVideoInfo *info,
      const std::string (&options)[2], GError **error);

  /* Before each frame that is keyed softly */
  bool follow (Plate plate, const ScreenKey &key, const GstOpenCLFrame *input,
      cl_command_queue queue, GError **error);
  /* Forgets the measured plate; a frozen one stays. */
  void forget () { remembers = false; }
  /* The picture of Plate::file, of any size and any of these formats */
  bool take_picture (const GstOpenCLFrame *picture, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);
  bool has_picture () const { return has_picture_; }
  void drop_picture () { has_picture_ = false; }

  /* Kernel arguments: colours of blocks, with no columns if the key colour is to be
   * used */
  cl_mem colors () const { return screen (); }
  cl_uint columns () const { return in_force == Plate::none ? 0 : block_columns; }
  cl_uint rows () const { return block_rows; }
  cl_uint block_size () const { return size; }
  /* or a picture, whose lines are of no bytes where there is none */
  cl_mem picture () const { return picture_ () ? picture_ () : screen (); }
  cl_uint picture_stride () const { return in_force == Plate::file ? stride : 0; }

private:
  bool measure (const ScreenKey &key, const GstOpenCLFrame *input, cl_command_queue queue,
      GError **error);
  bool smooth (const ScreenKey &key, const cl::Buffer &blocks, cl_command_queue queue,
      GError **error);
  bool remember (const ScreenKey &key, cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr;
  guint width = 0, height = 0;
  opencl::FrameKernel measure_screen[2], smooth_screen[2]; /* of levels and of light */
  opencl::FrameKernel remember_screen, take_plate;
  cl_uint size = 0, block_columns = 0, block_rows = 0, stride = 0;
  gsize columns_of_picture = 0;
  cl::Buffer measured; /* of each block */
  cl::Buffer across;   /* sums of measured */
  cl::Buffer known;    /* what is remembered of measured */
  cl::Buffer screen;
  cl::Buffer picture_;
  Plate in_force = Plate::none;
  ScreenKey key_in_force = {};
  bool has_screen = false; /* of that key */
  bool remembers = false;
  bool has_picture_ = false;
};
} // namespace keying
