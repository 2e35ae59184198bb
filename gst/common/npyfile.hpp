/* Arrays of NumPy: the header of a .npy file and the values behind it
 *
 * The format is that of numpy.lib.format (NEP 1), versions 1.0, 2.0 and 3.0, with all
 * numbers of a fixed size, in either order of bytes, in C order.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>
#include <gst/common/numbertype.hpp>
#include <memory>
#include <string>
#include <vector>

namespace opencl {

constexpr guint8 npy_magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

struct NpyHeader {
  /* As the file says it: "<f4". */
  std::string descr;
  /* Type of one value, or of each part of a complex value. A bool is a uint8. */
  NumberType type;
  bool complex = false;
  bool big_endian = false;
  /* Outermost dimension first; the last one is contiguous. Empty for a single value. */
  std::vector<gsize> shape;
  /* From the magic to the first value. */
  gsize data_offset;

  /* Bytes of one value, and of all; data_offset + data_size () fits into a gssize. */
  gsize value_size () const;
  gsize data_size () const;
};

/* How many bytes of a file npy_parse_header() needs, as far as the first `size` bytes
 * tell: ask again with that many. Where they are no header at all it needs no more than
 * these. */
gsize npy_header_size (const guint8 *data, gsize size);

/* Reads the header that `data` begins with. Values may follow; they are not looked at. */
gboolean npy_parse_header (
    const guint8 *data, gsize size, NpyHeader &header, GError **error);

/* A shape as Python writes it, for messages: (100, 1024). */
std::string npy_shape_text (const std::vector<gsize> &shape);

/* The header of a file alone. */
gboolean npy_load_header (const char *path, NpyHeader &header, GError **error);

/* A file as it is in memory, its values in the host's order of bytes. */
struct NpyArray {
  NpyHeader header;
  std::shared_ptr<guint8> contents; /* of the whole file */

  const guint8 *values () const { return contents.get () + header.data_offset; }
};

gboolean npy_load (const char *path, NpyArray &array, GError **error);

/* From big-endian to the host's order of bytes, or back. */
void npy_swap_bytes (guint8 *values, gsize size, gsize number_size);

/* A header of version 1.0, as NumPy writes it, for values in the host's order of bytes;
 * filled up so that its size stays the same whatever `shape[0]`. */
std::string npy_make_header (
    NumberType type, bool complex, const std::vector<gsize> &shape);

/* All values of a file, outermost dimension first. */
gboolean npy_load_doubles (const char *path, std::vector<double> &values,
    std::vector<gsize> &shape, GError **error);
gboolean npy_load_floats (const char *path, std::vector<float> &values,
    std::vector<gsize> &shape, GError **error);

/* Likewise of complex values, of pairs of doubles each; the innermost dimension of a file of
 * real ones is the 2 parts. `shape` is without it. */
gboolean npy_load_pairs (const char *path, std::vector<double> &values,
    std::vector<gsize> &shape, GError **error);

} // namespace opencl
