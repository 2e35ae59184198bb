/* Storage shared by a memory and its sub-memories
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "events.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopencldeferred.h>

#include <gst/gst.h>

#include <memory>
#include <mutex>

namespace opencl {
/* A failed map or acquire returns no reason to its caller. The element that allocated the
 * frame reports it instead. Pools and their memories share this object. It holds no
 * reference to the element. All functions may be called from any thread. */
class FrameOwner {
public:
  /* `error` is (transfer full). */
  using Report = void (*) (GstElement *owner, GError *error);

  FrameOwner (GstElement *owner, Report callback) : callback (callback)
  {
    g_weak_ref_init (&element, owner);
  }
  ~FrameOwner () { g_weak_ref_clear (&element); }
  FrameOwner (const FrameOwner &) = delete;
  FrameOwner &operator= (const FrameOwner &) = delete;

  /* Reports `error` (transfer full). Returns false if the element no longer exists. */
  bool report (GError *error)
  {
    auto *owner = static_cast<GstElement *> (g_weak_ref_get (&element));
    if (!owner) {
      g_error_free (error);
      return false;
    }
    callback (owner, error);
    gst_object_unref (owner);
    return true;
  }

private:
  GWeakRef element;
  const Report callback;
};

class Storage {
public:
  explicit Storage (GstOpenCLContext *context);
  virtual ~Storage ();
  Storage (const Storage &) = delete;
  Storage &operator= (const Storage &) = delete;

  /* Prepares `access` by commands on `queue`. Enqueues what makes the contents current on
   * the device, and adds to `waits` the events that the next command has to wait for. */
  virtual bool prepare (
      cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error) = 0;
  /* Like prepare(), but makes all later commands on `queue` wait. */
  bool begin (cl_command_queue queue, GstMapFlags access, GError **error);
  /* Records that the commands of an access are enqueued. `event` completes with the last
   * one. */
  virtual void end (cl_command_queue queue, GstMapFlags access, cl_event event) = 0;
  /* Declares the contents undefined, so that nothing is transferred to keep them. */
  virtual void invalidate () = 0;
  /* Returns the bytes for the CPU. Blocks until no transfer conflicts with `access`. */
  virtual guint8 *map_sync (GstMapFlags access, GError **error) = 0;
  virtual void unmap (GstMapFlags access) {}
  /* Enqueues the transfer that a map for reading needs. `event` stays empty if none is
   * needed. */
  virtual bool prepare_map (TrackedEvent &event, GError **error) { return true; }

  /* Sets the owner (nullable). Must be called before the memory is passed on. */
  void set_owner (std::shared_ptr<FrameOwner> element) { owner = std::move (element); }
  /* Passes `error` (transfer full) to the owner, which reports it. Returns false if there
   * is no owner. */
  bool report_to_owner (GError *error);
  /* Marks the memory as used by several threads, until invalidate(). None of them may
   * then wait for unrelated work on another thread's queue. */
  void mark_shared () { is_shared = true; }
  /* Returns whether pending commands on queues of other threads use the memory. */
  bool is_used_by_other_threads ();
  /* Returns whether the next writer in this thread would wait for a command of another
   * thread. After an upload, the next writer is assumed to be an upload too: returns
   * whether the host would wait. */
  bool delays_writer ();
  /* (nullable): `size` zero bytes, which live as long as the memory */
  guint8 *zeros (gsize size);

  GstOpenCLContext *const context;

protected:
  /* Blocks until a CPU map for `access` may begin. A wait for contents that exist
   * (`is_for_data`) counts as a wait for data, another one as a wait for room. */
  bool wait_for_device (GstMapFlags access, bool is_for_data, bool &waited_for_data,
      bool &waited_for_room, GError **error);

  std::mutex lock;     /* protects the members below and in subclasses */
  AccessEvents events; /* accesses of the memory itself */
  std::atomic<bool> is_shared{false};

private:
  std::shared_ptr<FrameOwner> owner;
  std::unique_ptr<guint8, decltype (&g_free)> zero_bytes{nullptr, g_free};
};

/* clEnqueueAcquireExternalMemObjectsKHR () or …Release… () */
using EnqueueExternal = cl_int (CL_API_CALL *) (
    cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *);

/* Storage in a cl_mem. Subclasses implement CPU access. */
class DeviceStorage : public Storage {
public:
  DeviceStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size);
  ~DeviceStorage () override;

  /* Declares that the buffer already has contents. */
  virtual void set_contents_on_device () = 0;

  cl_mem handle () const { return buffer (); }
  void set_notify (GDestroyNotify function, gpointer data);
  /* Calls `acquire` for a buffer that is shared with another API. `released` is the event
   * of its last release, or empty. */
  bool acquire (EnqueueExternal acquire, const TrackedEvent &released, GError **error);
  /* Calls `release` after all commands that use the buffer. Returns its event. */
  TrackedEvent release (EnqueueExternal release);
  /* Calls `notify` (nullable) once no pending command uses the buffer. */
  void notify_when_unused (GDestroyNotify notify, gpointer user_data);

  void defer (GstOpenCLDeferred *work, gsize offset);
  GstOpenCLDeferred *ref_deferred ();

  const gsize size;

protected:
  void replace_deferred (GstOpenCLDeferred *work, gsize offset);
  /* Enqueues the deferred work. Other threads wait here until it is enqueued. If that
   * failed, every reader fails until the contents are overwritten. */
  bool fill_deferred (GstMapFlags access, GError **error);

  cl::Buffer buffer;

private:
  /* Returns whether the contents are not undefined. */
  virtual bool has_contents () = 0;
  bool enqueue_fill (GstOpenCLDeferred *work, GError **error);
  bool enqueue_fill_on (cl_command_queue queue, GstOpenCLDeferred *work, GError **error);

  /* Held while deferred work is enqueued. Recursive, because the work accesses the
   * memory. */
  std::recursive_mutex deferred_lock;
  GstOpenCLDeferred *deferred = nullptr; /* (nullable): work that fills the memory */
  gsize deferred_offset = 0;             /* first byte that it fills */
  GError *fill_error = nullptr;          /* (nullable): why it failed */

  GDestroyNotify notify = nullptr;
  gpointer user_data = nullptr;
};

/* Storage whose CPU maps give a copy in pinned memory */
std::shared_ptr<DeviceStorage> make_staged_storage (
    GstOpenCLContext *context, cl::Buffer buffer, gsize size);

/* Storage whose CPU maps give the buffer itself, because the device works in host
 * memory */
std::shared_ptr<DeviceStorage> make_shared_storage (
    GstOpenCLContext *context, cl::Buffer buffer, gsize size);

class HostStorage : public Storage {
public:
  HostStorage (GstOpenCLContext *context, std::unique_ptr<PinnedBlock> block);
  ~HostStorage () override;

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override;
  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override;
  void invalidate () override;
  guint8 *map_sync (GstMapFlags access, GError **error) override;

  guint8 *data () const { return block->data (); }

private:
  std::unique_ptr<PinnedBlock> block;
};
} // namespace opencl
