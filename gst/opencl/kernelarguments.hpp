/* The arguments of a kernel, set only when they change
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/opencl-hpp.hpp>

#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

namespace opencl {
/* Of one kernel, whose arguments nobody else sets. */
class KernelArguments {
public:
  /* `value` is of the very type that the kernel declares; a buffer is a cl_mem. */
  template <typename Argument>
  bool set (cl_kernel kernel, cl_uint index, const Argument &value, GError **error)
  {
    if (is_set (index, value))
      return true;
    if (!gst_opencl_check (clSetKernelArg (kernel, index, sizeof value, &value),
            "clSetKernelArg", error))
      return false;
    remember (index, value);
    return true;
  }

  /* They are another kernel's from now on. */
  void forget () { arguments.clear (); }

private:
  struct Bytes {
    gsize size = 0; /* 0: unknown */
    std::array<guint8, 16> value;
  };

  /* A kernel does not hold a buffer, so that another may come with the same handle. */
  template <typename Argument>
  static constexpr bool is_remembered =
      !std::is_pointer_v<Argument> && sizeof (Argument) <= sizeof (Bytes::value);

  template <typename Argument> bool is_set (cl_uint index, const Argument &value) const
  {
    if constexpr (is_remembered<Argument>)
      return index < arguments.size () && arguments[index].size == sizeof value
             && memcmp (arguments[index].value.data (), &value, sizeof value) == 0;
    return false;
  }

  template <typename Argument> void remember (cl_uint index, const Argument &value)
  {
    if (index >= arguments.size ())
      arguments.resize (index + 1);
    arguments[index].size = 0;
    if constexpr (is_remembered<Argument>) {
      arguments[index].size = sizeof value;
      memcpy (arguments[index].value.data (), &value, sizeof value);
    }
  }

  std::vector<Bytes> arguments;
};
} // namespace opencl
