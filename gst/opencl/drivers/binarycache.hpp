/* Cache of compiled programs in files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <string>

namespace opencl {
/* Returns the SHA-256 in hexadecimal digits */
std::string checksum_of (const void *bytes, gsize size);

/* Returns the names and versions of platform, device and driver, as lines of text */
std::string identity_of (const cl::Device &device);

/* Keeps compiled programs for the next process, for drivers that do not do so themselves.
 * A file that is damaged or belongs to another driver, device or program is ignored and
 * replaced. A folder or file that another user may write is not used, since a driver trusts
 * programs. Without a usable folder every program is compiled. Programs with
 * -cl-kernel-arg-info are not kept. */
class BinaryCache {
public:
  static constexpr guint64 capacity = 64 << 20; /* bytes of all files */

  BinaryCache () = default; /* keeps nothing */
  explicit BinaryCache (const cl::Device &device);

  /* Returns an empty program if there is no usable file. */
  cl::Program load (const cl::Context &context, const std::string &source,
      const std::string &options) const;
  void store (const cl::Program &program, const std::string &source,
      const std::string &options) const;

private:
  bool keeps (const std::string &options) const;
  std::string key_of (const std::string &source, const std::string &options) const;
  std::string path_of (const std::string &key) const;
  void remove_oldest () const;

  cl::Device device;
  std::string folder;   /* empty: keeps nothing */
  std::string identity; /* of driver and device */
};
} // namespace opencl
