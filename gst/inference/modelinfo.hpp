/* Description of a model's inputs and outputs in a file beside it, as GStreamer's
 * onnxinference reads it
 *
 * MODEL.modelinfo is a key file with a group for each tensor:
 *   [modelinfo]
 *   version=1.0
 *   group-id=ssd-out        of the outputs together
 *   [NAME]
 *   dir=input
 *   type=float32
 *   dims=1,3,224,224        -1: any length
 *   ranges=0.0,255.0        or one minimum,maximum for each channel, with ; between them
 *   id=ssd-out-boxes        of an output, by which decoders find it
 *   dims-order=row-major    or col-major, which decoders of YOLO ask for
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "model/array.hpp"

namespace inference {
struct TensorInfo {
  std::string name;
  bool is_input = false;
  std::string type;
  Shape dims;
  std::vector<std::pair<double, double>> ranges; /* of the values that 0 and 255 become */
  std::string id, order = "row-major";
};

struct ModelInfo {
  std::string group; /* empty without one */
  std::vector<TensorInfo> tensors;

  /* Without an id in the file, the name is the id. */
  TensorInfo named (const std::string &name) const;
};

/* Reads `file`. A file that does not exist gives no entries. */
bool load_model_info (const std::string &file, ModelInfo &info, GError **error);
} // namespace inference
