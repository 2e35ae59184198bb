/* What makes a convolution on a device, by one of several methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolver.hpp"

#include "convolvemethods.hpp"

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
    {Method::im2col, make_im2col},
    {Method::fft, make_fft},
};

Method
fastest (GstOpenCLContext *, const Convolution &)
{
  return Method::direct;
}
} // namespace

std::unique_ptr<Convolver>
Convolver::create (
    GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  const Method method = convolution.method == Method::automatic
                            ? fastest (context, convolution)
                            : convolution.method;
  for (const MethodMaker &maker : makers) {
    if (maker.method != method)
      continue;
    std::unique_ptr<Convolver> made = maker.make (context, convolution, error);
    if (made)
      made->made_by = method;
    return made;
  }
  g_return_val_if_reached (nullptr);
}
} // namespace compute
