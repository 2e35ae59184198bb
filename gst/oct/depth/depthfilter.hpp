/* Common code of the depth filters: caps, settings and groups of frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../octscanmeta.h"
#include "depthcaps.hpp"
#include "framesequence.hpp"
#include "pendingdepths.hpp"

#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <memory>
#include <optional>

namespace oct {
/* Processing of a GstOctDepthFilter. Runs in the streaming thread, except change(). */
class DepthFilter {
public:
  virtual ~DepthFilter () = default;

  /* Returns the change that the properties require. Any thread may call it. */
  virtual CapsChange change () const = 0;
  /* Applies new settings between two frames. Returns whether there were any. Sets
   * `breaks_group` if the frames kept so far cannot be used with them. */
  virtual bool update (bool &breaks_group) = 0;
  /* Applies settings with new caps. Sets `breaks_group` as update() does. */
  virtual bool adopt (bool &breaks_group, GError **error) = 0;
  /* Releases all that prepare() and later functions made. All enqueued work has
   * finished. */
  virtual void stop () = 0;

  /* Creates kernels and work memory for `input`, `output` and the settings in force.
   * Called again after each update. */
  virtual bool prepare (GstOpenCLContext *context, GError **error) = 0;
  /* Forgets earlier frames. */
  virtual void forget () {}
  /* Keeps a frame of a group, other than its last one. `position` is its index. Offset and
   * stride of frames, here and in transform(), are multiples of the size of a value. */
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
  /* Returns whether merge() can do the deferred work of the filter upstream. */
  virtual bool can_merge () const { return false; }
  virtual bool merge (PendingDepths &depths, const GstOpenCLFrame *output,
      cl_command_queue queue, GError **error)
  {
    return false;
  }

  DepthLayout input, output;
  std::optional<GstOctScan> scan; /* of the present input frame */
  guint64 frame_number = 0;       /* of the present input frame, including lost frames */
};

/* Checks that `change` fits the filter's input and its scan. */
bool check_change (const DepthFilter &filter, const CapsChange &change, GError **error);

/* DepthFilter with the Settings of an element. The members of `State` are its kernels,
 * its work memory, and all else that begins anew after a stop. */
template <typename V, typename State>
class DepthFilterOf : public DepthFilter, protected State {
public:
  using Values = V;

  DepthFilterOf (gpointer element, opencl::Settings<Values> *settings)
      : base (GST_BASE_TRANSFORM (element)), settings (settings)
  {
  }

  CapsChange change () const override { return change_for (settings->current ()); }

  bool update (bool &breaks_group) override
  {
    if (!settings->is_started ())
      return false;
    return settings->update ([&] (const Values &wanted, GError **error) {
      if (!accepts (wanted, error))
        return false;
      const CapsChange change = change_for (wanted);
      auto outputs = [&] (GstCaps *input) { return other_side (input, change, true); };
      if (!(change == change_for (in_force)) && !renegotiate (base, outputs, error))
        return false;
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
    auto fits = [this] (
                    const Values &wanted) { return change_for (wanted) == change (); };
    if (!settings->adopt (accept, fits, error))
      return false;
    breaks_group = started && breaks (settings->current ());
    in_force = settings->current ();
    return true;
  }

  void stop () override
  {
    settings->stop ();
    static_cast<State &> (*this) = State ();
  }

protected:
  /* Returns how the output caps differ from the input caps with these settings. */
  virtual CapsChange change_for (const Values &wanted) const = 0;
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
  bool accepts (const Values &wanted, GError **error) const
  {
    return check_change (*this, change_for (wanted), error) && check (wanted, error);
  }

  GstBaseTransform *base;
  opencl::Settings<Values> *settings;
};

} // namespace oct

/* Base class of filters of depths, of B-scan images and of spectra */
#define GST_TYPE_OCT_DEPTH_FILTER (gst_oct_depth_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOctDepthFilter, gst_oct_depth_filter, GST, OCT_DEPTH_FILTER, GstOpenCLFilter)

struct _GstOctDepthFilterClass {
  GstOpenCLFilterClass parent_class;
};

namespace oct {
/* Describes an element whose work is a `Work`, a subclass of DepthFilterOf. A static
 * object. */
template <typename Work> struct DepthElement {
  const char *type; /* name of the GType */
  GstStaticPadTemplate *sink, *src;
  const opencl::PropertyTable<typename Work::Values> &properties;
  const char *long_name, *description;

  /* Registers the type. Only one element has this `Work`. */
  GType get_type () const;
};

/* Ends the instance init of an element. Takes ownership of `work`. */
void init_depth_element (gpointer filter, DepthFilter *work);

template <typename Work> struct DepthInstance {
  GstOctDepthFilter parent;
  opencl::Settings<typename Work::Values> *settings;

  static inline const DepthElement<Work> *element;

  static void init_class (gpointer klass, gpointer)
  {
    opencl::install_settings<&DepthInstance::settings> (klass, element->properties);
    opencl::describe_element (klass, element->long_name, "Filter/Effect/OCT",
        element->description, {}, {element->sink, element->src});
  }

  static void init (GTypeInstance *instance, gpointer)
  {
    auto *self = reinterpret_cast<DepthInstance *> (instance);
    self->settings =
        new opencl::Settings<typename Work::Values> (self, element->properties);
    init_depth_element (self, new Work (self, self->settings));
  }
};

template <typename Work>
GType
DepthElement<Work>::get_type () const
{
  using Instance = DepthInstance<Work>;
  static gsize registered = 0;
  if (g_once_init_enter (&registered)) {
    Instance::element = this;
    g_once_init_leave (
        &registered, g_type_register_static_simple (GST_TYPE_OCT_DEPTH_FILTER, type,
                         sizeof (GstOctDepthFilterClass), Instance::init_class,
                         sizeof (Instance), Instance::init, GTypeFlags (0)));
  }
  return registered;
}
} // namespace oct

/* Registers an element of the plugin. `element`: a DepthElement */
#define OCT_DEPTH_ELEMENT_REGISTER_DEFINE(name, element)                                 \
  GST_ELEMENT_REGISTER_DEFINE (name, #name, GST_RANK_NONE, (element).get_type ())
