/* oct-calibrate: computes the calibration of octwindowinterp from spectra of mirrors or
 * samples, or from maps of other programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "flat.hpp"

#include "gst/oct/calibration/calibration.hpp"
#include "gst/oct/calibration/mirrors.hpp"
#include "gst/oct/calibration/sharpness.hpp"
#include "gst/oct/recordings/spectrafile.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <glib/gstdio.h>
#include <gst/common/platform.hpp>
#include <gst/common/text.hpp>
#include <string>

namespace {
using Values = std::vector<double>;

/* Mean spectrum of a mirror */
struct Mirror {
  Values spectrum;
  Values background; /* of its recording, unless --subtract gives another one */
};

/* The command line. --subtract and --add apply to the mirror before them. */
struct Options {
  std::vector<Mirror> mirrors;
  oct::SpectraLayout raw = {};
  Values lines, map;   /* A-lines of --sharpen, and resample map */
  Values map_of_lines; /* of the recording of --sharpen */
  std::string map_file;
  oct::Calibration imported; /* maps of other programs */
  gsize samples = 0;         /* of an A-line of --sharpen, or --samples */
  gsize frame_lines = 0;     /* of a B-scan of --sharpen */
  bool opposite = true;
  Values positions; /* of the mirrors, in µm */
  std::string output = ".";
};

const char *const help =
    "Usage: oct-calibrate [--raw LAYOUT] --mirror FILE\n"
    "                     [--subtract FILE | --add FILE]... [--mirror FILE ...]\n"
    "                     [--same-side] [--distance MICROMETRES | --positions "
    "P1,P2,...]\n"
    "                     [--sharpen FILE] [--output FOLDER]\n"
    "       oct-calibrate --sharpen FILE [--resample-map FILE] [--output FOLDER]\n"
    "       oct-calibrate --chirp FILE | --polynomial C0,C1,... --samples N\n"
    "                     [--output FOLDER]\n"
    "\n"
    "Computes the resample map from spectra of a mirror and, with a second mirror,\n"
    "the dispersion. --sharpen instead finds the dispersion that makes a sample\n"
    "sharpest. FILE is .npy with one or more A-lines, a Thorlabs .oct recording, or\n"
    "raw samples. The A-lines of a mirror are averaged. Subtract the spectrum\n"
    "without the mirror. A .oct recording has it, and --subtract replaces that.\n"
    "\n"
    "  --raw SAMPLES[,FORMAT[,HEADER-BYTES]]\n"
    "                        layout of following files that are neither .npy nor\n"
    "                        .oct: samples per A-line, format as in octrawparse\n"
    "                        (default: U16LE), and bytes to skip\n"
    "  --mirror FILE         spectrum of a mirror\n"
    "  --subtract FILE       spectrum subtracted from the preceding mirror\n"
    "  --add FILE            spectrum added to the preceding mirror\n"
    "  --same-side           both mirrors are on the same side of zero delay\n"
    "                        (default: on opposite sides)\n"
    "  --distance MICROMETRES\n"
    "                        distance between both mirrors, which gives the depth step\n"
    "  --positions P1,P2,... positions of all mirrors in micrometres, of which there "
    "may\n"
    "                        then be more than two; the first two also calibrate\n"
    "  --sharpen FILE        A-lines of any sample: finds dispersion-a2 and -a3\n"
    "  --resample-map FILE   map for --sharpen without a mirror (default: that of a\n"
    "                        .oct recording, else samples are even in wavenumber)\n"
    "  --chirp FILE          converts a file with the wavenumber of each sample to a\n"
    "                        map (Thorlabs Chirp.data)\n"
    "  --polynomial C0,C1,...\n"
    "                        converts polynomial coefficients to a map (as OCTproZ):\n"
    "                        of powers of u, which is 0 at the first wavenumber and 1\n"
    "                        at the last\n"
    "  --samples N           samples per A-line, for --chirp and --polynomial\n"
    "  --output FOLDER       folder for resample-map.npy, dispersion-phase.npy and\n"
    "                        settings.txt (default: the current folder)\n"
    "\n"
    "  gst-launch-1.0 filesrc location=SPECTRA.npy ! npyparse ! openclupload !\n"
    "      octwindowinterp settings=settings.txt ! octfft ! ...\n";

const double most_residual = 3; /* depths; a peak is found within less than one */

/* Loads the mean of all A-lines of a file. */
bool
load (const Options &options, const char *path, Values &line, GError **error)
{
  oct::SpectraFile file;
  if (!oct::load_spectra (path, options.raw, file, error))
    return false;
  line = std::move (file.mean);
  return true;
}

bool
add_mirror (Options &options, const char *path, GError **error)
{
  oct::SpectraFile file;
  if (!oct::load_spectra (path, options.raw, file, error))
    return false;
  options.mirrors.push_back (
      {std::move (file.mean), std::move (file.calibration.background)});
  return true;
}

bool
load_lines (Options &options, const char *path, GError **error)
{
  oct::SpectraFile file;
  if (!oct::load_spectra (path, options.raw, file, error))
    return false;
  options.lines = std::move (file.lines);
  options.samples = file.samples;
  options.frame_lines = file.frame_lines;
  options.map_of_lines = std::move (file.calibration.resample_map);
  return true;
}

bool
change_last (Options &options, const char *path, double factor, GError **error)
{
  Values values;
  if (options.mirrors.empty ())
    return fail (error, std::string (path) + ": expected after a --mirror");
  if (!load (options, path, values, error))
    return false;
  Mirror &mirror = options.mirrors.back ();
  if (values.size () != mirror.spectrum.size ())
    return fail (error, std::string (path) + " has " + std::to_string (values.size ())
                            + " samples, expected "
                            + std::to_string (mirror.spectrum.size ())
                            + " as in the mirror's file");
  for (gsize n = 0; n < values.size (); n++)
    mirror.spectrum[n] += factor * values[n];
  if (factor < 0)
    mirror.background.clear ();
  return true;
}

/* Returns the spectrum of a mirror, less the background of its recording. */
Values
spectrum_of (const Mirror &mirror)
{
  Values spectrum = mirror.spectrum;
  for (gsize n = 0; n < mirror.background.size (); n++)
    spectrum[n] -= mirror.background[n];
  return spectrum;
}

/* Reads numbers that commas separate. */
bool
parse_positions (
    const std::string &option, const char *text, Values &positions, GError **error)
{
  gchar **words = g_strsplit (text, ",", -1);
  bool good = true;
  positions.clear ();
  for (gchar **word = words; *word && good; word++) {
    gchar *end = nullptr;
    positions.push_back (g_ascii_strtod (*word, &end));
    good = end != *word && *end == '\0' && std::isfinite (positions.back ());
  }
  g_strfreev (words);
  return good
         || fail (error, option + " " + std::string (text).substr (0, 80)
                             + ": expected numbers, in micrometres");
}

bool
parse_distance (const char *text, Values &positions, GError **error)
{
  if (!parse_positions ("--distance", text, positions, error))
    return false;
  if (positions.size () != 1 || !(positions[0] > 0))
    return fail (error, "--distance " + std::string (text).substr (0, 80)
                            + ": expected a number above 0, in micrometres");
  positions.insert (positions.begin (), 0);
  return true;
}

/* Checks the number of mirrors, and what is given beside them. */
bool
check_mirrors (const Options &options, GError **error)
{
  const gsize mirrors = options.mirrors.size (), positions = options.positions.size ();
  if (mirrors > 2 && positions == 0)
    return fail (
        error, "expected one or two --mirror, or --positions of all (see --help)");
  if (positions > 0 && (positions != mirrors || mirrors < 2))
    return fail (error, "--positions and --distance: " + std::to_string (positions)
                            + " positions of " + std::to_string (mirrors)
                            + " mirrors, expected one of each of two or more");
  for (const Mirror &mirror : options.mirrors) {
    if (mirror.spectrum.size () != options.mirrors[0].spectrum.size ())
      return fail (error, "expected the same number of samples of all mirrors");
  }
  return true;
}

/* Takes an option with a value. */
bool
take (Options &options, const std::string &word, const char *value, GError **error)
{
  if (word == "--mirror")
    return add_mirror (options, value, error);
  if (word == "--distance")
    return parse_distance (value, options.positions, error);
  if (word == "--positions")
    return parse_positions (word, value, options.positions, error);
  if (word == "--raw")
    return oct::parse_spectra_layout (value, options.raw, error);
  if (word == "--sharpen")
    return load_lines (options, value, error);
  if (word == "--subtract" || word == "--add")
    return change_last (options, value, word == "--add" ? 1 : -1, error);
  if (word == "--samples")
    return parse_number (
        word, value, oct::least_samples, oct::most_samples, options.samples, error);
  if (word == "--resample-map" && !load (options, value, options.map, error))
    return false;
  for (const auto &[name, text] : {std::pair ("--resample-map", &options.map_file),
           {"--chirp", &options.imported.chirp.path},
           {"--polynomial", &options.imported.polynomial}, {"--output", &options.output}})
    if (word == name) {
      *text = value;
      return true;
    }
  return fail (error, word + ": no such option (see --help)");
}

bool
parse (int count, char **words, Options &options, GError **error)
{
  for (int n = 1; n < count; n++) {
    if (strcmp (words[n], "--same-side") == 0)
      options.opposite = false;
    else if (n + 1 == count)
      return fail (error,
          std::string (words[n]) + ": missing value or no such option (see --help)");
    else if (n++; !take (options, words[n - 1], words[n], error))
      return false;
  }
  const bool imported = options.imported.given (), data = !options.mirrors.empty ();
  if ((data && imported) || (!data && !imported && options.lines.empty ()))
    return fail (error, "expected one or two --mirror, --sharpen, or one of --chirp and "
                        "--polynomial (see --help)");
  if (imported && options.samples == 0)
    return fail (error, "--chirp and --polynomial: expected --samples of 16 to 65536");
  return check_mirrors (options, error);
}

/* Prints the depth step in air and what the positions differ from it. Refuses positions that
 * are not on a line. */
bool
find_depth_step (const Options &options, const oct::MirrorCalibration &calibration,
    std::string &settings, GError **error)
{
  std::vector<Values> spectra;
  oct::DepthScale found;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  double worst = 0;
  for (const Mirror &mirror : options.mirrors)
    spectra.push_back (spectrum_of (mirror));
  if (!oct::depth_scale_of_mirrors (
          spectra, options.positions, options.opposite, calibration, found, error))
    return false;
  std::string line = opencl::text_of ("depth step in air: %.6g um", found.step);
  for (gsize n = 0; n < found.residuals.size () && found.residuals.size () > 2; n++) {
    line += opencl::text_of ("%s %.3g", n == 0 ? "; residuals:" : "", found.residuals[n]);
    worst = std::max (worst, std::fabs (found.residuals[n]));
  }
  line += worst > 0 ? " um" : "";
  if (worst > most_residual * found.step)
    return fail (error, "--positions and the depths of the mirrors disagree: " + line
                            + ", expected at most 3 depth steps: see also --same-side");
  printf ("# %s\n", line.c_str ());
  settings +=
      std::string ("depth-step=") + g_ascii_dtostr (text, sizeof text, found.step) + "\n";
  return true;
}

bool
calibrate_by_mirrors (
    const Options &options, Values &map, std::string &settings, GError **error)
{
  oct::MirrorCalibration found;
  const Values first = spectrum_of (options.mirrors[0]);
  const Values second =
      options.mirrors.size () > 1 ? spectrum_of (options.mirrors[1]) : Values ();
  const bool phase = !second.empty () && options.lines.empty ();
  if (!oct::calibration_of_mirrors (first, second, options.opposite, found, error)
      || (!options.positions.empty ()
          && !find_depth_step (options, found, settings, error))
      || !oct::write_calibration (options.output, found, phase, settings, error))
    return false;
  map = found.map;
  printf ("# width of the first mirror's peak: %.2f depths, calibrated %.2f\n",
      found.width_before, found.width_after);
  printf ("# standard error from noise: %.2g samples of the map", found.map_error);
  if (!second.empty ())
    printf (", %.2g rad of the dispersion", found.dispersion_error);
  printf ("\n");
  return true;
}

/* Converts maps of other programs. */
bool
import_map (const Options &options, Values &map, std::string &settings, GError **error)
{
  oct::MirrorCalibration found;
  if (!oct::calibration_load (options.imported, options.samples, found.map, error)
      || !oct::write_calibration (options.output, found, false, settings, error))
    return false;
  map = found.map;
  return true;
}

/* Writes the map of the recording, for files of the same instrument that lack it. */
bool
write_map_of_lines (
    const Options &options, Values &map, std::string &settings, GError **error)
{
  oct::MirrorCalibration found;
  found.map = map = options.map_of_lines;
  return oct::write_calibration (options.output, found, false, settings, error);
}

void
print_dispersion (const oct::SampleDispersion &found, double half)
{
  printf (
      "# at the ends of the spectrum: a2 %.2f rad within %.2f, a3 %.2f rad within %.2f\n",
      found.a2 * half * half, found.square_error, found.a3 * half * half * half,
      found.cube_error);
  if (found.a2 == 0 && found.a3 == 0)
    printf ("# no dispersion that this sample tells from none\n");
  else
    printf ("# sharpness %.4g, before %.4g\n", found.sharpness, found.sharpness_before);
}

bool
sharpen (const Options &options, Values map, std::string &settings, GError **error)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (map.empty () && !options.map_of_lines.empty ()
      && !write_map_of_lines (options, map, settings, error))
    return false;
  const bool even = map.empty ();
  for (gsize m = 0; even && m < options.samples; m++)
    map.push_back (double (m));
  if (map.size () != options.samples)
    return fail (error, "--sharpen: " + std::to_string (options.samples)
                            + " samples per A-line, but the map has "
                            + std::to_string (map.size ()));
  const std::string &file = options.map_file;
  if (file.find ('\n') != std::string::npos
      || (!file.empty () && g_ascii_isspace (file.back ())))
    return fail (
        error, "--resample-map " + file + ": no line of settings.txt can name it");
  if (!file.empty ())
    settings += "resample-map=" + file + "\n";
  oct::SampleDispersion found;
  if (!oct::sample_dispersion (options.lines, options.frame_lines, map, found, error)) {
    g_prefix_error (error, "--sharpen: ");
    return false;
  }
  print_dispersion (found, double (map.size ()) / 2);
  for (const auto &[name, value] :
      {std::pair ("dispersion-a2=", found.a2), std::pair ("dispersion-a3=", found.a3)})
    settings += std::string (name) + g_ascii_dtostr (text, sizeof text, value) + "\n";
  return true;
}

bool
calibrate (const Options &options, GError **error)
{
  Values map = options.map;
  std::string settings;
  if ((!options.mirrors.empty () && !calibrate_by_mirrors (options, map, settings, error))
      || (options.imported.given () && !import_map (options, map, settings, error))
      || (!options.lines.empty () && !sharpen (options, map, settings, error)))
    return false;
  fputs (settings.c_str (), stdout);
  return oct::write_settings (options.output, settings, error);
}
} // namespace

int
main (int count, char **words)
{
  words = opencl::arguments_in_utf8 (words);
  Options options;
  GError *error = nullptr;
  if (count == 2 && (strcmp (words[1], "--help") == 0 || strcmp (words[1], "-h") == 0)) {
    fputs (help, stdout);
    fputs (flat_help, stdout);
    return 0;
  }
  const int status = g_strv_contains (words, "--flat")
                         ? calibrate_flat (count, words, &error)
                     : !parse (count, words, options, &error) ? 2
                     : !calibrate (options, &error)           ? 1
                                                              : 0;
  if (status != 0)
    fprintf (stderr, "oct-calibrate: %s\n", error->message);
  g_clear_error (&error);
  return status;
}
