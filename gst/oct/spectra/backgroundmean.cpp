/* Background spectrum as the mean of the A-lines of frames, kept on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "backgroundmean.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/background.cl"

namespace oct {
namespace {
/* Distribution of a frame's lines over work-items */
struct Shares {
  gsize most_blocks; /* maximum number of blocks */
  gsize least_lines; /* minimum number of lines of a block */
  gsize wide;        /* samples that a work-item adds at once, at most least_samples */
  gsize columns;     /* samples per work-group of find_background */
  gsize mean_group;  /* work-group size of find_background */
};

/* Enough blocks to keep a GPU busy, but few enough to sum them up quickly. Several
 * work-items share a sample. */
const Shares shares_of_gpu = {256, 16, 4, 16, 128};

/* The lines of a block stay in the cache while neighbouring samples are read. */
const Shares shares_of_cpu = {128, 8, 16, 128, 128};

/* Limit for sums of 16-bit samples in 32 bits */
const gsize most_lines_of_block = 65536;

/* Limits work-groups to the maximum of the device. */
Shares
shares_of (GstOpenCLContext *context)
{
  Shares shares = opencl::is_cpu (context) ? shares_of_cpu : shares_of_gpu;
  const gsize most = opencl::largest_group (context);
  while (shares.mean_group > most)
    shares.mean_group /= 2;
  shares.columns = std::min (shares.columns, shares.mean_group);
  return shares;
}

gsize
parts_of (gsize all, gsize part)
{
  return (all + part - 1) / part;
}
} // namespace

bool
BackgroundMean::create (GstOpenCLContext *of, SampleFormat format, gsize n_samples,
    gsize lines, guint preceding, GError **error)
{
  const Shares shares = shares_of (of);
  const bool floats = format == SampleFormat::f32le;
  const gsize rows_of_block = floats ? 3 : 1; /* as in the kernel */
  *this = BackgroundMean ();
  context = of;
  input = format;
  samples = cl_uint (n_samples);
  block = cl_uint (std::clamp (
      parts_of (lines, shares.most_blocks), shares.least_lines, most_lines_of_block));
  blocks = cl_uint (parts_of (lines, block));
  wide = cl_uint (shares.wide);
  frames = preceding;
  return opencl::make_buffer (
             of, sizeof (float) * samples * blocks * rows_of_block, sums, error)
         && opencl::make_buffer (
             of, sizeof (float) * samples * std::max (frames, 1u), means, error);
}

BackgroundMean::Kernels *
BackgroundMean::kernels_for (const RawSpectra &spectra, GError **error)
{
  const Shares shares = shares_of (context);
  const gsize bytes = sample_of (input).bytes;
  const bool vectors = samples % wide == 0 && spectra.is_multiple_of (bytes * wide);
  const guint aligned = vectors ? 2 : spectra.is_multiple_of (bytes) ? 1 : 0;
  Kernels &made = kernels[aligned];
  if (made.created)
    return &made;
  gchar *options =
      g_strdup_printf ("-D%s -DALIGNED=%u -DWIDE=%u -DMEAN_GROUP=%u -DCOLUMNS=%u",
          sample_of (input).option, aligned, wide, guint (shares.mean_group),
          guint (shares.columns));
  made.created = opencl::create_kernels (context, KERNELS, options,
      {{made.sum_blocks, "sum_blocks"}, {made.find_background, "find_background"}},
      error);
  g_free (options);
  return made.created ? &made : nullptr;
}

bool
BackgroundMean::update (const RawSpectra &spectra, cl_command_queue queue,
    std::shared_ptr<cl::Buffer> &mean, GError **error)
{
  const Shares shares = shares_of (context);
  Kernels *made = kernels_for (spectra, error);
  if (!made || !(mean = backgrounds.unused (context, sizeof (float) * samples, error))
      || !made->sum_blocks.launch (queue, parts_of (samples, wide), blocks, error,
          spectra.data, spectra.offset, spectra.stride, samples, spectra.lines,
          spectra.shift, block, sums ())
      || !made->find_background.launch_groups (queue, parts_of (samples, shares.columns),
          shares.mean_group, error, sums (), samples, blocks, spectra.lines, means (),
          filled, frames, next, (*mean) ()))
    return false;
  if (frames > 0) {
    filled = std::min (filled + 1, frames);
    next = (next + 1) % frames;
  }
  return true;
}
} // namespace oct
