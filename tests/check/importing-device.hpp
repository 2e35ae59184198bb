/* gstreamer-opencl tests: an OpenCL device that imports memory by file descriptor
 *
 * Adds cl_khr_external_memory to the machine's own device. Acquiring a buffer copies the
 * descriptor's memory into it, and releasing it copies back, as if both were the same
 * memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <CL/cl.h>

namespace check {
/* Makes every device report these extensions during the lifetime of this object. */
struct ImportingDevice {
  explicit ImportingDevice (const std::string &extensions =
                                "cl_khr_external_memory cl_khr_external_memory_opaque_fd "
                                "cl_khr_external_memory_dma_buf");
  ~ImportingDevice ();

  /* Numbers since this object was created */
  unsigned imported () const;
  unsigned acquired () const;
  unsigned released () const;

  /* Makes the next call return `code`. */
  void fail_import (cl_int code);
  void fail_acquire (cl_int code);
};

/* Memory with a file descriptor (memfd) in place of a dma_buf. It can be mapped like
 * one. */
class SharedPages {
public:
  explicit SharedPages (const Bytes &bytes);
  ~SharedPages ();
  SharedPages (const SharedPages &) = delete;

  int fd () const { return descriptor; }
  Bytes bytes () const;
  void fill (const Bytes &bytes);

private:
  int descriptor;
  gsize size;
};

/* Number of open file descriptors of this process */
unsigned open_descriptors ();
} // namespace check
