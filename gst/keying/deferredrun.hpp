/* A chain of keying steps that is deferred to the next element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "keyrunner.hpp"

#include <gst/opencl/elements/gstopencldeferral.h>

#include <memory>

G_BEGIN_DECLS

#define GST_TYPE_KEYING_DEFERRED_RUN (gst_keying_deferred_run_get_type ())
G_DECLARE_FINAL_TYPE (GstKeyingDeferredRun, gst_keying_deferred_run, GST,
    KEYING_DEFERRED_RUN, GstOpenCLDeferred)

G_END_DECLS

namespace keying {
/* Where a picture lies in its memory */
struct Place {
  gsize offset = 0; /* from the memory's own */
  gint stride = 0;
};

/* Whether `buffer` is of a single memory of this context */
bool is_of_context (GstBuffer *buffer, GstOpenCLContext *context);

/* False where `buffer` is not that, or does not hold such a picture as its caps say, which
 * is for the plain way to complain of. */
bool find_place (
    GstBuffer *buffer, const GstVideoInfo *info, GstOpenCLContext *context, Place *place);
} // namespace keying

/* Lets `run` produce the frame at `place` from `source`. */
GstKeyingDeferredRun *gst_keying_deferred_run_new (
    std::shared_ptr<keying::KeyRunner> runner, const keying::KeyRun &run,
    const GstOpenCLFrame *source, const keying::Place &place);

const keying::KeyRun &gst_keying_deferred_run_get_run (GstKeyingDeferredRun *deferred);
/* Returns a run for frames with the format and size of its source */
const std::shared_ptr<keying::KeyRunner> &gst_keying_deferred_run_get_runner (
    GstKeyingDeferredRun *deferred);
