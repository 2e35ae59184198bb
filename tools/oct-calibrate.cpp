/* oct-calibrate: the calibration of octwindowinterp from the spectra of one or two mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gst/oct/calibration/mirrors.hpp"

#include <gst/opencl/npyfile.hpp>

#include <cstdio>
#include <cstring>
#include <glib/gstdio.h>
#include <string>

namespace {
using Values = std::vector<double>;

/* In the order of the command line; --subtract and --add are of the mirror before. */
struct Options {
  std::vector<Values> mirrors;
  bool opposite = true;
  std::string output = ".";
};

const char *const help =
    "Usage: oct-calibrate --mirror FILE [--subtract FILE | --add FILE]… [--mirror FILE "
    "…]\n"
    "                     [--same-side] [--output FOLDER]\n"
    "\n"
    "Finds the resample map of a spectrometer or a swept source from the fringe of a "
    "mirror\n"
    "and, from a second one, the dispersion apart from it. FILE is .npy, of one A-line "
    "or of\n"
    "several, whose mean is taken. What is there without the mirror is to be "
    "subtracted.\n"
    "\n"
    "  --mirror FILE      spectrum of a mirror\n"
    "  --subtract FILE    what is taken from the mirror before; --add FILE, added\n"
    "  --same-side        both mirrors are on the same side of zero delay; else on "
    "either\n"
    "  --output FOLDER    where resample-map.npy, dispersion-phase.npy and settings.txt "
    "go\n"
    "\n"
    "  gst-launch-1.0 filesrc location=SPECTRA.npy ! npyparse ! openclupload !\n"
    "      octwindowinterp $(cat settings.txt) ! octfft ! …\n";

bool
fail (GError **error, const std::string &what)
{
  g_set_error (
      error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "%s", what.c_str ());
  return false;
}

/* The mean of all A-lines of a file. */
bool
load (const char *path, Values &line, GError **error)
{
  std::vector<gsize> shape;
  Values all;
  if (!opencl::npy_load_doubles (path, all, shape, error))
    return false;
  if (shape.empty () || shape.back () == 0 || all.size () % shape.back ())
    return fail (error, std::string (path) + ": expected A-lines of real numbers");
  const gsize samples = shape.back (), lines = all.size () / samples;
  line.assign (samples, 0);
  for (gsize n = 0; n < all.size (); n++)
    line[n % samples] += all[n] / double (lines);
  return true;
}

bool
change_last (Options &options, const char *path, double factor, GError **error)
{
  Values values;
  if (options.mirrors.empty ())
    return fail (error, std::string (path) + ": expected behind a --mirror");
  if (!load (path, values, error))
    return false;
  Values &mirror = options.mirrors.back ();
  if (values.size () != mirror.size ())
    return fail (error, std::string (path) + " has " + std::to_string (values.size ())
                            + " samples, expected " + std::to_string (mirror.size ())
                            + " as the mirror has");
  for (gsize n = 0; n < mirror.size (); n++)
    mirror[n] += factor * values[n];
  return true;
}

bool
parse (int count, char **words, Options &options, GError **error)
{
  for (int n = 1; n < count; n++) {
    const std::string word = words[n];
    if (word == "--same-side") {
      options.opposite = false;
      continue;
    }
    if (n + 1 == count)
      return fail (error, word + ": expected a value, or no such option (see --help)");
    const char *value = words[++n];
    if (word == "--mirror") {
      options.mirrors.emplace_back ();
      if (!load (value, options.mirrors.back (), error))
        return false;
    } else if (word == "--output") {
      options.output = value;
    } else if (word == "--subtract" || word == "--add") {
      if (!change_last (options, value, word == "--add" ? 1 : -1, error))
        return false;
    } else {
      return fail (error, word + ": no such option (see --help)");
    }
  }
  if (options.mirrors.empty () || options.mirrors.size () > 2)
    return fail (error, "expected one or two --mirror (see --help)");
  return true;
}

bool
write_npy (const std::string &path, const Values &values, GError **error)
{
  std::string bytes =
      opencl::npy_make_header (opencl::NumberType::f64, false, {values.size ()});
  bytes.append (
      reinterpret_cast<const char *> (values.data ()), values.size () * sizeof values[0]);
  return g_file_set_contents (
      path.c_str (), bytes.data (), gssize (bytes.size ()), error);
}

bool
calibrate (const Options &options, GError **error)
{
  oct::MirrorCalibration found;
  const Values second = options.mirrors.size () > 1 ? options.mirrors[1] : Values ();
  const std::string map = options.output + "/resample-map.npy";
  const std::string phase = options.output + "/dispersion-phase.npy";
  if (!oct::calibration_of_mirrors (
          options.mirrors[0], second, options.opposite, found, error)
      || !write_npy (map, found.map, error)
      || (!found.dispersion.empty () && !write_npy (phase, found.dispersion, error)))
    return false;
  std::string settings = "resample-map=" + map;
  if (!found.dispersion.empty ())
    settings += " dispersion-phase=" + phase;
  printf ("width of the first mirror's peak: %.2f depths, calibrated %.2f\n%s\n",
      found.width_before, found.width_after, settings.c_str ());
  settings += "\n";
  return g_file_set_contents ((options.output + "/settings.txt").c_str (),
      settings.data (), gssize (settings.size ()), error);
}
} // namespace

int
main (int count, char **words)
{
  Options options;
  GError *error = nullptr;
  if (count == 2 && strcmp (words[1], "--help") == 0) {
    fputs (help, stdout);
    return 0;
  }
  if (parse (count, words, options, &error) && calibrate (options, &error))
    return 0;
  fprintf (stderr, "oct-calibrate: %s\n", error->message);
  g_error_free (error);
  return 1;
}
