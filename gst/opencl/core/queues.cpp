/* Command queues for streaming threads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "queues.hpp"

#include "context.hpp"
#include "events.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <utility>

namespace opencl {
/* --- queues of a thread --- */

ThreadQueues::ThreadQueues (
    cl_context context, cl_device_id device, cl_command_queue substitute)
    : context (context), device (device), substitute (substitute)
{
}

bool
ThreadQueues::set (GstOpenCLQueue which, cl::CommandQueue queue, GError **error)
{
  if (!queue ()) {
    cl_int code;
    queue = cl::CommandQueue (clCreateCommandQueue (
        context, device, gst_opencl_profile_get_queue_properties (), &code));
    if (!gst_opencl_check (code, "clCreateCommandQueue", error))
      return false;
  }
  queues[which] = std::move (queue);
  handles[which] = queues[which]();
  return true;
}

/* If the device cannot create another queue, commands run on the substitute, which keeps
 * their order. */
cl_command_queue
ThreadQueues::get (GstOpenCLQueue which)
{
  if (cl_command_queue handle = handles[which])
    return handle;
  std::lock_guard<std::mutex> guard (creating);
  GError *error = nullptr;
  if (!has_created (which) && !set (which, cl::CommandQueue (), &error)) {
    GST_WARNING ("streaming threads share a command queue: %s", error->message);
    g_clear_error (&error);
    handles[which] = substitute;
  }
  return handles[which];
}

bool
ThreadQueues::contains (cl_command_queue queue) const
{
  return queue /* queues that are not created yet are null */
         && std::any_of (handles.begin (), handles.end (),
             [queue] (const auto &handle) { return handle == queue; });
}

void
ThreadQueues::append_created (std::vector<cl_command_queue> &queues) const
{
  for (const cl_command_queue handle : handles) {
    if (handle)
      queues.push_back (handle);
  }
}

void
ThreadQueues::set_staging_ring (std::unique_ptr<StagingRing> a_ring)
{
  ring = std::move (a_ring);
}

/* --- assignment of queues to threads --- */

namespace {
/* The queues that a thread uses in one context. A thread that ends must not hold the
 * queues: they would outlive a context that ends at the same time. */
struct Claim {
  guint64 id;
  std::weak_ptr<ThreadQueues> queues;
  std::shared_ptr<std::atomic<guint>> users;

  Claim (guint64 id, const std::shared_ptr<ThreadQueues> &claimed)
      : id (id), queues (claimed), users (claimed->users)
  {
    ++*users;
  }
  Claim (Claim &&) = default;
  Claim &operator= (Claim &&other)
  {
    std::swap (id, other.id);
    std::swap (queues, other.queues);
    std::swap (users, other.users);
    return *this;
  }
  ~Claim ()
  {
    if (users)
      --*users;
  }
};

/* Returns those of this thread, whose end destroys them. GLib does it, as a library that mingw
 * compiles does not destroy its thread_local objects. */
std::vector<Claim> &
claims_of_this_thread ()
{
  using Claims = std::vector<Claim>;
  static GPrivate key =
      G_PRIVATE_INIT ([] (gpointer claims) { delete static_cast<Claims *> (claims); });
  auto *claims = static_cast<Claims *> (g_private_get (&key));

  if (!claims) {
    claims = new Claims;
    g_private_set (&key, claims);
  }
  return *claims;
}

guint64
next_id ()
{
  static std::atomic<guint64> last{0};
  return ++last;
}
} // namespace

ThreadQueuePool::ThreadQueuePool (GstOpenCLContext *context, Make make)
    : context (context), make (make), id (next_id ())
{
}

ThreadQueuePool::~ThreadQueuePool () = default;

ThreadQueues &
ThreadQueuePool::of_this_thread ()
{
  std::vector<Claim> &claims = claims_of_this_thread ();

  for (const Claim &claim : claims) {
    if (claim.id == id)
      return *claim.queues.lock (); /* the caller holds the context */
  }
  claims.erase (std::remove_if (claims.begin (), claims.end (),
                    [] (const Claim &claim) { return claim.queues.expired (); }),
      claims.end ());
  std::lock_guard<std::mutex> guard (lock);
  std::shared_ptr<ThreadQueues> assigned = assign ();
  claims.emplace_back (id, assigned);
  return *assigned;
}

/* Prefers queues without users, then new ones, then those with the fewest users. */
std::shared_ptr<ThreadQueues>
ThreadQueuePool::assign ()
{
  auto least = std::min_element (all.begin (), all.end (),
      [] (const auto &a, const auto &b) { return *a->users < *b->users; });
  if (least != all.end () && (*(*least)->users == 0 || all.size () == maximum))
    return *least;
  all.push_back (make (context));
  return all.back ();
}

void
ThreadQueuePool::append_created (std::vector<cl_command_queue> &queues)
{
  std::lock_guard<std::mutex> guard (lock);
  for (const auto &of_thread : all)
    of_thread->append_created (queues);
}

gsize
ThreadQueuePool::size ()
{
  std::lock_guard<std::mutex> guard (lock);
  return all.size ();
}

/* --- queues of an element --- */

/* Makes later commands on `to` wait for all commands on `from`. */
static bool
order_queues (cl_command_queue from, cl_command_queue to, GError **error)
{
  cl_event reached;

  if (!enqueue_end (from, &reached, error))
    return false;
  clFlush (from);
  const bool ordered =
      gst_opencl_check (clEnqueueBarrierWithWaitList (to, 1, &reached, nullptr),
          "clEnqueueBarrierWithWaitList", error);
  clReleaseEvent (reached);
  return ordered;
}

void
ElementQueues::enter (GstOpenCLContext *context)
{
  ThreadQueues &now = gst_opencl_context_get_thread_queues (context);
  auto guard = hold ();

  if (&now == current)
    return;
  ++*now.users;
  ThreadQueues *before = std::exchange (current, &now);
  if (!before)
    return;
  if (before->has_created (GST_OPENCL_QUEUE_COMPUTE)) {
    cl_command_queue from = before->get (GST_OPENCL_QUEUE_COMPUTE);
    cl_command_queue to = now.get (GST_OPENCL_QUEUE_COMPUTE);
    if (from != to && !order_queues (from, to, nullptr))
      finish_with_timeout (from); /* the next command reports the reason */
  }
  --*before->users;
}

void
ElementQueues::leave ()
{
  auto guard = hold ();
  if (ThreadQueues *before = std::exchange (current, nullptr))
    --*before->users;
}

cl_command_queue
ElementQueues::compute ()
{
  auto guard = hold ();
  return compute_while_held ();
}

cl_command_queue
ElementQueues::compute_while_held () const
{
  return current ? current->get (GST_OPENCL_QUEUE_COMPUTE) : nullptr;
}
} // namespace opencl
