/* Self-check: tests whether an engine computes correctly on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <gst/common/platform.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/gstopenclcheck.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
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

/* Returns the verdict that the process of a check has printed, or the reason why there is none.
 * Returns pending if the process has printed something else. */
Verdict
verdict_of_child (const ChildResult &child)
{
  const gsize at = child.output.rfind (mark_of_verdict);
  switch (child.end) {
  case ChildResult::timeout:
    return {Verdict::failed,
        "hangs: no result after " + std::to_string (child.processor_seconds)
            + " s of processor time (GST_OPENCL_SELF_CHECK=SECONDS allows more)"};
  case ChildResult::crashed:
  case ChildResult::stopped:
    return {child.end == ChildResult::crashed ? Verdict::unusable : Verdict::failed,
        "crashes: " + child.reason};
  case ChildResult::not_started:
    return {Verdict::unchecked, "cannot start gst-opencl-check"};
  default:
    return parse_verdict (at == std::string::npos
                              ? ""
                              : child.output.substr (at + strlen (mark_of_verdict)));
  }
}

/* Checks in a separate process, which the driver may end. One check runs at a time for a user,
 * unless another process that has the lock is stopped. With GST_OPENCL_SELF_CHECK=0,
 * opencl-devices --check still checks. */
Verdict
run_check (const cl::Device &device, const std::string &engine)
{
  const guint times_as_long = 3; /* limit of the elapsed time, for a driver that sleeps */
  const guint seconds =
      seconds_of_check () > 0 ? seconds_of_check () : usual_seconds_of_check;
  const std::string index = device_index (device), build = build_id ();
  const std::string path = path_of_verdict (device, engine);
  const auto lock = lock_file (cache_folder ("self-check.lock"), times_as_long * seconds);
  const Circumstances now;
  Verdict verdict = load_verdict (path, build, now);
  if (verdict.result != Verdict::pending)
    return verdict; /* of another process */
  verdict = verdict_of_child (run_child (
      {find_helper_program ("gst-opencl-check"), index, engine, path, id_of_process ()},
      "", {seconds, times_as_long * seconds}));
  if (verdict.result == Verdict::pending)
    verdict = {Verdict::unchecked, "gst-opencl-check printed no verdict"};
  if (verdict.is_kept ())
    store_verdict (path, build, engine, verdict, now);
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
    const auto turn = std::find (tasks.begin (), tasks.end (), task);
    if (waits && turn != tasks.end ()) /* others come later */
      std::rotate (tasks.begin (), turn, turn + 1);
    if (!tasks.empty () && !is_running && !start ())
      give_up ();
    if (waits)
      changed.wait (guard, [&] { return verdict.result != Verdict::pending; });
    return verdict;
  }

private:
  using Task = std::pair<cl_device_id, std::string>;

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
      guard.unlock ();
      Verdict verdict = run_check (cl::Device (task.first, true), task.second);
      guard.lock ();
      self->verdicts[task] = std::move (verdict);
      driver_hooks ().n_verdicts++;
      self->changed.notify_all ();
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
  if (lookup == Lookup::rerun) {
    g_unlink (path_of_verdict (device, engine).c_str ());
    return run_check (device, engine);
  }
  if (lookup == Lookup::stored)
    return load_verdict (path_of_verdict (device, engine), build_id ());
  return SelfChecks::get ().get_verdict (device, engine, lookup);
}

std::string
names_of_engines ()
{
  const std::string lines =
      run_child ({find_helper_program ("gst-opencl-check")}, "", {}).output;
  return lines.substr (0, lines.find_last_not_of ('\n') + 1);
}

[[maybe_unused]] const auto verdict_hook = driver_hooks ().verdict = verdict_of;
[[maybe_unused]] const auto engines_hook = driver_hooks ().engines = names_of_engines;
} // namespace
} // namespace opencl
