/* An element's part in runs over several elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "deferredrun.hpp"

#include <functional>

namespace keying {
/* Of a filter, which it is asked by in the streaming thread */
class RunMember {
public:
  enum class Outcome {
    plain, /* nothing has been done */
    done,
    failed,
  };

  /* For frames of these caps; what is pending by now keeps what it needs. */
  void set_format (GstOpenCLContext *context, const GstVideoInfo *info);
  void close ();

  /* In decide_allocation, before the parent class takes downstream's answer out */
  void ask_downstream (GstQuery *allocation);
  /* In propose_allocation: upstream may leave its runs to this element. */
  static void offer (GstQuery *allocation);

  KeyRunner &runner () { return *runner_; }

  /* Leaves `run` from `input` to `output` to downstream, if that takes it. */
  Outcome leave (GstOpenCLFilter *filter, const KeyRun &run, GstBuffer *input,
      GstBuffer *output, GError **error);

  /* What `add` adds to what upstream has left, or to a run that begins here, is left to
   * downstream or else done in one launch, whose event is `event`. It is plain where a
   * run would begin and end here. */
  Outcome take_part (GstOpenCLFilter *filter, const std::function<bool (KeyRun &)> &add,
      GstBuffer *input, GstBuffer *output, cl_event *event, GError **error);

private:
  void attach (const KeyRun &run, const GstOpenCLFrame *source, GstBuffer *output,
      const Place &place);
  Outcome finish (GstOpenCLFilter *filter, GstKeyingDeferredRun *pending,
      const KeyRun &run, GstBuffer *output, cl_event *event, GError **error);

  std::shared_ptr<KeyRunner> runner_;
  bool defers_ = false;
};
} // namespace keying
