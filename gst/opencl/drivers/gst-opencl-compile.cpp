/* gst-opencl-compile: fills PoCL's kernel cache in a separate process
 *
 * gst-opencl-compile PLATFORM DEVICE KERNEL X Y Z OPTIONS PARENT < SOURCE: builds SOURCE and
 * launches one work-group of X x Y x Z work-items, because PoCL compiles a kernel at its
 * first launch. The kernel's arguments are zeros and buffers of zeros. PLATFORM and
 * DEVICE are counted from 0. It ends with the process PARENT.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/platform.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {
const size_t memory_bytes = 16 << 20; /* more than a kernel reads of empty frames */
const size_t local_bytes = 1024;

bool
find_device (size_t platform, size_t device, cl::Device &found)
{
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  if (cl::Platform::get (&platforms) != CL_SUCCESS || platform >= platforms.size ()
      || platforms[platform].getDevices (CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS
      || device >= devices.size ())
    return false;
  found = devices[device];
  return true;
}

/* Tries several sizes, because OpenCL does not tell the size of an argument. */
bool
set_number (const cl::Kernel &kernel, cl_uint index)
{
  const char zeros[128] = {};
  for (size_t size = 1; size <= sizeof zeros; size *= 2) {
    if (clSetKernelArg (kernel (), index, size, zeros) == CL_SUCCESS)
      return true;
  }
  return false;
}

bool
set_argument (cl::Kernel &kernel, cl_uint index, const cl::Buffer &memory)
{
  cl_int code;
  switch (kernel.getArgInfo<CL_KERNEL_ARG_ADDRESS_QUALIFIER> (index, &code)) {
  case CL_KERNEL_ARG_ADDRESS_GLOBAL:
  case CL_KERNEL_ARG_ADDRESS_CONSTANT:
    return kernel.setArg (index, memory) == CL_SUCCESS;
  case CL_KERNEL_ARG_ADDRESS_LOCAL:
    return kernel.setArg (index, local_bytes, nullptr) == CL_SUCCESS;
  default:
    return set_number (kernel, index);
  }
}

bool
launch (const cl::Context &context, const cl::Device &device, cl::Kernel &kernel,
    const cl::NDRange &group)
{
  const std::vector<char> zeros (memory_bytes);
  cl_int code;
  cl::Buffer memory (context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, zeros.size (),
      const_cast<char *> (zeros.data ()), &code);
  if (code != CL_SUCCESS)
    return false;
  cl_uint arguments = 0;
  if (kernel.getInfo (CL_KERNEL_NUM_ARGS, &arguments) != CL_SUCCESS)
    return false;
  for (cl_uint index = 0; index < arguments; index++) {
    if (!set_argument (kernel, index, memory))
      return false;
  }
  cl::CommandQueue queue (context, device, 0, &code);
  return code == CL_SUCCESS
         && queue.enqueueNDRangeKernel (kernel, cl::NullRange, group, group) == CL_SUCCESS
         && queue.finish () == CL_SUCCESS;
}

bool
compile (const cl::Device &device, const char *name, const cl::NDRange &group,
    const char *options, const std::string &source)
{
  cl_int code;
  cl::Context context (device, nullptr, nullptr, nullptr, &code);
  if (code != CL_SUCCESS)
    return false;
  cl::Program program (context, source, false, &code);
  if (code != CL_SUCCESS || program.build ({device}, options) != CL_SUCCESS)
    return false;
  cl::Kernel kernel (program, name, &code);
  return code == CL_SUCCESS && launch (context, device, kernel, group);
}

size_t
number_of (const char *text)
{
  return std::strtoul (text, nullptr, 10);
}
} // namespace

int
main (int count, char **arguments)
{
  cl::Device device;
  if (count != 9) {
    std::cerr << "expected PLATFORM DEVICE KERNEL X Y Z OPTIONS PARENT\n";
    return 2;
  }
  opencl::end_with_parent (arguments[8]);
  opencl::lower_priority ();
  const std::string source (std::istreambuf_iterator<char> (std::cin), {});
  const cl::NDRange group (
      number_of (arguments[4]), number_of (arguments[5]), number_of (arguments[6]));
  return find_device (number_of (arguments[1]), number_of (arguments[2]), device)
                 && compile (device, arguments[3], group, arguments[7], source)
             ? 0
             : 1;
}
