/* Describes a filter with properties: its type, metadata, pads and functions
 *
 * A whole element, with the kernel that kernel.hpp begins with. The last line of `element`
 * lists its functions in any order.
 *
 *   #include "elements.h"
 *
 *   #include <gst/common/videoformats.hpp>
 *   #include <gst/opencl/device/kernel.hpp>
 *   #include <gst/opencl/elements/filterelement.hpp>
 *
 *   namespace {
 *   struct BrightenSettings {
 *     guint more = 16;
 *   };
 *   } // namespace
 *
 *   G_DECLARE_FINAL_TYPE (
 *       GstOpenCLBrighten, gst_opencl_brighten, GST, OPENCL_BRIGHTEN, GstOpenCLFilter)
 *
 *   struct _GstOpenCLBrighten {
 *     GstOpenCLFilter parent;
 *     opencl::Settings<BrightenSettings> *settings;
 *     opencl::Kernel *work; // exists while open; a struct if there are several kernels or buffers
 *   };
 *
 *   static const opencl::PropertyTable<BrightenSettings> properties = {
 *       {"more", "More", "Number that is added to each gray level", &BrightenSettings::more,
 *           {0, 255}, opencl::controllable},
 *   };
 *   using Work = opencl::WorkWhileOpen<GstOpenCLBrighten>;
 *
 *   static gboolean
 *   gst_opencl_brighten_open (GstOpenCLFilter *filter, GError **error)
 *   {
 *     return Work::open (filter, error) // close() is called, too, if this fails
 *            && GST_OPENCL_BRIGHTEN (filter)->work->create (
 *                gst_opencl_filter_get_context (filter), RESOURCE, "brighten", "", error);
 *   }
 *
 *   static gboolean
 *   gst_opencl_brighten_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
 *       const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
 *   {
 *     GstOpenCLBrighten *self = GST_OPENCL_BRIGHTEN (filter);
 *     const guint width = guint (input->info.width), height = guint (input->info.height);
 *     return self->work->launch (queue, width, height, error, input, output, cl_uint (width),
 *         cl_uint (height), cl_uchar (self->settings->committed ().more));
 *   }
 *
 *   #define GRAY VIDEO_ON_DEVICE ("format=GRAY8")
 *   static const opencl::FilterElement<GstOpenCLBrighten, &GstOpenCLBrighten::work> element = {
 *       "GstOpenCLBrighten", properties, "OpenCL brightener", "Filter/Effect/Video",
 *       "Brightens gray video on an OpenCL device", {GRAY, GRAY},
 *       {gst_opencl_brighten_open, Work::close, gst_opencl_brighten_transform}};
 *   OPENCL_FILTER_DEFINE (openclbrighten, gst_opencl_brighten, element)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/settings.hpp>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/gstopenclfilter.h>

namespace opencl {
/* Functions of the base class, for those of an element that replace them */
inline GstOpenCLFilterClass *
base_filter ()
{
  return static_cast<GstOpenCLFilterClass *> (g_type_class_peek (GST_TYPE_OPENCL_FILTER));
}

inline GstBaseTransformClass *
base_transform ()
{
  return GST_BASE_TRANSFORM_CLASS (base_filter ());
}

/* Whether QoS may drop frames of an element. Measurements must not be missing. */
constexpr bool drops_late_frames = true, keeps_all_frames = false;

/* Creates the objects of `members` with their default values. */
template <auto... members, typename Instance>
void
create_members (Instance *self)
{
  auto make = [] (auto *&member) {
    member = new std::remove_pointer_t<std::remove_reference_t<decltype (member)>> ();
  };
  (make (self->*members), ...);
}

/* Pads of an element: caps of `sink` and `src`, or templates */
struct ElementPads {
  ElementPads () = default;
  ElementPads (const char *sink, const char *src) : always ({sink, src}) {}
  ElementPads (std::initializer_list<GstStaticPadTemplate *> of) : templates (of) {}

  AlwaysPads always;
  std::vector<GstStaticPadTemplate *> templates;
};

/* transform_caps() has the same type. */
struct FixateCaps {
  decltype (GstBaseTransformClass::fixate_caps) function;
};

/* A function of GstOpenCLFilterClass or GstBaseTransformClass. Its type says which. */
class FilterFunction {
public:
  template <typename Function>
  FilterFunction (Function *function)
      : install ([function] (GstOpenCLFilterClass *klass) {
          GstBaseTransformClass *base = &klass->parent_class;
          assign (function, klass->open, klass->close, klass->set_formats,
              klass->get_frame_size, klass->begin_frame, klass->submit, klass->transform,
              klass->process, base->transform_caps, base->query, base->sink_event,
              base->prepare_output_buffer, base->copy_metadata,
              base->submit_input_buffer);
        })
  {
  }
  FilterFunction (FixateCaps fixate)
      : install ([fixate] (GstOpenCLFilterClass *klass) {
          klass->parent_class.fixate_caps = fixate.function;
        })
  {
  }
  FilterFunction (const GstOpenCLDeferral *deferral)
      : install ([deferral] (GstOpenCLFilterClass *klass) {
          gst_opencl_filter_class_set_deferral (klass, deferral);
        })
  {
  }

  std::function<void (GstOpenCLFilterClass *)> install;

private:
  template <typename Function, typename... Slots>
  static void assign (Function *function, Slots &...slots)
  {
    auto assign_if_same = [function] (auto &slot) {
      if constexpr (std::is_same_v<decltype (slot), Function *&>)
        slot = function;
    };
    static_assert ((std::is_same_v<Slots, Function *> || ...), "no function of a filter");
    (assign_if_same (slots), ...);
  }
};

/* open() and close() of an element that has its `work` while it is open */
template <typename Instance> struct WorkWhileOpen {
  static gboolean open (GstOpenCLFilter *filter, GError **)
  {
    create_members<&Instance::work> (reinterpret_cast<Instance *> (filter));
    return TRUE;
  }

  static void close (GstOpenCLFilter *filter)
  {
    auto *self = reinterpret_cast<Instance *> (filter);
    self->settings->stop ();
    delete std::exchange (self->work, nullptr);
  }
};

/* An element whose instances have a member `settings`. A static object. The class deletes the
 * members `owned` as install_settings() does. */
template <typename Instance, auto... owned> struct FilterElement {
  using Values =
      std::decay_t<decltype (std::declval<Instance> ().settings->committed ())>;

  const char *type; /* name of the GType */
  const PropertyTable<Values> &properties;
  const char *name, *classification, *description;
  ElementPads pads;
  std::vector<FilterFunction> functions;
  void (*set_up) (GstOpenCLFilterClass *klass) = nullptr; /* after `functions` */
  bool drops_late = drops_late_frames;
  void (*init) (Instance *self) = nullptr; /* creates members */

  /* Registers the type. Only one element has this `Instance`. */
  GType get_type () const
  {
    static gsize registered = 0;
    if (g_once_init_enter (&registered)) {
      element = this;
      g_once_init_leave (
          &registered, g_type_register_static_simple (GST_TYPE_OPENCL_FILTER, type,
                           sizeof (GstOpenCLFilterClass), init_class, sizeof (Instance),
                           init_instance, GTypeFlags (0)));
    }
    return registered;
  }

private:
  static inline const FilterElement *element;

  static void init_class (gpointer klass, gpointer)
  {
    auto *filter_class = GST_OPENCL_FILTER_CLASS (klass);
    install_settings<&Instance::settings, owned...> (klass, element->properties);
    describe_element (klass, element->name, element->classification, element->description,
        element->pads.always);
    for (GstStaticPadTemplate *pad : element->pads.templates)
      gst_element_class_add_static_pad_template (GST_ELEMENT_CLASS (klass), pad);
    for (const FilterFunction &function : element->functions)
      function.install (filter_class);
    if (element->set_up)
      element->set_up (filter_class);
  }

  static void init_instance (GTypeInstance *instance, gpointer)
  {
    auto *self = reinterpret_cast<Instance *> (instance);
    self->settings = new Settings<Values> (self, element->properties);
    if (element->drops_late == keeps_all_frames)
      gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
    if (element->init)
      element->init (self);
  }
};
} // namespace opencl

/* Defines gst_x_get_type() and registers `feature` with the plugin. */
#define OPENCL_FILTER_DEFINE(feature, gst_x, element)                                    \
  GType gst_x##_get_type ()                                                              \
  {                                                                                      \
    return (element).get_type ();                                                        \
  }                                                                                      \
  GST_ELEMENT_REGISTER_DEFINE (feature, #feature, GST_RANK_NONE, gst_x##_get_type ())
