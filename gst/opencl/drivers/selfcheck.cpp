/* Self-check: tests whether an engine computes correctly on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/device/selfcheck.hpp>

#include <gst/opencl/drivers/binarycache.hpp>
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/drivers/helperprogram.hpp>
#include "verdict.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <glib/gstdio.h>
#include <map>
#include <mutex>

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
  return std::filesystem::path (path).filename ().string () + ' '
         + std::to_string (state.st_size) + ' ' + std::to_string (state.st_mtime) + '\n';
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
  const std::string all = identity_of (device) + engine;
  return std::filesystem::path (g_get_user_cache_dir ()) / "gst-opencl" / "verdicts"
         / checksum_of (all.data (), all.size ());
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

enum class Lookup {
  peek,  /* return what is known */
  start, /* start the check if needed */
  wait,  /* wait for the verdict */
};

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

  std::atomic<guint> arrived{0};

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
    arrived++;
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
verdict_of (GstOpenCLContext *context, const char *engine, Lookup lookup)
{
  if (seconds_of_check () == 0)
    return {Verdict::unchecked, "GST_OPENCL_SELF_CHECK is 0"};
  if (lookup == Lookup::start && g_getenv ("GST_OPENCL_WAIT_FOR_CHECKS"))
    lookup = Lookup::wait;
  const cl::Device device (gst_opencl_context_get_device (context), true);
  return SelfChecks::get ().get_verdict (device, engine, lookup);
}

std::string
fault_text (GstOpenCLContext *context, const char *engine, const Verdict &verdict)
{
  const cl::Device device (gst_opencl_context_get_device (context), true);
  const cl::Platform platform (device.getInfo<CL_DEVICE_PLATFORM> ());
  return "engine \"" + std::string (engine) + "\" fails on "
         + platform.getInfo<CL_PLATFORM_NAME> () + ", driver "
         + device.getInfo<CL_DRIVER_VERSION> () + ", "
         + gst_opencl_context_get_device_name (context) + ": " + verdict.difference;
}

bool
is_first_warning (GstOpenCLContext *context, const char *engine)
{
  const std::string key = std::string ("warned-of-") + engine;
  GST_OBJECT_LOCK (context);
  const bool is_first = !g_object_get_data (G_OBJECT (context), key.c_str ());
  g_object_set_data (G_OBJECT (context), key.c_str (), GINT_TO_POINTER (1));
  GST_OBJECT_UNLOCK (context);
  return is_first;
}
} // namespace

bool
is_faulty_engine (GstOpenCLContext *context, const char *engine)
{
  return verdict_of (context, engine, Lookup::start).is_fault ();
}
} // namespace opencl

gboolean
gst_opencl_context_trusts_engine (GstOpenCLContext *context, const gchar *engine)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::start);
  return verdict.result == opencl::Verdict::right
         || verdict.result == opencl::Verdict::unchecked;
}

gboolean
gst_opencl_context_require_engine (
    GstOpenCLContext *context, const gchar *engine, GError **error)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::wait);
  if (!verdict.is_fault ())
    return TRUE;
  g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      opencl::fault_text (context, engine, verdict).c_str ());
  return FALSE;
}

gboolean
gst_opencl_context_warn_of_engine (GstOpenCLContext *context, const gchar *engine,
    GstElement *element, const gchar *instead)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::peek);
  if (!verdict.is_fault ())
    return FALSE;
  const std::string fault = opencl::fault_text (context, engine, verdict);
  if (opencl::is_first_warning (context, engine))
    GST_ELEMENT_WARNING (
        element, LIBRARY, FAILED, ("%s; using %s", fault.c_str (), instead), (nullptr));
  return TRUE;
}

guint
gst_opencl_get_n_verdicts (void)
{
  return opencl::SelfChecks::get ().arrived;
}

gchar **
gst_opencl_get_engines (void)
{
  const std::string program = opencl::find_helper_program ("gst-opencl-check");
  const gchar *const arguments[] = {program.c_str (), nullptr};
  gchar *output = nullptr;
  g_spawn_sync (nullptr, const_cast<gchar **> (arguments), nullptr,
      G_SPAWN_STDERR_TO_DEV_NULL, nullptr, nullptr, &output, nullptr, nullptr, nullptr);
  gchar **names = g_strsplit (output ? g_strstrip (output) : "", "\n", -1);
  g_free (output);
  return names;
}

gchar *
gst_opencl_device_get_verdict (gpointer handle, const gchar *engine, gboolean rerun)
{
  const cl::Device device (static_cast<cl_device_id> (handle), true);
  const opencl::Verdict verdict =
      rerun ? opencl::run_check (device, engine)
            : opencl::load_verdict (
                opencl::path_of_verdict (device, engine), opencl::build_id ());
  return g_strdup (verdict.text ().c_str ());
}
