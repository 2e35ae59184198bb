/* opencl-bench: the command line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "options.hpp"

#include "../../tools/commandline.hpp"

#include <cstdio>

namespace bench {
namespace {
constexpr opencl::CommandLine command = {"opencl-bench", "COMMAND",
    "Measures GStreamer pipelines on an OpenCL device, relative to the device's limits.\n"
    "\n"
    "Commands:\n"
    "  oct       spectra to images: octwindowinterp, octfft and the elements after them\n"
    "  keying    green screens: chromakey, noisereduce, flowkey and compositing\n"
    "  transfer  openclupload and opencldownload\n"
    "  fft       octfft alone, with each Fourier transform library\n"
    "  compute   openclkernel, openclkernelsrc, openclconvolve, openclreduce and\n"
    "            openclfft, compared with numba, CLBlast, onnxruntime, scipy and NumPy\n"
    "  convolve  openclconvolve with each method, and CLBlast's matrix products\n"
    "  inference [MODEL.onnx…]\n"
    "            openclinference, compared with onnxruntime and PyTorch (default: the\n"
    "            network of tools/fetch-selfie-model.py)\n"
    "  neighbours  a live pipeline while other threads run slow kernels\n"
    "  stages [oct|nufft|average|angiography|full-angiography|dynamics|doppler|\n"
    "          flatten|attenuation|fixed-pattern|keying|soft|refine|\n"
    "          camera]\n"
    "            device time of each kernel and transfer\n"
    "  first-frame [oct|keying]\n"
    "            one frame, then exit; oct and keying start it to time a cold start",
    "The table has the median rate of the windows, their range, and the rate relative "
    "to\n"
    "the limit, which is measured first: the link (pinned memory) or the device memory "
    "(a\n"
    "copy). Latencies are from the source's push until the sink has the bytes. With\n"
    "--json every line is an object: \"rate\", \"least\", \"greatest\", \"of_limit\" and "
    "so\n"
    "on. A case that cannot run has an error instead of a rate, and the exit status is "
    "1.\n"
    "Baselines are cases named baseline-*\n"
    "\n"
    "  opencl-bench oct --json > before.json\n"
    "  opencl-bench oct --compare before.json\n"
    "  opencl-bench oct --list\n"
    "  opencl-bench oct --device gpu --case 'host*'\n"
    "  opencl-bench convolve --case '3x3-*-direct,*3x3-*-clblast'\n"
    "  opencl-bench inference --batch 8 resnet50.onnx\n"
    "  opencl-bench keying --size 1920x1080 --windows 3"};

struct Raw {
  gchar *device = nullptr, *cases = nullptr, *size = nullptr, *earlier = nullptr;
  gchar **rest = nullptr;
  gint samples = 2048, lines = 0, windows = 5, batch = 1;
  gdouble seconds = 1, warm_up = 1;
  gboolean list = FALSE, json = FALSE, no_baselines = FALSE;

  ~Raw ()
  {
    g_free (device);
    g_free (cases);
    g_free (size);
    g_free (earlier);
    g_strfreev (rest);
  }
};

bool
parse_arguments (char **argv, Raw &raw, int &status)
{
  const GOptionEntry entries[] = {
      {"device", 'd', 0, G_OPTION_ARG_STRING, &raw.device,
          "auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name", "DEVICE"},
      {"case", 'c', 0, G_OPTION_ARG_STRING, &raw.cases,
          "Run only these cases (wildcards * and ?)", "PATTERN,…"},
      {"no-baselines", 'n', 0, G_OPTION_ARG_NONE, &raw.no_baselines, "Skip baselines",
          nullptr},
      {"list", 'L', 0, G_OPTION_ARG_NONE, &raw.list, "List the cases and exit", nullptr},
      {"json", 'j', 0, G_OPTION_ARG_NONE, &raw.json,
          "Print a JSON object per line instead of a table", nullptr},
      {"compare", 0, 0, G_OPTION_ARG_FILENAME, &raw.earlier,
          "Compare with the output of --json of an earlier run", "FILE"},
      {"samples", 0, 0, G_OPTION_ARG_INT, &raw.samples,
          "Samples per A-line (oct, fft; default: 2048)", "N"},
      {"lines", 0, 0, G_OPTION_ARG_INT, &raw.lines,
          "A-lines per frame (oct, fft; default: depends on the case)", "N"},
      {"size", 0, 0, G_OPTION_ARG_STRING, &raw.size,
          "Frame size (except oct and fft; default: depends on the case)", "WxH"},
      {"batch", 0, 0, G_OPTION_ARG_INT, &raw.batch,
          "Also run networks with this batch size (inference)", "N"},
      {"seconds", 's', 0, G_OPTION_ARG_DOUBLE, &raw.seconds,
          "Length of a window in seconds (default: 1)", "S"},
      {"windows", 'w', 0, G_OPTION_ARG_INT, &raw.windows,
          "Number of windows per case (default: 5)", "N"},
      {"warm-up", 0, 0, G_OPTION_ARG_DOUBLE, &raw.warm_up,
          "Seconds before the first window (default: 1)", "S"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw.rest, nullptr, nullptr},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  return opencl::parse_command_line (command, entries, argv, status);
}

bool
is_one_of (const gchar *word, const gchar *const *words)
{
  return word && g_strv_contains (words, word);
}

/* Fills `options`. Returns the error in `raw`, or nullptr. */
const char *
fill_options (const Raw &raw, Options &options)
{
  static const gchar *const commands[] = {"oct", "keying", "transfer", "fft", "compute",
      "convolve", "inference", "neighbours", "stages", "first-frame", nullptr};
  static const gchar *const fields[] = {"oct", "keying", nullptr};
  static const gchar *const subjects[] = {"oct", "nufft", "average", "angiography",
      "full-angiography", "dynamics", "doppler", "flatten", "attenuation",
      "fixed-pattern", "keying", "soft", "refine", "camera", nullptr};

  if (!raw.rest || !is_one_of (raw.rest[0], commands))
    return "expected a command: oct, keying, transfer, fft, compute, convolve, "
           "inference, neighbours, stages or first-frame";
  options.command = raw.rest[0];
  const bool of_field = options.command == "stages" || options.command == "first-frame";
  options.of = of_field && raw.rest[1] ? raw.rest[1] : "oct";
  if (options.command == "stages" && !is_one_of (options.of.c_str (), subjects))
    return "unknown subject of stages";
  if (options.command != "stages" && !is_one_of (options.of.c_str (), fields))
    return "expected oct or keying";
  const bool takes_models = options.command == "inference";
  if (raw.rest[1] && !takes_models && (!of_field || raw.rest[2]))
    return "too many arguments";
  for (gchar **file = raw.rest + 1; takes_models && *file; file++)
    options.models.push_back (*file);
  if (raw.batch < 1 || raw.batch > 1024)
    return "--batch: expected 1 to 1024";
  options.batch = unsigned (raw.batch);
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
  options.json = raw.json;
  options.earlier = raw.earlier ? raw.earlier : "";
  options.baselines = !raw.no_baselines;
  options.timing = {raw.warm_up, raw.seconds, unsigned (raw.windows)};
  return nullptr;
}
} // namespace

bool
parse_options (char **argv, Options &options, int &status)
{
  Raw raw;
  if (!parse_arguments (argv, raw, status))
    return false;
  const char *const wrong = fill_options (raw, options);
  if (wrong)
    status = opencl::refuse_arguments (command, wrong);
  return !wrong;
}
} // namespace bench
