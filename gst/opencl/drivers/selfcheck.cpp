/* Self-check: tests whether an engine computes correctly on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <gst/common/platform.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <glib/gstdio.h>
#include <map>
#include <mutex>
#include <optional>

namespace opencl {
namespace {
/* Returns name, size and time of a file, at least one of which differs in another
 * build */
std::string
state_of_file (const std::string &path)
{
  GStatBuf state;
  if (path.empty () || g_stat (path.c_str (), &state) != 0)
    return "";
  return name_of_file (path) + ' ' + std::to_string (state.st_size) + ' '
         + std::to_string (state.st_mtime) + '\n';
}

/* gst-opencl-check identifies the build of the library. Plugins are found by their source
 * module. */
std::string
find_build ()
{
  std::string files = state_of_file (find_helper_program ("gst-opencl-check"));
  GList *plugins = gst_registry_get_plugin_list (gst_registry_get ());
  for (GList *at = plugins; at; at = at->next) {
    auto *plugin = static_cast<GstPlugin *> (at->data);
    const gchar *path = gst_plugin_get_filename (plugin);
    if (path && g_strcmp0 (gst_plugin_get_source (plugin), PACKAGE) == 0)
      files += state_of_file (path);
  }
  gst_plugin_list_free (plugins);
  return checksum_of (files.data (), files.size ());
}

std::string
build_id ()
{
  static const std::string id = find_build ();
  return id;
}

std::string
path_of_verdict (const cl::Device &device, const std::string &engine)
{
  return cache_folder ("verdicts") + G_DIR_SEPARATOR_S
         + name_of_verdict (identity_of (device), engine);
}

/* Runs the check in a separate process, which also stores the verdict. */
Verdict
run_check (const cl::Device &device, const std::string &engine)
{
  const std::string program = find_helper_program ("gst-opencl-check");
  const std::string index = device_index (device), build = build_id ();
  const std::string path = path_of_verdict (device, engine);
  if (program.empty () || index.empty ())
    return {
        Verdict::unchecked, "gst-opencl-check is missing or no platform has the device"};
  const gchar *const arguments[] = {program.c_str (), index.c_str (), engine.c_str (),
      path.c_str (), build.c_str (), nullptr};
  gchar *output = nullptr;
  GError *error = nullptr;
  Verdict verdict;
  if (g_spawn_sync (nullptr, const_cast<gchar **> (arguments), nullptr,
          G_SPAWN_STDERR_TO_DEV_NULL, nullptr, nullptr, &output, nullptr, nullptr,
          &error))
    verdict = parse_verdict (g_strstrip (output));
  else
    verdict = {Verdict::unchecked, error->message};
  g_clear_error (&error);
  g_free (output);
  if (verdict.result == Verdict::pending)
    verdict = {Verdict::unchecked, "gst-opencl-check printed no verdict"};
  GST_INFO (
      "%s on device %s: %s", engine.c_str (), index.c_str (), verdict.text ().c_str ());
  return verdict;
}

/* Verdicts that are known in this process, and a thread that runs checks one after the
 * other */
class SelfChecks {
public:
  static SelfChecks &get ()
  {
    static SelfChecks *only =
        new SelfChecks; /* the thread may outlive static destructors */
    return *only;
  }

  Verdict get_verdict (const cl::Device &device, const std::string &engine, Lookup lookup)
  {
    const Task task = {device (), engine};
    const bool waits = lookup == Lookup::wait;
    std::optional<Busy> waiting;
    if (waits)
      waiting.emplace ();
    std::unique_lock<std::mutex> guard (lock);
    if (lookup == Lookup::peek && verdicts.find (task) == verdicts.end ())
      return {};
    const auto [at, is_new] = verdicts.try_emplace (task);
    Verdict &verdict = at->second;
    if (is_new)
      verdict = load_verdict (path_of_verdict (device, engine), build_id ());
    if (is_new && verdict.result == Verdict::pending)
      tasks.push_back (task);
    if (waits && take (task))
      check (task, guard);
    if (!tasks.empty () && !is_running && !start ())
      give_up ();
    if (waits)
      changed.wait (guard, [&] { return verdict.result != Verdict::pending; });
    return verdict;
  }

private:
  using Task = std::pair<cl_device_id, std::string>;

  /* Removes `task` from the waiting checks. Returns whether it was among them. */
  bool take (const Task &task)
  {
    const auto at = std::find (tasks.begin (), tasks.end (), task);
    if (at == tasks.end ())
      return false;
    tasks.erase (at);
    return true;
  }

  void check (const Task &task, std::unique_lock<std::mutex> &guard)
  {
    guard.unlock ();
    Verdict verdict = run_check (cl::Device (task.first, true), task.second);
    guard.lock ();
    verdicts[task] = std::move (verdict);
    driver_hooks ().n_verdicts++;
    changed.notify_all ();
  }

  bool start ()
  {
    GThread *thread = g_thread_try_new ("self-check", run, this, nullptr);
    if (thread)
      g_thread_unref (thread);
    is_running = thread != nullptr;
    return is_running;
  }

  void give_up ()
  {
    for (const Task &task : tasks)
      verdicts[task] = {Verdict::unchecked, "cannot create a thread"};
    tasks.clear ();
  }

  static gpointer run (gpointer data)
  {
    auto *self = static_cast<SelfChecks *> (data);
    std::unique_lock<std::mutex> guard (self->lock);
    while (!self->tasks.empty ()) {
      const Task task = self->tasks.front ();
      self->tasks.pop_front ();
      self->check (task, guard);
    }
    self->is_running = false;
    return nullptr;
  }

  std::mutex lock;
  std::condition_variable changed;
  std::map<Task, Verdict> verdicts;
  std::deque<Task> tasks; /* not begun */
  bool is_running = false;
};

Verdict
verdict_of (const cl::Device &device, const std::string &engine, Lookup lookup)
{
  if (lookup == Lookup::rerun)
    return run_check (device, engine);
  if (lookup == Lookup::stored)
    return load_verdict (path_of_verdict (device, engine), build_id ());
  return SelfChecks::get ().get_verdict (device, engine, lookup);
}

std::string
names_of_engines ()
{
  const std::string program = find_helper_program ("gst-opencl-check");
  const gchar *const arguments[] = {program.c_str (), nullptr};
  gchar *output = nullptr;
  g_spawn_sync (nullptr, const_cast<gchar **> (arguments), nullptr,
      G_SPAWN_STDERR_TO_DEV_NULL, nullptr, nullptr, &output, nullptr, nullptr, nullptr);
  const std::string names = output ? g_strstrip (output) : "";
  g_free (output);
  return names;
}

[[maybe_unused]] const auto verdict_hook = driver_hooks ().verdict = verdict_of;
[[maybe_unused]] const auto engines_hook = driver_hooks ().engines = names_of_engines;
} // namespace
} // namespace opencl
