/* Tests that kernels need no more local memory than the device has. Output is the same
 * with 32 KiB, the minimum of OpenCL, and for many elements with half of that.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"

using namespace check;

namespace {
/* Returns the bytes of a frame; an error fails the test. */
std::string
frame_of (const std::string &elements)
{
  const Folder folder;
  const std::string file = folder.file ("frame");
  Outcome outcome =
      run ("videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=RGBA,width=200,"
           "height=150 ! openclupload ! "
           + elements + " ! opencldownload ! filesink location=" + file);
  fail_unless (outcome.eos && outcome.errors.empty (), "%s: %s", elements.c_str (),
      outcome.line ().c_str ());
  return contents_of (file);
}

void
check_fits (const std::string &elements, cl_ulong least = 16384)
{
  const std::string right = frame_of (elements);
  for (cl_ulong size = 32768; size >= least; size /= 2) {
    counting::override_device_info (CL_DEVICE_LOCAL_MEM_SIZE, &size, sizeof size);
    fail_unless (frame_of (elements) == right, "%s with %u bytes of local memory",
        elements.c_str (), guint (size));
    counting::restore_device_info ();
  }
}
} // namespace

TEST (test_flowkey_fits_into_local_memory)
{
  for (const char *iterations : {"0", "3", "32", "33", "50", "1000"})
    check_fits (std::string ("chromakey ! flowkey iterations=") + iterations);
}

TEST (test_noisereduce_fits_into_local_memory)
{
  for (const char *iterations : {"5", "50", "300"})
    check_fits (std::string ("chromakey ! noisereduce iterations=") + iterations);
}

TEST (test_runs_fit_into_local_memory)
{
  check_fits ("chromakey ! noisereduce ! flowkey limit=0.5 iterations=20");
}

/* Kernels for GPUs */
void
check_fits_as_gpu (const std::string &elements)
{
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  counting::override_device_info (CL_DEVICE_TYPE, &gpu, sizeof gpu);
  const std::string right = frame_of (elements);
  for (cl_ulong size : {32768, 16384}) {
    counting::override_device_info (CL_DEVICE_LOCAL_MEM_SIZE, &size, sizeof size);
    fail_unless (frame_of (elements) == right, "%s with %u bytes of local memory",
        elements.c_str (), guint (size));
  }
  counting::restore_device_info ();
}

/* A CPU uses tiles of another size instead of local memory. */
TEST (test_soft_keys_are_the_same_on_a_cpu_and_a_gpu)
{
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  for (const char *options : {"method=chroma spill=1", "method=chroma refine=false",
           "method=difference spill=0.5 key-color=0xff208030",
           "method=difference refine=false core=false plate=none"}) {
    const std::string elements = std::string ("chromakey ") + options;
    const std::string one = frame_of (elements);
    counting::override_device_info (CL_DEVICE_TYPE, &gpu, sizeof gpu);
    const std::string other = frame_of (elements);
    counting::restore_device_info ();
    int largest = 0;
    for (size_t n = 0; n < one.size (); n++)
      largest = std::max (largest, abs (guint8 (one[n]) - guint8 (other[n])));
    fail_unless (one.size () == other.size () && largest <= 1, "%s: off by %d",
        elements.c_str (), largest);
  }
}

TEST (test_soft_keys_fit_into_local_memory)
{
  check_fits_as_gpu ("chromakey method=chroma spill=1");
  check_fits_as_gpu ("chromakey method=difference auto-key=rectangle");
  check_fits ("chromakey ! splashkey");
}
