/* Reader of the protobuf wire format, and tensor data in files beside the model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>
#include <vector>

namespace inference {
/* Bytes of a message or string in the file. The file outlives it. */
struct WireBytes {
  const guint8 *data = nullptr;
  gsize size = 0;

  std::string text () const
  {
    return std::string (reinterpret_cast<const char *> (data), size);
  }
};

/* Iterates over the fields of one message:
 *   while (reader.next ())
 *     if (reader.field == 1) … */
class WireReader {
public:
  explicit WireReader (WireBytes message)
      : at (message.data), end (message.data + message.size)
  {
  }

  /* Returns false at the end of the message and after an error. */
  bool next ();
  bool failed () const { return is_broken; }

  guint32 field = 0;
  guint64 integer = 0; /* of varint, fixed64 and fixed32 fields: the bits */
  WireBytes bytes;     /* of length-delimited fields, else empty */

  /* The value of a fixed32 or fixed64 field */
  float as_float () const;
  gint64 as_signed () const { return gint64 (integer); }

  /* Append the values of a repeated field, which may be packed. */
  void append_to (std::vector<gint64> &values);
  void append_to (std::vector<float> &values);
  void append_to (std::vector<double> &values);

private:
  enum Type { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

  bool read_varint (guint64 &value);
  bool read_fixed (gsize size);
  bool fail ()
  {
    is_broken = true;
    return false;
  }
  template <typename Number> void append_fixed (std::vector<Number> &values);

  const guint8 *at, *end;
  guint32 type = varint;
  bool is_broken = false;
};

/* --- files of tensors beside an ONNX model --- */

/* Reads `size` bytes at `offset` of `location`, a path below `folder`. A path that leaves the
 * folder, also by a symbolic link, is an error. */
bool read_external_data (const std::string &folder, const std::string &location,
    guint64 offset, gsize size, std::string &data, GError **error);
} // namespace inference
