/* Description of a model's inputs in a file beside it, as GStreamer's onnxinference reads it
 *
 * MODEL.modelinfo is a key file with a group for each tensor:
 *   [NAME]
 *   dir=input
 *   type=float32
 *   dims=1,3,224,224        -1: any length
 *   ranges=0.0,255.0        or one minimum,maximum for each channel, with ; between them
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
};

/* Reads `file`. A file that does not exist gives no entries. */
bool load_model_info (
    const std::string &file, std::vector<TensorInfo> &entries, GError **error);
} // namespace inference
