/* Fuzzing: the files of numbers that octwindowinterp reads
 *
 * The first two bytes say how many values are wanted, the rest is the file.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/oct/calibration/valuesfile.hpp"

#include <cmath>
#include <sys/mman.h>
#include <unistd.h>

using fuzz::promise;

static void
load (const oct::ValuesFile &file, gsize samples)
{
  std::vector<double> values;
  GError *error = nullptr;

  promise (oct::values_file_check (file, nullptr), "a file that is there is found");
  if (oct::values_file_load (file, samples, values, &error)) {
    promise (!error && values.size () == samples, "as many values as were asked for");
    for (double value : values)
      promise (std::isfinite (value), "values are finite");
  } else {
    promise (error && error->message, "a file that is refused has a reason");
    g_clear_error (&error);
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const int descriptor = memfd_create ("values", 0);
  fuzz::Input input (data, size);
  const gsize samples = input.take<guint16> ();
  const std::string path = "/proc/self/fd/" + std::to_string (descriptor);

  promise (ftruncate (descriptor, 0) == 0, "room for a file");
  promise (pwrite (descriptor, input.rest (), input.remaining (), 0)
               == gssize (input.remaining ()),
      "room for a file's bytes");
  load ({"wavelengths", path}, samples);
  return 0;
}
