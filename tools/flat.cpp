/* oct-calibrate --flat: optical path and scanner delay from a flat target
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "flat.hpp"

#include "gst/oct/calibration/flatness.hpp"

#include <gst/common/platform.hpp>
#include <gst/common/npyfile.hpp>

#include <gst/app/gstappsink.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

const char *const flat_help =
    "\n"
    "       oct-calibrate --flat FILE [--settings FILE | --amplitudes | --decibels]\n"
    "                     [--order N] [--with-tilt] [--from DEPTH] [--repeats N]\n"
    "                     [--bidirectional] [--flyback N] [--output FOLDER]\n"
    "\n"
    "Finds the optical path from B-scans or a volume of a flat target, for octflatten,\n"
    "and from frames scanned in both directions the delay of the scanner, for octscan.\n"
    "The strongest peak of an A-line counts as the surface.\n"
    "\n"
    "  --flat FILE           .npy: frames of A-lines. Real numbers are spectra, complex\n"
    "                        numbers are depths\n"
    "  --settings FILE       settings of octwindowinterp for the spectra\n"
    "  --amplitudes          real numbers are amplitudes of depths\n"
    "  --decibels            real numbers are levels of depths in dB\n"
    "  --order N             degree of the polynomial, 2 to 6 (default: 4)\n"
    "  --with-tilt           also correct the slope of the target (default: it is taken\n"
    "                        as the target's tilt, which a recording cannot tell from\n"
    "                        that of the scan)\n"
    "  --from DEPTH          first depth of the surface (default: 8)\n"
    "  --repeats N           frames of each B-scan (default: 1)\n"
    "  --bidirectional       every second frame was scanned backwards: finds the delay\n"
    "  --flyback N           A-lines at the end of a frame outside the sweep\n"
    "  --output FOLDER       folder for flatten.txt, and for scan.txt with a delay\n"
    "                        (default: the current folder)\n"
    "\n"
    "  ... octscan settings=scan.txt reverse=odd ! octwindowinterp ... ! octfft !\n"
    "      octflatten settings=flatten.txt ! ...\n";

namespace {
using Values = std::vector<double>;

enum class Kind { SPECTRA, AMPLITUDES, DECIBELS };

struct Options {
  std::string file, settings, output = ".";
  Kind kind = Kind::SPECTRA;
  gsize order = 4, first = 8;
  bool with_tilt = false;
  oct::FlatScan scan;
};

/* Surfaces of the file, and the distance between depths in µm, or 0 */
struct Recording {
  oct::Surfaces surfaces;
  double depth_step = 0;
};

/* Options without a value */
bool
parse_flag (const std::string &word, Options &options)
{
  if (word == "--amplitudes")
    options.kind = Kind::AMPLITUDES;
  else if (word == "--decibels")
    options.kind = Kind::DECIBELS;
  else if (word == "--with-tilt")
    options.with_tilt = true;
  else if (word == "--bidirectional")
    options.scan.bidirectional = true;
  else
    return false;
  return true;
}

bool
parse (int count, char **words, Options &options, GError **error)
{
  const struct {
    const char *name;
    gsize least, most;
    gsize &number;
  } numbers[] = {{"--order", 2, oct::Curvature::most_order, options.order},
      {"--from", 0, 32768, options.first}, {"--repeats", 1, 4096, options.scan.repeats},
      {"--flyback", 0, 1 << 20, options.scan.flyback}};
  const struct {
    const char *name;
    std::string &text;
  } texts[] = {{"--flat", options.file}, {"--settings", options.settings},
      {"--output", options.output}};

  for (int n = 1; n < count; n++) {
    const std::string word = words[n];
    if (parse_flag (word, options))
      continue;
    const auto number = std::find_if (std::begin (numbers), std::end (numbers),
        [&] (const auto &one) { return word == one.name; });
    const auto text = std::find_if (std::begin (texts), std::end (texts),
        [&] (const auto &one) { return word == one.name; });
    if ((number == std::end (numbers) && text == std::end (texts)) || n + 1 == count)
      return fail (
          error, word + ": missing value or no such option with --flat (see --help)");
    const char *value = words[++n];
    if (text != std::end (texts))
      text->text = value;
    else if (!parse_number (
                 word, value, number->least, number->most, number->number, error))
      return false;
  }
  if (!options.settings.empty () && options.kind != Kind::SPECTRA)
    return fail (error, "--settings is for spectra, expected no --amplitudes and no "
                        "--decibels");
  return true;
}

double
decibels (double power)
{
  return 10 * std::log10 (std::max (power, 1e-12));
}

/* Appends the surfaces of a frame of complex depths. */
void
append_bins (
    const float *bins, gsize lines, gsize samples, gsize first, oct::Surfaces &surfaces)
{
  Values levels (lines * samples);
  for (gsize n = 0; n < levels.size (); n++)
    levels[n] = decibels (std::pow (bins[2 * n], 2) + std::pow (bins[2 * n + 1], 2));
  surfaces.append (levels, samples, first);
}

/* --- spectra --- */

struct Unref {
  void operator() (gpointer object) const { gst_object_unref (object); }
};
template <typename Object> using Owned = std::unique_ptr<Object, Unref>;

GstElement *
make_pipeline (const Options &options, GError **error)
{
  GstElement *pipeline = gst_parse_launch (
      "filesrc name=file ! npyparse ! openclupload ! octwindowinterp name=spectra ! "
      "octfft ! application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE ! "
      "opencldownload ! appsink name=out sync=false max-buffers=2",
      error);
  if (!pipeline)
    return nullptr;
  const Owned<GstElement> file (gst_bin_get_by_name (GST_BIN (pipeline), "file"));
  const Owned<GstElement> spectra (gst_bin_get_by_name (GST_BIN (pipeline), "spectra"));
  g_object_set (file.get (), "location", options.file.c_str (), nullptr);
  if (!options.settings.empty ())
    g_object_set (spectra.get (), "settings", options.settings.c_str (), nullptr);
  return pipeline;
}

bool
append_sample (
    GstSample *sample, const Options &options, Recording &recording, GError **error)
{
  const GstStructure *caps = gst_caps_get_structure (gst_sample_get_caps (sample), 0);
  gint lines = 0, samples = 0;
  GstMapInfo map;
  gst_structure_get_int (caps, "lines", &lines);
  gst_structure_get_int (caps, "samples", &samples);
  gst_structure_get_double (caps, "depth-step", &recording.depth_step);
  if (gsize (samples) < options.first + 3)
    return fail (error, "--from " + std::to_string (options.first) + ": A-lines have "
                            + std::to_string (samples) + " depths");
  if (!gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ))
    return fail (error, "a frame cannot be mapped");
  /* A size of 0 means a failed transfer, which an element reports. */
  const bool is_whole = map.size >= gsize (lines) * gsize (samples) * sizeof (float);
  if (is_whole)
    append_bins (reinterpret_cast<const float *> (map.data), gsize (lines),
        gsize (samples), options.first, recording.surfaces);
  gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  return is_whole || fail (error, "a frame has no contents");
}

/* Moves the error of an element to `error`, if there is one. */
bool
check_bus (GstElement *pipeline, GError **error)
{
  const Owned<GstBus> bus (gst_element_get_bus (pipeline));
  GstMessage *message = gst_bus_pop_filtered (bus.get (), GST_MESSAGE_ERROR);
  if (!message)
    return true;
  g_clear_error (error);
  gst_message_parse_error (message, error, nullptr);
  gst_message_unref (message);
  return false;
}

bool
read_spectra (const Options &options, Recording &recording, GError **error)
{
  const Owned<GstElement> pipeline (make_pipeline (options, error));
  if (!pipeline)
    return false;
  const Owned<GstElement> out (gst_bin_get_by_name (GST_BIN (pipeline.get ()), "out"));
  bool good = gst_element_set_state (pipeline.get (), GST_STATE_PLAYING)
                  != GST_STATE_CHANGE_FAILURE
              || fail (error, options.file + ": the pipeline cannot start");
  while (good && !gst_app_sink_is_eos (GST_APP_SINK (out.get ()))) {
    GstSample *sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (out.get ()), GST_SECOND / 10);
    good = sample ? append_sample (sample, options, recording, error)
                  : check_bus (pipeline.get (), error);
    g_clear_pointer (&sample, gst_sample_unref);
  }
  good = check_bus (pipeline.get (), error) && good;
  gst_element_set_state (pipeline.get (), GST_STATE_NULL);
  return good;
}

/* --- depths --- */

/* Returns the size of a frame; the innermost two dimensions. */
bool
frame_of (const Options &options, const std::vector<gsize> &shape, gsize &lines,
    gsize &samples, GError **error)
{
  samples = shape.empty () ? 0 : shape.back ();
  lines = shape.size () < 2 ? 0 : shape[shape.size () - 2];
  if (lines > 0 && samples >= options.first + 3)
    return true;
  return fail (error, options.file + ": shape " + opencl::npy_shape_text (shape)
                          + ", expected frames of A-lines of more than "
                          + std::to_string (options.first + 2) + " depths");
}

bool
read_complex (const Options &options, Recording &recording, GError **error)
{
  Values parts;
  std::vector<gsize> shape;
  gsize lines = 0, samples = 0;
  if (!opencl::npy_load_pairs (options.file.c_str (), parts, shape, error)
      || !frame_of (options, shape, lines, samples, error))
    return false;
  const gsize frame = lines * samples;
  for (gsize at = 0; at + 2 * frame <= parts.size (); at += 2 * frame) {
    const std::vector<float> bins (
        parts.begin () + gssize (at), parts.begin () + gssize (at + 2 * frame));
    append_bins (bins.data (), lines, samples, options.first, recording.surfaces);
  }
  return true;
}

bool
read_real (const Options &options, Recording &recording, GError **error)
{
  Values values;
  std::vector<gsize> shape;
  gsize lines = 0, samples = 0;
  if (!opencl::npy_load_doubles (options.file.c_str (), values, shape, error)
      || !frame_of (options, shape, lines, samples, error))
    return false;
  for (gsize at = 0; at + lines * samples <= values.size (); at += lines * samples) {
    Values levels (
        values.begin () + gssize (at), values.begin () + gssize (at + lines * samples));
    for (double &level : levels)
      level = options.kind == Kind::DECIBELS ? level : decibels (level * level);
    recording.surfaces.append (levels, samples, options.first);
  }
  return true;
}

bool
read (const Options &options, Recording &recording, GError **error)
{
  opencl::NpyHeader header;
  if (!opencl::npy_load_header (options.file.c_str (), header, error))
    return false;
  if (options.kind != Kind::SPECTRA && header.complex)
    return fail (error, options.file
                            + ": complex depths, expected real numbers for "
                              "--amplitudes and --decibels");
  if (options.kind != Kind::SPECTRA)
    return read_real (options, recording, error);
  return header.complex ? read_complex (options, recording, error)
                        : read_spectra (options, recording, error);
}

/* --- results --- */

std::string
text_of (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_formatd (text, sizeof text, "%.6g", value);
}

std::string
coefficients_line (const oct::Curvature &curvature)
{
  std::string line;
  for (double coefficient : curvature.coefficients)
    line += (line.empty () ? "" : ",") + text_of (coefficient);
  return "coefficients=<" + line + ">\n";
}

bool
find_delay (Options &options, const Recording &recording, GError **error)
{
  oct::ScannerDelay found;
  if (!options.scan.bidirectional)
    return true;
  if (!oct::delay_of_surfaces (recording.surfaces, options.scan, found, error))
    return false;
  options.scan.delay = found.lines;
  const std::string line = "delay=" + text_of (found.lines) + "\n";
  printf ("# delay of the scanner: %.2f A-lines, standard error %.3f\n%s", found.lines,
      found.error, line.c_str ());
  return opencl::write_file (options.output + "/scan.txt", line, error);
}

bool
calibrate (Options &options, GError **error)
{
  Recording recording;
  oct::Flatness found;
  if (!read (options, recording, error) || !find_delay (options, recording, error)
      || !oct::flatness_of_surfaces (recording.surfaces, options.scan, options.order,
          options.with_tilt, found, error))
    return false;
  printf ("# surface in %.1f %% of the A-lines, %.3f depths rms from the polynomial",
      100 * found.share, found.residual);
  if (recording.depth_step > 0)
    printf (" (%.3f um)", found.residual * recording.depth_step);
  printf ("\n# optical path from %.2f to %.2f depths\n", found.least, found.most);
  const std::string line = coefficients_line (found.curvature);
  fputs (line.c_str (), stdout);
  return opencl::write_file (options.output + "/flatten.txt", line, error);
}
} // namespace

bool
fail (GError **error, const std::string &what)
{
  g_set_error (
      error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "%s", what.c_str ());
  return false;
}

bool
parse_number (const std::string &option, const char *value, gsize least, gsize most,
    gsize &number, GError **error)
{
  gchar *end = nullptr;
  const guint64 parsed = g_ascii_strtoull (value, &end, 10);
  if (*value != '-' && end != value && *end == '\0' && parsed >= least
      && parsed <= most) {
    number = gsize (parsed);
    return true;
  }
  return fail (error, option + " " + value + ": expected a number from "
                          + std::to_string (least) + " to " + std::to_string (most));
}

int
calibrate_flat (int count, char **words, GError **error)
{
  Options options;
  gst_init (nullptr, nullptr);
  return !parse (count, words, options, error) ? 2 : !calibrate (options, error) ? 1 : 0;
}
