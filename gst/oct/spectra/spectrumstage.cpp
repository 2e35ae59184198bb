/* What turns raw spectra into windowed ones that are even in wavenumber: tables and
 * kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrumstage.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octwindowinterp.cl"

namespace oct {
std::shared_ptr<SpectrumStage>
SpectrumStage::make (GstOpenCLContext *context, const SpectrumFormat &format,
    const SpectrumTables &tables, GError **error)
{
  auto stage = std::make_shared<SpectrumStage> ();
  stage->context_.reset (GST_OPENCL_CONTEXT (gst_object_ref (context)));
  stage->format_ = format;
  stage->taps_ = tables.taps;
  stage->background_offset_ = cl_uint (tables.background_offset);
  return stage->upload (tables, error) ? stage : nullptr;
}

bool
SpectrumStage::upload (const SpectrumTables &tables, GError **error)
{
  gsize bytes = tables.words.size () * sizeof tables.words[0];
  cl_int code;
  tables_ = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context_.get ()),
      CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
      const_cast<guint32 *> (tables.words.data ()), &code));
  if (!gst_opencl_check (code, "clCreateBuffer", error))
    return false;
  gst_opencl_count_upload (bytes);
  return true;
}

bool
SpectrumStage::create (Kernels &kernels, bool for_aligned, GError **error)
{
  if (kernels.created)
    return true;
  gchar *options = g_strdup_printf (
      "-D%s -DALIGNED=%d -DTAPS=%u -DLINES=%u -DBACKGROUND=%d -DCOMPLEX=%d",
      sample_of (format_.input).option, for_aligned, guint (taps_), lines_of_item,
      format_.background, format_.complex);

  GstOpenCLContext *context = context_.get ();
  BackgroundKernels &background = kernels.background;
  kernels.created =
      kernels.make_spectrum.create (context, KERNELS, "make_spectrum", options, error)
      && background.sum_blocks.create (context, KERNELS, "sum_blocks", options, error)
      && background.mean_of_rows.create (
          context, KERNELS, "mean_of_rows", options, error);
  g_free (options);
  return kernels.created;
}

/* With the lock held; null with an error where they do not build. */
SpectrumStage::Kernels *
SpectrumStage::suiting (const RawSpectra &spectra, GError **error)
{
  gsize bytes = sample_of (format_.input).bytes;
  bool is_aligned = spectra.offset % bytes == 0 && spectra.stride % cl_long (bytes) == 0;
  Kernels &kernels = is_aligned ? aligned : unaligned;
  return create (kernels, is_aligned, error) ? &kernels : nullptr;
}

BackgroundKernels *
SpectrumStage::background_kernels (const RawSpectra &spectra, GError **error)
{
  std::lock_guard<std::mutex> guard (launching);
  Kernels *kernels = suiting (spectra, error);
  return kernels ? &kernels->background : nullptr;
}

bool
SpectrumStage::enqueue (cl_command_queue queue, const RawSpectra &spectra,
    const cl::Buffer &mean, cl_mem data, cl_ulong output, GError **error)
{
  bool from_mean = mean () != nullptr;
  gsize items = (spectra.lines + lines_of_item - 1) / lines_of_item;

  std::lock_guard<std::mutex> guard (launching);
  Kernels *kernels = suiting (spectra, error);
  return kernels
         && kernels->make_spectrum.launch (queue, spectra.samples, items, error,
             spectra.data, spectra.offset, spectra.stride, spectra.samples, spectra.lines,
             spectra.shift, tables_ (), from_mean ? mean () : tables_ (),
             cl_uint (from_mean ? 0 : background_offset_), data, output);
}
} // namespace oct
