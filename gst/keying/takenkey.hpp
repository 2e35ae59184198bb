/* The key that was taken from a picture, as the host learns of it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-hpp.hpp>
#include <gst/opencl/opencl-private.hpp>

#include <memory>

namespace keying {
/* Read back once after it was taken; who wants it at once waits. */
class TakenKey {
public:
  TakenKey () = default;
  TakenKey (const TakenKey &) = delete;
  ~TakenKey ();

  /* `key`: four bytes on the device, 0xAARRGGBB */
  bool read (cl_command_queue queue, cl_mem key, GError **error);

  bool is_under_way () const { return under_way () != nullptr; }

  /* Whether there is a key that was not told yet; `wait`: for one that is under way */
  bool tell (cl_command_queue queue, bool wait, guint *key);

private:
  bool wait ();

  cl::Event under_way; /* empty where nothing is read */
  std::unique_ptr<cl_uint> key = std::make_unique<cl_uint> (0);
};
} // namespace keying
