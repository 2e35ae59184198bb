/* gstreamer-opencl tests: an OpenCL device that imports memory by file descriptor
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "importing-device.hpp"

#include "opencl-counting.hpp"
#include "tests/faults/realopencl.hpp"

#include <CL/cl_ext.h>
#include <atomic>
#include <dirent.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {
std::atomic<unsigned> n_imported{0}, n_acquired{0}, n_released{0};
std::atomic<cl_int> import_code{CL_SUCCESS}, acquire_code{CL_SUCCESS};

/* Permanent mapping of a descriptor: a test may end before the device has used it, and
 * a buffer before its commands have run. Event callbacks could end the mappings, but
 * with them NVIDIA's driver was seen to deadlock: its callback thread and the thread
 * that releases a buffer waited for each other. */
struct Mapping {
  void *bytes;
  size_t size;
};

/* Never destroyed */
std::mutex lock;
auto &mappings = *new std::map<cl_mem, Mapping>; /* of all imports so far */
auto &held = *new std::set<cl_mem>;              /* acquired buffers */

using Copy = cl_int (*) (cl_command_queue queue, cl_mem buffer, const Mapping &mapping);

/* Shared memory is copied at acquire and at release: a device with memory of its own
 * promises no more than that. */
cl_int
enqueue (cl_command_queue queue, const std::vector<Mapping> &of, const cl_mem *buffers,
    cl_uint n_waits, const cl_event *waits, cl_event *event, Copy copy)
{
  cl_int code = n_waits > 0
                    ? clEnqueueBarrierWithWaitList (queue, n_waits, waits, nullptr)
                    : CL_SUCCESS;
  for (size_t i = 0; i < of.size () && code == CL_SUCCESS; i++)
    code = copy (queue, buffers[i], of[i]);
  return code == CL_SUCCESS ? clEnqueueMarkerWithWaitList (queue, 0, nullptr, event)
                            : code;
}

/* Calls `step` for each buffer. Returns false if `step` rejects one, which is acquired or
 * released out of turn. */
template <typename Step>
bool
update_each (cl_uint n, const cl_mem *buffers, std::vector<Mapping> &of, Step step)
{
  std::lock_guard<std::mutex> guard (lock);
  for (cl_uint i = 0; i < n; i++) {
    if (!step (buffers[i]))
      return false;
    of.push_back (mappings.at (buffers[i]));
  }
  return true;
}

cl_int CL_API_CALL
acquire (cl_command_queue queue, cl_uint n, const cl_mem *buffers, cl_uint n_waits,
    const cl_event *waits, cl_event *event)
{
  if (const cl_int failure = acquire_code.exchange (CL_SUCCESS))
    return failure;
  std::vector<Mapping> of;
  if (!update_each (n, buffers, of, [] (cl_mem of) { return held.insert (of).second; }))
    return CL_INVALID_OPERATION;
  n_acquired += n;
  return enqueue (queue, of, buffers, n_waits, waits, event,
      [] (cl_command_queue queue, cl_mem buffer, const Mapping &mapping) {
        return clEnqueueWriteBuffer (
            queue, buffer, CL_FALSE, 0, mapping.size, mapping.bytes, 0, nullptr, nullptr);
      });
}

cl_int CL_API_CALL
release (cl_command_queue queue, cl_uint n, const cl_mem *buffers, cl_uint n_waits,
    const cl_event *waits, cl_event *event)
{
  std::vector<Mapping> of;
  if (!update_each (n, buffers, of, [] (cl_mem of) { return held.erase (of) > 0; }))
    return CL_INVALID_OPERATION;
  n_released += n;
  return enqueue (queue, of, buffers, n_waits, waits, event,
      [] (cl_command_queue queue, cl_mem buffer, const Mapping &mapping) {
        return clEnqueueReadBuffer (
            queue, buffer, CL_FALSE, 0, mapping.size, mapping.bytes, 0, nullptr, nullptr);
      });
}

bool
is_of_this_device (const cl_ulong *properties, int &fd)
{
  fd = int (properties[1]);
  return (properties[0] == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
             || properties[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
         && properties[2] == 0x2051 /* CL_MEM_DEVICE_HANDLE_LIST_KHR */ && properties[3]
         && properties[4] == 0 && properties[5] == 0;
}

/* Memory of Mesa's Vulkan on a CPU begins with the size of its file and the offset of its
 * contents. */
off_t
start_of (int fd)
{
  size_t header[2] = {};
  const ssize_t read = pread (fd, header, sizeof header, 0);
  return read == sizeof header && off_t (header[0]) == lseek (fd, 0, SEEK_END)
             ? off_t (header[1])
             : 0;
}
} // namespace

extern "C" {
/* A successful import takes ownership of the descriptor. */
cl_mem
clCreateBufferWithProperties (cl_context context, const cl_ulong *properties,
    cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
  int fd;
  *code = import_code.exchange (CL_SUCCESS);
  if (*code == CL_SUCCESS && (host || !is_of_this_device (properties, fd)))
    *code = CL_INVALID_PROPERTY;
  if (*code != CL_SUCCESS)
    return nullptr;
  const Mapping mapping{
      mmap (nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start_of (fd)), size};
  if (mapping.bytes == MAP_FAILED) {
    *code = CL_INVALID_VALUE;
    return nullptr;
  }
  close (fd);
  cl_mem buffer = clCreateBuffer (context, flags, size, nullptr, code);
  fail_unless (buffer != nullptr);
  std::lock_guard<std::mutex> guard (lock);
  mappings[buffer] = mapping;
  n_imported++;
  return buffer;
}

void *
clGetExtensionFunctionAddressForPlatform (cl_platform_id platform, const char *name)
{
  if (g_str_equal (name, "clEnqueueAcquireExternalMemObjectsKHR"))
    return reinterpret_cast<void *> (acquire);
  if (g_str_equal (name, "clEnqueueReleaseExternalMemObjectsKHR"))
    return reinterpret_cast<void *> (release);
  return REAL (clGetExtensionFunctionAddressForPlatform) (platform, name);
}
}

namespace check {
ImportingDevice::ImportingDevice (const std::string &extensions)
{
  n_imported = n_acquired = n_released = 0;
  counting::override_device_info (
      CL_DEVICE_EXTENSIONS, extensions.c_str (), extensions.size () + 1);
}

ImportingDevice::~ImportingDevice ()
{
  counting::restore_device_info ();
}

unsigned
ImportingDevice::imported () const
{
  return n_imported;
}

unsigned
ImportingDevice::acquired () const
{
  return n_acquired;
}

unsigned
ImportingDevice::released () const
{
  return n_released;
}

void
ImportingDevice::fail_import (cl_int code)
{
  import_code = code;
}

void
ImportingDevice::fail_acquire (cl_int code)
{
  acquire_code = code;
}

SharedPages::SharedPages (const Bytes &bytes)
    : descriptor (memfd_create ("pages", MFD_CLOEXEC)), size (bytes.size ())
{
  fail_unless (descriptor >= 0);
  fill (bytes);
}

SharedPages::~SharedPages ()
{
  close (descriptor);
}

Bytes
SharedPages::bytes () const
{
  Bytes read (size);
  fail_unless (pread (descriptor, read.data (), size, 0) == gssize (size));
  return read;
}

void
SharedPages::fill (const Bytes &bytes)
{
  fail_unless (pwrite (descriptor, bytes.data (), size, 0) == gssize (size));
}

unsigned
open_descriptors ()
{
  unsigned n = 0;
  DIR *folder = opendir ("/proc/self/fd");
  fail_unless (folder != nullptr);
  while (readdir (folder))
    n++;
  closedir (folder);
  return n;
}
} // namespace check
