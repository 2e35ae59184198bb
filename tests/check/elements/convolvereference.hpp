/* Reference convolution, in double precision or more
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <cmath>
#include <string>
#include <vector>

namespace reference {
struct Case {
  int images = 1, channels = 1, height = 1, width = 1;
  int filters = 1, groups = 1, lines = 1, columns = 1; /* of the kernel */
  int stride = 1, dilation = 1, padding = -1;
  std::string border = "zero", activation = "none";
  bool nchw = false;

  int of_group () const { return channels / groups; }
  int seen (int taps) const { return (taps - 1) * dilation + 1; }
  int made (int input, int taps) const
  {
    return padding < 0 ? (input + stride - 1) / stride
                       : (input + 2 * padding - seen (taps)) / stride + 1;
  }
  int before (int input, int taps) const
  {
    const int needed = (made (input, taps) - 1) * stride + seen (taps);
    return padding >= 0 ? padding : needed > input ? (needed - input) / 2 : 0;
  }
  int out_height () const { return made (height, lines); }
  int out_width () const { return made (width, columns); }

  gsize at (int n, int c, int y, int x, int all_c, int all_y, int all_x) const
  {
    return nchw ? ((gsize (n) * all_c + c) * all_y + y) * all_x + x
                : ((gsize (n) * all_y + y) * all_x + x) * all_c + c;
  }
};

/* Returns the index that the border rule uses instead of `at`; -1: zero. */
inline int
border_at (const std::string &border, int at, int size)
{
  if (at >= 0 && at < size)
    return at;
  if (border == "clamp")
    return at < 0 ? 0 : size - 1;
  if (border == "wrap")
    return (at % size + size) % size;
  if (border == "mirror") {
    if (size == 1)
      return 0;
    while (at < 0 || at >= size)
      at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
  }
  return -1;
}

template <typename Real>
Real
activated (const std::string &activation, Real x)
{
  auto relu6 = [] (Real v) { return std::fmin (std::fmax (v, Real (0)), Real (6)); };
  if (activation == "relu")
    return std::fmax (x, Real (0));
  if (activation == "relu6")
    return relu6 (x);
  if (activation == "hardswish")
    return x * relu6 (x + 3) / 6;
  if (activation == "sigmoid")
    return 1 / (1 + std::exp (-x));
  if (activation == "silu")
    return x / (1 + std::exp (-x));
  return x;
}

/* `kernel` has the shape (filters, channels of a group, rows, columns) and is not
 * flipped. */
template <typename Real>
std::vector<Real>
convolve_in (const Case &of, const std::vector<Real> &input,
    const std::vector<Real> &kernel, const std::vector<Real> &bias)
{
  const int height = of.out_height (), width = of.out_width ();
  const int top = of.before (of.height, of.lines);
  const int left = of.before (of.width, of.columns);
  std::vector<Real> output (gsize (of.images) * of.filters * height * width);

  for (int n = 0; n < of.images; n++)
    for (int f = 0; f < of.filters; f++)
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
          Real sum = bias[f];
          const int first = f / (of.filters / of.groups) * of.of_group ();
          for (int c = 0; c < of.of_group (); c++)
            for (int j = 0; j < of.lines; j++)
              for (int i = 0; i < of.columns; i++) {
                const int from_y = border_at (
                    of.border, y * of.stride + j * of.dilation - top, of.height);
                const int from_x = border_at (
                    of.border, x * of.stride + i * of.dilation - left, of.width);
                if (from_y >= 0 && from_x >= 0)
                  sum += kernel[((gsize (f) * of.of_group () + c) * of.lines + j)
                                    * of.columns
                                + i]
                         * input[of.at (n, first + c, from_y, from_x, of.channels,
                             of.height, of.width)];
              }
          output[of.at (n, f, y, x, of.filters, height, width)] =
              activated (of.activation, sum);
        }
  return output;
}

inline std::vector<double>
convolve (const Case &of, const std::vector<double> &input,
    const std::vector<double> &kernel, const std::vector<double> &bias)
{
  return convolve_in (of, input, kernel, bias);
}
} // namespace reference
