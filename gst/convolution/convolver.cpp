/* Runs a convolution on a device by one of several methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolver.hpp"

#include <gst/opencl/device/selfcheck.hpp>

namespace compute {
namespace {
struct MethodMaker {
  Method method;
  MakeConvolver make;
};

constexpr MethodMaker makers[] = {
    {Method::direct, make_direct},
    {Method::separable, make_separable},
    {Method::winograd, make_winograd},
    {Method::fft, make_fft},
};

/* Sizes from which on a method is the fastest, measured by `opencl-bench convolve` with
 *   --case 'choice-3x3-*' for Winograd,
 *   --case 'choice-product-*' for separable,
 *   --case 'choice-picture-*' for fft. */
struct Rule {
  bool in_lanes;                                               /* CPU kernels */
  gsize winograd_channels, winograd_filters, winograd_weights; /* channels × filters */
  gsize winograd_tiles;                                        /* of 4x4 outputs */
  gsize separable_taps; /* rows × columns of the kernel */
  gsize fft_taps;       /* per output value */
  gsize fft_pixels;     /* of the output */
};

constexpr Rule rules[] = {
    {true, 16, 4, 256, 8, 49, 3400, 64 * 64},
    {false, 32, 8, 512, 16, 289, 529, 512 * 512},
};

const Rule &
rule_of (GstOpenCLContext *context)
{
  return rules[convolves_on_cpu (context) ? 0 : 1];
}

bool
is_worth_winograd (const Rule &rule, const Convolution &convolution)
{
  const Extent &made = convolution.output;
  const gsize channels = convolution.input.channels;
  return is_winograd (convolution) && channels >= rule.winograd_channels
         && made.channels >= rule.winograd_filters
         && channels * made.channels >= rule.winograd_weights
         && made.images * made.pixels () >= 16 * rule.winograd_tiles;
}

/* With a stride, the FFT also computes outputs that are then dropped. */
bool
is_worth_fft (const Rule &rule, const Convolution &convolution)
{
  const gsize asked = convolution.stride.y * convolution.stride.x;
  return convolution.channels_of_group () == 1
         && convolution.taps () >= rule.fft_taps * asked
         && convolution.output.pixels () >= rule.fft_pixels;
}

/* Names for the self-check. It does not cover the other methods, which are simple. */
constexpr struct {
  Method method;
  const char *name;
} engines[] = {
    {Method::winograd, "convolution-winograd"},
    {Method::separable, "convolution-separable"},
    {Method::fft, "convolution-fft"},
};

const char *
engine_of (Method method)
{
  for (const auto &engine : engines) {
    if (engine.method == method)
      return engine.name;
  }
  return nullptr;
}

bool
is_trusted (GstOpenCLContext *context, Method method)
{
  return gst_opencl_context_trusts_engine (context, engine_of (method));
}

/* Returns the fastest method that passed the self-check. */
Method
fastest (
    GstOpenCLContext *context, const Convolution &convolution, const Filters &filters)
{
  const Rule &rule = rule_of (context);
  if (convolution.exact)
    return Method::direct;
  if (is_worth_winograd (rule, convolution) && is_trusted (context, Method::winograd))
    return Method::winograd;
  if (convolution.taps () >= rule.separable_taps && is_separable (convolution, filters)
      && is_trusted (context, Method::separable))
    return Method::separable;
  return is_worth_fft (rule, convolution) && is_trusted (context, Method::fft)
             ? Method::fft
             : Method::direct;
}
} // namespace

const char *
name_of (Method method)
{
  /* In the order of the enumeration */
  static constexpr const char *names[] = {
      "auto", "direct", "separable", "winograd", "fft"};
  return names[int (method)];
}

void
warn_of_wrong_methods (GstOpenCLContext *context, GstElement *element)
{
  for (const auto &engine : engines)
    gst_opencl_context_warn_of_engine (context, engine.name, element, "another method");
}

std::unique_ptr<Convolver>
Convolver::create (
    GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  if (convolution.input_type == opencl::NumberType::f64)
    return make_double (context, convolution, error);

  Filters filters;
  if (!filters.read (convolution, error))
    return nullptr;
  const Device device = {context, std::make_shared<Workspace> ()};
  std::unique_ptr<Convolver> made = create (device, convolution, filters, error);
  return made && device.workspace->allocate (context, error) ? std::move (made) : nullptr;
}

std::unique_ptr<Convolver>
Convolver::create (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error)
{
  if (convolution.method == Method::automatic && is_half (device.context, convolution)
      && !is_depthwise (convolution))
    return make_half (device, convolution, filters, error);
  const Method method = convolution.method == Method::automatic
                            ? fastest (device.context, convolution, filters)
                            : convolution.method;
  if (engine_of (method)
      && !gst_opencl_context_require_engine (device.context, engine_of (method), error))
    return nullptr;
  for (const MethodMaker &maker : makers) {
    if (maker.method != method)
      continue;
    std::unique_ptr<Convolver> made = maker.make (device, convolution, filters, error);
    if (made)
      made->used_method = method;
    return made;
  }
  g_return_val_if_reached (nullptr);
}
} // namespace compute
