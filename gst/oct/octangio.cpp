/* octangio: an angiogram of repeated B-scans
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octangio
 *
 * Takes the depths of B-scans that are repeated N times at each place, and gives one
 * angiogram for each N (`repeats`), which lasts as long as they:
 *
 * - `speckle-variance`: the sum of (A - mean A)² / N of the amplitudes A
 * - `decorrelation`: 1 - the mean of A_i A_i+1 / ((A_i² + A_i+1²) / 2), 0 to 1
 * - `complex-variance`: the mean of |X_i+1 exp(-iφ) - X_i|² of the complex bins X, φ being
 *   the phase by which all of the A-line has turned, arg of the sum of X_i+1 X_i* over its
 *   depths, as it does when the sample moves
 *
 * Complex depths come from `octfft` when it is asked, as it is here. The first B-scan is
 * the first of its place. Where some are lost (DISCONT, GAP) the angiogram that they belong
 * to is left out; how many were lost is told by the frames' time, so that repeats of two
 * places are never mixed. Without a time, what follows a loss counts as the first.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=40 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octangio repeats=4 method=decorrelation ! opencldownload !
 * npysink location=angiograms.npy
 * ]|
 *
 * Since: 0.2
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/opencl/devicebuffer.hpp>
#include <gst/opencl/deviceinfo.hpp>
#include <gst/opencl/kernel.hpp>

#include "depth/depthfilter.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octangio.cl"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_DEPTH_CAPS ("CF32LE")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_DEPTH_CAPS ("F32LE")));

namespace {
enum class Method {
  speckle_variance,
  decorrelation,
  complex_variance,
};

const guint least_repeats = 2, most_repeats = 64;
const gsize largest_group = 64;

struct Settings {
  guint repeats = 4;
  Method method = Method::speckle_variance;
};

class Angiogram : public oct::DepthFilterOf<Settings> {
public:
  using DepthFilterOf::DepthFilterOf;

  void release () override;
  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool keep (const GstOpenCLFrame *frame, guint position, cl_command_queue queue,
      GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::DepthChange change_of (const Settings &wanted) const override;
  bool breaks (const Settings &wanted) const override
  {
    return wanted.repeats != in_force.repeats;
  }

private:
  /* All methods', so that turning to another one makes nothing. */
  struct Kernels {
    opencl::Kernel speckle_variance, decorrelation, bulk_phase, complex_variance;
  };

  bool create_kernels (GstOpenCLContext *context, GError **error);
  bool transform_complex (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error);

  bool created = false;
  Kernels kernels;
  gsize group = 1;
  cl::Buffer kept;   /* all repeats but the last */
  cl::Buffer phases; /* of each A-line, between two repeats each */
  gsize kept_bytes = 0;
};

oct::DepthChange
Angiogram::change_of (const Settings &wanted) const
{
  oct::DepthChange change;
  change.frames = wanted.repeats;
  change.from = "CF32LE";
  change.to = "F32LE";
  change.quantity = wanted.method == Method::decorrelation ? "decorrelation" : "variance";
  return change;
}

void
Angiogram::release ()
{
  kernels = Kernels ();
  kept = phases = cl::Buffer ();
  kept_bytes = 0;
  created = false;
}

bool
Angiogram::create_kernels (GstOpenCLContext *context, GError **error)
{
  const struct {
    opencl::Kernel &kernel;
    const char *name;
  } wanted[] = {{kernels.speckle_variance, "speckle_variance"},
      {kernels.decorrelation, "decorrelation"}, {kernels.bulk_phase, "bulk_phase"},
      {kernels.complex_variance, "complex_variance"}};
  /* On a CPU a work-item reads an A-line from one end to the other. */
  group = opencl::is_cpu (context) ? 1 : largest_group;
  const std::string options = "-DGROUP=" + std::to_string (group);
  for (const auto &entry : wanted) {
    if (!entry.kernel.create (context, KERNELS, entry.name, options.c_str (), error))
      return false;
  }
  return true;
}

bool
Angiogram::prepare (GstOpenCLContext *context, GError **error)
{
  const gsize pairs = in_force.repeats - 1, bytes = input.size () * pairs;
  if (!created && !create_kernels (context, error))
    return false;
  created = true;
  if (bytes != kept_bytes) {
    kept_bytes = 0;
    if (!opencl::make_buffer (context, bytes, kept, error)
        || !opencl::make_buffer (
            context, pairs * input.lines * sizeof (cl_float2), phases, error))
      return false;
    kept_bytes = bytes;
  }
  return true;
}

bool
Angiogram::keep (
    const GstOpenCLFrame *frame, guint position, cl_command_queue queue, GError **error)
{
  cl_int code = clEnqueueCopyBuffer (queue, frame->data, kept (), frame->offset[0],
      position * input.size (), input.size (), 0, nullptr, nullptr);
  return gst_opencl_check (code, "clEnqueueCopyBuffer", error);
}

bool
Angiogram::transform_complex (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const cl_uint repeats = in_force.repeats, depths = cl_uint (input.depths);
  const cl_uint lines = cl_uint (input.lines);
  return kernels.bulk_phase.launch_groups (queue, gsize (repeats - 1) * lines, group,
             error, kept (), from->data, cl_ulong (from->offset[0]), repeats, depths,
             lines, phases ())
         && kernels.complex_variance.launch (queue, depths, lines, error, kept (),
             from->data, cl_ulong (from->offset[0]), repeats, depths, lines, phases (),
             to->data, cl_ulong (to->offset[0]));
}

bool
Angiogram::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  if (!oct::check_places (from, input.bytes, error)
      || !oct::check_places (to, output.bytes, error))
    return false;
  if (in_force.method == Method::complex_variance)
    return transform_complex (from, to, queue, error);
  opencl::Kernel &kernel = in_force.method == Method::decorrelation
                               ? kernels.decorrelation
                               : kernels.speckle_variance;
  return kernel.launch (queue, input.depths, input.lines, error, kept (), from->data,
      cl_ulong (from->offset[0]), cl_uint (in_force.repeats), cl_uint (input.depths),
      cl_uint (input.lines), to->data, cl_ulong (to->offset[0]));
}
} // namespace

#define GST_TYPE_OCT_ANGIO (gst_oct_angio_get_type ())
G_DECLARE_FINAL_TYPE (GstOctAngio, gst_oct_angio, GST, OCT_ANGIO, GstOctDepthFilter)

struct _GstOctAngio {
  GstOctDepthFilter parent;

  opencl::Settings<Settings> *settings;
};

G_DEFINE_TYPE (GstOctAngio, gst_oct_angio, GST_TYPE_OCT_DEPTH_FILTER)
GST_ELEMENT_REGISTER_DEFINE (octangio, "octangio", GST_RANK_NONE, GST_TYPE_OCT_ANGIO)

static GType
method_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Method::speckle_variance), "Variance of the amplitude", "speckle-variance"},
      {gint (Method::decorrelation), "Decorrelation of the amplitude", "decorrelation"},
      {gint (Method::complex_variance),
          "Complex difference, without the phase by which all of an A-line turns",
          "complex-variance"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstOctAngioMethod", values));
  return type;
}

const opencl::PropertyTable<Settings> properties = {
    {"repeats", "Repeats", "Number of B-scans of the same place", &Settings::repeats,
        {least_repeats, most_repeats}, opencl::playing},
    {"method", "Method", "What an angiogram shows", &Settings::method, method_get_type,
        opencl::playing},
};

static void
gst_oct_angio_init (GstOctAngio *self)
{
  self->settings = new opencl::Settings<Settings> (self, properties);
  gst_oct_depth_filter_set_work (self, new Angiogram (self, self->settings));
}

static void
gst_oct_angio_finalize (GObject *object)
{
  delete GST_OCT_ANGIO (object)->settings;
  G_OBJECT_CLASS (gst_oct_angio_parent_class)->finalize (object);
}

static void
gst_oct_angio_class_init (GstOctAngioClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_oct_angio_finalize;
  opencl::install_settings<&GstOctAngio::settings> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT angiography",
      "Filter/Effect/Video", "Makes angiograms of repeated B-scans, on an OpenCL device",
      "The gst-opencl developers");
  gst_type_mark_as_plugin_api (method_get_type (), GstPluginAPIFlags (0));
}
