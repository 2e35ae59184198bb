/* Storage shared by a memory and its sub-memories
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "accessevents.hpp"
#include <gst/opencl/context/externalcalls.hpp>
#include "frameowner.hpp"
#include "gstopencldeferred.h"

#include <memory>
#include <mutex>

namespace opencl {
class Storage {
public:
  explicit Storage (GstOpenCLContext *context);
  virtual ~Storage ();
  Storage (const Storage &) = delete;
  Storage &operator= (const Storage &) = delete;

  /* Prepares `access` by commands on `queue`: enqueues what makes the contents current on the
   * device, and adds to `waits` the events that the next command has to wait for. */
  virtual bool prepare (
      cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error) = 0;
  /* The same, and makes all later commands on `queue` wait. */
  bool begin (cl_command_queue queue, GstMapFlags access, GError **error);
  /* The commands of an access are enqueued, and `event` completes with the last of them. */
  virtual void end (cl_command_queue queue, GstMapFlags access, cl_event event) = 0;
  /* The contents become undefined, so that nothing is transferred to keep them. */
  virtual void invalidate () = 0;
  /* The bytes for the CPU. Blocks until no transfer conflicts with `access`. */
  virtual guint8 *map_sync (GstMapFlags access, GError **error) = 0;
  virtual void unmap (GstMapFlags access) {}
  /* Enqueues the transfer that a map for reading needs. `event` stays empty if it needs none. */
  virtual bool prepare_map (TrackedEvent &event, GError **error) { return true; }

  /* Before anybody else has the memory; (nullable) */
  void set_owner (std::shared_ptr<FrameOwner> element) { owner = std::move (element); }
  /* Reports `error` (transfer full) by the owner of the memory. Returns false if it has no
   * owner. */
  bool tell_owner (GError *error);
  /* Until invalidate(): other threads may use the memory too, and must not wait for what the
   * queue of the first one does before. */
  void mark_shared () { is_shared = true; }
  /* Whether commands on queues of other threads still use the memory. */
  bool is_used_elsewhere ();
  /* Whether a writer of this thread, as the last one was, would wait for commands of another
   * thread, or for any commands if it uploads. */
  bool delays_writer ();
  /* (nullable): `size` zero bytes, which live as long as the memory */
  guint8 *zeros (gsize size);

  GstOpenCLContext *const context;

protected:
  std::mutex lock; /* of everything below and in subclasses; never held while waiting */
  AccessEvents events; /* of the memory itself */
  std::atomic<bool> is_shared{false};

private:
  std::shared_ptr<FrameOwner> owner;
  std::unique_ptr<guint8, decltype (&g_free)> blank{nullptr, g_free};
};

/* A cl_mem; subclasses say how the CPU sees it. */
class DeviceStorage : public Storage {
public:
  DeviceStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size);
  ~DeviceStorage () override;

  /* The buffer has contents from elsewhere. */
  virtual void set_contents_on_device () = 0;

  cl_mem handle () const { return buffer (); }
  void set_notify (GDestroyNotify function, gpointer data);
  /* The buffer is shared with others. `released` is the event of its last release, or
   * empty. */
  bool acquire (const ExternalCalls &calls, const TrackedEvent &released, GError **error);
  /* Behind all that uses the buffer; returns the event. */
  TrackedEvent release ();
  /* Calls `notify` (nullable) once nothing that is enqueued uses the buffer. */
  void give_back (GDestroyNotify notify, gpointer user_data);

  void defer (GstOpenCLDeferred *work, gsize offset);
  GstOpenCLDeferred *ref_deferred ();

  const gsize size;

protected:
  void replace_deferred (GstOpenCLDeferred *work, gsize offset);
  /* Makes what is deferred. Whoever comes second waits here until the first has enqueued
   * it; where that failed, it has failed for every reader until all is written anew. */
  bool fill_deferred (GstMapFlags access, GError **error);

  cl::Buffer buffer;

private:
  bool enqueue_fill (GstOpenCLDeferred *work, GError **error);
  bool enqueue_fill_on (cl_command_queue queue, GstOpenCLDeferred *work, GError **error);

  /* Held while it is enqueued; the thread that does so uses the memory meanwhile. */
  std::recursive_mutex deferred_lock;
  GstOpenCLDeferred *deferred = nullptr; /* (nullable): what will make the contents, */
  gsize deferred_offset = 0;             /* and from which byte on */
  GError *fill_error = nullptr;          /* (nullable): why there are no contents */

  ExternalCalls::Enqueue release_call = nullptr; /* while the buffer is acquired */

  GDestroyNotify notify = nullptr;
  gpointer user_data = nullptr;
};

/* The CPU's view is a copy in pinned memory. */
std::shared_ptr<DeviceStorage> make_staged_storage (
    GstOpenCLContext *context, cl::Buffer buffer, gsize size);

/* The CPU's view is the buffer itself: the device works in the host's memory. */
std::shared_ptr<DeviceStorage> make_shared_storage (
    GstOpenCLContext *context, cl::Buffer buffer, gsize size);
} // namespace opencl
