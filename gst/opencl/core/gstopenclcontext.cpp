/* Context: a device, its cl_context and its command queues, shared between elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclcontext
 * @title: GstOpenCLContext
 *
 * One device with one cl_context. Every streaming thread has its own in-order queues for
 * compute and download; all threads share one for upload. Thus transfers overlap with
 * kernels, and no thread waits for the kernels of another. Elements share the context
 * through #GstContext queries, as they do for CUDA and GL. Where no query arrives, as
 * from appsink to appsrc, they share it through a registry of the process.
 */
#include "context.hpp"
#include "devicechoice.hpp"
#include "events.hpp"
#include "hooks.hpp"
#include "programs.hpp"
#include "queues.hpp"
#include "sharedtables.hpp"
#include "staging.hpp"
#include "stopscope.hpp"

#include <gst/common/debugswitch.hpp>
#include <gst/common/platform.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclerror.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_context_debug);
#define GST_CAT_DEFAULT gst_opencl_context_debug
GST_DEBUG_CATEGORY_STATIC (GST_CAT_CONTEXT);

namespace {
struct ContextState {
  cl::Context handle;
  cl::Device device;
  std::unique_ptr<opencl::ThreadQueues> application_queues;
  std::unique_ptr<opencl::ThreadQueuePool>
      thread_queues;             /* nullptr: all use the application's */
  cl::CommandQueue upload_queue; /* of all threads; empty with an application's queue */
  cl::CommandQueue pinning_queue;
  std::string name;
  std::string index;
  bool shares_host_memory = false;
  std::atomic<bool> lost{false};
  std::atomic<bool> given_up{false};

  opencl::ProgramCache programs;
  opencl::BuildProgram build_program; /* (nullable): of drivers/ */
  opencl::SharedTables tables;
  std::atomic<guint> builds{0};

  std::mutex reapers_lock;
  std::map<cl_command_queue, std::unique_ptr<opencl::Reaper>> reapers;

  bool stages_uploads = false;
  std::once_flag copy_threads_once;
  std::unique_ptr<opencl::CopyThreads> copy_threads;
};
} // namespace

GType
gst_opencl_queue_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_QUEUE_COMPUTE, "Kernels", "compute"},
      {GST_OPENCL_QUEUE_UPLOAD, "Host to device", "upload"},
      {GST_OPENCL_QUEUE_DOWNLOAD, "Device to host", "download"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOpenCLQueue", values);
  return type;
}

struct _GstOpenCLContext {
  GstObject parent;
  ContextState *state;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLContext, gst_opencl_context, GST_TYPE_OBJECT,
                         GST_DEBUG_CATEGORY_INIT (gst_opencl_context_debug,
                             "openclcontext", 0, "OpenCL contexts");
                         GST_DEBUG_CATEGORY_GET (GST_CAT_CONTEXT, "GST_CONTEXT");)

static void
gst_opencl_context_init (GstOpenCLContext *self)
{
  self->state = new ContextState;
}

/* The last memory is unmapped without waiting, on the queue that mapped it, and pinned memory
 * on its own. If the process ended during that, Intel's driver would abort. */
static void
finish (ContextState &state, const std::vector<cl_command_queue> &queues)
{
  for (cl_command_queue queue : queues) {
    if (queue && !state.lost && !state.given_up)
      opencl::finish_with_timeout (queue);
  }
}

/* A forked child keeps everything, as it cannot wait for the threads of its parent. */
static void
gst_opencl_context_finalize (GObject *object)
{
  if (opencl::is_forked_child ())
    return;
  GstOpenCLContext *self = GST_OPENCL_CONTEXT (object);
  ContextState &state = *self->state;
  std::vector<cl_command_queue> queues;

  state.reapers.clear ();
  if (state.thread_queues)
    state.thread_queues->append_created (queues);
  if (state.application_queues)
    state.application_queues->append_created (queues);
  finish (state, queues);
  state.thread_queues.reset ();
  state.application_queues.reset ();
  finish (state, {state.pinning_queue ()});
  delete self->state;
  G_OBJECT_CLASS (gst_opencl_context_parent_class)->finalize (object);
}

static void
gst_opencl_context_class_init (GstOpenCLContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_opencl_context_finalize;
}

/* --- creation --- */

namespace {
/* The current context of every device, one for the whole process */
class Registry {
public:
  static Registry &get ()
  {
    static Registry *registry = new Registry; /* outlives every static destructor */
    return *registry;
  }

  /* Creates under the lock, so that two elements that start at once share a context. */
  template <typename Make>
  GstOpenCLContext *find_or_make (const cl::Device &device, Make make)
  {
    std::lock_guard<std::mutex> guard (lock);
    if (GstOpenCLContext *living = find (device))
      return living;
    GstOpenCLContext *made = make ();
    if (made)
      remember (device, made);
    return made;
  }

  void remember_if_none (const cl::Device &device, GstOpenCLContext *context)
  {
    std::lock_guard<std::mutex> guard (lock);
    GstOpenCLContext *living = find (device);
    if (living)
      gst_object_unref (living);
    else
      remember (device, context);
  }

  /* Returns a context even if it is lost. (transfer full) (nullable) */
  GstOpenCLContext *find_by_handle (cl_context handle)
  {
    std::lock_guard<std::mutex> guard (lock);
    for (auto &known : contexts) {
      auto *context = static_cast<GstOpenCLContext *> (g_weak_ref_get (&known.second));
      if (context && gst_opencl_context_get_handle (context) == handle)
        return context;
      gst_clear_object (&context);
    }
    return nullptr;
  }

private:
  /* Returns a context only if it is not lost. (transfer full) (nullable) */
  GstOpenCLContext *find (const cl::Device &device)
  {
    auto found = contexts.find (device ());
    if (found == contexts.end ())
      return nullptr;
    auto *context = static_cast<GstOpenCLContext *> (g_weak_ref_get (&found->second));
    if (context && gst_opencl_context_is_lost (context))
      gst_clear_object (&context);
    return context;
  }

  void remember (const cl::Device &device, GstOpenCLContext *context)
  {
    auto inserted = contexts.try_emplace (device ());
    if (inserted.second)
      g_weak_ref_init (&inserted.first->second, context);
    else
      g_weak_ref_set (&inserted.first->second, context);
  }

  std::mutex lock;
  std::map<cl_device_id, GWeakRef> contexts;
};

/* All threads share one queue for uploads. With several, a GPU may serve only the queue
 * of a thread that uploads all the time. There is no staging ring if the device reads
 * pageable memory itself. */
std::unique_ptr<opencl::ThreadQueues>
make_thread_queues (GstOpenCLContext *self)
{
  ContextState &state = *self->state;
  cl_command_queue substitute =
      state.application_queues ? state.application_queues->get (GST_OPENCL_QUEUE_COMPUTE)
                               : nullptr;
  auto queues = std::make_unique<opencl::ThreadQueues> (
      state.handle (), state.device (), substitute);
  if (state.upload_queue ()) {
    auto shared = opencl::retained<cl::CommandQueue> (state.upload_queue (), nullptr);
    if (shared ()) /* else the thread gets its own */
      queues->set (GST_OPENCL_QUEUE_UPLOAD, std::move (shared), nullptr);
  }
  if (state.stages_uploads)
    queues->set_staging_ring (std::make_unique<opencl::StagingRing> (self));
  return queues;
}

cl::CommandQueue
new_queue (const ContextState &state, cl_int &code)
{
  return cl::CommandQueue (clCreateCommandQueue (state.handle (), state.device (),
      gst_opencl_profile_get_queue_properties (), &code));
}

/* Returns true if two maps of a buffer have the same address, so that the second stays
 * valid when the first ends. The standard guarantees that only for CL_MEM_USE_HOST_PTR.
 * rusticl copies other buffers for each map. */
bool
maps_in_place (const cl::Context &context, const cl::CommandQueue &queue)
{
  constexpr gsize size = 4096;
  cl::Buffer buffer (clCreateBuffer (
      context (), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, nullptr));
  if (!buffer ())
    return false;
  void *places[2];
  for (void *&place : places)
    place = clEnqueueMapBuffer (
        queue (), buffer (), CL_TRUE, CL_MAP_READ, 0, size, 0, nullptr, nullptr, nullptr);
  for (void *place : places)
    if (place)
      clEnqueueUnmapMemObject (queue (), buffer (), place, 0, nullptr, nullptr);
  clFinish (queue ());
  return places[0] && places[0] == places[1];
}

/* Comes before the creation of thread queues, which may have a staging ring. */
void
choose_host_memory_access (ContextState &state)
{
  const bool can_share =
      opencl::device_info<cl_bool> (state.device, CL_DEVICE_HOST_UNIFIED_MEMORY)
      && maps_in_place (state.handle, state.pinning_queue);
  state.shares_host_memory = opencl::debug_switch ("share-memory").value_or (can_share);
  state.stages_uploads =
      opencl::debug_switch ("stage-uploads").value_or (!state.shares_host_memory);
}

/* Creates the application's queues. If the application supplied the compute queue, all
 * threads use these queues. */
bool
make_queues (GstOpenCLContext *self, cl::CommandQueue supplied, GError **error)
{
  ContextState &state = *self->state;
  const bool is_supplied = supplied () != nullptr;
  cl_int code;

  state.pinning_queue = new_queue (state, code);
  if (!gst_opencl_check (code, "clCreateCommandQueue", error))
    return false;
  choose_host_memory_access (state);
  state.application_queues = make_thread_queues (self);
  for (GstOpenCLQueue which :
      {GST_OPENCL_QUEUE_COMPUTE, GST_OPENCL_QUEUE_UPLOAD, GST_OPENCL_QUEUE_DOWNLOAD}) {
    const bool uses_supplied = which == GST_OPENCL_QUEUE_COMPUTE;
    if (!state.application_queues->set (
            which, uses_supplied ? std::move (supplied) : cl::CommandQueue (), error))
      return false;
  }
  if (!is_supplied) {
    state.upload_queue = new_queue (state, code);
    state.thread_queues =
        std::make_unique<opencl::ThreadQueuePool> (self, make_thread_queues);
  }
  return gst_opencl_check (code, "clCreateCommandQueue", error);
}

/* Creates a cl_context if `handle` is empty. */
GstOpenCLContext *
make_context (
    cl::Device device, cl::Context handle, cl::CommandQueue compute, GError **error)
{
  cl_int code = CL_SUCCESS;
  const bool is_wrapped = handle () != nullptr;
  auto *self =
      static_cast<GstOpenCLContext *> (g_object_new (GST_TYPE_OPENCL_CONTEXT, nullptr));
  gst_object_ref_sink (self);
  ContextState &state = *self->state;

  state.device = std::move (device);
  state.index = opencl::device_index (state.device);
  if (opencl::driver_hooks ().program_build)
    state.build_program = opencl::driver_hooks ().program_build (state.device);
  state.name = opencl::describe_device (state.device, state.index).name;
  state.handle = is_wrapped
                     ? std::move (handle)
                     : cl::Context (state.device, nullptr, nullptr, nullptr, &code);
  if (!gst_opencl_check (code, "clCreateContext", error)
      || !make_queues (self, std::move (compute), error)) {
    gst_object_unref (self);
    return nullptr;
  }
  GST_INFO_OBJECT (self, "%s context on %s (%s)", is_wrapped ? "wrapped" : "new",
      state.name.c_str (), state.index.c_str ());
  return self;
}
} // namespace

GstOpenCLContext *
gst_opencl_context_new (const gchar *device, GError **error)
{
  g_return_val_if_fail (error == nullptr || *error == nullptr, nullptr);

  cl::Device chosen;
  if (!opencl::choose_device (opencl::effective_device (device), chosen, error))
    return nullptr;
  return Registry::get ().find_or_make (chosen,
      [&] { return make_context (chosen, cl::Context (), cl::CommandQueue (), error); });
}

template <typename T>
static T
queue_info (cl_command_queue queue, cl_command_queue_info what)
{
  T value{};
  clGetCommandQueueInfo (queue, what, sizeof value, &value, nullptr);
  return value;
}

/* The application must create its queue so that it can be measured. */
static void
warn_if_not_measured (cl_command_queue queue)
{
  const auto wanted = gst_opencl_profile_get_queue_properties ();
  const auto has = queue_info<cl_command_queue_properties> (queue, CL_QUEUE_PROPERTIES);
  if ((has & wanted) != wanted)
    GST_WARNING ("the application's command queue is not profiled: create it with "
                 "CL_QUEUE_PROFILING_ENABLE to see the times of its commands");
}

/* Checks that `queue` is an in-order queue of `handle` and `device`. */
static bool
check_queue (
    cl_command_queue queue, cl_context handle, cl_device_id device, GError **error)
{
  const char *fault = nullptr;

  if (queue_info<cl_context> (queue, CL_QUEUE_CONTEXT) != handle)
    fault = "belongs to another context";
  else if (queue_info<cl_device_id> (queue, CL_QUEUE_DEVICE) != device)
    fault = "belongs to another device";
  else if (queue_info<cl_command_queue_properties> (queue, CL_QUEUE_PROPERTIES)
           & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    fault = "runs out of order";
  if (!fault)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "The application's command queue %s; expected an in-order queue of its context and "
      "device",
      fault);
  return false;
}

GstOpenCLContext *
gst_opencl_context_new_wrapped (
    cl_context handle, cl_device_id device, cl_command_queue queue, GError **error)
{
  g_return_val_if_fail (handle != nullptr, nullptr);
  g_return_val_if_fail (device != nullptr, nullptr);

  if (!opencl::check_process (error)
      || (queue && !check_queue (queue, handle, device, error)))
    return nullptr;
  if (queue)
    warn_if_not_measured (queue);
  auto own_device = opencl::retained<cl::Device> (device, error);
  auto own_handle = opencl::retained<cl::Context> (handle, error);
  auto compute =
      queue ? opencl::retained<cl::CommandQueue> (queue, error) : cl::CommandQueue ();
  if (!own_device () || !own_handle () || (queue && !compute ()))
    return nullptr;
  GstOpenCLContext *self = make_context (
      std::move (own_device), std::move (own_handle), std::move (compute), error);
  if (self)
    Registry::get ().remember_if_none (self->state->device, self);
  return self;
}

/* --- properties --- */

cl_context
gst_opencl_context_get_handle (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return context->state->handle ();
}

cl_device_id
gst_opencl_context_get_device (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return context->state->device ();
}

cl_command_queue
gst_opencl_context_get_queue (GstOpenCLContext *context, GstOpenCLQueue queue)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (
      queue >= GST_OPENCL_QUEUE_COMPUTE && queue <= GST_OPENCL_QUEUE_DOWNLOAD, nullptr);
  return context->state->application_queues->get (queue);
}

opencl::ThreadQueues &
gst_opencl_context_get_thread_queues (GstOpenCLContext *context)
{
  ContextState &state = *context->state;
  return state.thread_queues ? state.thread_queues->of_this_thread ()
                             : *state.application_queues;
}

cl_command_queue
gst_opencl_context_get_thread_queue (GstOpenCLContext *context, GstOpenCLQueue queue)
{
  return gst_opencl_context_get_thread_queues (context).get (queue);
}

static bool
fail_as_foreign (const char *what, GError **error)
{
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "The %s belongs to another cl_context", what);
  return false;
}

bool
gst_opencl_context_check_queue (
    GstOpenCLContext *context, cl_command_queue queue, GError **error)
{
  const ContextState &state = *context->state;
  if (gst_opencl_context_get_thread_queues (context).contains (queue)
      || state.application_queues->contains (queue))
    return true;
  cl_context of = nullptr;
  const cl_int code =
      clGetCommandQueueInfo (queue, CL_QUEUE_CONTEXT, sizeof of, &of, nullptr);
  return (code == CL_SUCCESS && of == state.handle ())
         || fail_as_foreign ("command queue", error);
}

bool
gst_opencl_context_check_buffer (GstOpenCLContext *context, cl_mem buffer, gsize size,
    const char *what, GError **error)
{
  cl_context of = nullptr;
  size_t bytes = 0;
  cl_int code = clGetMemObjectInfo (buffer, CL_MEM_CONTEXT, sizeof of, &of, nullptr);
  if (code != CL_SUCCESS || of != context->state->handle ())
    return fail_as_foreign (what, error);
  code = clGetMemObjectInfo (buffer, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  if (!gst_opencl_check (code, "clGetMemObjectInfo", error))
    return false;
  if (bytes >= size)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "The %s has %" G_GSIZE_FORMAT " bytes, expected at least %" G_GSIZE_FORMAT, what,
      bytes, size);
  return false;
}

bool
gst_opencl_context_is_shared_queue (GstOpenCLContext *context, cl_command_queue queue)
{
  return queue && queue == context->state->upload_queue ();
}

cl_command_queue
gst_opencl_context_get_pinning_queue (GstOpenCLContext *context)
{
  return context->state->pinning_queue ();
}

opencl::StagingRing *
gst_opencl_context_get_staging_ring (GstOpenCLContext *context)
{
  return gst_opencl_context_get_thread_queues (context).staging_ring ();
}

opencl::CopyThreads &
gst_opencl_context_get_copy_threads (GstOpenCLContext *context)
{
  ContextState &state = *context->state;

  std::call_once (state.copy_threads_once, [&state] {
    const guint most = 8; /* more are not faster: memory is the limit */
    const guint cores = std::clamp (std::thread::hardware_concurrency (), 1u, most);
    state.copy_threads = std::make_unique<opencl::CopyThreads> (cores - 1);
  });
  return *state.copy_threads;
}

/* An error code does not tell whether the device is lost. CL_OUT_OF_RESOURCES may mean
 * that a kernel uses too many registers, or that the device was reset. Therefore this
 * enqueues a marker on the queue that no frame uses. If that fails, nothing will run any
 * more. Only CL_OUT_OF_HOST_MEMORY says nothing about the device. */
void
gst_opencl_context_check_device (GstOpenCLContext *context)
{
  ContextState &state = *context->state;
  if (state.given_up || opencl::is_forked_child ())
    return;
  cl_int code = clEnqueueMarkerWithWaitList (state.pinning_queue (), 0, nullptr, nullptr);
  if (code == CL_SUCCESS)
    code = opencl::finish_with_timeout (state.pinning_queue ());
  if (code == CL_SUCCESS || code == CL_OUT_OF_HOST_MEMORY)
    return;
  if (!state.lost.exchange (true))
    GST_ERROR_OBJECT (context,
        "the device is lost: an empty command failed with %s (%d); restart the pipeline "
        "for a new context",
        gst_opencl_error_name (code), code);
}

bool
gst_opencl_context_is_lost (GstOpenCLContext *context)
{
  return context->state->lost || opencl::is_forked_child ();
}

void
gst_opencl_context_give_up (cl_context handle)
{
  GstOpenCLContext *context = Registry::get ().find_by_handle (handle);
  if (!context)
    return;
  context->state->lost = true;
  if (!context->state->given_up.exchange (true))
    GST_ERROR_OBJECT (context,
        "the device does not answer, so its context is lost; restart the pipeline");
  gst_object_unref (context);
}

bool
gst_opencl_context_was_given_up (cl_context handle)
{
  GstOpenCLContext *context = Registry::get ().find_by_handle (handle);
  const bool was = context && context->state->given_up;
  gst_clear_object (&context);
  return was;
}

const gchar *
gst_opencl_context_get_device_name (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return context->state->name.c_str ();
}

gboolean
gst_opencl_context_shares_host_memory (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), FALSE);
  return context->state->shares_host_memory;
}

gboolean
gst_opencl_context_matches (GstOpenCLContext *context, const gchar *device)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), FALSE);

  /* An element with device=auto uses the context of its neighbours. */
  if (!device || !*device || strcmp (device, GST_OPENCL_DEVICE_DEFAULT) == 0)
    return TRUE;
  const ContextState &state = *context->state;
  return opencl::device_is_chosen (
      opencl::describe_device (state.device, state.index), device);
}

/* Each queue has its own reaper. Its commands end in order, but those of another queue
 * may end much earlier. */
static opencl::Reaper &
reaper_of (ContextState &state, cl_event event)
{
  constexpr gsize most = 3 * opencl::ThreadQueuePool::maximum;
  cl_command_queue queue = nullptr; /* stays null for a user event of the application */
  clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  if (state.reapers.size () >= most && state.reapers.count (queue) == 0)
    return *state.reapers.begin ()->second;
  std::unique_ptr<opencl::Reaper> &reaper = state.reapers[queue];
  if (!reaper)
    reaper = std::make_unique<opencl::Reaper> ();
  return *reaper;
}

void
gst_opencl_context_release_after (
    GstOpenCLContext *context, cl_event event, GDestroyNotify notify, gpointer user_data)
{
  g_return_if_fail (GST_IS_OPENCL_CONTEXT (context));
  g_return_if_fail (event != nullptr && notify != nullptr);

  std::lock_guard<std::mutex> guard (context->state->reapers_lock);
  reaper_of (*context->state, event).release_after (event, notify, user_data);
}

/* --- tables --- */

cl_mem
gst_opencl_context_get_table (GstOpenCLContext *self, const void *values, gsize size,
    const std::function<cl::Buffer ()> &make, GError **error)
{
  cl::Buffer table = self->state->tables.get (values, size, make, error);
  return std::exchange (table (), nullptr);
}

/* --- programs --- */

static gboolean
compile_program (GstOpenCLContext *self, cl::Program &program, const std::string &source,
    const std::string &options, GError **error)
{
  ContextState &state = *self->state;
  GstClockTime start = gst_util_get_timestamp ();

  state.builds++;
  const cl_device_id device = state.device ();
  cl_int code =
      clBuildProgram (program (), 1, &device, options.c_str (), nullptr, nullptr);
  if (code == CL_COMPILER_NOT_AVAILABLE) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%s has no compiler: use a program that was compiled elsewhere (location of "
        "openclkernel)",
        state.name.c_str ());
    return FALSE;
  }
  if (code != CL_SUCCESS) {
    std::string log;
    program.getBuildInfo (state.device, CL_PROGRAM_BUILD_LOG, &log);
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD,
        "A kernel does not build on %s: clBuildProgram failed: %s (%d), expected OpenCL "
        "C 1.2\noptions: %s\n%s",
        state.name.c_str (), gst_opencl_error_name (code), code, options.c_str (),
        opencl::map_log_lines (log, source).c_str ());
    return FALSE;
  }
  GST_DEBUG_OBJECT (self, "built a program in %" GST_TIME_FORMAT " (options %s)",
      GST_TIME_ARGS (gst_util_get_timestamp () - start), options.c_str ());
  return TRUE;
}

cl_program
gst_opencl_context_get_program (
    GstOpenCLContext *context, const gchar *source, const gchar *options, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (source != nullptr, nullptr);

  if (!opencl::check_process (error))
    return nullptr;
  ContextState &state = *context->state;
  /* PoCL prints the number of warnings to the user's terminal, hence -w. */
  std::string all_options = "-cl-std=CL1.2 -w";
  if (options && *options)
    all_options += std::string (" ") + options;
  auto compile = [&] {
    cl_int code = CL_SUCCESS;
    if (opencl::StopScope::refuses_builds (error))
      return cl::Program ();
    cl::Program program (state.handle, std::string (source), false, &code);
    if (!gst_opencl_check (code, "clCreateProgramWithSource", error)
        || !compile_program (context, program, source, all_options, error))
      return cl::Program ();
    return program; /* moved: a copy would call OpenCL, which may fail */
  };
  auto build = [&] {
    return state.build_program
               ? state.build_program (state.handle, source, all_options, compile)
               : compile ();
  };
  return state.programs.get (all_options + '\n' + source, build, error);
}

guint
gst_opencl_context_get_n_programs (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), 0);
  return guint (context->state->programs.size ());
}

guint
gst_opencl_context_get_n_builds (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), 0);
  return context->state->builds;
}

/* --- sharing through GstContext --- */

GstContext *
gst_opencl_context_to_gst_context (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);

  GstContext *gst_context = gst_context_new (GST_OPENCL_CONTEXT_TYPE, TRUE);
  gst_structure_set (gst_context_writable_structure (gst_context),
      GST_OPENCL_CONTEXT_TYPE, GST_TYPE_OPENCL_CONTEXT, context, "device", G_TYPE_STRING,
      gst_opencl_context_get_device_name (context), nullptr);
  return gst_context;
}

namespace {
/* A search for a context among linked elements */
struct Search {
  const gchar *device;
  GstOpenCLContext **context;
};
} // namespace

/* Returns FALSE, which ends the iteration, once a neighbour has a context that the
 * element can use. */
static gboolean
query_peer (GstElement *element, GstPad *pad, gpointer user_data)
{
  auto *search = static_cast<Search *> (user_data);
  GstQuery *query = gst_query_new_context (GST_OPENCL_CONTEXT_TYPE);
  GstContext *found = nullptr;
  gboolean taken = FALSE;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_context (query, &found);
  if (found) {
    taken =
        gst_opencl_handle_set_context (element, found, search->device, search->context);
    GST_CAT_INFO_OBJECT (GST_CAT_CONTEXT, element, "%s %" GST_PTR_FORMAT " of %s:%s",
        taken ? "accepted" : "ignored", found, GST_DEBUG_PAD_NAME (pad));
  }
  gst_query_unref (query);
  return !taken;
}

/* Returns TRUE if a context is set. First drops a context whose device was lost. */
static gboolean
is_set (GstElement *element, GstOpenCLContext **context)
{
  GstOpenCLContext *lost = nullptr;

  GST_OBJECT_LOCK (element);
  if (*context && gst_opencl_context_is_lost (*context))
    std::swap (lost, *context);
  gboolean set = *context != nullptr;
  GST_OBJECT_UNLOCK (element);
  gst_clear_object (&lost);
  return set;
}

/* Takes the context that the application or a bin set on the element, which applies to
 * every run. Contexts of linked elements are queried again in each run and not kept. */
static void
use_given_context (GstElement *element, const gchar *device, GstOpenCLContext **context)
{
  GstContext *given = gst_element_get_context (element, GST_OPENCL_CONTEXT_TYPE);
  if (!given)
    return;
  gst_opencl_handle_set_context (element, given, device, context);
  gst_context_unref (given);
}

static gboolean
create_and_announce (
    GstElement *element, const gchar *device, GstOpenCLContext **context, GError **error)
{
  GstOpenCLContext *made = gst_opencl_context_new (device, error);
  if (!made)
    return FALSE;

  GstContext *gst_context = gst_opencl_context_to_gst_context (made);
  GST_OBJECT_LOCK (element);
  if (!*context)
    *context = GST_OPENCL_CONTEXT (gst_object_ref (made));
  GST_OBJECT_UNLOCK (element);
  gst_element_post_message (
      element, gst_message_new_have_context (GST_OBJECT (element), gst_context));
  gst_object_unref (made);
  return TRUE;
}

gboolean
gst_opencl_ensure_context_alone (
    GstElement *element, const gchar *device, GstOpenCLContext **context, GError **error)
{
  if (!is_set (element, context))
    use_given_context (element, device, context);
  if (is_set (element, context))
    return TRUE;
  gst_element_post_message (element,
      gst_message_new_need_context (GST_OBJECT (element), GST_OPENCL_CONTEXT_TYPE));
  if (is_set (element, context))
    return TRUE;
  return create_and_announce (element, device, context, error);
}

gboolean
gst_opencl_ensure_context (
    GstElement *element, const gchar *device, GstOpenCLContext **context, GError **error)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != nullptr, FALSE);

  gst_opencl_statistics_mark (gst_opencl_statistics_of (element));
  if (!is_set (element, context))
    use_given_context (element, device, context);
  Search search = {device, context};
  for (auto foreach_pad : {gst_element_foreach_src_pad, gst_element_foreach_sink_pad})
    if (!is_set (element, context))
      foreach_pad (element, query_peer, &search);
  return gst_opencl_ensure_context_alone (element, device, context, error);
}

gboolean
gst_opencl_handle_set_context (GstElement *element, GstContext *gst_context,
    const gchar *device, GstOpenCLContext **context)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != nullptr, FALSE);

  GstOpenCLContext *offered = nullptr;
  if (!gst_context || !gst_context_has_context_type (gst_context, GST_OPENCL_CONTEXT_TYPE)
      || !gst_structure_get (gst_context_get_structure (gst_context),
          GST_OPENCL_CONTEXT_TYPE, GST_TYPE_OPENCL_CONTEXT, &offered, nullptr)
      || !offered)
    return FALSE;

  gboolean taken = FALSE;
  if (gst_opencl_context_matches (offered, device)
      && !gst_opencl_context_is_lost (offered)) {
    GST_OBJECT_LOCK (element);
    if (!*context)
      *context = GST_OPENCL_CONTEXT (gst_object_ref (offered));
    taken = *context == offered;
    GST_OBJECT_UNLOCK (element);
  }
  gst_object_unref (offered);
  return taken;
}

gboolean
gst_opencl_handle_context_query (
    GstElement *element, GstQuery *query, GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);

  const gchar *type;
  if (!context || gst_opencl_context_is_lost (context)
      || GST_QUERY_TYPE (query) != GST_QUERY_CONTEXT
      || !gst_query_parse_context_type (query, &type)
      || g_strcmp0 (type, GST_OPENCL_CONTEXT_TYPE) != 0)
    return FALSE;

  GstContext *gst_context = gst_opencl_context_to_gst_context (context);
  gst_query_set_context (query, gst_context);
  gst_context_unref (gst_context);
  return TRUE;
}
