/* Deferred work of octwindowinterp, which a directly following octfft may take over
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "spectrumstage.hpp"

#include <gst/opencl/device/gstopencldeferral.h>

#include <memory>

G_BEGIN_DECLS

#define GST_TYPE_OCT_DEFERRED_SPECTRA (gst_oct_deferred_spectra_get_type ())
G_DECLARE_FINAL_TYPE (GstOctDeferredSpectra, gst_oct_deferred_spectra, GST,
    OCT_DEFERRED_SPECTRA, GstOpenCLDeferred)

G_END_DECLS

/* `raw` becomes the source of the deferred work. `mean` is the background; null to use
 * that of the stage. */
GstOctDeferredSpectra *gst_oct_deferred_spectra_new (
    std::shared_ptr<oct::SpectrumStage> stage, const GstOpenCLFrame *raw,
    const oct::RawSpectra &spectra, std::shared_ptr<cl::Buffer> mean);

oct::SpectrumStage &gst_oct_deferred_spectra_get_stage (GstOctDeferredSpectra *deferred);
const oct::RawSpectra &gst_oct_deferred_spectra_get_raw (GstOctDeferredSpectra *deferred);
oct::BackgroundSpectrum gst_oct_deferred_spectra_get_background (
    GstOctDeferredSpectra *deferred);
