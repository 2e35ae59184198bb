/* gstreamer-opencl: tests of memory with deferred contents
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>

using namespace check;

namespace {
const gsize size = 4096;
const guint8 fill = 0x5a;
} // namespace

/* Deferred work that fills memory with `fill`, or fails */
#define TYPE_FILLING (filling_get_type ())
G_DECLARE_FINAL_TYPE (Filling, filling, TEST, FILLING, GstOpenCLDeferred)

struct _Filling {
  GstOpenCLDeferred parent;
  gboolean fails;
  std::atomic<int> *calls;
  std::atomic<int> *frees;
};

G_DEFINE_FINAL_TYPE (Filling, filling, GST_TYPE_OPENCL_DEFERRED)

static gboolean
filling_fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
    cl_command_queue queue, GError **error)
{
  Filling *self = TEST_FILLING (deferred);
  (*self->calls)++;
  if (self->fails) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_FAILED, "as asked for");
    return FALSE;
  }
  return gst_opencl_check (clEnqueueFillBuffer (queue, data, &fill, 1, offset,
                               size - offset, 0, nullptr, nullptr),
      "clEnqueueFillBuffer", error);
}

static void
filling_finalize (GObject *object)
{
  (*TEST_FILLING (object)->frees)++;
  G_OBJECT_CLASS (filling_parent_class)->finalize (object);
}

static void
filling_class_init (FillingClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = filling_finalize;
  GST_OPENCL_DEFERRED_CLASS (klass)->fill = filling_fill;
}

static void
filling_init (Filling *self)
{
}

namespace {
/* A memory with deferred contents, and how often they were computed and freed */
struct Deferred {
  explicit Deferred (gboolean fails = FALSE)
  {
    GError *error = nullptr;
    context = check::new_context ();
    memory = gst_opencl_memory_new (context, size, &error);
    fail_unless (memory != nullptr);
    defer (fails);
  }

  ~Deferred ()
  {
    gst_memory_unref (memory);
    gst_object_unref (context);
    expect_equal (frees, made);
  }

  void defer (gboolean fails = FALSE)
  {
    auto *filling = static_cast<Filling *> (g_object_new (TYPE_FILLING, nullptr));
    filling->fails = fails;
    filling->calls = &calls;
    filling->frees = &frees;
    gst_opencl_memory_defer (memory, GST_OPENCL_DEFERRED (filling));
    g_object_unref (filling);
    made++;
  }

  GstOpenCLContext *context;
  GstMemory *memory;
  std::atomic<int> calls{0};
  std::atomic<int> frees{0};
  int made = 0;
};

bool
has_pattern (GstMemory *memory, gsize expected_size)
{
  GstMapInfo map;
  if (!gst_memory_map (memory, &map, GST_MAP_READ))
    return false;
  bool equal = map.size == expected_size;
  for (gsize i = 0; i < map.size; i++)
    equal = equal && map.data[i] == fill;
  gst_memory_unmap (memory, &map);
  return equal;
}
} // namespace

TEST (test_deferred_contents_are_made_once_when_the_cpu_maps_them)
{
  Deferred deferred;
  expect_equal (deferred.calls, 0);
  fail_unless (has_pattern (deferred.memory, size));
  fail_unless (has_pattern (deferred.memory, size));
  expect_equal (deferred.calls, 1);
  expect_equal (deferred.frees, 1);
}

TEST (test_deferred_contents_are_there_for_the_device)
{
  Deferred deferred;
  Owned<GstMemory> copy = gst_memory_copy (deferred.memory, 0, -1);
  expect_equal (deferred.calls, 1);
  fail_unless (has_pattern (copy, size));
}

TEST (test_deferred_contents_are_there_for_a_part_that_is_shared)
{
  Deferred deferred;
  Owned<GstMemory> part = gst_memory_share (deferred.memory, 100, 1000);
  expect_equal (deferred.calls, 0);
  fail_unless (has_pattern (part, 1000));
  part = nullptr;
  expect_equal (deferred.calls, 1);
}

TEST (test_merged_deferred_work_is_not_executed)
{
  Deferred deferred;
  GstOpenCLDeferred *work = gst_opencl_memory_ref_deferred (deferred.memory);
  fail_unless (TEST_IS_FILLING (work));
  g_object_unref (work);
  gst_opencl_memory_invalidate (deferred.memory);
  fail_unless (gst_opencl_memory_ref_deferred (deferred.memory) == nullptr);
  expect_equal (deferred.frees, 1);
  expect_equal (deferred.calls, 0);
}

TEST (test_deferred_contents_replace_those_before_in_either_place)
{
  Deferred deferred;
  GstMapInfo map;
  fail_unless (gst_memory_map (deferred.memory, &map, GST_MAP_WRITE));
  memset (map.data, 1, map.size);
  gst_memory_unmap (deferred.memory, &map);
  deferred.defer ();
  fail_unless (has_pattern (deferred.memory, size));
  deferred.defer ();
  deferred.defer (); /* replaces the contents deferred before */
  fail_unless (has_pattern (deferred.memory, size));
  expect_equal (deferred.calls, 3);
}

TEST (test_deferred_work_that_fails_makes_the_map_fail)
{
  Deferred deferred (TRUE);
  GstMapInfo map;
  fail_if (gst_memory_map (deferred.memory, &map, GST_MAP_READ));
  expect_equal (deferred.calls, 1);
  deferred.defer ();
  fail_unless (has_pattern (deferred.memory, size));
}

/* Every reader sees the failure, not only the first, until all bytes are written. */
TEST (test_deferred_work_that_fails_has_failed_for_every_reader)
{
  Deferred deferred (TRUE);
  cl_command_queue queue = check::queue_of (deferred.context);
  for (int reader = 0; reader < 3; reader++) {
    Owned<GError> error;
    GstMapInfo map;
    fail_if (gst_memory_map (deferred.memory, &map, GST_MAP_READ));
    fail_if (
        gst_opencl_memory_begin (deferred.memory, queue, GST_MAP_READ, error.out ()));
    expect_equal (error->message, "as asked for");
    GstMemory *copy = gst_memory_copy (deferred.memory, 0, -1);
    fail_unless (copy == nullptr);
  }
  expect_equal (deferred.calls, 1);
  check::write_memory (deferred.memory, check::Bytes (size, fill));
  fail_unless (has_pattern (deferred.memory, size));
}

TEST (test_deferred_contents_are_complete_for_concurrent_readers)
{
  Deferred deferred;
  for (int round = 0; round < 50; round++) {
    std::atomic<int> right{0};
    deferred.calls = 0;
    together (4, [&] (guint) { right += has_pattern (deferred.memory, size); });
    expect_equal (right, 4);
    expect_equal (deferred.calls, 1);
    deferred.defer ();
  }
}
