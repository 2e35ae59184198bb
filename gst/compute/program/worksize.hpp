/* Number of work-items and work-groups of a kernel, and the properties that set them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <functional>
#include <string>
#include <vector>

namespace compute {
/* Finds a length by its name, such as "width". */
using FindLength = std::function<bool (const std::string &name, gsize &value)>;

/* Reads one to three sizes, such as "width/4,(height+15)/16". `property` is for the error.
 * An empty text gives no sizes. */
bool parse_sizes (const char *property, const std::string &text, const FindLength &find,
    std::vector<gsize> &sizes, GError **error);

class WorkSize {
public:
  WorkSize () = default;
  WorkSize (GstOpenCLContext *context, cl_kernel kernel, const std::string &kernel_name)
      : context (context), kernel (kernel), kernel_name (kernel_name)
  {
  }

  /* Checks the sizes against the kernel and the device, and chooses work-groups if `local`
   * is empty. If the kernel `checks_size`, work-groups of any size fit. */
  bool choose_sizes (std::vector<gsize> global, std::vector<gsize> local,
      bool checks_size, GError **error);

  std::vector<gsize> global, local; /* local: empty for the device's own */

private:
  template <typename Info>
  bool info (cl_kernel_work_group_info what, Info &info, GError **error) const;
  bool take_required_groups (GError **error);
  void choose_groups ();
  void choose_rows ();
  std::vector<gsize> max_sizes (GError **error) const;
  bool check_groups (GError **error) const;

  GstOpenCLContext *context = nullptr;
  cl_kernel kernel = nullptr;
  std::string kernel_name;
};
} // namespace compute
