/* gstreamer-opencl tests: a device that imports memory by file descriptor
 *
 * The machine's own device, in front of which stands what cl_khr_external_memory adds: what
 * a descriptor names is in a buffer from when it is acquired, and is the buffer's again when
 * it is released, as if it were the same memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <CL/cl.h>

namespace check {
/* Properties that every device reports during the lifetime of this object */
struct ImportingDevice {
  explicit ImportingDevice (const std::string &extensions =
                                "cl_khr_external_memory cl_khr_external_memory_opaque_fd "
                                "cl_khr_external_memory_dma_buf");
  ~ImportingDevice ();

  /* Counts for the buffers imported since then */
  unsigned imported () const;
  unsigned acquired () const;
  unsigned released () const;

  /* Error of the next call */
  void let_import_fail (cl_int code);
  void let_acquire_fail (cl_int code);
};

/* Memory that has a descriptor and is no dma_buf, but as much of one as can be mapped. */
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

/* How many this process has. */
unsigned open_descriptors ();
} // namespace check
