/* Local colours of the screen (clean plate) and of the subject beside its edges, and mattes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../input/inputformat.hpp"
#include <gst/opencl/elements/auxiliarystream.hpp>

#include <gst/common/settings.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclfilter.h>

#include <string>

namespace keying {
/* Source of the clean plate: the colour of the screen in each block, also behind the
 * foreground */
enum class Plate {
  none,     /* the key colour everywhere */
  adaptive, /* measured in each frame */
  measured, /* the same, with memory */
  frozen,   /* last measured plate */
  file,     /* an image */
};

extern const opencl::EnumTypeOf<Plate> plate_type;

/* Key colour as kernel arguments */
struct ScreenKey {
  cl_mem auto_key; /* device buffer, used instead of `color` */
  cl_uint use_auto_key;
  cl_uint color;
  cl_uint tone;   /* second tone of the screen, or 0 */
  guint revision; /* of the colour in auto_key */
  bool linear;    /* colours are in linear light */

  bool operator== (const ScreenKey &other) const
  {
    return use_auto_key == other.use_auto_key && linear == other.linear
           && tone == other.tone
           && (use_auto_key ? revision == other.revision : color == other.color);
  }
};

class ScreenPlate {
public:
  /* `options`: build options of the kernels, for encoded levels and for linear light */
  bool create_kernels (GstOpenCLContext *context, const GstVideoInfo *info,
      const std::string (&options)[2], GError **error);

  /* Updates the plate. Call before each frame of a soft method. */
  bool follow (Plate plate, const ScreenKey &key, const GstOpenCLFrame *input,
      cl_command_queue queue, GError **error);
  /* Forgets the measured plate; a frozen one stays. */
  void forget () { remembers = false; }
  /* Sets the image of Plate::file, of any size and supported format. */
  bool set_image (const GstOpenCLFrame *image, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);
  bool has_image () const { return has_image_; }
  void drop_image () { has_image_ = false; }

  /* Kernel arguments: colours of blocks (0 columns: use the key colour) */
  cl_mem colors () const { return screen (); }
  cl_uint columns () const { return in_force == Plate::none ? 0 : block_columns; }
  cl_uint rows () const { return block_rows; }
  cl_uint block_size () const { return size; }
  /* or an image (stride 0: none) */
  cl_mem image () const { return image_ () ? image_ () : screen (); }
  cl_uint image_stride () const { return in_force == Plate::file ? stride : 0; }

private:
  bool measure (const ScreenKey &key, const GstOpenCLFrame *input, cl_command_queue queue,
      GError **error);
  bool smooth (const ScreenKey &key, const cl::Buffer &blocks, cl_command_queue queue,
      GError **error);
  bool remember (const ScreenKey &key, cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr;
  guint width = 0, height = 0;
  opencl::FrameKernel measure_screen[2], smooth_screen[2]; /* [linear] */
  opencl::FrameKernel remember_screen, scale_plate;
  cl_uint size = 0, block_columns = 0, block_rows = 0, stride = 0;
  gsize image_columns = 0;
  cl::Buffer measured; /* sums of screen samples of each block */
  cl::Buffer across;   /* of measured or known, smoothed along rows */
  cl::Buffer known;    /* remembered sums */
  cl::Buffer screen;
  cl::Buffer image_;
  Plate in_force = Plate::none;
  ScreenKey key_in_force = {};
  bool has_screen = false; /* measured with key_in_force */
  bool remembers = false;
  bool has_image_ = false;
};

/* Colours of the subject beside its edges: kernels/keying/subject.cl */
class SubjectColors {
public:
  /* `options`: build options of the kernels, for encoded levels and for linear light */
  void prepare (GstOpenCLContext *context, const GstVideoInfo *info,
      const std::string (&options)[2]);

  bool make_buffers (GError **error);
  /* Spreads the colours that the kernel measurement () wrote to colors () and block_kinds ().
   * Then blocks () has those beside each block. */
  bool spread (cl_command_queue queue, GError **error);
  opencl::FrameKernel &measurement (bool linear, guint extras)
  {
    return measuring[linear][extras];
  }
  opencl::FrameKernel &comparison (bool linear, guint extras)
  {
    return compare[linear][extras];
  }

  /* Kernel arguments */
  cl_mem colors () const { return measured (); }
  cl_mem block_kinds () const { return kinds (); }
  cl_mem blocks () const { return subject (); }
  cl_int columns () const { return block_columns; }
  cl_int rows () const { return block_rows; }

private:
  GstOpenCLContext *context = nullptr;
  cl_int block_columns = 0, block_rows = 0;
  opencl::FrameKernel measuring[2][2], compare[2][2]; /* [linear][extras] */
  opencl::FrameKernel make_core, spread_across, spread_down;
  cl::Buffer measured, kinds, across, subject; /* made when first needed */
};

/* Garbage matte and holdout matte from auxiliary streams, and a garbage polygon */
class Mattes {
public:
  void prepare (
      GstOpenCLContext *context, const GstVideoInfo *info, const std::string &options);

  /* Takes the mattes of running time `time`. */
  bool follow (GstOpenCLFilter *filter, opencl::AuxiliaryStreams &streams,
      GstClockTime time, cl_command_queue queue, GError **error);
  /* Makes all outside of a polygon garbage, unless it is empty. */
  bool set_polygon (const std::vector<double> &corners, GError **error);
  bool has_any () const
  {
    return garbage.frame.exists () || holdout.frame.exists () || !polygon.empty ();
  }

  /* Applies the mattes to `output`, the keyed `input`. */
  bool apply (const InputFrame &input, const GstOpenCLFrame *output, gdouble opacity,
      cl_command_queue queue, GError **error);

private:
  struct Matte {
    const char *name;
    opencl::AuxiliaryFrame frame;
    cl::Buffer plane;
  };
  bool scale (Matte &matte, const GstOpenCLFrame *frame, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr;
  guint width = 0, height = 0;
  opencl::FrameKernel scale_matte, apply_mattes;
  Matte garbage = {"garbage", {}, {}}, holdout = {"holdout", {}, {}};
  std::vector<double> polygon; /* of `outside` */
  cl::Buffer outside;
};
} // namespace keying
