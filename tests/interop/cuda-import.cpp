/* cuda-import: CUDA's memory as OpenCL's, on a machine that has both
 *
 * CUDA fills memory and exports its descriptor; the library imports that, a kernel changes
 * it, and CUDA reads what the kernel has written: nothing is copied between. It ends with 0
 * where all of it holds, and says each step.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "cudamemory.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <algorithm>
#include <atomic>
#include <dirent.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/opencl/gstopenclmemory.h>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace {
using Bytes = std::vector<unsigned char>;

constexpr size_t wanted_size = 8 << 20;
constexpr guint times = 100;
constexpr cl_device_info device_uuid = 0x106A; /* CL_DEVICE_UUID_KHR */

const char source[] = "__kernel void add (__global uchar *bytes, uchar value) {"
                      "  bytes[get_global_id (0)] += value; }";

struct Error {
  GError *error = nullptr;
  ~Error () { g_clear_error (&error); }
  std::string text () const { return error ? error->message : "no reason"; }
};

Bytes
pattern (size_t size, unsigned seed)
{
  Bytes bytes (size);
  unsigned state = seed;
  for (unsigned char &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<unsigned char> (state >> 24);
  }
  return bytes;
}

unsigned passed, failed;

void
expect (bool holds, const std::string &promise)
{
  (holds ? passed : failed)++;
  std::cout << (holds ? "holds    " : "DOES NOT ") << promise << std::endl;
}

unsigned
open_descriptors ()
{
  unsigned n = 0;
  DIR *folder = opendir ("/proc/self/fd");
  while (folder && readdir (folder))
    n++;
  if (folder)
    closedir (folder);
  return n;
}

Bytes
uuid_of (GstOpenCLContext *context)
{
  Bytes uuid (16);
  const cl_int code = clGetDeviceInfo (gst_opencl_context_get_device (context),
      device_uuid, uuid.size (), uuid.data (), nullptr);
  return code == CL_SUCCESS ? uuid : Bytes ();
}

std::string
extensions_of (GstOpenCLContext *context)
{
  char text[16384] = "";
  clGetDeviceInfo (gst_opencl_context_get_device (context), CL_DEVICE_EXTENSIONS,
      sizeof text, text, nullptr);
  return text;
}

GstMemory *
import (GstOpenCLContext *context, const CudaMemory &memory, std::atomic<int> &told)
{
  Error error;
  const int fd = memory.export_fd ();
  GstMemory *made = gst_opencl_memory_new_from_fd (
      context, GST_OPENCL_HANDLE_OPAQUE_FD, fd, memory.size (), &told,
      [] (gpointer data) { ++*static_cast<std::atomic<int> *> (data); }, &error.error);
  close (fd);
  if (!made)
    throw std::runtime_error ("import: " + error.text ());
  return made;
}

bool
has_bytes (GstMemory *memory, const Bytes &expected)
{
  GstMapInfo map;
  if (!gst_memory_map (memory, &map, GST_MAP_READ))
    return false;
  const bool same = map.size == expected.size ()
                    && std::equal (map.data, map.data + map.size, expected.begin ());
  gst_memory_unmap (memory, &map);
  return same;
}

void
add_on_device (GstOpenCLContext *context, GstMemory *memory, unsigned char value)
{
  Error error;
  cl_command_queue queue =
      gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  cl_program program =
      gst_opencl_context_get_program (context, source, nullptr, &error.error);
  if (!program)
    throw std::runtime_error (error.text ());
  cl_kernel kernel = clCreateKernel (program, "add", nullptr);
  cl_mem handle = gst_opencl_memory_get_handle (memory);
  const size_t n = memory->size;
  cl_event event = nullptr;
  if (!gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, &error.error))
    throw std::runtime_error (error.text ());
  clSetKernelArg (kernel, 0, sizeof handle, &handle);
  clSetKernelArg (kernel, 1, sizeof value, &value);
  const cl_int code =
      clEnqueueNDRangeKernel (queue, kernel, 1, nullptr, &n, nullptr, 0, nullptr, &event);
  clFlush (queue);
  if (event) {
    gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
    clReleaseEvent (event);
  }
  clReleaseKernel (kernel);
  clReleaseProgram (program);
  if (code != CL_SUCCESS)
    throw std::runtime_error (std::string ("kernel: ") + gst_opencl_error_name (code));
}

/* Memory is given back in a thread of the context. */
bool
is_told (const std::atomic<int> &told, int times)
{
  for (int i = 0; i < 1000 && told < times; i++)
    g_usleep (10000);
  return told == times;
}

void
try_one (GstOpenCLContext *context, CudaMemory &memory)
{
  std::atomic<int> told{0};
  Bytes expected = pattern (memory.size (), 1);
  memory.write (expected);
  GstMemory *imported = import (context, memory, told);
  expect (has_bytes (imported, expected), "OpenCL reads what CUDA has written");
  add_on_device (context, imported, 3);
  for (unsigned char &byte : expected)
    byte += 3;
  expect (has_bytes (imported, expected), "a kernel changes it");
  gst_memory_unref (imported);
  expect (is_told (told, 1), "it is given back");
  expect (memory.read () == expected, "CUDA reads what the kernel has written");
}

void
try_many (GstOpenCLContext *context, CudaMemory &memory)
{
  std::atomic<int> told{0};
  const unsigned before = open_descriptors ();
  bool same = true;
  gint64 spent = 0;
  for (guint i = 0; i < times; i++) {
    const Bytes expected = pattern (memory.size (), i);
    memory.write (expected);
    const gint64 start = g_get_monotonic_time ();
    GstMemory *imported = import (context, memory, told);
    spent += g_get_monotonic_time () - start;
    same = same && has_bytes (imported, expected);
    gst_memory_unref (imported);
  }
  expect (same && is_told (told, times), "the same a hundred times");
  const unsigned after = open_descriptors ();
  expect (after == before, "no descriptor is left open (" + std::to_string (before)
                               + " before, " + std::to_string (after) + " after)");
  std::cout << "         an export and import takes " << spent / times << " us\n";
}

void
try_errors (GstOpenCLContext *context)
{
  Error error;
  int ends[2];
  if (pipe (ends) != 0)
    throw std::runtime_error ("pipe");
  GstMemory *made = gst_opencl_memory_new_from_fd (context, GST_OPENCL_HANDLE_OPAQUE_FD,
      ends[0], 4096, nullptr, nullptr, &error.error);
  expect (!made && error.error,
      "what is no memory is refused: " + (made ? "it was not" : error.text ()));
  if (made)
    gst_memory_unref (made);
  close (ends[0]);
  close (ends[1]);
}
} // namespace

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  try {
    Error error;
    const std::unique_ptr<GstOpenCLContext, decltype (&gst_object_unref)> context (
        gst_opencl_context_new (argc > 1 ? argv[1] : "gpu", &error.error),
        gst_object_unref);
    if (!context)
      throw std::runtime_error (error.text ());
    std::cout << "OpenCL   " << gst_opencl_context_get_device_name (context.get ())
              << "\nknows    " << extensions_of (context.get ()) << "\n";
    const Bytes uuid = uuid_of (context.get ());
    CudaMemory memory (wanted_size, uuid);
    std::cout << "CUDA     " << memory.device_name () << ", " << memory.size ()
              << " bytes" << (uuid.empty () ? "; the device has no UUID" : "") << "\n";
    expect (gst_opencl_context_get_import_types (context.get ())
                & GST_OPENCL_HANDLE_OPAQUE_FD,
        "the device imports opaque descriptors");
    try_one (context.get (), memory);
    try_many (context.get (), memory);
    try_errors (context.get ());
  } catch (const std::exception &exception) {
    expect (false, exception.what ());
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
