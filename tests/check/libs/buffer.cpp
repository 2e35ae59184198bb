/* Tests of copies of whole buffers between host and device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <gst/video/gstvideometa.h>

using namespace check;

namespace {
/* Two cl_contexts on one device. */
struct Contexts {
  GstOpenCLContext *own = new_context ();
  GstOpenCLContext *other = new_other_context (own);

  ~Contexts ()
  {
    gst_object_unref (other);
    gst_object_unref (own);
  }
};

using MakeMemory = GstMemory *(*)(Contexts &contexts, gsize size);

GstMemory *
make_system (Contexts &contexts, gsize size)
{
  return gst_allocator_alloc (nullptr, size, nullptr);
}

GstMemory *
make_pinned (Contexts &contexts, gsize size)
{
  return gst_opencl_host_memory_new (contexts.own, size, nullptr);
}

GstMemory *
make_device (Contexts &contexts, gsize size)
{
  return gst_opencl_memory_new (contexts.own, size, nullptr);
}

GstMemory *
make_foreign_device (Contexts &contexts, gsize size)
{
  return gst_opencl_memory_new (contexts.other, size, nullptr);
}

GstMemory *
make_foreign_pinned (Contexts &contexts, gsize size)
{
  return gst_opencl_host_memory_new (contexts.other, size, nullptr);
}

struct Kind {
  const char *name;
  MakeMemory make[3]; /* of each of the source's memories; the rest is nullptr */
};

const Kind sources[] = {
    {"system", {make_system}},
    {"system in three", {make_system, make_system, make_system}},
    {"pinned", {make_pinned}},
    {"pinned in two", {make_pinned, make_pinned}},
    {"device", {make_device}},
    {"device in two", {make_device, make_device}},
    {"device and system", {make_device, make_system}},
    {"device and pinned", {make_device, make_pinned}},
    {"device of another context", {make_foreign_device}},
    {"pinned of another context", {make_foreign_pinned}},
};

const Kind destinations[] = {{"device", {make_device}}, {"pinned", {make_pinned}}};

/* A buffer of `bytes` bytes in several memories of `kind`, each of which starts inside
 * a larger one */
GstBuffer *
make_buffer (Contexts &contexts, const Kind &kind, const Bytes &bytes)
{
  GstBuffer *buffer = gst_buffer_new ();
  gsize n = 0, done = 0;
  while (n < 3 && kind.make[n])
    n++;
  for (gsize i = 0; i < n; i++) {
    gsize size = i + 1 < n ? bytes.size () / n : bytes.size () - done;
    GstMemory *memory = kind.make[i](contexts, size + 9);
    fail_unless (memory != nullptr);
    gst_memory_resize (memory, 5, size);
    gst_buffer_append_memory (buffer, memory);
    done += size;
  }
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  return buffer;
}

void
copy (Contexts &contexts, GstBuffer *destination, GstBuffer *source,
    const GstVideoInfo *info, const char *what)
{
  OwnedCL<cl_event> event;
  GError *error = nullptr;
  fail_unless (gst_opencl_buffer_copy_async (
                   contexts.own, destination, source, info, event.out (), &error),
      "%s: %s", what, error ? error->message : "no error");
}

/* Calls `check (source kind, destination kind, "a to b")` for every pair. */
template <typename Check>
void
for_every_pair (Check check)
{
  for (const Kind &from : sources)
    for (const Kind &to : destinations)
      check (from, to, std::string (from.name) + " to " + to.name);
}

/* --- video --- */

struct Shape {
  GstVideoFormat format;
  int width, height;
  gint extra_stride;
  gsize extra_offset; /* in front of each plane */
};

struct Layout {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  gsize size = 0;
};

gsize
row_bytes (const GstVideoInfo &info, guint plane)
{
  gsize bytes = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++)
    if (GST_VIDEO_INFO_COMP_PLANE (&info, c) == plane)
      bytes = std::max (bytes, gsize (GST_VIDEO_INFO_COMP_WIDTH (&info, c)
                                      * GST_VIDEO_INFO_COMP_PSTRIDE (&info, c)));
  return bytes;
}

gsize
rows (const GstVideoInfo &info, guint plane)
{
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++)
    if (GST_VIDEO_INFO_COMP_PLANE (&info, c) == plane)
      return GST_VIDEO_INFO_COMP_HEIGHT (&info, c);
  return 0;
}

/* Planes with bytes before each plane and after each row, but none after the last row */
Layout
wide_layout (const GstVideoInfo &info, gint extra_stride, gsize extra_offset)
{
  Layout layout;
  gsize end = 0;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
    layout.offset[p] = end + extra_offset;
    layout.stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p) + extra_stride;
    layout.size =
        layout.offset[p] + layout.stride[p] * (rows (info, p) - 1) + row_bytes (info, p);
    end = layout.offset[p] + layout.stride[p] * rows (info, p);
  }
  return layout;
}

guint8
pixel (guint plane, gsize row, gsize x)
{
  return guint8 (plane * 89 + row * 31 + x * 7 + 3);
}

void
draw (Bytes &bytes, const GstVideoInfo &info, const Layout &layout)
{
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
    for (gsize row = 0; row < rows (info, p); row++)
      for (gsize x = 0; x < row_bytes (info, p); x++)
        bytes[layout.offset[p] + row * layout.stride[p] + x] = pixel (p, row, x);
}

void
assert_drawn (
    const Bytes &bytes, const GstVideoInfo &info, const Layout &layout, const char *what)
{
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
    for (gsize row = 0; row < rows (info, p); row++)
      for (gsize x = 0; x < row_bytes (info, p); x++)
        if (bytes[layout.offset[p] + row * layout.stride[p] + x] != pixel (p, row, x))
          ck_abort_msg ("%s %s: plane %u line %d byte %d", what,
              GST_VIDEO_INFO_NAME (&info), p, int (row), int (x));
}

void
add_meta (GstBuffer *buffer, const GstVideoInfo &info, Layout &layout)
{
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (&info), GST_VIDEO_INFO_WIDTH (&info),
      GST_VIDEO_INFO_HEIGHT (&info), GST_VIDEO_INFO_N_PLANES (&info), layout.offset,
      layout.stride);
}

const Shape shapes[] = {
    {GST_VIDEO_FORMAT_GRAY8, 33, 7, 13, 0},
    {GST_VIDEO_FORMAT_GRAY8, 1, 1, 3, 2},
    {GST_VIDEO_FORMAT_GRAY16_LE, 17, 5, 6, 3},
    {GST_VIDEO_FORMAT_RGB, 15, 4, 1, 0},
    {GST_VIDEO_FORMAT_RGBA, 16, 9, 64, 128},
    {GST_VIDEO_FORMAT_I420, 33, 17, 7, 5},
    {GST_VIDEO_FORMAT_NV12, 35, 15, 11, 64},
    {GST_VIDEO_FORMAT_YUY2, 21, 3, 2, 0},
    {GST_VIDEO_FORMAT_Y444, 10, 10, 0, 40},
};

void
check_video_pair (Contexts &contexts, const Shape &shape, bool wide_source,
    bool wide_destination, const Kind &from, const Kind &to, const char *what)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, shape.format, shape.width, shape.height);
  Layout tight, wide = wide_layout (info, shape.extra_stride, shape.extra_offset);
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
    tight.offset[p] = GST_VIDEO_INFO_PLANE_OFFSET (&info, p);
    tight.stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p);
  }
  tight.size = GST_VIDEO_INFO_SIZE (&info);
  Layout &in = wide_source ? wide : tight, &out = wide_destination ? wide : tight;

  Bytes bytes (in.size, 0xaa);
  draw (bytes, info, in);
  Owned<GstBuffer> source = make_buffer (contexts, from, bytes);
  Owned<GstBuffer> destination = make_buffer (contexts, to, Bytes (out.size, 0x55));
  if (wide_source)
    add_meta (source, info, in);
  if (wide_destination)
    add_meta (destination, info, out);
  copy (contexts, destination, source, &info, what);
  assert_drawn (read_buffer (destination), info, out, what);
}
} // namespace

TEST (test_copy_takes_every_kind_of_memory_to_every_other)
{
  Contexts contexts;
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    for (gsize size : {3, 64, 1001}) {
      Bytes bytes = pattern (size, guint (size));
      Owned<GstBuffer> source = make_buffer (contexts, from, bytes);
      Owned<GstBuffer> destination = make_buffer (contexts, to, Bytes (size, 0x55));
      copy (contexts, destination, source, nullptr, what.c_str ());
      /* The caller may release the source at once. */
      source = nullptr;
      assert_same (read_buffer (destination), bytes, what.c_str ());
    }
  });
}

TEST (test_copy_of_less_leaves_the_rest_of_the_destination)
{
  Contexts contexts;
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    Bytes bytes = pattern (100, 1), expected (150, 0x55);
    Owned<GstBuffer> source = make_buffer (contexts, from, bytes);
    Owned<GstBuffer> destination = make_buffer (contexts, to, expected);
    copy (contexts, destination, source, nullptr, what.c_str ());
    std::copy (bytes.begin (), bytes.end (), expected.begin ());
    assert_same (read_buffer (destination), expected, what.c_str ());
  });
}

TEST (test_copy_of_more_than_fits_names_both_sizes)
{
  Contexts contexts;
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    Owned<GstBuffer> source = make_buffer (contexts, from, pattern (151, 1));
    Owned<GstBuffer> destination = make_buffer (contexts, to, Bytes (150, 0x55));
    Owned<GError> error;
    cl_event event = nullptr;
    fail_if (gst_opencl_buffer_copy_async (
        contexts.own, destination, source, nullptr, &event, error.out ()));
    fail_unless (event == nullptr);
    expect_contains (error->message, {"151", "150"});
    assert_same (read_buffer (destination), Bytes (150, 0x55), what.c_str ());
  });
}

TEST (test_copy_of_nothing_is_done_at_once)
{
  Contexts contexts;
  Owned<GstBuffer> source = gst_buffer_new ();
  Owned<GstBuffer> destination =
      make_buffer (contexts, destinations[0], Bytes (10, 0x55));
  cl_event event = nullptr;
  fail_unless (gst_opencl_buffer_copy_async (
      contexts.own, destination, source, nullptr, &event, nullptr));
  fail_unless (event == nullptr);
  assert_same (read_buffer (destination), Bytes (10, 0x55), "destination");
}

TEST (test_copy_of_video_honours_strides_offsets_and_planes_on_both_ends)
{
  Contexts contexts;
  for (const Shape &shape : shapes)
    for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
      for (int wide = 0; wide < 4; wide++)
        check_video_pair (contexts, shape, wide & 1, wide & 2, from, to, what.c_str ());
    });
}

TEST (test_copy_of_video_takes_padding_behind_the_last_line)
{
  Contexts contexts;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    Bytes bytes = pattern (4096, 1);
    Owned<GstBuffer> source = make_buffer (contexts, from, bytes);
    Owned<GstBuffer> destination = make_buffer (contexts, to, Bytes (120, 0x55));
    copy (contexts, destination, source, &info, what.c_str ());
    bytes.resize (120);
    assert_same (read_buffer (destination), bytes, what.c_str ());
  });
}

TEST (test_copy_of_a_short_video_frame_names_both_sizes)
{
  Contexts contexts;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 20, 6);
  const std::string needed = std::to_string (20 * 6 + 2 * (12 * 2 + 10));
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    Owned<GstBuffer> source = make_buffer (contexts, from, Bytes (119, 1));
    Owned<GstBuffer> destination = make_buffer (contexts, to, Bytes (500, 0x55));
    Owned<GError> error;
    cl_event event = nullptr;
    fail_if (gst_opencl_buffer_copy_async (
        contexts.own, destination, source, &info, &event, error.out ()));
    expect_contains (error->message, {"119 bytes", "190"});
    /* A destination that is too short */
    fail_if (gst_opencl_buffer_copy_async (
        contexts.own, destination, source, &info, &event, error.out ()));
  });
}

TEST (test_copy_refuses_a_video_meta_that_contradicts_the_caps)
{
  Contexts contexts;
  GstVideoInfo info, other;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  gst_video_info_set_format (&other, GST_VIDEO_FORMAT_GRAY8, 10, 6);
  Layout layout = wide_layout (other, 0, 0);
  Owned<GstBuffer> source = make_buffer (contexts, sources[0], Bytes (500, 1));
  Owned<GstBuffer> destination =
      make_buffer (contexts, destinations[0], Bytes (500, 0x55));
  Owned<GError> error;
  cl_event event = nullptr;
  add_meta (source, other, layout);
  fail_if (gst_opencl_buffer_copy_async (
      contexts.own, destination, source, &info, &event, error.out ()));
  expect_contains (error->message, {"10x6", "20x6"});
}

/* offset + stride * 5 + 20 is 4, 1 or 0 where it wraps. */
TEST (test_copy_refuses_a_video_meta_whose_end_wraps)
{
  Contexts contexts;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  const gsize last_lines = 20 * 5 + 20;

  for (gsize beyond : {4, 1, 0}) {
    for (const Kind &kind : sources) {
      gsize offset[4] = {gsize (0) - last_lines + beyond};
      gint stride[4] = {20};
      Owned<GstBuffer> source = make_buffer (contexts, kind, Bytes (500, 1));
      Owned<GstBuffer> destination =
          make_buffer (contexts, destinations[0], Bytes (500, 0x55));
      Owned<GError> error;
      cl_event event = nullptr;
      gst_buffer_add_video_meta_full (source, GST_VIDEO_FRAME_FLAG_NONE,
          GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
      fail_if (gst_opencl_buffer_copy_async (
          contexts.own, destination, source, &info, &event, error.out ()));
      fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
    }
  }
}

TEST (test_copy_to_other_memory_is_refused)
{
  Contexts contexts;
  GstBuffer *two = gst_buffer_append (make_buffer (contexts, destinations[0], Bytes (50)),
      make_buffer (contexts, destinations[0], Bytes (50)));
  GstBuffer *elsewhere = gst_buffer_new ();
  gst_buffer_append_memory (
      elsewhere, gst_opencl_memory_new (contexts.other, 100, nullptr));
  struct {
    GstBuffer *buffer;
    const gchar *named;
  } refused[] = {
      {gst_buffer_new_allocate (nullptr, 100, nullptr), "SystemMemory"},
      {two, "2 memories"},
      {gst_buffer_new (), "0 memories"},
      {elsewhere, "OpenCLMemory"},
  };

  for (auto &destination : refused) {
    for (const Kind &kind : sources) {
      Owned<GstBuffer> source = make_buffer (contexts, kind, pattern (100, 1));
      Owned<GError> error;
      cl_event event = nullptr;
      fail_if (gst_opencl_buffer_copy_async (
          contexts.own, destination.buffer, source, nullptr, &event, error.out ()));
      fail_unless (event == nullptr);
      fail_unless (
          g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
      fail_unless (strstr (error->message, destination.named), "'%s' is not in: %s",
          destination.named, error->message);
    }
    gst_buffer_unref (destination.buffer);
  }
}

/* A decoder's buffers have the coded size, its caps the visible size. */
TEST (test_copy_takes_a_video_meta_larger_than_the_caps)
{
  Contexts contexts;
  GstVideoInfo info, coded;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 30, 10);
  gst_video_info_set_format (&coded, GST_VIDEO_FORMAT_I420, 32, 16);
  Layout in = wide_layout (coded, 0, 0), out;
  for (guint p = 0; p < 3; p++) {
    out.offset[p] = GST_VIDEO_INFO_PLANE_OFFSET (&info, p);
    out.stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p);
  }
  for_every_pair ([&] (const Kind &from, const Kind &to, const std::string &what) {
    Bytes bytes (GST_VIDEO_INFO_SIZE (&coded), 0xaa);
    draw (bytes, coded, in);
    Owned<GstBuffer> source = make_buffer (contexts, from, bytes);
    Owned<GstBuffer> destination =
        make_buffer (contexts, to, Bytes (GST_VIDEO_INFO_SIZE (&info)));
    add_meta (source, coded, in);
    copy (contexts, destination, source, &info, what.c_str ());
    assert_drawn (read_buffer (destination), info, out, what.c_str ());
  });
}

TEST (test_copy_takes_formats_that_are_no_lines_of_pixels)
{
  Contexts contexts;
  for (GstVideoFormat format :
      {GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_NV12_64Z32, GST_VIDEO_FORMAT_NV12_4L4,
          GST_VIDEO_FORMAT_RGB8P, GST_VIDEO_FORMAT_GRAY10_LE32,
          GST_VIDEO_FORMAT_NV12_10LE40, GST_VIDEO_FORMAT_RGB15}) {
    GstVideoInfo info;
    gst_video_info_set_format (&info, format, 70, 36);
    Bytes bytes = pattern (GST_VIDEO_INFO_SIZE (&info), 1);
    Owned<GstBuffer> source = make_buffer (contexts, sources[0], bytes);
    Owned<GstBuffer> on_device =
        make_buffer (contexts, destinations[0], Bytes (bytes.size ()));
    Owned<GstBuffer> back =
        make_buffer (contexts, destinations[1], Bytes (bytes.size ()));
    copy (contexts, on_device, source, &info, GST_VIDEO_INFO_NAME (&info));
    copy (contexts, back, on_device, &info, GST_VIDEO_INFO_NAME (&info));
    assert_same (read_buffer (back), bytes, GST_VIDEO_INFO_NAME (&info));
  }
}

static void
set_released (gpointer released)
{
  g_atomic_int_set (static_cast<gboolean *> (released), TRUE);
}

/* The call waits neither for its queue nor for pending writes of the source. */
TEST (test_copy_to_and_from_the_device_does_not_block)
{
  Contexts contexts;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  Layout wide = wide_layout (info, 5, 0);
  const struct {
    Kind from, to;
    bool wide;
    GstOpenCLQueue queue;
  } copies[] = {
      {sources[0], destinations[0], false, GST_OPENCL_QUEUE_UPLOAD},
      {sources[0], destinations[0], true, GST_OPENCL_QUEUE_UPLOAD},
      {sources[2], destinations[0], false, GST_OPENCL_QUEUE_UPLOAD},
      {sources[2], destinations[0], true, GST_OPENCL_QUEUE_UPLOAD},
      {sources[4], destinations[0], false, GST_OPENCL_QUEUE_COMPUTE},
      {sources[4], destinations[0], true, GST_OPENCL_QUEUE_COMPUTE},
      {sources[4], destinations[1], false, GST_OPENCL_QUEUE_DOWNLOAD},
      {sources[4], destinations[1], true, GST_OPENCL_QUEUE_DOWNLOAD},
  };

  for (auto &one : copies) {
    Gate gate (contexts.own);
    Bytes bytes (one.wide ? wide.size : 120, 0xaa);
    Layout tight, &layout = one.wide ? wide : tight;
    tight.stride[0] = 20;
    draw (bytes, info, layout);
    Owned<GstBuffer> source = make_buffer (contexts, one.from, bytes);
    Owned<GstBuffer> destination = make_buffer (contexts, one.to, Bytes (120, 0x55));
    if (one.wide)
      add_meta (source, info, wide);
    /* Contents that a CPU map left on the host would be uploaded first. */
    if (gst_is_opencl_memory (gst_buffer_peek_memory (source, 0)))
      fail_unless (gst_opencl_memory_begin (gst_buffer_peek_memory (source, 0),
          queue_of (contexts.own), GST_MAP_READ, nullptr));
    unsigned waits = counting::count (counting::WAIT_FOR_EVENTS);
    gate.put_into (queue_of (contexts.own, one.queue));
    OwnedCL<cl_event> event;
    fail_unless (gst_opencl_buffer_copy_async (
        contexts.own, destination, source, &info, event.out (), nullptr));
    fail_unless (event != nullptr);
    fail_unless (status_of (event) > CL_COMPLETE);
    /* The context's own thread may wait, to release the source. */
    fail_unless (counting::count (counting::WAIT_FOR_EVENTS) <= waits + 1);
    gate.open ();
    gboolean released = FALSE;
    gst_mini_object_weak_ref (
        GST_MINI_OBJECT_CAST (static_cast<GstBuffer *> (source)),
        [] (gpointer flag, GstMiniObject *) { set_released (flag); }, &released);
    source = nullptr;
    assert_drawn (read_buffer (destination), info, tight, one.from.name);
    fail_unless (soon ([&] { return g_atomic_int_get (&released); }));
  }
}

TEST (test_copy_keeps_the_source_until_the_device_has_read_it)
{
  Contexts contexts;
  Gate gate (contexts.own);
  Bytes bytes = pattern (1000, 4);
  gboolean released = FALSE;
  guint8 *data = static_cast<guint8 *> (g_memdup2 (bytes.data (), 1000));
  Owned<GstBuffer> source = gst_buffer_new_wrapped_full (
      GST_MEMORY_FLAG_READONLY, data, 1000, 0, 1000, &released, set_released);
  Owned<GstBuffer> destination =
      make_buffer (contexts, destinations[0], Bytes (1000, 0x55));

  gate.put_into (queue_of (contexts.own, GST_OPENCL_QUEUE_UPLOAD));
  copy (contexts, destination, source, nullptr, "upload");
  source = nullptr;
  g_usleep (50000);
  fail_if (released);
  gate.open ();
  assert_same (read_buffer (destination), bytes, "upload");
  fail_unless (soon ([&] { return g_atomic_int_get (&released); }));
  g_free (data);
}

/* GstMemory counts at most 255 locks. A still image is one memory for many uploads. */
TEST (test_copy_of_one_memory_many_times_keeps_few_locks)
{
  Contexts contexts;
  Gate gate (contexts.own);
  Owned<GstBuffer> source = pattern_buffer (1000, 4);
  Owned<GstBuffer> destination =
      make_buffer (contexts, destinations[0], Bytes (1000, 0x55));
  const gint unlocked = gst_buffer_peek_memory (source, 0)->mini_object.lockstate;
  std::atomic<int> copies{0};

  gate.put_into (queue_of (contexts.own, GST_OPENCL_QUEUE_UPLOAD));
  std::thread opener ([&] { /* opens the gate when the copies wait or have ended */
    for (int before = -1; std::exchange (before, copies.load ()) != copies;)
      g_usleep (100000);
    gate.open ();
  });
  for (; copies < 300; copies++)
    copy (contexts, destination, source, nullptr, "upload");
  opener.join ();
  assert_same (read_buffer (destination), pattern (1000, 4), "upload");
  fail_unless (soon ([&] {
    return g_atomic_int_get (&gst_buffer_peek_memory (source, 0)->mini_object.lockstate)
           == unlocked;
  }));
}

TEST (test_copy_enqueue_failure_is_reported_and_released)
{
  Contexts contexts;
  Owned<GstBuffer> source = make_buffer (contexts, sources[0], Bytes (100, 7));
  Owned<GstBuffer> destination =
      make_buffer (contexts, destinations[0], Bytes (100, 0x55));
  gst_opencl_memory_invalidate (gst_buffer_peek_memory (destination, 0));
  Owned<GError> error;
  cl_event event = nullptr;

  counting::fail_call (counting::ENQUEUE_WRITE, 1, CL_OUT_OF_RESOURCES);
  fail_if (gst_opencl_buffer_copy_async (
      contexts.own, destination, source, nullptr, &event, error.out ()));
  fail_unless (event == nullptr);
  expect_contains (error->message, {"CL_OUT_OF_RESOURCES"});
  expect_equal (GST_MINI_OBJECT_REFCOUNT_VALUE (source), 1);
  copy (contexts, destination, source, nullptr, "again");
  assert_same (read_buffer (destination), Bytes (100, 7), "again");
}
