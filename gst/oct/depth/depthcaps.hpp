/* Caps of depths: layout of B-scans, and the caps of the other pad of a filter
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/octcaps.hpp"

#include <string>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
/* Layout of a B-scan, from its caps */
struct DepthLayout {
  bool image = false; /* columns are A-lines; otherwise A-lines are contiguous */
  bool video = false;
  bool swapped = false; /* 16 bits, big-endian */
  bool complex = false;
  bool packed = false; /* samples are packed: values and depths are bytes of an A-line */
  gsize bytes = 0;     /* per value */
  const char *stored = ""; /* type of a value in OpenCL C */
  gsize depths = 0;
  guint first_depth = 0; /* bin of the first depth; 0 if unknown (images) */
  double depth_step = 0; /* µm; 0: unknown */
  gsize lines = 0;
  opencl::Fraction rate = {0, 1};
  std::string quantity; /* field of the caps; empty if unknown */

  gsize size () const { return bytes * depths * lines; }
  /* GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime frame_duration () const
  {
    return rate.numerator > 0
               ? gst_util_uint64_scale_int (GST_SECOND, rate.denominator, rate.numerator)
               : GST_CLOCK_TIME_NONE;
  }
};

/* A-lines are the columns of raw video, or its rows with `rows` (spectra). */
bool parse_depth_layout (const GstCaps *caps, bool rows, DepthLayout &layout);

/* Checks that offset and stride are multiples of `bytes`, the size of a value. */
bool check_frame_alignment (const GstOpenCLFrame *frame, gsize bytes, GError **error);

/* Difference between the input caps and the output caps */
struct CapsChange {
  guint frames = 1;     /* input frames per output frame */
  guint lines = 1;      /* input A-lines per output A-line; all if there are fewer */
  guint parts = 1;      /* output frames per input frame */
  guint dropped = 0;    /* A-lines dropped from each part */
  guint wanted = 0;     /* A-lines of the output; 0: all that remain */
  bool rows = false;    /* A-lines are the rows of raw video */
  double line_step = 0; /* µm; 0: that of the input */
  double b_scan_step = 0;
  bool makes_image = false;       /* the output is an image of the input values */
  bool colours = false;           /* or an image in colour, if downstream wants that */
  bool true_scale = false;        /* set its pixel-aspect-ratio from the steps */
  const char *from = nullptr;     /* required input format; null: any of the template */
  const char *to = nullptr;       /* output format; null: that of the input */
  const char *quantity = nullptr; /* quantity of the output values, if known */

  bool operator== (const CapsChange &other) const;
};

/* (transfer full): caps of the output, or else of the input, as far as `filter`
 * (nullable) allows */
GstCaps *other_side (const GstCaps *caps, const CapsChange &change, bool to_output,
    GstCaps *filter = nullptr);
} // namespace oct
