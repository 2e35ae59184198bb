/* Smart pointer of references to GStreamer and GLib objects
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <CL/cl.h>
#include <gst/gst.h>

#include <string>
#include <type_traits>
#include <utility>

namespace check {
/* Releases a reference of each type; all other types are GObjects. */
struct Release {
  static void one (GstBuffer *buffer) { gst_buffer_unref (buffer); }
  static void one (GstCaps *caps) { gst_caps_unref (caps); }
  static void one (GstContext *context) { gst_context_unref (context); }
  static void one (GstEvent *event) { gst_event_unref (event); }
  static void one (GstMemory *memory) { gst_memory_unref (memory); }
  static void one (GstMessage *message) { gst_message_unref (message); }
  static void one (GstQuery *query) { gst_query_unref (query); }
  static void one (GstSample *sample) { gst_sample_unref (sample); }
  static void one (GError *error) { g_error_free (error); }
  static void one (gchar *text) { g_free (text); }
  static void one (cl_context context) { clReleaseContext (context); }
  static void one (cl_event event) { clReleaseEvent (event); }
  static void one (cl_kernel kernel) { clReleaseKernel (kernel); }
  static void one (cl_mem buffer) { clReleaseMemObject (buffer); }
  static void one (cl_program program) { clReleaseProgram (program); }
  static void one (gpointer object) { g_object_unref (object); }
};

/* Owns one reference, or none. Converts to the plain pointer. A temporary lives until
 * the end of the call that it is passed to. */
template <typename T> class Owned {
public:
  Owned (T *taken = nullptr) : pointer (taken) {}
  Owned (Owned &&other) noexcept : pointer (std::exchange (other.pointer, nullptr)) {}
  Owned &operator= (Owned other) noexcept
  {
    std::swap (pointer, other.pointer);
    return *this;
  }
  ~Owned ()
  {
    if (pointer)
      Release::one (pointer);
  }

  operator T * () const { return pointer; }
  T *operator->() const { return pointer; }
  /* For GStreamer's cast macros */
  template <typename Other> explicit operator Other * () const
  {
    return reinterpret_cast<Other *> (pointer);
  }

  /* Gives up the reference (transfer full). */
  T *give () { return std::exchange (pointer, nullptr); }
  /* As an array of one element */
  T *const *list () const { return &pointer; }
  /* Address for functions that return a new reference */
  T **out ()
  {
    *this = nullptr;
    return &pointer;
  }

private:
  T *pointer;
};

template <typename Handle> using OwnedCL = Owned<std::remove_pointer_t<Handle>>;

/* Returns a new reference. */
template <typename T>
Owned<T>
hold (T *object)
{
  return static_cast<T *> (g_object_ref (object));
}

inline Owned<GstBuffer>
hold (GstBuffer *buffer)
{
  return gst_buffer_ref (buffer);
}

inline Owned<GstCaps>
caps_of (const std::string &text)
{
  return gst_caps_from_string (text.c_str ());
}
} // namespace check
