/* Tells ThreadSanitizer what GLib's locks and counts of references order
 *
 * GLib and GStreamer are not built for it, and lock by the kernel's futexes rather than by
 * POSIX's mutexes, so that it knows nothing of them. In a build for it (tests/run.sh --tsan)
 * these stand in front of the real ones in every test.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/gst.h>

#include <dlfcn.h>

extern "C" {
void __tsan_acquire (void *address);
void __tsan_release (void *address);
}

namespace {
template <typename Function>
Function *
next (Function *, const char *name)
{
  return reinterpret_cast<Function *> (dlsym (RTLD_NEXT, name));
}
} // namespace

#define REAL(name)                                                                       \
  ([] {                                                                                  \
    static auto *const real = next (name, #name);                                        \
    return real;                                                                         \
  }())

/* Writes before an unlock happen before the next lock. */
#define TAKES(name, Type)                                                                \
  void name (Type *lock)                                                                 \
  {                                                                                      \
    REAL (name) (lock);                                                                  \
    __tsan_acquire (lock);                                                               \
  }

#define TRIES(name, Type)                                                                \
  gboolean name (Type *lock)                                                             \
  {                                                                                      \
    const gboolean taken = REAL (name) (lock);                                           \
    if (taken)                                                                           \
      __tsan_acquire (lock);                                                             \
    return taken;                                                                        \
  }

#define LETS_GO(name, Type)                                                              \
  void name (Type *lock)                                                                 \
  {                                                                                      \
    __tsan_release (lock);                                                               \
    REAL (name) (lock);                                                                  \
  }

/* The last unref happens after all other unrefs. */
#define UNREFS(name, Type)                                                               \
  void name (Type *object)                                                               \
  {                                                                                      \
    __tsan_acquire (object);                                                             \
    __tsan_release (object);                                                             \
    REAL (name) (object);                                                                \
  }

#define PUSHES(name, Type, Item)                                                         \
  void name (Type *queue, Item item)                                                     \
  {                                                                                      \
    __tsan_release (queue);                                                              \
    REAL (name) (queue, item);                                                           \
  }

#define POPS(name, Type, Item, parameters, arguments)                                    \
  Item name parameters                                                                   \
  {                                                                                      \
    Item item = REAL (name) arguments;                                                   \
    __tsan_acquire (queue);                                                              \
    return item;                                                                         \
  }

#undef g_object_ref
extern "C" {
TAKES (g_mutex_lock, GMutex)
TRIES (g_mutex_trylock, GMutex)
LETS_GO (g_mutex_unlock, GMutex)
TAKES (g_rec_mutex_lock, GRecMutex)
TRIES (g_rec_mutex_trylock, GRecMutex)
LETS_GO (g_rec_mutex_unlock, GRecMutex)
TAKES (g_rw_lock_writer_lock, GRWLock)
LETS_GO (g_rw_lock_writer_unlock, GRWLock)
TAKES (g_rw_lock_reader_lock, GRWLock)
LETS_GO (g_rw_lock_reader_unlock, GRWLock)

void
g_cond_wait (GCond *condition, GMutex *mutex)
{
  __tsan_release (mutex);
  REAL (g_cond_wait) (condition, mutex);
  __tsan_acquire (mutex);
}

gboolean
g_cond_wait_until (GCond *condition, GMutex *mutex, gint64 end)
{
  __tsan_release (mutex);
  const gboolean signalled = REAL (g_cond_wait_until) (condition, mutex, end);
  __tsan_acquire (mutex);
  return signalled;
}

UNREFS (g_object_unref, void)
UNREFS (gst_object_unref, void)
UNREFS (gst_mini_object_unref, GstMiniObject)

PUSHES (g_async_queue_push, GAsyncQueue, gpointer)
POPS (g_async_queue_pop, GAsyncQueue, gpointer, (GAsyncQueue * queue), (queue))
POPS (g_async_queue_timeout_pop, GAsyncQueue, gpointer,
    (GAsyncQueue * queue, guint64 timeout), (queue, timeout))
POPS (g_async_queue_try_pop, GAsyncQueue, gpointer, (GAsyncQueue * queue), (queue))

gboolean
gst_bus_post (GstBus *queue, GstMessage *message)
{
  __tsan_release (queue);
  return REAL (gst_bus_post) (queue, message);
}

gboolean
gst_element_post_message (GstElement *element, GstMessage *message)
{
  __tsan_release (GST_MESSAGE_SRC (message));
  return REAL (gst_element_post_message) (element, message);
}

POPS (gst_bus_pop_filtered, GstBus, GstMessage *, (GstBus * queue, GstMessageType types),
    (queue, types))
POPS (gst_bus_timed_pop_filtered, GstBus, GstMessage *,
    (GstBus * queue, GstClockTime timeout, GstMessageType types), (queue, timeout, types))
}
