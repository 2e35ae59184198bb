/* OpenCL's C++ bindings, for RAII inside the library
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <gst/opencl/base/gstopenclcheck.h>

namespace opencl {
/* Result of a wait that exceeded GST_OPENCL_TIMEOUT (no OpenCL error code) */
constexpr cl_int no_answer = -99999;

/* Another reference to an object, empty where the driver refuses one. A wrapper's copy would
 * not tell, and release what it does not hold: OpenCL objects are moved, or shared by
 * std::shared_ptr, and this is for those of others. */
template <typename Wrapper>
Wrapper
retained (typename Wrapper::cl_type object, GError **error)
{
  using Handler = cl::detail::ReferenceHandler<typename Wrapper::cl_type>;
  return gst_opencl_check (Handler::retain (object), "clRetain", error) ? Wrapper (object)
                                                                        : Wrapper ();
}
} // namespace opencl
