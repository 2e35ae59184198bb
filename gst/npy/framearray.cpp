/* Arrays of NumPy as frames: which shapes are frames of spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "framearray.hpp"

namespace npy {

static gboolean
check_shape (const std::vector<gsize> &shape, GError **error)
{
  constexpr auto expected = "expected (samples,), (lines, samples) or "
                            "(frames, lines, samples)";
  const char *wrong = nullptr;

  if (shape.empty () || shape.size () > 3)
    wrong = "has another number of dimensions";
  for (gsize length : shape)
    wrong = length == 0 ? "is empty" : wrong;
  for (gsize i = shape.size () > 2 ? 1 : 0; !wrong && i < shape.size (); i++)
    wrong = shape[i] > gsize (G_MAXINT) ? "has more than 2147483647 lines or samples"
                                        : nullptr;
  if (!wrong)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "an array of shape %s %s, %s", opencl::npy_shape_text (shape).c_str (), wrong,
      expected);
  return FALSE;
}

gboolean
frame_array_parse (const guint8 *data, gsize size, FrameArray &array, GError **error)
{
  opencl::NpyHeader header;

  if (!opencl::npy_parse_header (data, size, header, error)
      || !check_shape (header.shape, error))
    return FALSE;

  const std::vector<gsize> &shape = header.shape;
  gsize dimensions = shape.size ();
  gsize frames = dimensions > 2 ? shape[0] : 1;
  array = {header.type, int (shape[dimensions - 1]),
      dimensions > 1 ? int (shape[dimensions - 2]) : 1, frames, header.data_offset,
      header.data_size () / frames};
  return TRUE;
}

} // namespace npy
