/* Depths that a filter defers to a directly following octdisplay
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/pendingwork.hpp"
#include "display.hpp"

namespace oct {
class PendingDepths {
public:
  static constexpr const char *type_name = "GstOctDeferredDepths";

  virtual ~PendingDepths () = default;

  /* Writes all depths to `data` from byte `offset` on. */
  virtual bool write (
      cl_command_queue queue, cl_mem data, gsize offset, GError **error) = 0;
  /* Writes the image that `display` would make of the depths, instead of the depths. */
  virtual bool write_image (Display &display, cl_command_queue queue,
      const DepthOutput &image, GError **error) = 0;
};

using DeferredDepths = PendingWork<PendingDepths>;
} // namespace oct
