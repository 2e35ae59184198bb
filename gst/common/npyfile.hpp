/* Reads .npy files of NumPy and makes their headers
 *
 * The format is numpy.lib.format (NEP 1), versions 1.0, 2.0 and 3.0. Arrays must be in C
 * order. All numbers of a fixed size are supported, in either byte order.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>
#include <gst/common/arrayformat.hpp>
#include <memory>
#include <string>
#include <vector>

namespace opencl {

constexpr guint8 npy_magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

struct NpyHeader {
  /* Type in NumPy's notation, such as "<f4"; the start of that of a record */
  std::string descr;
  /* Type of one value, or of each part of a complex value. A bool and the bytes of a
   * record are uint8. */
  NumberType type;
  bool complex = false;
  gsize record = 0; /* bytes of a record of a structured type, else 0 */
  bool big_endian = false;
  /* Outermost dimension first; the last one is contiguous. Empty for a single value. */
  std::vector<gsize> shape;
  /* Bytes from the start of the file to the first value */
  gsize data_offset;

  /* Bytes of one value, and of all values. data_offset + data_size () fits into a
   * gssize. */
  gsize value_size () const;
  gsize data_size () const;
};

/* Returns the number of bytes that npy_parse_header() needs, as far as the first `size`
 * bytes tell. If it exceeds `size`, call again with that many bytes. It is at most 8 for
 * a file that is not a .npy file. */
gsize npy_header_size (const guint8 *data, gsize size);

enum class NpyRecords { REFUSE, TAKE };

/* Parses the header at the start of `data`. Values may follow; they are ignored. */
gboolean npy_parse_header (const guint8 *data, gsize size, NpyHeader &header,
    GError **error, NpyRecords records = NpyRecords::REFUSE);

/* A shape as Python writes it, for messages: (100, 1024). */
std::string npy_shape_text (const std::vector<gsize> &shape);

/* Reads only the header of a file. */
gboolean npy_load_header (const char *path, NpyHeader &header, GError **error);

/* Contents of a file, with its values in the host's byte order */
struct NpyArray {
  NpyHeader header;
  std::shared_ptr<guint8> contents; /* the whole file */

  const guint8 *values () const { return contents.get () + header.data_offset; }
};

gboolean npy_load (const char *path, NpyArray &array, GError **error,
    NpyRecords records = NpyRecords::REFUSE);

/* Converts between big-endian and the host's byte order, in place. */
void npy_swap_bytes (guint8 *values, gsize size, gsize number_size);

/* Returns a header of version 1.0, as NumPy writes it, for values in the host's byte
 * order. It is padded so that its size does not depend on `shape[0]`. */
std::string npy_make_header (
    NumberType type, bool complex, const std::vector<gsize> &shape);

/* Loads all values of a file, outermost dimension first. */
gboolean npy_load_doubles (const char *path, std::vector<double> &values,
    std::vector<gsize> &shape, GError **error);
gboolean npy_load_floats (const char *path, std::vector<float> &values,
    std::vector<gsize> &shape, GError **error);

/* Loads complex values as pairs of doubles. A file of real values must have an innermost
 * dimension of 2, for the real and imaginary parts. `shape` is without that dimension. */
gboolean npy_load_pairs (const char *path, std::vector<double> &values,
    std::vector<gsize> &shape, GError **error);

} // namespace opencl
