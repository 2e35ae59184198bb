/* One- and two-dimensional Fourier transforms by VkFFT or clFFT
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclfft.h"

#include "fftplan.hpp"
#include "selfcheck.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/libraries.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

using opencl::FFTLibrary;
using opencl::FFTPlanPointer;
using opencl::FFTShape;

GST_DEBUG_CATEGORY (gst_opencl_fft_debug);
#define GST_CAT_DEFAULT gst_opencl_fft_debug

struct _GstOpenCLFFT {
  GstOpenCLContext *context;
  GstOpenCLFFTDescription description;
  gsize input_bytes, output_bytes;
  FFTPlanPointer plan;
};

namespace {
/* Returns G_MAXSIZE on overflow */
gsize
product (gsize a, gsize b)
{
  gsize result;
  return g_size_checked_mul (&result, a, b) ? result : G_MAXSIZE;
}

gsize
sum (gsize a, gsize b)
{
  gsize result;
  return g_size_checked_add (&result, a, b) ? result : G_MAXSIZE;
}
} // namespace

namespace opencl {
namespace {
/* Returns the number of elements from the first to the last sample of the input or
 * output. */
gsize
extent_of (const FFTShape &shape, gsize columns, const GstOpenCLFFTStrides &strides)
{
  return sum (sum (product (columns - 1, strides.sample),
                  product (shape.lengths[1] - 1, strides.row)),
      sum (product (shape.batch - 1, strides.transform), 1));
}
} // namespace

bool
has_small_factors (gsize length)
{
  for (gsize radix : {2, 3, 5, 7, 11, 13}) {
    while (length > 0 && length % radix == 0)
      length /= radix;
  }
  return length == 1;
}

gsize
FFTShape::input_bytes () const
{
  return product (extent_of (*this, input_columns (), input),
      number_bytes () * (real_input () ? 1 : 2));
}

gsize
FFTShape::output_bytes () const
{
  return product (extent_of (*this, output_columns (), output),
      number_bytes () * (real_output () ? 1 : 2));
}

GstOpenCLFFTStrides
packed_strides (const FFTShape &shape, gsize columns)
{
  return {1, columns, product (columns, shape.lengths[1])};
}
} // namespace opencl

namespace {
/* In the order in which AUTO tries them. */
const FFTLibrary *const libraries[] = {
    &opencl::vkfft_library,
#ifdef HAVE_CLFFT
    &opencl::clfft_library,
#endif
};

bool
is_candidate (const FFTLibrary *entry, GstOpenCLFFTLibrary wanted)
{
  return wanted == GST_OPENCL_FFT_LIBRARY_AUTO || wanted == entry->library;
}

const FFTLibrary *
first_candidate (GstOpenCLFFTLibrary wanted)
{
  auto found = std::find_if (std::begin (libraries), std::end (libraries),
      [wanted] (const FFTLibrary *entry) { return is_candidate (entry, wanted); });
  return found == std::end (libraries) ? nullptr : *found;
}

/* Returns the first library that accepts all lengths. */
const FFTLibrary *
find_library (GstOpenCLFFTLibrary wanted, const gsize *lengths, guint dimensions)
{
  for (const FFTLibrary *entry : libraries) {
    if (is_candidate (entry, wanted)
        && std::all_of (lengths, lengths + dimensions, entry->accepts))
      return entry;
  }
  return nullptr;
}

/* Returns the library's engine for the self-check. VkFFT transforms lengths with larger
 * prime factors by other, much larger kernels. */
const char *
engine_of (const FFTLibrary *entry, const GstOpenCLFFTDescription &wanted)
{
  if (entry->library == GST_OPENCL_FFT_LIBRARY_CLFFT)
    return "fft-clfft";
  return std::all_of (wanted.lengths, wanted.lengths + wanted.dimensions,
             opencl::has_small_factors)
             ? "fft-vkfft"
             : "fft-vkfft-primes";
}

/* Returns the first library that accepts the lengths. If its results are wrong on this
 * device, returns another one that accepts the lengths, if any. */
const FFTLibrary *
find_right_library (GstOpenCLContext *context, const GstOpenCLFFTDescription &wanted)
{
  const FFTLibrary *first =
      find_library (wanted.library, wanted.lengths, wanted.dimensions);
  if (!first || !opencl::is_faulty_engine (context, engine_of (first, wanted)))
    return first;
  for (const FFTLibrary *entry : libraries) {
    if (entry == first
        || find_library (entry->library, wanted.lengths, wanted.dimensions) != entry
        || !is_candidate (entry, wanted.library)
        || opencl::is_faulty_engine (context, engine_of (entry, wanted)))
      continue;
    GST_WARNING ("results of %s are wrong on %s: using %s", first->name,
        gst_opencl_context_get_device_name (context), entry->name);
    return entry;
  }
  return first;
}

bool refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

bool
refuse (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_propagate_error (error, g_error_new_valist (GST_OPENCL_ERROR,
                                GST_OPENCL_ERROR_UNSUPPORTED, format, arguments));
  va_end (arguments);
  return false;
}

bool
refuse_library (const GstOpenCLFFTDescription &description, GError **error)
{
  const FFTLibrary *entry = first_candidate (description.library);
  if (!entry && description.library == GST_OPENCL_FFT_LIBRARY_CLFFT)
    return refuse (error, "Built without clFFT: use fft-library=vkfft or auto");
  if (!entry)
    return refuse (error, "Unknown FFT library %d", description.library);

  const gsize *ends = description.lengths + description.dimensions;
  const gsize *length = std::find_if_not (description.lengths, ends, entry->accepts);
  return refuse (error, "%s cannot transform %" G_GSIZE_FORMAT " samples: %s",
      entry->name, *length, entry->requirement);
}

void
fill_in (GstOpenCLFFTStrides &strides, gsize columns, gsize rows)
{
  if (strides.sample == 0)
    strides.sample = 1;
  if (strides.row == 0)
    strides.row = product (columns, strides.sample);
  if (strides.transform == 0)
    strides.transform =
        rows == 1 ? product (columns, strides.sample) : product (rows, strides.row);
}

/* Returns the description with all defaults filled in. */
GstOpenCLFFTDescription
resolve (const GstOpenCLFFTDescription &from)
{
  GstOpenCLFFTDescription description = from;
  description.dimensions = MAX (from.dimensions, 1);
  description.batch = MAX (from.batch, 1);
  if (description.dimensions == 1)
    description.lengths[1] = 1;

  const bool inverse = from.direction == GST_OPENCL_FFT_INVERSE;
  const gsize samples = from.lengths[0];
  const gsize bins = from.real ? samples / 2 + 1 : samples;
  const gsize rows = description.lengths[1];
  fill_in (description.input, inverse ? bins : samples, rows);
  fill_in (description.output, inverse ? samples : bins, rows);
  return description;
}

FFTShape
shape_of (const GstOpenCLFFTDescription &description)
{
  return {{description.lengths[0], description.lengths[1]}, description.batch,
      description.real != FALSE, description.direction == GST_OPENCL_FFT_INVERSE,
      description.normalized != FALSE, description.input, description.output,
      description.double_precision != FALSE};
}

/* Returns true if no two samples overlap: each stride is larger than the extent of all
 * dimensions with smaller strides. */
bool
are_apart (const FFTShape &shape, gsize columns, const GstOpenCLFFTStrides &strides)
{
  std::pair<gsize, gsize> steps[] = {{strides.sample, columns},
      {strides.row, shape.lengths[1]}, {strides.transform, shape.batch}};
  std::sort (std::begin (steps), std::end (steps));
  gsize reach = 1;
  for (const auto &[stride, count] : steps) {
    if (count > 1 && stride < reach)
      return false;
    if (count > 1)
      reach = sum (reach, product (count - 1, stride));
  }
  return true;
}

/* Work memory takes up to twice as much as the input or the output. Kernels count samples
 * of a row and rows of all transforms in 32 bits. */
bool
is_too_large (const FFTShape &shape)
{
  const gsize most_bytes = G_MAXSIZE / 4;
  return shape.input_bytes () > most_bytes || shape.output_bytes () > most_bytes
         || shape.lengths[0] > G_MAXUINT32
         || product (shape.lengths[1], shape.batch) > G_MAXUINT32;
}

/* clFFT scales by a float32, which is not as exact as float64. */
bool
choose_double (
    GstOpenCLContext *context, GstOpenCLFFTDescription &description, GError **error)
{
  if (!description.double_precision)
    return true;
  if (description.library == GST_OPENCL_FFT_LIBRARY_CLFFT)
    return refuse (error, "float64 is transformed by VkFFT only: use fft-library=vkfft");
  description.library = GST_OPENCL_FFT_LIBRARY_VKFFT;
  return opencl::has_double (context)
         || refuse (error, "float64 needs double precision, which %s does not have",
             gst_opencl_context_get_device_name (context));
}

bool
check_kind (const GstOpenCLFFTDescription &description, GError **error)
{
  if (description.dimensions > 2)
    return refuse (
        error, "Transforms of %u dimensions: expected 1 or 2", description.dimensions);
  if (description.direction != GST_OPENCL_FFT_FORWARD
      && description.direction != GST_OPENCL_FFT_INVERSE)
    return refuse (error, "Unknown transform direction %d", description.direction);
  return true;
}

/* Checks sizes. The library has already accepted the lengths. */
bool
check_sizes (const FFTShape &shape, GError **error)
{
  const GstOpenCLFFTStrides &input = shape.input, &output = shape.output;
  if (is_too_large (shape))
    return refuse (error,
        "%" G_GSIZE_FORMAT " transforms of %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
        " samples, with strides %" G_GSIZE_FORMAT ", %" G_GSIZE_FORMAT
        ", %" G_GSIZE_FORMAT " of the input and %" G_GSIZE_FORMAT ", %" G_GSIZE_FORMAT
        ", %" G_GSIZE_FORMAT " of the output, are too large",
        shape.batch, shape.lengths[0], shape.lengths[1], input.sample, input.row,
        input.transform, output.sample, output.row, output.transform);
  if (are_apart (shape, shape.output_columns (), output))
    return true;
  return refuse (error,
      "Output strides %" G_GSIZE_FORMAT ", %" G_GSIZE_FORMAT ", %" G_GSIZE_FORMAT
      " of %" G_GSIZE_FORMAT " transforms of %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
      ": output samples overlap",
      output.sample, output.row, output.transform, shape.batch, shape.output_columns (),
      shape.lengths[1]);
}

void
init_debug_category ()
{
  static const bool initialised = [] {
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_fft_debug, "openclfft", 0, "Fourier transforms on OpenCL");
    return true;
  }();
  (void)initialised;
}
} // namespace

GType
gst_opencl_fft_library_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_FFT_LIBRARY_AUTO, "VkFFT if it supports the length, else clFFT",
          "auto"},
      {GST_OPENCL_FFT_LIBRARY_CLFFT, "clFFT: lengths whose prime factors are at most 13",
          "clfft"},
      {GST_OPENCL_FFT_LIBRARY_VKFFT, "VkFFT: all lengths", "vkfft"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOpenCLFFTLibrary", values);
  return type;
}

gboolean
gst_opencl_fft_library_is_built (GstOpenCLFFTLibrary library)
{
  return first_candidate (library) != nullptr;
}

gboolean
gst_opencl_fft_library_accepts (GstOpenCLFFTLibrary library, gsize length)
{
  return find_library (library, &length, 1) != nullptr;
}

GstOpenCLFFT *
gst_opencl_fft_new_described (
    GstOpenCLContext *context, const GstOpenCLFFTDescription *wanted, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (wanted != nullptr, nullptr);

  init_debug_category ();
  GstOpenCLFFTDescription description = resolve (*wanted);
  if (!check_kind (description, error) || !choose_double (context, description, error))
    return nullptr;
  const FFTLibrary *entry = find_right_library (context, description);
  if (!entry) {
    refuse_library (description, error);
    return nullptr;
  }
  if (opencl::is_faulty_engine (context, engine_of (entry, description))) {
    gst_opencl_context_require_engine (context, engine_of (entry, description), error);
    return nullptr;
  }

  const FFTShape shape = shape_of (description);
  if (!check_sizes (shape, error))
    return nullptr;
  FFTPlanPointer plan = opencl::make_fft_plan (*entry, context, shape, error);
  if (!plan)
    return nullptr;
  GST_DEBUG ("%s makes %" G_GSIZE_FORMAT " transforms of %" G_GSIZE_FORMAT
             " x %" G_GSIZE_FORMAT " samples",
      entry->name, shape.batch, shape.lengths[0], shape.lengths[1]);
  description.library = entry->library;
  return new GstOpenCLFFT{static_cast<GstOpenCLContext *> (gst_object_ref (context)),
      description, shape.input_bytes (), shape.output_bytes (), std::move (plan)};
}

GstOpenCLFFT *
gst_opencl_fft_new (GstOpenCLContext *context, GstOpenCLFFTLibrary library, gsize length,
    gsize lines, gboolean real, GError **error)
{
  g_return_val_if_fail (lines > 0, nullptr);

  GstOpenCLFFTDescription description = {};
  description.library = library;
  description.real = real;
  description.lengths[0] = length;
  description.batch = lines;
  return gst_opencl_fft_new_described (context, &description, error);
}

void
gst_opencl_fft_free (GstOpenCLFFT *fft)
{
  if (!fft)
    return;
  fft->plan.reset ();
  gst_object_unref (fft->context);
  delete fft;
}

const GstOpenCLFFTDescription *
gst_opencl_fft_get_description (const GstOpenCLFFT *fft)
{
  return &fft->description;
}

gsize
gst_opencl_fft_get_output_stride (const GstOpenCLFFT *fft)
{
  return fft->description.output.transform;
}

gsize
gst_opencl_fft_get_input_size (const GstOpenCLFFT *fft)
{
  return fft->input_bytes;
}

gsize
gst_opencl_fft_get_output_size (const GstOpenCLFFT *fft)
{
  return fft->output_bytes;
}

gboolean
gst_opencl_fft_enqueue (GstOpenCLFFT *fft, cl_command_queue queue, cl_mem input,
    cl_mem output, GError **error)
{
  g_return_val_if_fail (fft != nullptr, FALSE);
  if (opencl::compiles_only ())
    return fft->plan->enqueue_transform (queue, input, output, error);
  if (input == output)
    return refuse (error, "Input and output of a transform must be different buffers");
  return gst_opencl_context_check_queue (fft->context, queue, error)
         && gst_opencl_context_check_buffer (
             fft->context, input, fft->input_bytes, "input of a transform", error)
         && gst_opencl_context_check_buffer (
             fft->context, output, fft->output_bytes, "output of a transform", error)
         && fft->plan->enqueue_transform (queue, input, output, error);
}
