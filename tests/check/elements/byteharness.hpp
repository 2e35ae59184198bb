/* Harness of a parser that takes bytes in blocks of any size
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../harness.hpp"

namespace check {
struct ByteHarness : Harness {
  using Harness::Harness;

  GstFlowReturn push (const std::string &bytes)
  {
    return Harness::push (gst_buffer_new_memdup (bytes.data (), bytes.size ()));
  }
  GstFlowReturn push_in_blocks (const std::string &bytes, gsize size)
  {
    GstFlowReturn flow = GST_FLOW_OK;
    for (gsize at = 0; flow == GST_FLOW_OK && at < bytes.size (); at += size)
      flow = push (bytes.substr (at, size));
    return flow;
  }
  void end () { send (gst_event_new_eos ()); }
};
} // namespace check
