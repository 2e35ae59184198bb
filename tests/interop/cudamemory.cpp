/* Device memory of CUDA that has a file descriptor, by the driver alone: no toolkit
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "cudamemory.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>

namespace {
/* As in cuda.h, of which nothing is needed to build. */
constexpr int pinned = 1, on_device = 1, posix_descriptor = 1, read_and_write = 3;

struct Location {
  int type, id;
};
struct Allocation {
  int type, handle_types;
  Location location;
  void *windows;
  unsigned char flags[8];
};
struct Access {
  Location location;
  int flags;
};

/* A call of libcuda, which fails by exception. */
template <typename... Arguments>
void
call (const char *name, Arguments... arguments)
{
  static void *const driver = dlopen ("libcuda.so.1", RTLD_NOW);
  if (!driver)
    throw std::runtime_error (dlerror ());
  auto function = reinterpret_cast<int (*) (Arguments...)> (dlsym (driver, name));
  if (!function)
    throw std::runtime_error (dlerror ());
  if (const int code = function (arguments...))
    throw std::runtime_error (std::string (name) + " failed: " + std::to_string (code));
}

int
find_device (const std::vector<unsigned char> &uuid)
{
  int n = 0, device = 0;
  call ("cuDeviceGetCount", &n);
  for (int i = 0; i < n && !uuid.empty (); i++) {
    unsigned char found[16];
    call ("cuDeviceGet", &device, i);
    call ("cuDeviceGetUuid", found, device);
    if (std::equal (uuid.begin (), uuid.end (), found, found + 16))
      return device;
  }
  call ("cuDeviceGet", &device, 0);
  return device;
}
} // namespace

CudaMemory::CudaMemory (size_t size, const std::vector<unsigned char> &uuid)
{
  void *context = nullptr;
  char text[256] = "";
  size_t unit = 0;

  call ("cuInit", 0u);
  device = find_device (uuid);
  call ("cuDeviceGetName", text, int (sizeof text), device);
  name = text;
  call ("cuDevicePrimaryCtxRetain", &context, device);
  call ("cuCtxSetCurrent", context);

  const Location here = {on_device, device};
  const Allocation wanted = {pinned, posix_descriptor, here, nullptr, {}};
  const Access access = {here, read_and_write};
  call ("cuMemGetAllocationGranularity", &unit, &wanted, 0);
  bytes = (size + unit - 1) / unit * unit;
  call ("cuMemCreate", &handle, bytes, &wanted, 0ull);
  call ("cuMemAddressReserve", &address, bytes, size_t (0), 0ull, 0ull);
  call ("cuMemMap", address, bytes, size_t (0), handle, 0ull);
  call ("cuMemSetAccess", address, bytes, &access, size_t (1));
}

CudaMemory::~CudaMemory ()
{
  try {
    call ("cuMemUnmap", address, bytes);
    call ("cuMemAddressFree", address, bytes);
    call ("cuMemRelease", handle);
    call ("cuDevicePrimaryCtxRelease_v2", device);
  } catch (const std::runtime_error &) { /* the process ends soon */
  }
}

int
CudaMemory::export_fd () const
{
  int fd = -1;
  call ("cuMemExportToShareableHandle", &fd, handle, posix_descriptor, 0ull);
  return fd;
}

void
CudaMemory::write (const std::vector<unsigned char> &values)
{
  call ("cuMemcpyHtoD_v2", address, static_cast<const void *> (values.data ()),
      values.size ());
  call ("cuCtxSynchronize");
}

std::vector<unsigned char>
CudaMemory::read () const
{
  std::vector<unsigned char> values (bytes);
  call ("cuMemcpyDtoH_v2", static_cast<void *> (values.data ()), address, bytes);
  return values;
}
