/* A folder with a model, and openclinference in a harness that reads it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "folder.hpp"
#include "harness.hpp"
#include "onnxmodel.hpp"

#define DEVICE "(memory:OpenCLMemory)"

namespace check {
constexpr int onnx_half = 10;

/* The input "x" of a network as its output "y" */
inline OnnxModel
copying_model (const std::vector<int64_t> &shape, int type = onnx_float)
{
  OnnxModel model;
  model.input ("x", shape, type).output ("y", shape, type);
  model.node ("Identity", {"x"}, {"y"});
  return model;
}

inline std::string
caps_of (const char *format, int width, int height)
{
  return text ("video/x-raw" DEVICE ",format=%s,width=%d,height=%d,framerate=25/1",
      format, width, height);
}

/* A folder with a model, before the element that reads it */
struct WithModel {
  explicit WithModel (const OnnxModel &model)
      : file (folder.write ("net.onnx", model.bytes ()))
  {
  }
  Folder folder;
  std::string file;
};

class InferenceHarness : WithModel, public Harness {
public:
  InferenceHarness (
      const OnnxModel &model, const std::string &properties, const std::string &caps)
      : WithModel (model),
        Harness ("openclinference model-file=" + file + " " + properties, caps)
  {
  }

  const std::string &model_file () const { return file; }
};
} // namespace check
