/* Deferred work of octwindowinterp, which a directly following octfft may take over
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "deferredspectra.hpp"

struct _GstOctDeferredSpectra {
  GstOpenCLDeferred parent;

  struct DeferredWork *work;
};

struct DeferredWork {
  std::shared_ptr<oct::SpectrumStage> stage;
  std::shared_ptr<cl::Buffer> mean; /* or null */
  oct::RawSpectra raw;
};

G_DEFINE_FINAL_TYPE (
    GstOctDeferredSpectra, gst_oct_deferred_spectra, GST_TYPE_OPENCL_DEFERRED)

static gboolean
gst_oct_deferred_spectra_fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
    cl_command_queue queue, GError **error)
{
  GstOctDeferredSpectra *self = GST_OCT_DEFERRED_SPECTRA (deferred);

  return self->work->stage->enqueue (queue, self->work->raw,
      gst_oct_deferred_spectra_get_background (self), data, offset / sizeof (cl_float),
      error);
}

static void
gst_oct_deferred_spectra_finalize (GObject *object)
{
  GstOctDeferredSpectra *self = GST_OCT_DEFERRED_SPECTRA (object);

  delete self->work;
  G_OBJECT_CLASS (gst_oct_deferred_spectra_parent_class)->finalize (object);
}

static void
gst_oct_deferred_spectra_class_init (GstOctDeferredSpectraClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_oct_deferred_spectra_finalize;
  GST_OPENCL_DEFERRED_CLASS (klass)->fill = gst_oct_deferred_spectra_fill;
}

static void
gst_oct_deferred_spectra_init (GstOctDeferredSpectra *self)
{
}

GstOctDeferredSpectra *
gst_oct_deferred_spectra_new (std::shared_ptr<oct::SpectrumStage> stage,
    const GstOpenCLFrame *raw, const oct::RawSpectra &spectra,
    std::shared_ptr<cl::Buffer> mean)
{
  auto *self = static_cast<GstOctDeferredSpectra *> (
      g_object_new (GST_TYPE_OCT_DEFERRED_SPECTRA, nullptr));
  self->work = new DeferredWork{std::move (stage), std::move (mean), spectra};
  gst_opencl_deferred_set_source (GST_OPENCL_DEFERRED (self), raw);
  return self;
}

oct::SpectrumStage &
gst_oct_deferred_spectra_get_stage (GstOctDeferredSpectra *deferred)
{
  return *deferred->work->stage;
}

const oct::RawSpectra &
gst_oct_deferred_spectra_get_raw (GstOctDeferredSpectra *deferred)
{
  return deferred->work->raw;
}

oct::BackgroundSpectrum
gst_oct_deferred_spectra_get_background (GstOctDeferredSpectra *deferred)
{
  if (const cl::Buffer *mean = deferred->work->mean.get ())
    return {(*mean) (), 0};
  return deferred->work->stage->background ();
}
