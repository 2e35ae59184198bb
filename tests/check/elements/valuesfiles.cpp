/* Tests of invalid and oversized files of values, and of values out of range: each causes
 * one error at once, and files are not read completely
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/slowness.hpp"

#include <sys/stat.h>

#include <numeric>
#include <vector>

#include "gst/oct/calibration/spectrumtables.hpp"

using namespace check;

static const bool is_quick = check::set_test_timeout (60);
/* Memory that an earlier test freed would hide what a test reads. */
static const bool alone = check::fork_each_test ();

namespace {
const gsize n_samples = 16;

/* A file that is deleted at the end of its scope */
struct Path {
  /* Writes `contents`, followed by zeros up to `size` bytes in a sparse file. */
  void write (const std::string &contents, guint64 size = 0)
  {
    folder.write ("values", contents);
    if (size > contents.size ())
      std::filesystem::resize_file (path, size);
  }

  Folder folder;
  const std::string path = folder.file ("values");
};

std::string
npy_header (guint64 values)
{
  std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': ("
                           + std::to_string (values) + ",), }";
  dictionary.resize (117, ' ');
  return std::string ("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary + '\n';
}

/* Returns the error for a file, which must be the same for every table. */
std::string
refusal (const std::string &path, bool for_background = false)
{
  oct::SpectrumSettings settings;
  oct::SpectrumTables tables;
  Owned<GError> error;

  if (for_background) {
    settings.background_from_file = true;
    settings.background.path = path;
  } else {
    settings.calibration.wavelengths.path = path;
  }
  const gint64 start = g_get_monotonic_time ();
  const gsize before = check::resident_kib ();
  fail_if (oct::spectrum_tables_load (settings, n_samples, true, tables, error.out ()));
  fail_unless (
      check::resident_kib () < before + 16 * 1024, "%s has been read", path.c_str ());
  const gint64 took = g_get_monotonic_time () - start;
  fail_unless (gdouble (took) < 2 * check::slowness () * G_TIME_SPAN_SECOND,
      "%s takes long", path.c_str ());
  std::string message = error->message;
  return message;
}

/* Returns the given lines, followed by the line numbers up to the last sample. */
std::string
lines_of (std::vector<const char *> first)
{
  std::string lines;
  for (const char *line : first)
    lines += std::string (line) + "\n";
  for (gsize n = first.size () + 1; n <= n_samples; n++)
    lines += std::to_string (n) + "\n";
  return lines;
}

void
expect_contains_part (const std::string &message, const char *part)
{
  fail_unless (message.find (part) != std::string::npos, "\"%s\" lacks \"%s\"",
      message.c_str (), part);
}
} // namespace

TEST (test_values_come_from_regular_files_only)
{
  Path pipe;
  fail_unless (mkfifo (pipe.path.c_str (), 0600) == 0);
  for (const std::string &path : {std::string ("/dev/zero"), pipe.path})
    for (bool for_background : {false, true})
      expect_contains_part (refusal (path, for_background), "expected a regular file");
}

TEST (test_a_line_without_an_end_is_refused)
{
  Path file;
  file.write ("1\n2\n", 3000000000u);
  expect_contains_part (refusal (file.path), "line 3 is longer than 4096 characters");
  file.write ("1\n# " + std::string (5000, '-') + "\n");
  expect_contains_part (refusal (file.path), "line 2 is longer than 4096 characters");
}

TEST (test_the_header_of_npy_tells_that_there_are_too_many_values)
{
  Path file;
  file.write (npy_header (750000000), 6000000128u);
  expect_contains_part (refusal (file.path), "750000000 values, expected 16");
}

TEST (test_what_is_behind_the_values_of_npy_is_not_read)
{
  Path file;
  double values[n_samples];
  std::iota (values, values + n_samples, 1.0);
  file.write (npy_header (n_samples)
                  + std::string (reinterpret_cast<const char *> (values), sizeof values),
      6000000000u);
  oct::SpectrumSettings settings;
  oct::SpectrumTables tables;
  settings.calibration.wavelengths.path = file.path;
  const gsize before = check::resident_kib ();
  fail_unless (oct::spectrum_tables_load (settings, n_samples, true, tables, nullptr));
  fail_unless (check::resident_kib () < before + 16 * 1024);
}

TEST (test_no_more_lines_are_read_than_tell_that_there_are_too_many)
{
  Path file;
  file.write (lines_of ({}) + "17\neighteen\n");
  expect_contains_part (refusal (file.path), "17 values or more, expected 16");
}

TEST (test_wavelengths_of_a_file_are_refused_as_those_of_a_range)
{
  Path file;
  file.write (lines_of ({"4.9e-324", "1e-323", "2e-323"}));
  expect_contains_part (
      refusal (file.path), "value 0 is 4.94065646e-324, expected a wavelength");
  file.write (lines_of ({"1.9000000000000001", "1.9000000000000004"}));
  expect_contains_part (refusal (file.path), "value 1 is 1.9, expected a larger step");
  file.write (lines_of ({"1", "2", "3", "4", "5", "6", "7", "1e300"}));
  expect_contains_part (refusal (file.path), "value 7 is 1e+300, expected a wavelength");
}

TEST (test_what_a_float_does_not_hold_is_no_background)
{
  Path file;
  file.write (lines_of ({"1", "2", "3", "1e39"}));
  expect_contains_part (refusal (file.path, true), "value 3 is 1e+39");
}

TEST (test_a_phase_that_is_no_number_is_an_error)
{
  oct::SpectrumSettings settings;
  oct::SpectrumTables tables;
  Owned<GError> error;
  settings.dispersion.a2 = 1e308;
  fail_if (oct::spectrum_tables_load (settings, n_samples, true, tables, error.out ()));
  expect_contains_part (error->message, "dispersion-a2 1e+308");
}
