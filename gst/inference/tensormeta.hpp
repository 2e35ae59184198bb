/* Outputs of a network as metas of the frame: for opencltensordecoder, and as GstTensorMeta
 * where built with GStreamer 1.26
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "outputsmeta.hpp"

#include <memory>

namespace inference {
#ifdef HAVE_TENSOR_META
/* Adds the outputs, but for those of the state, to the field "tensors" of caps, by which
 * decoders negotiate (GStreamer 1.28). Does nothing without a group-id. */
void add_tensor_group (
    GstStructure *frame, const Model &model, const NetworkOptions &options);
#endif

class TensorMeta {
public:
  ~TensorMeta ();

  static std::unique_ptr<TensorMeta> create (GstOpenCLContext *context,
      const std::vector<Plan::Port> &outputs, const ModelInfo &info, OutputsFormat format,
      GError **error);

  /* Runs the network into buffers of the pools. They stay here until attach (). */
  bool run (Network &network, cl_command_queue queue, GError **error);
  /* Returns these buffers without the meta. */
  NetworkRun taken ();
  void attach (GstBuffer *frame);

private:
  struct Output {
    Plan::Port port;
    TensorInfo info;
    GstBufferPool *pool;
    GstBuffer *buffer; /* of the current frame, or NULL */
  };

  bool acquire (GError **error);
  void release ();

  std::vector<Output> outputs;
  std::shared_ptr<const OutputsFormat> format;
};
} // namespace inference
