/* opencl-bench: the time from a process's start to its first frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "firstframe.hpp"
#include "keyingchain.hpp"
#include "octchain.hpp"

#include <gio/gio.h>
#include <glib/gstdio.h>

#include <cstdio>
#include <filesystem>

namespace bench {
namespace {
using Process = std::shared_ptr<GSubprocess>;

/* Temporary folder, removed by the destructor */
class Folder {
public:
  explicit Folder (std::string &error)
  {
    GError *reason = nullptr;
    gchar *made = g_dir_make_tmp ("opencl-bench-XXXXXX", &reason);
    if (made)
      path = made;
    else
      error = reason->message;
    g_clear_error (&reason);
    g_free (made);
  }
  ~Folder ()
  {
    std::error_code ignored;
    if (!path.empty ())
      std::filesystem::remove_all (path, ignored);
  }
  std::string operator/ (const char *name) const { return path + "/" + name; }

private:
  std::string path;
};

/* Variables for the kernel cache of each implementation */
const char *const caches[] = {
    "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "CLFFT_CACHE_PATH", "XDG_CACHE_HOME"};

/* Starts this program with its caches in `folder`. The plugin registry is there too. It
 * is made before, so that the scan of plugins is not measured. */
Process
start (
    const std::vector<std::string> &arguments, const Folder &folder, std::string &error)
{
  GError *reason = nullptr;
  gchar *program = g_file_read_link ("/proc/self/exe", nullptr);
  std::vector<const gchar *> words = {program ? program : "opencl-bench"};
  GSubprocessLauncher *launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);

  for (const char *cache : caches) {
    g_mkdir_with_parents ((folder / cache).c_str (), 0700);
    g_subprocess_launcher_setenv (launcher, cache, (folder / cache).c_str (), TRUE);
  }
  g_subprocess_launcher_setenv (
      launcher, "GST_REGISTRY", (folder / "registry").c_str (), TRUE);
  for (const std::string &argument : arguments)
    words.push_back (argument.c_str ());
  words.push_back (nullptr);
  GSubprocess *process = g_subprocess_launcher_spawnv (launcher, words.data (), &reason);
  if (!process)
    error = reason->message;
  g_clear_error (&reason);
  g_object_unref (launcher);
  g_free (program);
  return Process (process, [] (GSubprocess *p) { g_clear_object (&p); });
}

/* Waits for a line of output and for the end of the process. */
bool
wait_for_line (const Process &process, double &when, std::string &error)
{
  GDataInputStream *stream =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (process.get ()));
  gchar *line = g_data_input_stream_read_line (stream, nullptr, nullptr, nullptr);
  when = now ();
  const bool good = g_subprocess_wait (process.get (), nullptr, nullptr)
                    && g_subprocess_get_successful (process.get ()) && line;
  if (!good)
    error = "the process ended without a frame";
  g_free (line);
  g_object_unref (stream);
  return good;
}

void
measure_start (const std::vector<std::string> &arguments, const Folder &folder,
    unsigned times, Result &result)
{
  for (unsigned i = 0; i < times && result.error.empty (); i++) {
    const double begin = now ();
    double end;
    Process process = start (arguments, folder, result.error);
    if (process && wait_for_line (process, end, result.error))
      result.rates.push_back (end - begin);
  }
}

bool
scan_plugins (const Folder &folder, std::string &error)
{
  double when;
  Process process = start ({"oct", "--list"}, folder, error);
  return process && wait_for_line (process, when, error);
}

std::vector<std::string>
arguments_of (const Options &options)
{
  std::vector<std::string> arguments = {
      "first-frame", options.command, "--samples", std::to_string (options.samples)};
  if (options.lines)
    arguments.insert (arguments.end (), {"--lines", std::to_string (options.lines)});
  if (options.width)
    arguments.insert (arguments.end (),
        {"--size",
            std::to_string (options.width) + "x" + std::to_string (options.height)});
  if (!options.device.empty ())
    arguments.insert (arguments.end (), {"--device", options.device});
  return arguments;
}

/* Returns a frame without a test source, whose kernels would be measured too. */
Feed
blank_frame (const std::string &caps, gsize size)
{
  Feed feed;
  feed.caps = hold (gst_caps_from_string (caps.c_str ()));
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, size, nullptr);
  gst_buffer_memset (buffer, 0, 100, size);
  feed.frames = {hold (buffer)};
  return feed;
}

Line
first_frame_line (const Options &options)
{
  Line line;
  if (options.of == "oct") {
    const OctFrame frame = {options.samples, options.lines_or (1024)};
    line.text = oct_chain (OctChain::PLAIN);
    line.feeds = {
        {"source", blank_frame ("video/x-raw,format=GRAY16_LE,framerate=30/1,width="
                                    + std::to_string (frame.samples)
                                    + ",height=" + std::to_string (frame.lines),
                       gsize (frame.bytes_in ()))}};
  } else {
    const unsigned width = options.width ? options.width : 1920;
    const unsigned height = options.height ? options.height : 1080;
    line.text = keying_chain;
    line.feeds = {
        {"source", blank_frame (rgba_caps (width, height), gsize (width) * height * 4)}};
  }
  line.text = "benchmarksource name=source ! openclupload ! " + line.text
              + " ! opencldownload ! ";
  line.text += sink;
  return line;
}
} // namespace

void
measure_first_frames (
    Session &session, const std::string &what, const Result::Sizes &sizes)
{
  Result cold = session.result (what + "-cold", sizes, "s to the first frame");
  Result warm = session.result (what + "-warm", sizes, "s to the first frame");
  Folder folder (cold.error);
  if (cold.error.empty () && scan_plugins (folder, cold.error)) {
    const std::vector<std::string> arguments = arguments_of (session.options);
    measure_start (arguments, folder, 1, cold);
    if (cold.error.empty ())
      measure_start (arguments, folder, 3, warm);
  }
  if (!cold.error.empty ())
    warm.error = cold.error;
  session.print (cold);
  session.print (warm);
}

int
run_first_frame (const Options &options)
{
  Session session (options);
  if (!session.open (false))
    return 1;
  Run run (first_frame_line (options), options.timing);
  run.start ();
  run.wait_for_frames (1);
  if (run.error ().empty ())
    puts ("first frame");
  fflush (stdout);
  run.stop ();
  if (run.error ().empty ())
    return 0;
  g_printerr ("opencl-bench: %s\n", run.error ().c_str ());
  return 1;
}
} // namespace bench
