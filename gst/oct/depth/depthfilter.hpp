/* Common code of the depth filters: caps, settings and groups of frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../octscanmeta.h"
#include "framesequence.hpp"
#include "pendingdepths.hpp"

#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/common/settings.hpp>

#include <memory>
#include <optional>
#include <string>

#define OCT_DEPTH_CAPS(formats)                                                          \
  "application/x-oct(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "                       \
  "domain=(string)depth, format=(string)" formats ", samples=(int)[1, 2147483647], "     \
  "lines=(int)[1, 2147483647], framerate=(fraction)[0/1, 2147483647/1]"
#define OCT_IMAGE_CAPS                                                                   \
  "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "                             \
  "format=(string){GRAY8, GRAY16_LE}, width=(int)[1, 2147483647], "                      \
  "height=(int)[1, 2147483647], framerate=(fraction)[0/1, 2147483647/1]"

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

/* Sets the pixel aspect ratio from the steps between A-lines and depths, if both are
 * known. */
void set_true_scale (GstStructure *image, double line_step, double depth_step);

/* Difference between the input caps and the output caps */
struct DepthChange {
  guint frames = 1;     /* input frames per output frame */
  guint lines = 1;      /* input A-lines per output A-line; all if there are fewer */
  guint parts = 1;      /* output frames per input frame */
  guint dropped = 0;    /* A-lines dropped from each part */
  guint wanted = 0;     /* A-lines of the output; 0: all that remain */
  bool rows = false;    /* A-lines are the rows of raw video */
  double line_step = 0; /* µm; 0: that of the input */
  double b_scan_step = 0;
  bool makes_image = false;       /* the output is an image of the input values */
  bool true_scale = false;        /* set its pixel-aspect-ratio from the steps */
  const char *from = nullptr;     /* required input format; null: any of the template */
  const char *to = nullptr;       /* output format; null: that of the input */
  const char *quantity = nullptr; /* quantity of the output values, if known */

  bool operator== (const DepthChange &other) const;
};

/* Processing of a GstOctDepthFilter. Runs in the streaming thread, except change(). */
class DepthFilter {
public:
  virtual ~DepthFilter () = default;

  /* Returns the change that the properties require. Any thread may call it. */
  virtual DepthChange change () const = 0;
  /* Applies new settings between two frames. Returns whether there were any. Sets
   * `breaks_group` if the frames kept so far cannot be used with them. */
  virtual bool update (bool &breaks_group) = 0;
  /* Applies settings with new caps. Sets `breaks_group` as update() does. */
  virtual bool adopt (bool &breaks_group, GError **error) = 0;
  virtual void stop () = 0;
  /* Releases the objects of prepare(). All enqueued work has finished. */
  virtual void release () = 0;

  /* Creates kernels and work memory for `input`, `output` and the settings in force.
   * Called again after each update. */
  virtual bool prepare (GstOpenCLContext *context, GError **error) = 0;
  /* Forgets earlier frames. */
  virtual void forget () {}
  /* Keeps a frame of a group, other than its last one. `position` is its index. */
  virtual bool keep (
      const GstOpenCLFrame *input, guint position, cl_command_queue queue, GError **error)
  {
    return true;
  }
  /* Returns the number of output frames of a group. */
  virtual guint outputs () { return 1; }
  /* Number of frames after which the state is as at the first frame, for an unknown
   * number of lost frames. */
  virtual guint period () const { return change ().frames; }
  /* Adds metas to the output frame number `index` of a group. */
  virtual void describe (GstBuffer *output, guint index) {}
  virtual bool transform (const GstOpenCLFrame *input, const GstOpenCLFrame *output,
      cl_command_queue queue, GError **error) = 0;
  /* Called after transform(), or instead of it if outputs() is 0. */
  virtual bool finish (
      const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
  {
    return true;
  }

  /* Returns whether an octdisplay can do the work of transform() for the next frame. */
  virtual bool can_defer () const { return false; }
  /* Returns the deferred work, or null with an error. Enqueues only work that cannot
   * wait, because later frames change its state. `reads` tells whether that reads
   * `input`. */
  virtual std::shared_ptr<PendingDepths> defer (
      const GstOpenCLFrame *input, cl_command_queue queue, bool &reads, GError **error)
  {
    return nullptr;
  }
  /* Returns whether show() can do the deferred work of another filter. */
  virtual bool can_merge () const { return false; }
  virtual bool show (PendingDepths &depths, const GstOpenCLFrame *output,
      cl_command_queue queue, GError **error)
  {
    return false;
  }

  DepthLayout input, output;
  std::optional<GstOctScan> scan; /* of the present input frame */
  guint64 frame_number = 0;       /* of the present input frame, including lost frames */
};

/* DepthFilter with the Settings of an element */
template <typename Values> class DepthFilterOf : public DepthFilter {
public:
  DepthFilterOf (gpointer element, opencl::Settings<Values> *settings)
      : base (GST_BASE_TRANSFORM (element)), settings (settings)
  {
  }

  DepthChange change () const override { return change_of (settings->current ()); }

  bool update (bool &breaks_group) override
  {
    if (!settings->is_started ())
      return false;
    return settings->update ([&] (const Values &wanted, GError **error) {
      if (!accepts (wanted, error))
        return false;
      if (!(change_of (wanted) == change_of (in_force))) {
        if (!opencl::is_accepted_downstream (base, outputs_with (wanted), error))
          return false;
        gst_base_transform_reconfigure_src (base);
      }
      breaks_group = breaks (wanted);
      in_force = wanted;
      return true;
    });
  }

  bool adopt (bool &breaks_group, GError **error) override
  {
    const bool started = settings->is_started ();
    auto accept = [this] (const Values &wanted, GError **why) {
      return accepts (wanted, why);
    };
    auto fits = [this] (const Values &wanted) { return change_of (wanted) == change (); };
    if (!settings->adopt (accept, fits, error))
      return false;
    breaks_group = started && breaks (settings->current ());
    in_force = settings->current ();
    return true;
  }

  void stop () override { settings->stop (); }

protected:
  virtual DepthChange change_of (const Values &wanted) const = 0;
  virtual bool check (const Values &wanted, GError **error) const { return true; }
  /* Returns whether frames kept so far cannot be used with `wanted`, or the next output
   * frame does not continue the previous ones. */
  virtual bool breaks (const Values &wanted) const { return false; }

  /* Returns the index of the output frame in its group. For transform(). */
  guint output_index () const
  {
    return gst_opencl_filter_get_output_index (GST_OPENCL_FILTER (base));
  }

  GstOpenCLFilter *element () const { return GST_OPENCL_FILTER (base); }

  Values in_force;

private:
  bool accepts (const Values &wanted, GError **error) const;
  GstCaps *outputs_with (const Values &wanted) const;

  GstBaseTransform *base;
  opencl::Settings<Values> *settings;
};

/* For DepthFilterOf: checks that `change` fits the filter's input and its scan. */
bool check_change (const DepthFilter &filter, const DepthChange &change, GError **error);
/* (transfer full): the output caps for the current input caps */
GstCaps *changed_caps (GstBaseTransform *base, const DepthChange &change);

template <typename Values>
bool
DepthFilterOf<Values>::accepts (const Values &wanted, GError **error) const
{
  return check_change (*this, change_of (wanted), error) && check (wanted, error);
}

template <typename Values>
GstCaps *
DepthFilterOf<Values>::outputs_with (const Values &wanted) const
{
  return changed_caps (base, change_of (wanted));
}
} // namespace oct

/* Base class of filters of depths, of B-scan images and of spectra */
#define GST_TYPE_OCT_DEPTH_FILTER (gst_oct_depth_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOctDepthFilter, gst_oct_depth_filter, GST, OCT_DEPTH_FILTER, GstOpenCLFilter)

struct _GstOctDepthFilterClass {
  GstOpenCLFilterClass parent_class;
};

/* For the instance init of a subclass. Takes ownership of @work. */
void gst_oct_depth_filter_set_work (gpointer filter, oct::DepthFilter *work);
