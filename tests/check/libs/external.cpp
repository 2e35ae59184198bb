/* Tests of memory shared with other APIs and devices
 *
 * They use the device of importing-device.hpp. tests/interop tests the drivers of GPUs.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/importing-device.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-check.hpp"

using namespace check;

namespace {
constexpr gsize size = 5000;

/* A device that imports, a context, shared pages, and a kernel that adds */
struct Import {
  ImportingDevice device;
  Owned<GstOpenCLContext> context;
  SharedPages pages;
  OwnedCL<cl_kernel> add;

  Import ()
      : context (new_context ()), pages (pattern (size, 1)),
        add (make_kernel (context, change_source, "add"))
  {
  }

  /* (transfer full) */
  GstMemory *memory (gpointer user_data = nullptr, GDestroyNotify notify = nullptr,
      GstOpenCLHandleTypes type = GST_OPENCL_HANDLE_DMA_BUF)
  {
    Owned<GError> error;
    GstMemory *made = gst_opencl_memory_new_from_fd (
        context, type, pages.fd (), size, user_data, notify, error.out ());
    fail_unless (made != nullptr, "%s", error ? error->message : "no error");
    return made;
  }

  void add_on_device (GstMemory *memory, guint8 value)
  {
    cl_command_queue queue = queue_of (context);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, nullptr));
    OwnedCL<cl_event> event = enqueue_change (
        queue, add, gst_opencl_memory_get_handle (memory), 0, size, value);
    clFlush (queue);
    gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
  }

  void expect_refusal (GstOpenCLHandleTypes type, int fd, gsize bytes, GQuark domain,
      int code, const std::string &part)
  {
    Owned<GError> error;
    const unsigned before = open_descriptors ();
    fail_unless (gst_opencl_memory_new_from_fd (
                     context, type, fd, bytes, nullptr, nullptr, error.out ())
                 == nullptr);
    fail_unless (g_error_matches (error, domain, code), "%s", error->message);
    fail_unless (strstr (error->message, part.c_str ()), "%s", error->message);
    expect_equal (open_descriptors (), before);
  }
};

Bytes
added (Bytes bytes, guint8 value)
{
  for (guint8 &byte : bytes)
    byte += value;
  return bytes;
}

void
count_call (gpointer data)
{
  ++*static_cast<std::atomic<int> *> (data);
}
} // namespace

TEST (test_import_types_are_what_the_devices_extensions_say)
{
  const struct {
    const char *extensions;
    guint types;
  } rows[] = {
      {"", 0},
      {"cl_khr_fp64 cl_khr_external_memory", 0},
      {"cl_khr_external_memory_opaque_fd", GST_OPENCL_HANDLE_OPAQUE_FD},
      {"cl_khr_external_memory_dma_buf cl_khr_fp64", GST_OPENCL_HANDLE_DMA_BUF},
      {"cl_khr_external_memory_dma_buf cl_khr_external_memory_opaque_fd",
          GST_OPENCL_HANDLE_OPAQUE_FD | GST_OPENCL_HANDLE_DMA_BUF},
      {"cl_khr_external_memory_dma_buffer", 0},
  };
  Owned<GstOpenCLContext> context = new_context ();
  for (const auto &row : rows) {
    ImportingDevice device (row.extensions);
    expect_equal (guint (gst_opencl_context_get_import_types (context)), row.types);
  }
}

TEST (test_imported_memory_has_the_bytes_of_its_descriptor)
{
  for (auto type : {GST_OPENCL_HANDLE_OPAQUE_FD, GST_OPENCL_HANDLE_DMA_BUF}) {
    Import import;
    Owned<GstMemory> memory = import.memory (nullptr, nullptr, type);
    expect_equal (memory->size, size);
    import.add_on_device (memory, 3);
    assert_same (read_memory (memory), added (pattern (size, 1), 3), "read by the CPU");
  }
}

TEST (test_device_writes_are_visible_after_release)
{
  Import import;
  std::atomic<int> notified{0};
  GstMemory *memory = import.memory (&notified, count_call);
  import.add_on_device (memory, 7);
  gst_memory_unref (memory);
  fail_unless (soon ([&] { return notified == 1; }));
  assert_same (import.pages.bytes (), added (pattern (size, 1), 7), "shared pages");
  expect_equal (import.device.acquired (), 1u);
  expect_equal (import.device.released (), 1u);
}

TEST (test_imported_memory_is_released_after_device_use)
{
  Import import;
  std::atomic<int> notified{0};
  GstMemory *memory = import.memory (&notified, count_call);
  Gate gate (import.context);
  cl_command_queue queue = queue_of (import.context, GST_OPENCL_QUEUE_DOWNLOAD);
  fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READ, nullptr));
  gate.put_into (queue);
  gst_opencl_memory_end (memory, queue, GST_MAP_READ, gate.event);
  gst_memory_unref (memory);
  g_usleep (100000);
  expect_equal (notified.load (), 0);
  gate.open ();
  fail_unless (soon ([&] { return notified == 1; }));
}

TEST (test_memory_acquired_around_a_buffer_of_another_context)
{
  Import import;
  Owned<GstOpenCLContext> other = new_other_context (import.context);
  Owned<GstMemory> elsewhere = gst_opencl_memory_new (other, size, nullptr);
  Owned<GError> error;
  fail_if (gst_opencl_memory_new_acquired (import.context,
      gst_opencl_memory_get_handle (elsewhere), size, nullptr, nullptr, error.out ()));
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
}

TEST (test_memory_reused_is_imported_once_and_acquired_each_time)
{
  Import import;
  Owned<GError> error;
  OwnedCL<cl_mem> handle = gst_opencl_context_import_fd (
      import.context, GST_OPENCL_HANDLE_DMA_BUF, import.pages.fd (), size, error.out ());
  fail_unless (handle, "%s", error ? error->message : "no error");
  std::atomic<int> notified{0};
  for (int i = 0; i < 5; i++) {
    import.pages.fill (pattern (size, i));
    GstMemory *memory = gst_opencl_memory_new_acquired (
        import.context, handle, size, &notified, count_call, error.out ());
    fail_unless (memory, "%s", error ? error->message : "no error");
    assert_same (read_memory (memory), pattern (size, i), "frame");
    gst_memory_unref (memory);
    fail_unless (soon ([&] { return notified == i + 1; }));
  }
  expect_equal (import.device.imported (), 1u);
  expect_equal (import.device.acquired (), 5u);
  expect_equal (import.device.released (), 5u);
}

namespace {
/* A handle of Import's pages, and memory that acquires it */
struct Acquiring : Import {
  OwnedCL<cl_mem> handle;

  Acquiring ()
      : handle (gst_opencl_context_import_fd (
          context, GST_OPENCL_HANDLE_DMA_BUF, pages.fd (), size, nullptr))
  {
    fail_unless (handle);
  }

  /* (transfer full) */
  GstMemory *acquire (std::atomic<int> &notified)
  {
    Owned<GError> error;
    GstMemory *memory = gst_opencl_memory_new_acquired (
        context, handle, size, &notified, count_call, error.out ());
    fail_unless (memory, "%s", error ? error->message : "no error");
    return memory;
  }
};
} // namespace

/* OpenCL does not allow acquiring a buffer that is already acquired. */
TEST (test_memory_acquired_twice_is_shared)
{
  Acquiring import;
  std::atomic<int> first_notified{0}, second_notified{0};
  GstMemory *first = import.acquire (first_notified),
            *second = import.acquire (second_notified);
  import.add_on_device (first, 3);
  assert_same (read_memory (second), added (pattern (size, 1), 3), "second");
  gst_memory_unref (first);
  fail_unless (soon ([&] { return first_notified == 1; }));
  expect_equal (import.device.released (), 0u);
  import.add_on_device (second, 4);
  assert_same (read_memory (second), added (pattern (size, 1), 7), "second");
  gst_memory_unref (second);
  fail_unless (soon ([&] { return second_notified == 1; }));
  assert_same (import.pages.bytes (), added (pattern (size, 1), 7), "shared pages");
  expect_equal (import.device.acquired (), 1u);
  expect_equal (import.device.released (), 1u);
}

/* A sub-memory keeps the whole memory acquired, so that its owner waits. */
TEST (test_part_of_acquired_memory_keeps_it_acquired)
{
  Acquiring import;
  std::atomic<int> notified{0};
  GstMemory *memory = import.acquire (notified);
  Owned<GstMemory> part = gst_memory_share (memory, 10, 20);
  gst_memory_unref (memory);
  gst_memory_unref (import.acquire (notified));
  fail_unless (soon ([&] { return notified == 1; }));
  expect_equal (import.device.released (), 0u);
  const Bytes all = pattern (size, 1);
  assert_same (read_memory (part), Bytes (all.begin () + 10, all.begin () + 30), "part");
  gst_memory_unref (part.give ());
  fail_unless (soon ([&] { return notified == 2; }));
  expect_equal (import.device.acquired (), 1u);
  expect_equal (import.device.released (), 1u);
}

/* The owner of shared memory waits for what the device still reads. */
TEST (test_shared_memory_is_given_back_when_the_device_has_done_with_it)
{
  Acquiring import;
  std::atomic<int> first_notified{0}, second_notified{0};
  GstMemory *first = import.acquire (first_notified);
  Owned<GstMemory> second = import.acquire (second_notified);
  Gate gate (import.context);
  cl_command_queue queue = queue_of (import.context, GST_OPENCL_QUEUE_DOWNLOAD);
  fail_unless (gst_opencl_memory_begin (first, queue, GST_MAP_READ, nullptr));
  gst_opencl_memory_end (first, queue, GST_MAP_READ, gate.event);
  clFlush (queue);
  gst_memory_unref (first);
  g_usleep (100000);
  expect_equal (first_notified.load (), 0);
  gate.open ();
  fail_unless (soon ([&] { return first_notified == 1; }));
  expect_equal (second_notified.load (), 0);
  second = nullptr;
  fail_unless (soon ([&] { return second_notified == 1; }));
}

TEST (test_memory_is_acquired_and_shared_by_several_threads)
{
  Acquiring import;
  std::atomic<int> notified{0};
  together (4, [&] (guint) {
    for (int i = 0; i < 200; i++)
      gst_memory_unref (import.acquire (notified));
  });
  fail_unless (soon ([&] { return notified == 800; }));
  expect_equal (import.device.acquired (), import.device.released ());
}

TEST (test_acquired_memory_is_not_shared_beyond_its_size)
{
  Acquiring import;
  std::atomic<int> notified{0};
  Owned<GstMemory> memory = gst_opencl_memory_new_acquired (
      import.context, import.handle, size - 1, &notified, count_call, nullptr);
  Owned<GError> error;
  fail_if (gst_opencl_memory_new_acquired (
      import.context, import.handle, size, &notified, count_call, error.out ()));
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, "4999 bytes, expected at least 5000"), "%s",
      error->message);
  memory = nullptr;
  fail_unless (soon ([&] { return notified == 1; }));
}

TEST (test_descriptors_stay_their_owners)
{
  Import import;
  const unsigned before = open_descriptors ();
  for (guint i = 0; i < 20; i++)
    gst_memory_unref (import.memory ());
  expect_equal (open_descriptors (), before);
  assert_same (import.pages.bytes (), pattern (size, 1), "still readable");
}

TEST (test_what_cannot_be_imported_is_refused_with_its_reason)
{
  Import import;
  const auto dma_buf = GST_OPENCL_HANDLE_DMA_BUF;
  import.expect_refusal (dma_buf, -1, size, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
      "descriptor -1: Bad file descriptor");
  import.expect_refusal (dma_buf, import.pages.fd (), size + 1, GST_STREAM_ERROR,
      GST_STREAM_ERROR_FORMAT, "has 5000 bytes, expected at least 5001");
  import.expect_refusal (GstOpenCLHandleTypes (1 << 7), import.pages.fd (), size,
      GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "cannot import memory from this type of");
  import.device.fail_import (CL_INVALID_OPERATION);
  import.expect_refusal (dma_buf, import.pages.fd (), size, GST_OPENCL_ERROR,
      GST_OPENCL_ERROR_FAILED, "clCreateBufferWithProperties of 5000 bytes");
}

TEST (test_a_device_that_imports_nothing_says_so)
{
  ImportingDevice other ("cl_khr_fp64");
  Owned<GstOpenCLContext> context = new_context ();
  SharedPages pages (pattern (size, 1));
  Owned<GError> error;
  fail_unless (gst_opencl_memory_new_from_fd (context, GST_OPENCL_HANDLE_OPAQUE_FD,
                   pages.fd (), size, nullptr, nullptr, error.out ())
               == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
  fail_unless (strstr (error->message, "cannot import memory from an opaque"));
  expect_equal (other.imported (), 0u);
}

TEST (test_memory_acquire_failure_is_an_error)
{
  Import import;
  std::atomic<int> notified{0};
  Owned<GError> error;
  import.device.fail_acquire (CL_INVALID_OPERATION);
  fail_unless (gst_opencl_memory_new_from_fd (import.context, GST_OPENCL_HANDLE_DMA_BUF,
                   import.pages.fd (), size, &notified, count_call, error.out ())
               == nullptr);
  fail_unless (strstr (error->message, "clEnqueueAcquireExternalMemObjectsKHR failed"),
      "%s", error->message);
  g_usleep (20000);
  expect_equal (notified.load (), 0);
  expect_equal (import.device.released (), 0u);
}
