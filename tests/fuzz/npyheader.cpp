/* Fuzzing: the header of a .npy file, and what frames it would hold
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/npy/framearray.hpp"

using fuzz::promise;

static void
check_header (const guint8 *data, gsize size, opencl::NpyRecords records)
{
  opencl::NpyHeader header;
  GError *error = nullptr;

  if (!opencl::npy_parse_header (data, size, header, &error, records)) {
    promise (error && error->message, "a header that is refused has a reason");
    g_utf8_validate (error->message, -1, nullptr);
    g_clear_error (&error);
    return;
  }
  promise (!error, "a header that is taken has no error");
  promise (header.record == 0 || records == opencl::NpyRecords::TAKE,
      "records are taken only on request");
  promise (header.data_offset <= size, "values begin behind the header that was read");
  promise (header.data_size () <= gsize (G_MAXSSIZE) - header.data_offset,
      "a file's size fits into a gssize");
  g_free (g_strdup (opencl::npy_shape_text (header.shape).c_str ()));
}

static void
check_frames (const guint8 *data, gsize size, npy::View view)
{
  npy::FrameArray array{};
  GError *error = nullptr;

  if (!npy::frame_array_parse (data, size, view, array, &error)) {
    promise (error && error->message, "an array that is refused has a reason");
    g_clear_error (&error);
    return;
  }
  promise (array.format ().count () > 0 && array.frame_bytes > 0, "frames have a size");
  promise (
      array.format ().bytes () == array.frame_bytes, "frames are as large as caps say");
  promise (
      array.frames <= (guint64 (G_MAXSSIZE) - array.header_bytes) / array.frame_bytes,
      "all frames fit into a file");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  promise (opencl::npy_header_size (data, size) <= (gsize (1) << 33),
      "a header's size is that of a 32-bit number");
  for (auto records : {opencl::NpyRecords::REFUSE, opencl::NpyRecords::TAKE})
    check_header (data, size, records);
  for (bool split : {false, true}) {
    check_frames (data, size, {false, split});
    check_frames (data, size, {true, split});
  }
  return 0;
}
