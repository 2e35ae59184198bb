/* Converts raw spectra to windowed spectra at even wavenumbers: tables and kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrumstage.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octwindowinterp.cl"

namespace oct {
std::shared_ptr<SpectrumStage>
SpectrumStage::make (GstOpenCLContext *context, const SpectrumFormat &format,
    const SpectrumTables &tables, GError **error)
{
  auto stage = std::make_shared<SpectrumStage> ();
  stage->context_.reset (GST_OPENCL_CONTEXT (gst_object_ref (context)));
  stage->format_ = format;
  stage->map_ = tables.map;
  stage->taps_ = tables.taps;
  stage->points_ = tables.points;
  stage->background_offset_ = cl_uint (tables.background_offset);
  return opencl::make_table (context, tables.words, stage->tables_, error) ? stage
                                                                           : nullptr;
}

bool
SpectrumStage::create (MakeSpectrum &made, bool for_aligned, GError **error)
{
  if (made.created)
    return true;
  gchar *options = g_strdup_printf (
      "-D%s -DALIGNED=%d -DTAPS=%u -DLINES=%u -DBACKGROUND=%d -DCOMPLEX=%d",
      sample_of (format_.input).option, for_aligned, guint (taps_), lines_of_item,
      format_.background, format_.complex);
  made.created =
      made.kernel.create (context_.get (), KERNELS, "make_spectrum", options, error);
  g_free (options);
  return made.created;
}

bool
SpectrumStage::enqueue (cl_command_queue queue, const RawSpectra &spectra,
    const BackgroundSpectrum &background, cl_mem data, cl_ulong output, GError **error)
{
  gsize items = (spectra.lines + lines_of_item - 1) / lines_of_item;
  bool is_aligned = spectra.is_multiple_of (sample_of (format_.input).bytes);

  std::lock_guard<std::mutex> guard (launching);
  MakeSpectrum &made = is_aligned ? aligned : unaligned;
  return create (made, is_aligned, error)
         && made.kernel.launch (queue, points_, items, error, spectra.data,
             spectra.offset, spectra.stride, spectra.samples, cl_uint (points_),
             spectra.lines, spectra.shift, tables_ (), background.buffer,
             background.offset, data, output, spectra.counter_data ());
}
} // namespace oct
