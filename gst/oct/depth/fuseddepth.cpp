/* From raw spectra to depth in one launch: which form of it a device gets
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fuseddepth.hpp"

#include "depthparts.hpp"
#include "groupdepth.hpp"
#include "lanedepth.hpp"

namespace oct {
namespace {
struct Form {
  bool (*is_faster) (GstOpenCLContext *context, const FusedDepthFormat &format);
  std::unique_ptr<FusedDepth> (*make) (
      GstOpenCLContext *context, const FusedDepthFormat &format, GError **error);
};

const Form groups = {GroupDepth::is_faster, GroupDepth::make};
const Form lanes = {LaneDepth::is_faster, LaneDepth::make};

const Form &
form_of (GstOpenCLContext *context, const FusedDepthFormat &format)
{
  if (format.form == DepthForm::suiting)
    return opencl::is_cpu (context) ? lanes : groups;
  return format.form == DepthForm::lanes ? lanes : groups;
}
} // namespace

bool
FusedDepth::accepts (GstOpenCLContext *context, const FusedDepthFormat &format)
{
  return form_of (context, format).is_faster (context, format);
}

std::unique_ptr<FusedDepth>
FusedDepth::make (
    GstOpenCLContext *context, const FusedDepthFormat &format, GError **error)
{
  return form_of (context, format).make (context, format, error);
}
} // namespace oct
