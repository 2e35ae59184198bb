/* opencl-bench: the command line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "options.hpp"

#include <gst/gst.h>

#include <cstdio>

namespace bench {
namespace {
const char *const summary =
    "Measures GStreamer pipelines on an OpenCL device against what the device allows.\n"
    "\n"
    "Commands:\n"
    "  oct       spectra to pictures: octwindowinterp and octfft\n"
    "  keying    green screens: chromakey, noisereduce, flowkey and what goes with them\n"
    "  transfer  openclupload and opencldownload\n"
    "  fft       octfft alone, with each Fourier transform library\n"
    "  compute   openclkernel, openclkernelsrc and openclconvolve, beside numba,\n"
    "            CLBlast, onnxruntime and scipy\n"
    "  convolve  openclconvolve by each of its methods, and CLBlast's products alone\n"
    "  neighbours  a live pipeline beside slow kernels of other threads\n"
    "  stages [oct|nufft|average|angiography|doppler|fixed-pattern|keying|soft|camera]\n"
    "            where the time goes: each kernel and transfer, by the device's clock\n"
    "  first-frame [oct|keying]\n"
    "            one frame, then the end: what oct and keying start to time a cold start";

const char *const description =
    "Every line of output is a JSON object. \"rate\" is the median of the windows,\n"
    "\"least\" and \"greatest\" are their range; \"of_limit\" is the rate over what\n"
    "this process's own measurement of the link (pinned memory) or of the device's\n"
    "memory (a copy) allows; latencies are from the source's push to the sink, which "
    "has\n"
    "the bytes by then. A case that cannot run has \"error\" instead of \"rate\", and\n"
    "the exit status is 1. Baselines, what other programs reach, are cases named\n"
    "baseline-*\n"
    "\n"
    "  opencl-bench oct --list\n"
    "  opencl-bench oct --device gpu --case 'host*'\n"
    "  opencl-bench convolve --case '3x3-*-direct,*3x3-*-clblast'\n"
    "  opencl-bench keying --size 1920x1080 --windows 3";

struct Raw {
  gchar *device = nullptr, *cases = nullptr, *size = nullptr;
  gchar **rest = nullptr;
  gint samples = 2048, lines = 0, windows = 5;
  gdouble seconds = 1, warm_up = 1;
  gboolean list = FALSE, no_baselines = FALSE;

  ~Raw ()
  {
    g_free (device);
    g_free (cases);
    g_free (size);
    g_strfreev (rest);
  }
};

bool
parse_arguments (int argc, char **argv, Raw &raw, GError **error)
{
  const GOptionEntry entries[] = {
      {"device", 'd', 0, G_OPTION_ARG_STRING, &raw.device,
          "auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name", "DEVICE"},
      {"case", 'c', 0, G_OPTION_ARG_STRING, &raw.cases,
          "Only cases of these names; * and ? stand for others", "PATTERN,…"},
      {"no-baselines", 'n', 0, G_OPTION_ARG_NONE, &raw.no_baselines,
          "Leave out what other programs reach", nullptr},
      {"list", 'L', 0, G_OPTION_ARG_NONE, &raw.list, "Name the cases and end", nullptr},
      {"samples", 0, 0, G_OPTION_ARG_INT, &raw.samples,
          "oct, fft: samples of an A-line (2048)", "N"},
      {"lines", 0, 0, G_OPTION_ARG_INT, &raw.lines,
          "oct, fft: A-lines of a frame, instead of each case's own", "N"},
      {"size", 0, 0, G_OPTION_ARG_STRING, &raw.size,
          "keying, transfer, compute: size of a picture, instead of each case's own",
          "WxH"},
      {"seconds", 's', 0, G_OPTION_ARG_DOUBLE, &raw.seconds, "Length of a window (1)",
          "S"},
      {"windows", 'w', 0, G_OPTION_ARG_INT, &raw.windows, "Windows of a case (5)", "N"},
      {"warm-up", 0, 0, G_OPTION_ARG_DOUBLE, &raw.warm_up,
          "Seconds before the first window (1)", "S"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw.rest, nullptr, nullptr},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  GOptionContext *context = g_option_context_new ("COMMAND");
  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, description);
  g_option_context_add_main_entries (context, entries, nullptr);
  g_option_context_add_group (context, gst_init_get_option_group ());
  gboolean parsed = g_option_context_parse (context, &argc, &argv, error);
  g_option_context_free (context);
  return parsed;
}

bool
is_one_of (const gchar *word, const gchar *const *words)
{
  return word && g_strv_contains (words, word);
}

/* Fills `options`. Returns the error in `raw`, or nullptr. */
const char *
take (const Raw &raw, Options &options)
{
  static const gchar *const commands[] = {"oct", "keying", "transfer", "fft", "compute",
      "convolve", "neighbours", "stages", "first-frame", nullptr};
  static const gchar *const fields[] = {"oct", "keying", nullptr};
  static const gchar *const subjects[] = {"oct", "nufft", "average", "angiography",
      "doppler", "fixed-pattern", "keying", "soft", "camera", nullptr};

  if (!raw.rest || !is_one_of (raw.rest[0], commands))
    return "expected a command: oct, keying, transfer, fft, compute, convolve, "
           "neighbours, stages or first-frame";
  options.command = raw.rest[0];
  const bool of_field = options.command == "stages" || options.command == "first-frame";
  options.of = of_field && raw.rest[1] ? raw.rest[1] : "oct";
  if (options.command == "stages" && !is_one_of (options.of.c_str (), subjects))
    return "expected oct, nufft, average, angiography, doppler, fixed-pattern, keying, "
           "soft or camera";
  if (options.command != "stages" && !is_one_of (options.of.c_str (), fields))
    return "expected oct or keying";
  if (raw.rest[1] && (!of_field || raw.rest[2]))
    return "too many words";
  if (raw.samples < 8 || raw.samples > 65536)
    return "--samples: expected 8 to 65536";
  if (raw.lines < 0 || raw.lines > 1 << 20)
    return "--lines: expected 1 to 1048576";
  if (raw.size
      && (sscanf (raw.size, "%ux%u", &options.width, &options.height) != 2
          || options.width < 16 || options.height < 16 || options.width > 32768
          || options.height > 32768))
    return "--size: expected WIDTHxHEIGHT, 16x16 to 32768x32768";
  if (!(raw.seconds > 0) || !(raw.warm_up >= 0) || raw.windows < 1)
    return "--seconds and --windows: expected more than 0; --warm-up: 0 or more";
  options.samples = raw.samples;
  options.lines = raw.lines;
  options.device = raw.device ? raw.device : "";
  options.cases = raw.cases ? raw.cases : "*";
  options.list = raw.list;
  options.baselines = !raw.no_baselines;
  options.timing = {raw.warm_up, raw.seconds, unsigned (raw.windows)};
  return nullptr;
}
} // namespace

bool
parse_options (int argc, char **argv, Options &options)
{
  Raw raw;
  GError *error = nullptr;
  const char *wrong = nullptr;

  if (!parse_arguments (argc, argv, raw, &error))
    g_printerr ("opencl-bench: %s (see --help)\n", error->message);
  else if ((wrong = take (raw, options)))
    g_printerr ("opencl-bench: %s (see --help)\n", wrong);
  const bool good = !error && !wrong;
  g_clear_error (&error);
  return good;
}
} // namespace bench
