/* Common code of the depth filters: caps, settings and groups of frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../octscanmeta.h"
#include "framesequence.hpp"
#include "pendingdepths.hpp"

#include <gst/opencl/opencl-private.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/common/settings.hpp>

#include <memory>
#include <optional>
#include <string>

#define OCT_DEPTH_CAPS(formats)                                                          \
  "application/x-oct(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "                       \
  "domain=(string)depth, format=(string)" formats ", samples=(int)[1, 2147483647], "     \
  "lines=(int)[1, 2147483647], framerate=(fraction)[0/1, 2147483647/1]"
#define OCT_PICTURE_CAPS                                                                 \
  "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "                             \
  "format=(string){GRAY8, GRAY16_LE}, width=(int)[1, 2147483647], "                      \
  "height=(int)[1, 2147483647], framerate=(fraction)[0/1, 2147483647/1]"

namespace oct {
/* A B-scan, as its caps say. */
struct DepthLayout {
  bool picture = false; /* a column an A-line, else an A-line after the other */
  bool video = false;
  bool swapped = false; /* of 16 bits, the higher byte first */
  bool complex = false;
  bool packed = false; /* values are bytes, of which an A-line has as many as it takes */
  gsize bytes = 0;     /* of a value */
  const char *stored = ""; /* its type in a kernel */
  gsize depths = 0;
  guint first_depth = 0; /* bin of the first one; of pictures not known */
  gsize lines = 0;
  opencl::Fraction rate = {0, 1};
  std::string quantity; /* quantity of the numbers, if known */

  gsize size () const { return bytes * depths * lines; }
  /* GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime frame_duration () const
  {
    return rate.numerator > 0
               ? gst_util_uint64_scale_int (GST_SECOND, rate.denominator, rate.numerator)
               : GST_CLOCK_TIME_NONE;
  }
};

/* Raw video is pictures, or with `rows` spectra: a row an A-line. */
bool parse_depth_layout (const GstCaps *caps, bool rows, DepthLayout &layout);

/* Returns an error if values of `bytes` bytes are not aligned to that size. */
bool check_places (const GstOpenCLFrame *frame, gsize bytes, GError **error);

/* Returns the pixel aspect ratio for the steps between A-lines and depths, if both are
 * known. */
void set_true_scale (GstStructure *picture, double line_step, double depth_step);

/* How the caps of the output follow from those of the input. */
struct DepthChange {
  guint frames = 1;     /* of the input for one of the output */
  guint lines = 1;      /* likewise; of a frame that has fewer, all */
  guint parts = 1;      /* of a frame, of which each is one of the output */
  guint dropped = 0;    /* lines of each of those */
  guint wanted = 0;     /* lines of the output, 0: all that remain */
  bool rows = false;    /* of raw video are A-lines */
  double line_step = 0; /* µm, 0: as those of the input */
  double b_scan_step = 0;
  bool shows = false;             /* the output is a picture of numbers */
  bool true_scale = false;        /* with the pixel-aspect-ratio that the steps make */
  const char *from = nullptr;     /* format that is needed, null: any of the template's */
  const char *to = nullptr;       /* format of the output, null: as the input's */
  const char *quantity = nullptr; /* quantity of those numbers, if known */

  bool operator== (const DepthChange &other) const;
};

/* The work of a GstOctDepthFilter. All run in the streaming thread, but for change(). */
class DepthFilter {
public:
  virtual ~DepthFilter () = default;

  /* As set; any thread. */
  virtual DepthChange change () const = 0;
  /* Between two frames. Returns whether other settings are in force; `broken` is set where
   * frames kept so far are of no use with them. */
  virtual bool update (bool &broken) = 0;
  /* With new caps; `broken` likewise. */
  virtual bool adopt (bool &broken, GError **error) = 0;
  virtual void stop () = 0;
  /* Releases the objects of prepare(). All enqueued work has finished. */
  virtual void release () = 0;

  /* Kernels and work memory for `input` and `output`, with what is in force; also after
   * an update. */
  virtual bool prepare (GstOpenCLContext *context, GError **error) = 0;
  /* Forgets earlier frames. */
  virtual void forget () {}
  /* A frame that is not the last of those that one comes of. `position` counts them. */
  virtual bool keep (
      const GstOpenCLFrame *input, guint position, cl_command_queue queue, GError **error)
  {
    return true;
  }
  /* How many come of the last of those. */
  virtual guint outputs () { return 1; }
  /* Number of frames after which the state is as at the first frame, for an unknown
   * number of lost frames. */
  virtual guint period () const { return change ().frames; }
  /* Adds metas to the output with index `index` of its input. */
  virtual void describe (GstBuffer *output, guint index) {}
  virtual bool transform (const GstOpenCLFrame *input, const GstOpenCLFrame *output,
      cl_command_queue queue, GError **error) = 0;
  /* After transform(), or in its place where outputs() is 0. */
  virtual bool finish (
      const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
  {
    return true;
  }

  /* Whether what transform() would do with the next frame can be left to an octdisplay. */
  virtual bool can_defer () const { return false; }
  /* Enqueues only what the next frames would change, and says whether that reads `input`;
   * null with an error set. */
  virtual std::shared_ptr<PendingDepths> defer (
      const GstOpenCLFrame *input, cl_command_queue queue, bool &reads, GError **error)
  {
    return nullptr;
  }
  /* Whether such work is taken up here; a frame comes to show() then. */
  virtual bool can_merge () const { return false; }
  virtual bool show (PendingDepths &depths, const GstOpenCLFrame *output,
      cl_command_queue queue, GError **error)
  {
    return false;
  }

  DepthLayout input, output;
  std::optional<GstOctScan> scan; /* of the present input */
  guint64 frame_number = 0;       /* of the present input, lost frames included */
};

/* Likewise, with Settings of an element. A subclass says `change_of` and `check`. */
template <typename Values> class DepthFilterOf : public DepthFilter {
public:
  DepthFilterOf (gpointer element, opencl::Settings<Values> *settings)
      : base (GST_BASE_TRANSFORM (element)), settings (settings)
  {
  }

  DepthChange change () const override { return change_of (settings->current ()); }

  bool update (bool &broken) override
  {
    if (!settings->is_started ())
      return false;
    return settings->update ([&] (const Values &wanted, GError **error) {
      if (!suits (wanted, error))
        return false;
      if (!(change_of (wanted) == change_of (in_force))) {
        if (!opencl::is_taken_downstream (base, outputs_with (wanted), error))
          return false;
        gst_base_transform_reconfigure_src (base);
      }
      broken = breaks (wanted);
      in_force = wanted;
      return true;
    });
  }

  bool adopt (bool &broken, GError **error) override
  {
    const bool started = settings->is_started ();
    auto accept = [this] (
                      const Values &wanted, GError **why) { return suits (wanted, why); };
    auto fits = [this] (const Values &wanted) { return change_of (wanted) == change (); };
    if (!settings->adopt (accept, fits, error))
      return false;
    broken = started && breaks (settings->current ());
    in_force = settings->current ();
    return true;
  }

  void stop () override { settings->stop (); }

protected:
  virtual DepthChange change_of (const Values &wanted) const = 0;
  virtual bool check (const Values &wanted, GError **error) const { return true; }
  /* Whether frames kept with the settings `in_force` are of no use with `wanted`, or the
   * next output does not continue those before. */
  virtual bool breaks (const Values &wanted) const { return false; }

  /* In transform(): which of the outputs of its input. */
  guint output_index () const
  {
    return gst_opencl_filter_get_output_index (GST_OPENCL_FILTER (base));
  }

  Values in_force;

private:
  bool suits (const Values &wanted, GError **error) const;
  GstCaps *outputs_with (const Values &wanted) const;

  GstBaseTransform *base;
  opencl::Settings<Values> *settings;
};

/* For DepthFilterOf: whether `change` suits the filter's input and its scan. */
bool takes_input (const DepthFilter &filter, const DepthChange &change, GError **error);
/* (transfer full): what comes out of a pad's current caps */
GstCaps *changed_caps (GstBaseTransform *base, const DepthChange &change);

template <typename Values>
bool
DepthFilterOf<Values>::suits (const Values &wanted, GError **error) const
{
  return takes_input (*this, change_of (wanted), error) && check (wanted, error);
}

template <typename Values>
GstCaps *
DepthFilterOf<Values>::outputs_with (const Values &wanted) const
{
  return changed_caps (base, change_of (wanted));
}
} // namespace oct

/* Base class of elements that take depths, or pictures of them, and give others. */
#define GST_TYPE_OCT_DEPTH_FILTER (gst_oct_depth_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOctDepthFilter, gst_oct_depth_filter, GST, OCT_DEPTH_FILTER, GstOpenCLFilter)

struct _GstOctDepthFilterClass {
  GstOpenCLFilterClass parent_class;
};

/* In an instance's init; takes @work. */
void gst_oct_depth_filter_set_work (gpointer filter, oct::DepthFilter *work);
