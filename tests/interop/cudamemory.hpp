/* Device memory of CUDA that has a file descriptor, by the driver alone: no toolkit
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/* Throws std::runtime_error with the call that failed. */
class CudaMemory {
public:
  /* On the device of that UUID, or on the first where `uuid` is empty; `size` is rounded up
   * to what CUDA gives out. */
  CudaMemory (size_t size, const std::vector<unsigned char> &uuid);
  ~CudaMemory ();
  CudaMemory (const CudaMemory &) = delete;
  CudaMemory &operator= (const CudaMemory &) = delete;

  size_t size () const { return bytes; }
  std::string device_name () const { return name; }
  /* A new one, which is the caller's to close. */
  int export_fd () const;

  void write (const std::vector<unsigned char> &values);
  std::vector<unsigned char> read () const;

private:
  size_t bytes = 0;
  std::string name;
  int device = 0;
  unsigned long long handle = 0, address = 0;
};
