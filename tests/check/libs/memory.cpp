/* Tests of device memory and pinned host memory
 *
 * Commands are held back by gates (user events) instead of slow kernels. So the tests
 * prove an order of commands, not only its likelihood.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/invariant.hpp>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <sys/wait.h>

using namespace check;

namespace {
/* A context with the kernels "add" and "flip". */
struct Device {
  GstOpenCLContext *context = new_context ();
  cl_kernel kernels[2] = {
      make_kernel (context, change_source, "add"),
      make_kernel (context, change_source, "flip"),
  };

  ~Device ()
  {
    for (cl_kernel kernel : kernels)
      clReleaseKernel (kernel);
    gst_object_unref (context);
  }

  GstMemory *new_memory (gsize size) { return new_either (false, size); }
  GstMemory *new_host_memory (gsize size) { return new_either (true, size); }
  GstMemory *new_either (bool host, gsize size)
  {
    Owned<GError> error;
    GstMemory *memory = (host ? gst_opencl_host_memory_new : gst_opencl_memory_new) (
        context, size, error.out ());
    fail_unless (memory != nullptr, "%s", error ? error->message : "no error");
    return memory;
  }

  /* Adds `value` to all bytes, as an application does that maps with GST_MAP_OPENCL. */
  void add_by_map (GstMemory *memory, guint8 value, int kernel = 0)
  {
    GstMapInfo map;
    fail_unless (
        gst_memory_map (memory, &map, GstMapFlags (GST_MAP_READWRITE | GST_MAP_OPENCL)));
    auto handle = reinterpret_cast<cl_mem> (map.data);
    fail_unless (handle == gst_opencl_memory_get_handle (memory));
    clReleaseEvent (enqueue_change (application_queue_of (context), kernels[kernel],
        handle, gst_opencl_memory_get_offset (memory), map.size, value));
    gst_memory_unmap (memory, &map);
  }

  /* Runs the same kernel on any queue, after `gate`. */
  void add_on_queue (GstMemory *memory, GstOpenCLQueue which, guint8 value, Gate *gate)
  {
    cl_command_queue queue = queue_of (context, which);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, nullptr));
    if (gate)
      gate->put_into (queue);
    OwnedCL<cl_event> event =
        enqueue_change (queue, kernels[0], gst_opencl_memory_get_handle (memory),
            gst_opencl_memory_get_offset (memory), memory->size, value);
    gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
    clFlush (queue);
  }
};

cl_event
copy (GstMemory *destination, GstMemory *source)
{
  cl_event event = nullptr;
  GError *error = nullptr;
  fail_unless (gst_opencl_memory_copy_async (
                   destination, 0, source, 0, source->size, &event, &error),
      "%s", error ? error->message : "no error");
  return event;
}

void
copy_and_forget (GstMemory *destination, GstMemory *source)
{
  clReleaseEvent (copy (destination, source));
}

Bytes
added (Bytes bytes, guint8 value)
{
  for (guint8 &byte : bytes)
    byte += value;
  return bytes;
}

} // namespace

/* --- allocation and access --- */

TEST (test_memory_reports_its_type)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (100);
  Owned<GstMemory> host = device.new_host_memory (100);
  Owned<GstMemory> system = gst_allocator_alloc (nullptr, 100, nullptr);

  fail_unless (gst_is_opencl_memory (memory) && !gst_is_opencl_host_memory (memory));
  fail_unless (gst_is_opencl_host_memory (host) && !gst_is_opencl_memory (host));
  fail_if (gst_is_opencl_memory (system) || gst_is_opencl_host_memory (system));
  fail_if (gst_is_opencl_memory (nullptr) || gst_is_opencl_host_memory (nullptr));
  expect_equal (memory->allocator->mem_type, "OpenCLMemory");
  fail_unless (gst_opencl_memory_get_context (memory) == device.context);
  fail_unless (gst_opencl_memory_get_context (host) == device.context);
  expect_equal (gst_opencl_memory_get_offset (memory), 0);
  expect_equal (memory->size, 100);
}

TEST (test_memory_of_no_bytes_can_be_mapped_and_copied)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (0);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  expect_equal (map.size, 0);
  gst_memory_unmap (memory, &map);
  Owned<GstMemory> copied = gst_memory_copy (memory, 0, -1);
  fail_unless (copied != nullptr);
  expect_equal (copied->size, 0);
}

TEST (test_copy_between_other_memories_is_refused)
{
  Device device;
  Owned<GstOpenCLContext> other = new_other_context (device.context);
  GstMemory *own = device.new_memory (100);
  GstMemory *pinned = gst_opencl_host_memory_new (device.context, 100, nullptr);
  GstMemory *pinned_too = gst_opencl_host_memory_new (device.context, 100, nullptr);
  GstMemory *elsewhere = gst_opencl_memory_new (other, 100, nullptr);
  GstMemory *system = gst_allocator_alloc (nullptr, 100, nullptr);
  const std::pair<GstMemory *, GstMemory *> refused[] = {{own, system}, {system, own},
      {pinned, system}, {system, system}, {pinned, pinned_too}, {own, elsewhere},
      {elsewhere, pinned}, {own, nullptr}};

  for (auto &[destination, source] : refused) {
    Owned<GError> error;
    fail_if (gst_opencl_memory_copy_async (
        destination, 0, source, 0, 100, nullptr, error.out ()));
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
  }
  for (GstMemory *memory : {own, pinned, pinned_too, elsewhere, system})
    gst_memory_unref (memory);
}

/* Events of one cl_context mean nothing in another. */
TEST_ROWS (test_memory_begin_on_a_queue_of_another_context, {"device", "host"})
{
  Device device;
  Owned<GstOpenCLContext> other = new_other_context (device.context);
  Owned<GstMemory> memory = device.new_either (g_str_equal (row, "host"), 100);
  for (cl_command_queue queue : {queue_of (other),
           queue_of (other, GST_OPENCL_QUEUE_DOWNLOAD), cl_command_queue (nullptr)}) {
    Owned<GError> error;
    fail_if (gst_opencl_memory_begin (memory, queue, GST_MAP_WRITE, error.out ()));
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
    fail_unless (strstr (error->message, "queue"), "%s", error->message);
  }
}

/* A queue of the application, and one of another wrapper of the same handle */
TEST (test_memory_begin_on_any_queue_of_its_context)
{
  Device device;
  const cl_context handle = gst_opencl_context_get_handle (device.context);
  const cl_device_id id = gst_opencl_context_get_device (device.context);
  cl_int code;
  const cl_command_queue own = clCreateCommandQueue (handle, id, 0, &code);
  expect_equal (code, CL_SUCCESS);
  Owned<GstOpenCLContext> wrapped =
      gst_opencl_context_new_wrapped (handle, id, nullptr, nullptr);
  Owned<GstMemory> memory = device.new_memory (100);
  const cl_command_queue queues[] = {queue_of (device.context), own, queue_of (wrapped)};
  for (cl_command_queue queue : queues) {
    Owned<GError> error;
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_WRITE, error.out ()));
  }
  clReleaseCommandQueue (own);
}

TEST (test_memory_around_a_buffer_of_another_context)
{
  Device device;
  Owned<GstOpenCLContext> other = new_other_context (device.context);
  Owned<GstMemory> elsewhere = gst_opencl_memory_new (other, 100, nullptr);
  Owned<GstMemory> memory = device.new_memory (100);
  auto wrap = [&] (GstMemory *of, gsize size) {
    return gst_opencl_memory_new_wrapped (
        device.context, gst_opencl_memory_get_handle (of), size, nullptr, nullptr);
  };
  ASSERT_CRITICAL (fail_unless (wrap (elsewhere, 100) == nullptr));
  ASSERT_CRITICAL (fail_unless (wrap (memory, 101) == nullptr));
}

/* An allocator found by name has no context: it uses the device of `auto`. */
TEST (test_allocators_are_found_by_name)
{
  Device device;
  Owned<GstMemory> made = device.new_memory (1);
  for (const char *name : {GST_OPENCL_MEMORY_NAME, GST_OPENCL_HOST_MEMORY_NAME}) {
    Owned<GstAllocator> allocator = gst_allocator_find (name);
    fail_unless (GST_IS_OPENCL_ALLOCATOR ((GstAllocator *)allocator));
    Owned<GstMemory> memory = gst_allocator_alloc (allocator, 100, nullptr);
    fail_unless (gst_memory_is_type (memory, name));
    expect_equal (memory->size, 100);
  }
}

TEST (test_copy_behind_the_end_of_a_memory_is_refused)
{
  Device device;
  Owned<GstMemory> a = device.new_memory (100), b = device.new_memory (100);
  const gsize to_from_size[][3] = {{1, 0, 100}, {0, 1, 100}, {0, 0, 101}, {101, 0, 0},
      {0, G_MAXSIZE, 2}, {G_MAXSIZE - 10, 0, 20}};

  for (auto &[to, from, size] : to_from_size) {
    Owned<GError> error;
    fail_if (gst_opencl_memory_copy_async (a, to, b, from, size, nullptr, error.out ()));
    fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  }
}

TEST (test_memory_outlives_every_other_reference_to_its_context)
{
  auto *device = new Device;
  Owned<GstMemory> memory = device->new_memory (64);
  Owned<GstMemory> host = device->new_host_memory (64);
  Bytes bytes = pattern (64, 1);

  delete device;
  write_memory (memory, bytes);
  copy_and_forget (host, memory);
  assert_same (read_memory (host), bytes, "host memory");
}

TEST (test_memory_that_no_device_has_is_refused_with_its_bytes)
{
  Device device;
  const gsize absurd = gsize (1) << 60;

  for (bool host : {false, true}) {
    Owned<GError> error;
    GstMemory *memory =
        host ? gst_opencl_host_memory_new (device.context, absurd, error.out ())
             : gst_opencl_memory_new (device.context, absurd, error.out ());
    fail_unless (memory == nullptr);
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY),
        "%s", error->message);
    expect_contains (error->message, {"1152921504606846976"});
  }
}

TEST (test_memory_that_the_device_has_no_room_for_is_refused)
{
  Device device;
  Owned<GError> error;

  counting::fail_call (counting::CREATE_BUFFER, 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  fail_unless (gst_opencl_memory_new (device.context, 4096, error.out ()) == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY));
  expect_contains (error->message, {"4096", "CL_MEM_OBJECT_ALLOCATION_FAILURE"});

  /* Without memory for the CPU's view this map fails, but later ones may succeed. */
  Owned<GstMemory> memory = device.new_memory (4096);
  GstMapInfo map;
  if (!shares_memory ()) {
    counting::fail_call (counting::CREATE_BUFFER, 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    fail_if (gst_memory_map (memory, &map, GST_MAP_WRITE));
  }
  counting::fail_call (counting::ENQUEUE_MAP, 1, CL_MAP_FAILURE);
  fail_if (gst_memory_map (memory, &map, GST_MAP_WRITE));
  Bytes bytes = pattern (4096, 1);
  write_memory (memory, bytes);
  device.add_by_map (memory, 1);
  assert_same (read_memory (memory), added (bytes, 1), "memory");
}

/* --- contents --- */

namespace {
/* A memory, and the bytes that it must hold */
struct Mirrored {
  GstMemory *memory;
  Bytes bytes;
};

/* One memory under a random sequence of all operations */
class Model {
public:
  Model (Device &device, guint seed) : device (device), random (seed)
  {
    mirrored.memory = device.new_memory (room);
    mirrored.bytes = pattern (room, seed);
    host = device.new_host_memory (room);
    write_memory (mirrored.memory, mirrored.bytes);
  }
  ~Model ()
  {
    gst_memory_unref (mirrored.memory);
    gst_memory_unref (host);
  }

  void step ()
  {
    using Operation = void (Model::*) ();
    static const Operation operations[] = {&Model::write_part, &Model::read,
        &Model::change_on_device, &Model::change_on_device, &Model::take_copy,
        &Model::read_share, &Model::read_region, &Model::resize, &Model::go_by_host,
        &Model::go_by_device, &Model::discard, &Model::read_from_device,
        &Model::write_whole_through_buffer};
    (this->*operations[below (G_N_ELEMENTS (operations))]) ();
  }

  void read () { assert_same (read_memory (mirrored.memory), mirrored.bytes, "read"); }

private:
  static const gsize room = 777;

  gsize below (gsize n) { return random () % n; }

  void write_part ()
  {
    GstMapInfo map;
    auto access = below (2) ? GST_MAP_WRITE : GST_MAP_READWRITE;
    fail_unless (gst_memory_map (mirrored.memory, &map, access));
    expect_equal (map.size, mirrored.bytes.size ());
    gsize start = below (map.size), n = below (map.size - start + 1);
    for (gsize i = start; i < start + n; i++)
      map.data[i] = mirrored.bytes[i] = guint8 (random ());
    gst_memory_unmap (mirrored.memory, &map);
  }

  void change_on_device ()
  {
    guint8 value = guint8 (random ());
    int kernel = int (below (2));
    device.add_by_map (mirrored.memory, value, kernel);
    for (guint8 &byte : mirrored.bytes)
      byte = kernel ? byte ^ value : byte + value;
  }

  void take_copy ()
  {
    gsize offset = below (mirrored.bytes.size ());
    gsize size = 1 + below (mirrored.bytes.size () - offset);
    bool whole = below (3) == 0;
    GstMemory *copied = gst_memory_copy (
        mirrored.memory, whole ? 0 : gssize (offset), whole ? -1 : gssize (size));
    Bytes expected = whole ? mirrored.bytes
                           : Bytes (mirrored.bytes.begin () + offset,
                               mirrored.bytes.begin () + offset + size);
    fail_unless (gst_is_opencl_memory (copied));
    assert_same (read_memory (copied), expected, "copy");
    /* Neither copy sees later changes of the other. */
    device.add_by_map (copied, 1);
    if (whole && below (2)) {
      gst_memory_unref (mirrored.memory);
      mirrored = {copied, added (expected, 1)};
      return;
    }
    gst_memory_unref (copied);
    read ();
  }

  void read_share ()
  {
    gsize offset = below (mirrored.bytes.size ());
    gsize size = 1 + below (mirrored.bytes.size () - offset);
    Owned<GstMemory> shared = gst_memory_share (mirrored.memory, offset, size);
    Bytes expected (
        mirrored.bytes.begin () + offset, mirrored.bytes.begin () + offset + size);
    fail_unless (gst_opencl_memory_get_handle (shared)
                 == gst_opencl_memory_get_handle (mirrored.memory));
    expect_equal (gst_opencl_memory_get_offset (shared),
        gst_opencl_memory_get_offset (mirrored.memory) + offset);
    assert_same (read_memory (shared), expected, "share");
    Owned<GstMemory> copied = gst_memory_copy (shared, size / 2, -1);
    assert_same (read_memory (copied),
        Bytes (expected.begin () + size / 2, expected.end ()), "copy of a share");
  }

  void read_region ()
  {
    Owned<GstBuffer> buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, gst_memory_ref (mirrored.memory));
    gsize offset = below (mirrored.bytes.size ());
    gsize size = 1 + below (mirrored.bytes.size () - offset);
    auto flags = below (2)
                     ? GST_BUFFER_COPY_MEMORY
                     : GstBufferCopyFlags (GST_BUFFER_COPY_ALL | GST_BUFFER_COPY_DEEP);
    Owned<GstBuffer> region = gst_buffer_copy_region (buffer, flags, offset, size);
    assert_same (read_buffer (region),
        Bytes (mirrored.bytes.begin () + offset, mirrored.bytes.begin () + offset + size),
        "region");
  }

  void resize ()
  {
    gsize offset, maxsize;
    gst_memory_get_sizes (mirrored.memory, &offset, &maxsize);
    if (offset > 0 || mirrored.bytes.size () < 100) {
      start_again ();
      return;
    }
    gsize start = below (mirrored.bytes.size () / 2);
    gsize size = 1 + below (mirrored.bytes.size () - start);
    gst_memory_resize (mirrored.memory, start, size);
    mirrored.bytes =
        Bytes (mirrored.bytes.begin () + start, mirrored.bytes.begin () + start + size);
    read ();
  }

  void start_again ()
  {
    gst_memory_unref (mirrored.memory);
    mirrored = {device.new_memory (room), pattern (room, guint (random ()))};
    write_memory (mirrored.memory, mirrored.bytes);
  }

  /* Copies to pinned memory, changes the copy and copies it back. */
  void go_by_host ()
  {
    gsize size = mirrored.bytes.size ();
    GError *error = nullptr;
    fail_unless (gst_opencl_memory_copy_async (
        host, 0, mirrored.memory, 0, size, nullptr, &error));
    GstMapInfo map;
    fail_unless (gst_memory_map (host, &map, GST_MAP_READWRITE));
    assert_same (Bytes (map.data, map.data + size), mirrored.bytes, "download");
    for (gsize i = 0; i < size; i++)
      map.data[i] += 3;
    gst_memory_unmap (host, &map);
    gsize start = below (size);
    fail_unless (gst_opencl_memory_copy_async (
        mirrored.memory, start, host, start, size - start, nullptr, &error));
    for (gsize i = start; i < size; i++)
      mirrored.bytes[i] += 3;
    if (below (2)) /* the next write waits until the device has read the memory */
      write_memory (host, Bytes (size, 0xee));
  }

  void go_by_device ()
  {
    gsize size = mirrored.bytes.size ();
    gsize start = below (size);
    Owned<GstMemory> other = device.new_memory (size);
    Bytes expected = pattern (size, guint (random ()));
    write_memory (other, expected);
    fail_unless (gst_opencl_memory_copy_async (
        other, start, mirrored.memory, start, size - start, nullptr, nullptr));
    std::copy (mirrored.bytes.begin () + start, mirrored.bytes.end (),
        expected.begin () + start);
    if (below (2)) {
      GstMemory *before = std::exchange (mirrored.memory, other.give ());
      other = before;
      mirrored.bytes = expected;
    } else {
      assert_same (read_memory (other), expected, "device to device");
    }
  }

  /* Contents become undefined, so that only writing them all makes sense. */
  void discard ()
  {
    gst_opencl_memory_invalidate (mirrored.memory);
    mirrored.bytes = pattern (mirrored.bytes.size (), guint (random ()));
    if (below (2)) {
      write_memory (mirrored.memory, mirrored.bytes);
      return;
    }
    write_memory (host, mirrored.bytes);
    fail_unless (gst_opencl_memory_copy_async (
        mirrored.memory, 0, host, 0, mirrored.bytes.size (), nullptr, nullptr));
  }

  /* A map for reading on the device does not move the contents. */
  void read_from_device ()
  {
    GstMapInfo map;
    fail_unless (gst_memory_map (
        mirrored.memory, &map, GstMapFlags (GST_MAP_READ | GST_MAP_OPENCL)));
    Bytes bytes (mirrored.bytes.size ());
    expect_equal (clEnqueueReadBuffer (application_queue_of (device.context),
                      reinterpret_cast<cl_mem> (map.data), CL_TRUE,
                      gst_opencl_memory_get_offset (mirrored.memory), bytes.size (),
                      bytes.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    gst_memory_unmap (mirrored.memory, &map);
    assert_same (bytes, mirrored.bytes, "what the device sees");
  }

  void write_whole_through_buffer ()
  {
    Owned<GstBuffer> buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, mirrored.memory);
    Bytes bytes = pattern (mirrored.bytes.size (), guint (random ()));
    gsize half = bytes.size () / 2;
    gst_buffer_fill (buffer, half, bytes.data () + half, bytes.size () - half);
    std::copy (bytes.begin () + half, bytes.end (), mirrored.bytes.begin () + half);
    gst_memory_ref (mirrored.memory);
  }

  Device &device;
  std::mt19937 random;
  Mirrored mirrored;
  GstMemory *host;
};
} // namespace

TEST (test_memory_holds_its_bytes_through_every_order_of_operations)
{
  Device device;
  for (guint seed = 1; seed <= 8; seed++) {
    Model model (device, seed);
    for (int step = 0; step < 300; step++)
      model.step ();
    model.read ();
  }
}

/* Each copy is made once, or not at all if the CPU can access the device's memory. */
TEST (test_memory_written_by_the_cpu_is_uploaded_once_and_read_back_once)
{
  Device device;
  const guint64 copies = shares_memory () ? 0 : 1;
  GstOpenCLStatistics *application = gst_opencl_statistics_of (nullptr);
  GstOpenCLCounts before, after;
  Owned<GstMemory> memory = device.new_memory (1000);

  gst_opencl_statistics_get_counts (application, &before);
  write_memory (memory, pattern (1000, 1));
  read_memory (memory); /* still on the host */
  device.add_by_map (memory, 1);
  device.add_by_map (memory, 1);
  read_memory (memory);
  read_memory (memory);
  gst_opencl_statistics_get_counts (application, &after);
  expect_equal (after.uploads - before.uploads, copies);
  expect_equal (after.upload_bytes - before.upload_bytes, 1000 * copies);
  expect_equal (after.downloads - before.downloads, copies);
  expect_equal (after.download_bytes - before.download_bytes, 1000 * copies);
}

TEST (test_memory_discarded_is_not_transferred)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (1000);

  write_memory (memory, pattern (1000, 1));
  gst_opencl_memory_invalidate (memory);
  unsigned writes = counting::count (counting::ENQUEUE_WRITE);
  device.add_by_map (memory, 1);
  expect_equal (counting::count (counting::ENQUEUE_WRITE), writes);
  gst_opencl_memory_invalidate (memory);
  unsigned reads = counting::count (counting::ENQUEUE_READ);
  write_memory (memory, pattern (1000, 2));
  expect_equal (counting::count (counting::ENQUEUE_READ), reads);
}

TEST (test_memory_from_the_allocator_has_prefix_and_padding)
{
  Device device;
  Owned<GstMemory> any = device.new_memory (1);
  GstAllocationParams params = {GstMemoryFlags (0), 0, 16, 24, {nullptr}};
  Owned<GstMemory> memory = gst_allocator_alloc (any->allocator, 100, &params);
  gsize offset, maxsize;

  fail_unless (memory != nullptr);
  expect_equal (gst_memory_get_sizes (memory, &offset, &maxsize), 100);
  expect_equal (offset, 16);
  expect_equal (maxsize, 140);
  Bytes bytes = pattern (100, 7);
  write_memory (memory, bytes);
  device.add_by_map (memory, 9);
  assert_same (read_memory (memory), added (bytes, 9), "memory with a prefix");
}

/* --- an application's buffer --- */

static void
count_call (gpointer calls)
{
  ++*static_cast<std::atomic<int> *> (calls);
}

TEST (test_memory_around_an_application_s_buffer_shows_both_sides_changes)
{
  Device device;
  Bytes bytes = pattern (500, 3);
  cl_int code;
  cl_mem handle = clCreateBuffer (gst_opencl_context_get_handle (device.context),
      CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 500, bytes.data (), &code);
  std::atomic<int> notified{0};
  Owned<GstMemory> memory =
      gst_opencl_memory_new_wrapped (device.context, handle, 500, &notified, count_call);

  fail_unless (gst_opencl_memory_get_handle (memory) == handle);
  assert_same (read_memory (memory), bytes, "the application's bytes");
  write_memory (memory, Bytes (500, 42));
  device.add_on_queue (memory, GST_OPENCL_QUEUE_UPLOAD, 1, nullptr);
  assert_same (read_memory (memory), Bytes (500, 43), "after the application's kernel");

  Owned<GstMemory> shared = gst_memory_share (memory, 10, 20);
  memory = nullptr;
  expect_equal (notified, 0);
  assert_same (read_memory (shared), Bytes (20, 43), "share of the wrapped memory");
  shared = nullptr;
  fail_unless (soon ([&] { return notified == 1; }));

  /* The application's own reference is untouched. */
  Bytes seen (500);
  expect_equal (clEnqueueReadBuffer (queue_of (device.context), handle, CL_TRUE, 0, 500,
                    seen.data (), 0, nullptr, nullptr),
      CL_SUCCESS);
  assert_same (seen, Bytes (500, 43), "the application's buffer");
  expect_equal (clReleaseMemObject (handle), CL_SUCCESS);
  expect_equal (notified, 1);
}

TEST (test_memory_around_an_application_s_buffer_is_given_back_unused)
{
  Device device;
  cl_int code;
  OwnedCL<cl_mem> handle = clCreateBuffer (gst_opencl_context_get_handle (device.context),
      CL_MEM_READ_WRITE, 64, nullptr, &code);
  std::atomic<int> notified{0};
  Owned<GstMemory> memory =
      gst_opencl_memory_new_wrapped (device.context, handle, 64, &notified, count_call);
  Gate gate (device.context);

  write_memory (memory, Bytes (64, 1));
  device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 1, &gate);
  memory = nullptr;
  g_usleep (100000);
  expect_equal (notified, 0); /* a kernel still runs on it */
  gate.open ();
  fail_unless (soon ([&] { return notified == 1; }));
}

/* --- order of commands --- */

TEST (test_memory_reader_waits_on_device_for_writer_of_other_queue)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (300), host = device.new_host_memory (300);
  Bytes bytes = pattern (300, 5);
  Gate gate (device.context);

  write_memory (memory, bytes);
  device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 5, &gate);
  OwnedCL<cl_event> downloaded =
      copy (host, memory); /* returns while the kernel is held */
  g_usleep (100000);
  fail_unless (status_of (downloaded) > CL_COMPLETE);
  gate.open ();
  assert_same (read_memory (host), added (bytes, 5), "download");
  expect_equal (status_of (downloaded), CL_COMPLETE);
}

TEST (test_memory_writer_waits_on_the_device_for_readers_of_other_queues)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (300), host = device.new_host_memory (300);
  Bytes bytes = pattern (300, 6);
  Gate gate (device.context);

  write_memory (memory, bytes);
  device.add_by_map (memory, 0);
  gate.put_into (queue_of (device.context, GST_OPENCL_QUEUE_DOWNLOAD));
  OwnedCL<cl_event> downloaded = copy (host, memory);
  device.add_by_map (memory, 100); /* must not change bytes that are yet to be read */
  g_usleep (100000);
  gate.open ();
  clWaitForEvents (1, downloaded.list ());
  assert_same (read_memory (host), bytes, "what was read before the change");
  assert_same (read_memory (memory), added (bytes, 100), "what was changed");
}

TEST (test_memory_change_on_every_queue_in_turn_is_in_order)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (2000);
  Bytes bytes = pattern (2000, 8);

  write_memory (memory, bytes);
  for (int i = 0; i < 60; i++) {
    /* A chain of add, flip, add on 3 queues; no kernel commutes with the next one. */
    auto which = GstOpenCLQueue (i % 3);
    cl_command_queue queue = queue_of (device.context, which);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, nullptr));
    OwnedCL<cl_event> event = enqueue_change (queue, device.kernels[i % 2],
        gst_opencl_memory_get_handle (memory), 0, 2000, guint8 (i * 37 + 11));
    gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
    clFlush (queue);
    for (guint8 &byte : bytes)
      byte = i % 2 ? byte ^ guint8 (i * 37 + 11) : byte + guint8 (i * 37 + 11);
  }
  assert_same (read_memory (memory), bytes, "after 60 changes on 3 queues");
}

TEST (test_memory_wait_before_status_query)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64);
  cl_command_queue compute = queue_of (device.context);
  cl_command_queue other = queue_of (device.context, GST_OPENCL_QUEUE_DOWNLOAD);
  Gate gate (device.context);
  struct {
    cl_command_queue queue;
    bool over;
    unsigned questions;
  } uses[] = {
      {compute, false, 0}, /* the queue is in order */
      {compute, true, 0},
      {other, true, 0}, /* waits for the event once, which costs less */
      {other, true, 1},
      {other, true, 0},
  };

  fail_unless (gst_opencl_memory_begin (memory, compute, GST_MAP_WRITE, nullptr));
  gst_opencl_memory_end (memory, compute, GST_MAP_WRITE, gate.event);
  for (auto &use : uses) {
    if (use.over && status_of (gate.event) > CL_COMPLETE)
      gate.open ();
    unsigned before = counting::count (counting::GET_EVENT_INFO);
    fail_unless (gst_opencl_memory_begin (memory, use.queue, GST_MAP_READ, nullptr));
    gst_opencl_memory_invalidate (memory);
    expect_equal (counting::count (counting::GET_EVENT_INFO) - before, use.questions);
  }
}

TEST (test_memory_map_for_the_device_does_not_block)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64);
  Gate gate (device.context);

  write_memory (memory, Bytes (64, 1));
  unsigned waits = counting::count (counting::WAIT_FOR_EVENTS);
  device.add_on_queue (memory, GST_OPENCL_QUEUE_DOWNLOAD, 1, &gate);
  device.add_by_map (memory, 1); /* would hang here */
  expect_equal (counting::count (counting::WAIT_FOR_EVENTS), waits);
  gate.open ();
  assert_same (read_memory (memory), Bytes (64, 3), "memory");
}

/* One status query or one wait fails: the first, second or third. */
TEST (test_memory_cpu_map_waits_though_the_driver_fails_to_tell)
{
  Device device;

  for (counting::Call call : {counting::GET_EVENT_INFO, counting::WAIT_FOR_EVENTS}) {
    for (unsigned n : {1, 2, 3}) {
      Owned<GstMemory> memory = device.new_memory (64);
      Gate gate (device.context);

      write_memory (memory, Bytes (64, 1));
      device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 1, &gate);
      counting::fail_call (call, n, CL_OUT_OF_RESOURCES);
      {
        Worker map ([&] { assert_same (read_memory (memory), Bytes (64, 2), "memory"); });
        fail_unless (map.stays_blocked ());
        gate.open ();
      }
      counting::fail_call (call, 0, CL_SUCCESS);
    }
  }
}

/* The memory is leaked rather than freed while the device may use it. */
TEST (test_host_memory_that_the_device_may_still_use_is_not_freed)
{
  Device device;
  Owned<GstMemory> host = device.new_host_memory (64);
  Gate gate (device.context);
  int held = counting::held_buffers ();

  gst_opencl_memory_end (
      host, queue_of (device.context, GST_OPENCL_QUEUE_UPLOAD), GST_MAP_READ, gate.event);
  counting::fail_always (counting::GET_EVENT_INFO, CL_OUT_OF_RESOURCES);
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_OUT_OF_RESOURCES);
  host = nullptr;
  expect_equal (counting::held_buffers (), held);
  counting::fail_always (counting::GET_EVENT_INFO, CL_SUCCESS);
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_SUCCESS);
  gate.open ();
}

TEST (test_memory_mapped_ahead_is_only_to_be_waited_for)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64);
  Gate gate (device.context);
  OwnedCL<cl_event> ahead;

  write_memory (memory, Bytes (64, 1));
  device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 1, &gate);
  fail_unless (gst_opencl_memory_prepare_map (memory, ahead.out (), nullptr));
  fail_unless (ahead != nullptr);
  fail_unless (status_of (ahead) > CL_COMPLETE);
  unsigned commands =
      counting::count (counting::ENQUEUE_MAP) + counting::count (counting::ENQUEUE_READ);
  {
    Worker map ([&] { assert_same (read_memory (memory), Bytes (64, 2), "memory"); });
    fail_unless (map.stays_blocked ());
    gate.open ();
  }
  expect_equal (status_of (ahead), CL_COMPLETE);
  expect_equal (
      counting::count (counting::ENQUEUE_MAP) + counting::count (counting::ENQUEUE_READ),
      commands);

  /* A later write by the device is not part of an earlier asynchronous map. */
  device.add_by_map (memory, 5);
  assert_same (read_memory (memory), Bytes (64, 7), "written again");
}

/* The queue of asynchronous maps waits; maps of other memory must not wait with it. */
TEST (test_memory_may_be_freed_while_a_map_is_ahead)
{
  Device device;
  GstMemory *memory = device.new_memory (64), *other = device.new_memory (64);
  Gate gate (device.context);
  OwnedCL<cl_event> ahead;

  write_memory (memory, Bytes (64, 1));
  device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 1, &gate);
  fail_unless (gst_opencl_memory_prepare_map (memory, ahead.out (), nullptr));
  {
    Worker freeing ([&] { gst_memory_unref (memory); });
    g_usleep (20000);
    write_memory (other, Bytes (64, 9)); /* would hang here */
    assert_same (read_memory (other), Bytes (64, 9), "other memory");
    gate.open ();
  }
  clWaitForEvents (1, ahead.out ());
  gst_memory_unref (other);
}

TEST (test_memory_may_be_freed_while_commands_use_it)
{
  Device device;
  Gate gate (device.context);
  GstMemory *memory = device.new_memory (4096), *target = device.new_memory (4096);
  Bytes bytes = pattern (4096, 4);

  write_memory (memory, bytes);
  device.add_on_queue (memory, GST_OPENCL_QUEUE_COMPUTE, 1, &gate);
  copy_and_forget (target, memory);
  {
    Worker freeing ([&] { gst_memory_unref (memory); });
    g_usleep (50000);
    gate.open ();
  }
  assert_same (read_memory (target), added (bytes, 1), "copy of the freed memory");
  gst_memory_unref (target);
}

TEST (test_host_memory_map_waits_for_a_download)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64), host = device.new_host_memory (64);
  Gate gate (device.context);

  write_memory (memory, Bytes (64, 9));
  gate.put_into (queue_of (device.context, GST_OPENCL_QUEUE_DOWNLOAD));
  copy_and_forget (host, memory);
  {
    Worker map ([&] { assert_same (read_memory (host), Bytes (64, 9), "host"); });
    fail_unless (map.stays_blocked ());
    gate.open ();
  }
}

TEST (test_host_memory_map_for_writing_waits_for_an_upload)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64), host = device.new_host_memory (64);
  Gate gate (device.context);

  write_memory (host, Bytes (64, 9));
  gate.put_into (queue_of (device.context, GST_OPENCL_QUEUE_UPLOAD));
  copy_and_forget (memory, host);
  assert_same (read_memory (host), Bytes (64, 9), "reading beside the upload");
  {
    Worker map ([&] { write_memory (host, Bytes (64, 1)); });
    fail_unless (map.stays_blocked ());
    gate.open ();
  }
  assert_same (read_memory (memory), Bytes (64, 9), "upload");
}

namespace {
void
upload_pinned (Device &device, GstMemory *memory, const Bytes &bytes)
{
  Owned<GstMemory> host = device.new_host_memory (bytes.size ());
  write_memory (host, bytes);
  copy_and_forget (memory, host);
}

void
upload_ordinary (Device &device, GstMemory *memory, const Bytes &bytes)
{
  Owned<GstBuffer> source = buffer_of (bytes), target = gst_buffer_new ();
  OwnedCL<cl_event> event;
  gst_buffer_append_memory (target, gst_memory_ref (memory));
  fail_unless (gst_opencl_buffer_copy_async (
      device.context, target, source, nullptr, event.out (), nullptr));
}

void
upload_mapped (Device &device, GstMemory *memory, const Bytes &bytes)
{
  write_memory (memory, bytes);
  fail_unless (
      gst_opencl_memory_begin (memory, queue_of (device.context), GST_MAP_READ, nullptr));
}

const struct {
  const char *name;
  void (*upload) (Device &device, GstMemory *memory, const Bytes &bytes);
} uploads[] = {
    {"pinned", upload_pinned},
    {"ordinary", upload_ordinary},
    {"mapped", upload_mapped},
};
} // namespace

/* All threads share one upload queue, so no upload may wait there for a kernel of its
 * thread. */
TEST_ROWS (test_an_upload_passes_one_whose_target_is_still_read, uploads)
{
  Device device;
  Owned<GstMemory> busy = device.new_memory (64), idle = device.new_memory (64);
  row.upload (device, busy, Bytes (64, 1));
  Gate gate (device.context);
  gst_opencl_memory_end (busy, queue_of (device.context), GST_MAP_READ, gate.event);
  {
    Worker slow ([&] { row.upload (device, busy, Bytes (64, 2)); });
    fail_unless (slow.stays_blocked ());
    Worker other ([&] {
      row.upload (device, idle, Bytes (64, 3));
      assert_same (read_memory (idle), Bytes (64, 3), "beside it");
    });
    fail_unless (soon ([&] { return other.ended (); }));
    gate.open ();
  }
  assert_same (read_memory (busy), Bytes (64, 2), "after the kernel");
}

TEST (test_host_memory_free_waits_for_transfers_after_a_failed_one)
{
  Device device;
  GstMemory *memory = device.new_memory (64), *host = device.new_host_memory (64);
  Gate failing (device.context), slow (device.context);

  /* A write that failed, and a later read that is still in flight */
  gst_opencl_memory_end (host, queue_of (device.context), GST_MAP_WRITE, failing.event);
  failing.fail_call ();
  gst_opencl_memory_end (
      host, queue_of (device.context, GST_OPENCL_QUEUE_UPLOAD), GST_MAP_READ, slow.event);
  {
    Worker freeing ([&] { gst_memory_unref (host); });
    fail_unless (freeing.stays_blocked ());
    slow.open ();
  }
  gst_memory_unref (memory);
}

TEST (test_memory_is_read_by_several_threads_and_a_kernel_at_once)
{
  Device device;
  const gsize size = 1 << 16;
  Owned<GstMemory> memory = device.new_memory (size);
  Bytes bytes = pattern (size, 2);

  write_memory (memory, bytes);
  for (int round = 0; round < 20; round++) {
    device.add_by_map (memory, 1);
    bytes = added (bytes, 1);
    together (5, [&] (guint t) {
      if (t > 0) {
        assert_same (read_memory (memory), bytes, "read in a thread");
      } else {
        Owned<GstMemory> copied = gst_memory_copy (memory, 0, -1);
        assert_same (read_memory (copied), bytes, "copy in a thread");
      }
    });
  }
}

/* --- failures --- */

/* The map fails while contents are lost, and succeeds once they are discarded. (PoCL
 * 3.1 does not survive a command that fails while others wait for it on the device.) */
static const struct {
  const char *label;
  bool host, fails_before_the_map;
} failed_writes[] = {
    {"a kernel", false, true},
    {"a download", true, true},
    {"a download, during the map", true, false},
};

TEST_ROWS (test_memory_whose_write_failed_cannot_be_read, failed_writes)
{
  Device device;
  Owned<GstMemory> memory = device.new_either (row.host, 64);
  Gate gate (device.context);
  GstMapInfo map;

  write_memory (memory, Bytes (64, 1));
  if (!row.host)
    device.add_by_map (memory, 1);
  clFinish (
      application_queue_of (device.context)); /* the command that fails is the last one */
  gst_opencl_memory_end (
      memory, application_queue_of (device.context), GST_MAP_WRITE, gate.event);
  if (row.fails_before_the_map) {
    gate.fail_call ();
    fail_if (gst_memory_map (memory, &map, GST_MAP_READ));
  } else {
    Worker mapping ([&] { fail_if (gst_memory_map (memory, &map, GST_MAP_READ)); });
    g_usleep (100000);
    gate.fail_call ();
  }
  fail_if (gst_memory_map (memory, &map, GST_MAP_READ)); /* again */
  fail_if (gst_memory_map (memory, &map, GST_MAP_READWRITE));

  gst_opencl_memory_invalidate (memory);
  write_memory (memory, Bytes (64, 3));
  assert_same (read_memory (memory), Bytes (64, 3), "memory used again");
  if (!row.host) {
    device.add_by_map (memory, 1);
    assert_same (read_memory (memory), Bytes (64, 4), "memory used again");
  }
}

TEST (test_memory_whose_reader_failed_is_as_good_as_before)
{
  Device device;
  for (bool host : {false, true}) {
    Owned<GstMemory> memory = device.new_either (host, 64);
    Gate gate (device.context);
    write_memory (memory, Bytes (64, 1));
    gst_opencl_memory_end (memory, queue_of (device.context), GST_MAP_READ, gate.event);
    gate.fail_call ();
    assert_same (read_memory (memory), Bytes (64, 1), "after a failed read");
    write_memory (memory, Bytes (64, 2));
    assert_same (read_memory (memory), Bytes (64, 2), "written after a failed read");
  }
}

TEST (test_memory_whose_transfer_cannot_be_enqueued_can_be_mapped_later)
{
  Device device;
  Owned<GstMemory> memory = device.new_memory (64);
  GstMapInfo map;
  Owned<GError> error;
  const bool shares = shares_memory ();
  const auto up = shares ? counting::ENQUEUE_UNMAP : counting::ENQUEUE_WRITE;
  const auto down = shares ? counting::ENQUEUE_MAP : counting::ENQUEUE_READ;

  write_memory (memory, Bytes (64, 5));
  counting::fail_call (up, 1, CL_OUT_OF_RESOURCES);
  fail_if (
      gst_memory_map (memory, &map, GstMapFlags (GST_MAP_READWRITE | GST_MAP_OPENCL)));
  counting::fail_call (up, 1, CL_OUT_OF_RESOURCES);
  fail_if (gst_opencl_memory_begin (
      memory, queue_of (device.context), GST_MAP_READ, error.out ()));
  fail_unless (strstr (error->message,
                   shares ? "clEnqueueUnmapMemObject" : "clEnqueueWriteBuffer"),
      "%s", error->message);
  device.add_by_map (memory, 1);
  counting::fail_call (down, 1, CL_OUT_OF_RESOURCES);
  fail_if (gst_memory_map (memory, &map, GST_MAP_READ));
  assert_same (read_memory (memory), Bytes (64, 6), "memory");
}

/* --- invariants --- */

/* Unmaps what is not mapped in a child, and returns how that ended. */
static int
status_after_second_unmap (GstMemory *memory)
{
  int status = -1;
  const pid_t child = fork ();
  if (child == 0) {
    alarm (20);
    opencl::storage_of (memory).unmap (GST_MAP_WRITE);
    _exit (0);
  }
  waitpid (child, &status, 0);
  return status;
}

TEST (test_memory_checks_its_invariants_in_debug_builds)
{
#ifdef GST_OPENCL_CHECKS_INVARIANTS
  const bool are_checked = true;
#else
  const bool are_checked = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  fail_unless (are_checked, "tests/run.sh --asan and --tsan build with debug=true");
#endif
  Device device;
  Owned<GstMemory> memory = device.new_memory (64);
  expect_equal (status_after_second_unmap (memory) != 0, are_checked);
}
