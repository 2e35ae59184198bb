/* Adds an element's step to a chain of keying elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "deferredrun.hpp"

#include <functional>

namespace keying {
/* Part of a filter. The filter calls it in the streaming thread. */
class RunMember {
public:
  enum class Outcome {
    plain, /* nothing has been done */
    done,
    failed,
  };

  /* For frames of these caps; what is pending by now keeps what it needs. */
  void set_format (GstOpenCLContext *context, const InputFormat &format);
  void close ();

  KeyRunner &runner () { return *runner_; }

  /* Whether the self-check has found that runs are keyed right. */
  static bool is_trusted (GstOpenCLFilter *filter);

  /* Leaves `run` from `input` to `output` to downstream, if that takes it. */
  Outcome leave (GstOpenCLFilter *filter, const KeyRun &run, GstBuffer *input,
      GstBuffer *output, GError **error);

  /* Leaves the run that begins with what `add` adds, likewise. */
  Outcome begin (GstOpenCLFilter *filter, const std::function<bool (KeyRun &)> &add,
      GstBuffer *input, GstBuffer *output, GError **error);

  /* Adds a step by `add` to the pending run of upstream. Leaves the run pending for
   * downstream, or else enqueues all of it in one launch with the event `event`. */
  GstOpenCLTakenUp take_up (GstOpenCLFilter *filter,
      const std::function<bool (KeyRun &)> &add, GstOpenCLDeferred *pending,
      GstBuffer *output, cl_event *event, GError **error);

private:
  static void attach (GstOpenCLFilter *filter, const std::shared_ptr<KeyRunner> &runner,
      const KeyRun &run, const GstOpenCLFrame *source, GstBuffer *output,
      const Place &place);
  bool finish (GstOpenCLFilter *filter, GstOpenCLDeferred *pending, const KeyRun &run,
      GstBuffer *output, cl_event *event, GError **error);

  std::shared_ptr<KeyRunner> runner_;
};
} // namespace keying
