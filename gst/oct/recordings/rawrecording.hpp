/* Recording that contains only samples, after an optional header
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "recording.hpp"

namespace oct {
class RawRecording : public Recording {
public:
  explicit RawRecording (const RawLayout &layout);

  /* Needs the size of the source. */
  bool open (std::shared_ptr<ByteSource> source, GError **error) override;
  bool read (guint64 frame, guint8 *bytes, GError **error) override;
  bool check_end (GError **error) override;

private:
  std::shared_ptr<ByteSource> source;
  RawLayout whole;
};

/* Fails if a recording of this size does not end with a whole frame. */
bool check_raw_size (const RawLayout &layout, guint64 bytes, GError **error);
} // namespace oct
