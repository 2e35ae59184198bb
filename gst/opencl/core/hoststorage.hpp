/* Storage of pinned host memory, which the device transfers without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/pinnedblock.hpp>
#include "storage.hpp"

namespace opencl {
class HostStorage : public Storage {
public:
  HostStorage (GstOpenCLContext *context, std::unique_ptr<PinnedBlock> block);
  ~HostStorage () override;

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override;
  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override;
  void invalidate () override;
  guint8 *map_sync (GstMapFlags access, GError **error) override;

  guint8 *data () const { return block->data (); }

private:
  std::unique_ptr<PinnedBlock> block;
};
} // namespace opencl
