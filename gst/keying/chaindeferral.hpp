/* Defers the steps of consecutive keying elements, to run all of them in one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "keychain.hpp"

#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

#include <functional>
#include <memory>

/* A chain that is deferred to the next element. */
#define GST_TYPE_KEYING_DEFERRED_CHAIN (gst_keying_deferred_chain_get_type ())
G_DECLARE_FINAL_TYPE (GstKeyingDeferredChain, gst_keying_deferred_chain, GST,
    KEYING_DEFERRED_CHAIN, GstOpenCLDeferred)

namespace keying {
/* Position of a frame in its memory */
struct Place {
  gsize offset = 0; /* relative to the offset of the memory */
  gint stride = 0;
};

/* Adds the steps of one element to the chain of the elements upstream, and defers the chain
 * to the element downstream. Called in the streaming thread. */
class ChainDeferral {
public:
  enum class Outcome {
    plain, /* nothing has been done */
    done,
    failed,
  };

  /* Sets the format of later frames. Pending chains keep their own kernel. */
  void set_format (GstOpenCLContext *context, const InputFormat &format);
  void close ();

  KeyChainKernel &kernel () { return *kernel_; }

  /* Returns TRUE if the self-check of chains passed. Otherwise warns. */
  static bool is_trusted (GstOpenCLFilter *filter);

  /* Defers `chain` from `input` to `output`, if the element downstream can merge it. */
  Outcome defer (GstOpenCLFilter *filter, const KeyChain &chain, GstBuffer *input,
      GstBuffer *output, GError **error);

  /* Defers a new chain that begins with the step that `add` adds. */
  Outcome begin (GstOpenCLFilter *filter, const std::function<bool (KeyChain &)> &add,
      GstBuffer *input, GstBuffer *output, GError **error);

  /* Adds a step by `add` to the pending chain of upstream. Defers the chain to
   * downstream, or else enqueues all of it in one launch with the event `event`. */
  GstOpenCLMergeResult merge (GstOpenCLFilter *filter,
      const std::function<bool (KeyChain &)> &add, GstOpenCLDeferred *pending,
      GstBuffer *output, cl_event *event, GError **error);

private:
  static void attach (GstOpenCLFilter *filter,
      const std::shared_ptr<KeyChainKernel> &kernel, const KeyChain &chain,
      const GstOpenCLFrame *source, GstBuffer *output, const Place &place);
  bool finish (GstOpenCLFilter *filter, GstOpenCLDeferred *pending, const KeyChain &chain,
      GstBuffer *output, cl_event *event, GError **error);

  std::shared_ptr<KeyChainKernel> kernel_;
};

/* Class functions of a keying element whose instances have the ChainDeferral `deferral`. `add`
 * (instance, chain) adds the element's steps. It returns false if it cannot. */
template <auto deferral, auto add> struct ChainElement;

template <typename Instance, ChainDeferral *Instance::*deferral, auto add>
struct ChainElement<deferral, add> {
  static auto adder (gpointer filter)
  {
    return [filter] (
               KeyChain &chain) { return add (static_cast<Instance *> (filter), chain); };
  }

  static gboolean can_merge (GstOpenCLFilter *filter)
  {
    KeyChain chain;
    return adder (filter) (chain);
  }

  static GstOpenCLMergeResult merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
      GstBuffer *output, cl_event *event, GError **error)
  {
    ChainDeferral *of = reinterpret_cast<Instance *> (filter)->*deferral;
    return of->merge (filter, adder (filter), pending, output, event, error);
  }

  static void install (GstOpenCLFilterClass *klass)
  {
    static const GstOpenCLDeferral functions = {
        gst_keying_deferred_chain_get_type, can_merge, merge};
    static const auto process = klass->process;
    gst_opencl_filter_class_set_deferral (klass, &functions);
    klass->process = [] (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
                         cl_event *event, GError **error) -> gboolean {
      ChainDeferral *of = reinterpret_cast<Instance *> (filter)->*deferral;
      const auto outcome = of->begin (filter, adder (filter), input, output, error);
      return outcome == ChainDeferral::Outcome::plain
                 ? process (filter, input, output, event, error)
                 : outcome == ChainDeferral::Outcome::done;
    };
  }
};
} // namespace keying
