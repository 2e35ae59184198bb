/* opencl-bench: filters of the command ffmpeg
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"

#include <gio/gio.h>

namespace bench {
namespace {
using Process = std::shared_ptr<GSubprocess>;

std::vector<std::string>
arguments (const std::string &device_name, const std::string &filters, unsigned width,
    unsigned height)
{
  const std::string size = std::to_string (width) + "x" + std::to_string (height);
  /* The source repeats one frame. */
  const std::string input = "color=c=green:s=" + size + ":r=1000,format=rgba";
  std::vector<std::string> words = {"ffmpeg", "-hide_banner", "-nostdin", "-loglevel",
      "error", "-progress", "pipe:1", "-stats_period", "0.1"};
  if (!device_name.empty ())
    words.insert (
        words.end (), {"-init_hw_device", "opencl=device:,device_name=" + device_name,
                          "-filter_hw_device", "device"});
  else
    words.insert (words.end (), {"-filter_threads", "2"});
  words.insert (words.end (), {"-f", "lavfi", "-i", input, "-vf", filters, "-c:v",
                                  "wrapped_avframe", "-f", "null", "-"});
  return words;
}

Process
start (const std::vector<std::string> &words, std::string &error)
{
  GError *reason = nullptr;
  std::vector<const gchar *> argv;
  for (const std::string &word : words)
    argv.push_back (word.c_str ());
  argv.push_back (nullptr);
  GSubprocess *process = g_subprocess_newv (argv.data (),
      GSubprocessFlags (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE),
      &reason);
  if (!process)
    error = reason->message;
  g_clear_error (&reason);
  return Process (process, [] (GSubprocess *p) { g_clear_object (&p); });
}

/* ffmpeg reports its number of frames from time to time. */
class Progress {
public:
  explicit Progress (const Timing &timing) : windows (timing) {}

  /* Returns false once there are enough windows. */
  bool take (const char *line)
  {
    guint64 frames;
    if (sscanf (line, "frame=%" G_GUINT64_FORMAT, &frames) != 1) {
      if (!strchr (line, '='))
        complaint = line;
      return true;
    }
    const double amount = frames - last;
    last = frames;
    return amount > 0 ? windows.add (now (), amount) : true;
  }

  Windows windows;
  std::string complaint; /* last line that does not report progress */

private:
  guint64 last = 0;
};
} // namespace

void
measure_ffmpeg (const std::string &device_name, const std::string &filters,
    unsigned width, unsigned height, const Timing &timing, Result &result)
{
  gchar *program = g_find_program_in_path ("ffmpeg");
  if (!program) {
    result.error = "the command ffmpeg is not installed";
    return;
  }
  g_free (program);
  Process process = start (arguments (device_name, filters, width, height), result.error);
  if (!process)
    return;
  Progress progress (timing);
  GDataInputStream *output =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (process.get ()));
  for (bool more = true; more;) {
    gchar *line = g_data_input_stream_read_line (output, nullptr, nullptr, nullptr);
    more = line && progress.take (line);
    g_free (line);
  }
  g_subprocess_force_exit (process.get ());
  g_subprocess_wait (process.get (), nullptr, nullptr);
  g_object_unref (output);
  result.rates = progress.windows.per_second ();
  if (result.rates.empty ())
    result.error = "ffmpeg: " + progress.complaint;
}
} // namespace bench
