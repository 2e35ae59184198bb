/* Writes small ONNX models for tests
 *
 * Encodes the messages of onnx.proto3 by hand, so that tests need no package for it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace check {
/* A message of protobuf */
class Message {
public:
  Message &number (uint32_t field, uint64_t value)
  {
    varint (field << 3);
    varint (value);
    return *this;
  }
  Message &text (uint32_t field, const std::string &value)
  {
    varint (field << 3 | 2);
    varint (value.size ());
    bytes += value;
    return *this;
  }
  Message &real (uint32_t field, float value)
  {
    varint (field << 3 | 5);
    bytes.append (reinterpret_cast<const char *> (&value), sizeof value);
    return *this;
  }

  std::string bytes;

private:
  void varint (uint64_t value)
  {
    for (; value > 127; value >>= 7)
      bytes += char (value | 128);
    bytes += char (value);
  }
};

struct OnnxAttribute {
  enum Kind { FLOAT = 1, INT = 2, STRING = 3, GRAPH = 5, INTS = 7, STRINGS = 8 };

  OnnxAttribute (const char *name, int64_t value) : message (begin (name, INT))
  {
    message.number (3, uint64_t (value));
  }
  OnnxAttribute (const char *name, int value) : OnnxAttribute (name, int64_t (value)) {}
  OnnxAttribute (const char *name, float value) : message (begin (name, FLOAT))
  {
    message.real (2, value);
  }
  OnnxAttribute (const char *name, const char *value) : message (begin (name, STRING))
  {
    message.text (4, value);
  }
  OnnxAttribute (const char *name, const std::vector<int64_t> &values)
      : message (begin (name, INTS))
  {
    for (const int64_t value : values)
      message.number (8, uint64_t (value));
  }

  OnnxAttribute (const char *name, const std::vector<std::string> &values)
      : message (begin (name, STRINGS))
  {
    for (const std::string &value : values)
      message.text (9, value);
  }
  /* OnnxModel::branch () */
  OnnxAttribute (const char *name, const Message &graph) : message (begin (name, GRAPH))
  {
    message.text (6, graph.bytes);
  }

  Message message;

private:
  static Message begin (const char *name, Kind kind)
  {
    return Message ().text (1, name).number (20, kind);
  }
};

/* Element types of ONNX */
constexpr int onnx_float = 1, onnx_uint8 = 2, onnx_int8 = 3, onnx_int32 = 6,
              onnx_int64 = 7;

class OnnxModel {
public:
  explicit OnnxModel (int64_t version = 13) : opset (version) {}

  OnnxModel &input (
      const std::string &name, const std::vector<int64_t> &shape, int type = onnx_float)
  {
    graph.text (11, port (name, shape, type));
    return *this;
  }
  OnnxModel &output (
      const std::string &name, const std::vector<int64_t> &shape, int type = onnx_float)
  {
    graph.text (12, port (name, shape, type));
    return *this;
  }
  OnnxModel &constant (const std::string &name, const std::vector<int64_t> &shape,
      const std::vector<float> &values)
  {
    return constant (name, shape, onnx_float,
        std::string (reinterpret_cast<const char *> (values.data ()),
            values.size () * sizeof (float)));
  }
  /* A constant of any element type */
  OnnxModel &constant (const std::string &name, const std::vector<int64_t> &shape,
      int type, const std::string &bytes)
  {
    Message tensor;
    for (const int64_t length : shape)
      tensor.number (1, uint64_t (length));
    tensor.number (2, uint64_t (type)).text (8, name).text (9, bytes);
    graph.text (5, tensor.bytes);
    return *this;
  }
  OnnxModel &constant (const std::string &name, const std::vector<int64_t> &values)
  {
    Message tensor;
    tensor.number (1, values.size ()).number (2, onnx_int64).text (8, name);
    tensor.text (9, std::string (reinterpret_cast<const char *> (values.data ()),
                        values.size () * sizeof (int64_t)));
    graph.text (5, tensor.bytes);
    return *this;
  }
  /* A tensor whose values are in another file, with further entries of their place */
  OnnxModel &external (const std::string &name, const std::vector<int64_t> &shape,
      const std::string &location,
      const std::vector<std::pair<std::string, std::string>> &entries = {})
  {
    Message tensor;
    for (const int64_t length : shape)
      tensor.number (1, uint64_t (length));
    tensor.number (2, onnx_float).text (8, name);
    tensor.text (13, Message ().text (1, "location").text (2, location).bytes);
    for (const auto &[key, value] : entries)
      tensor.text (13, Message ().text (1, key).text (2, value).bytes);
    tensor.number (14, 1);
    graph.text (5, tensor.bytes);
    return *this;
  }
  OnnxModel &node (const char *op, const std::vector<std::string> &inputs,
      const std::vector<std::string> &outputs,
      const std::vector<OnnxAttribute> &attributes = {}, const char *domain = "")
  {
    Message node;
    for (const std::string &name : inputs)
      node.text (1, name);
    for (const std::string &name : outputs)
      node.text (2, name);
    node.text (3, std::string (op) + "_" + std::to_string (nodes++)).text (4, op);
    for (const OnnxAttribute &attribute : attributes)
      node.text (5, attribute.message.bytes);
    node.text (7, domain);
    graph.text (1, node.bytes);
    return *this;
  }

  const Message &branch () const { return graph; }
  std::string bytes () const
  {
    return Message ()
        .number (1, 8)
        .text (7, graph.bytes)
        .text (8, Message ().text (1, "").number (2, uint64_t (opset)).bytes)
        .bytes;
  }

private:
  /* A length below 0 is unknown. */
  static std::string port (
      const std::string &name, const std::vector<int64_t> &shape, int type)
  {
    Message dimensions;
    for (const int64_t length : shape)
      dimensions.text (1, length < 0 ? Message ().text (2, "n").bytes
                                     : Message ().number (1, uint64_t (length)).bytes);
    Message tensor;
    tensor.number (1, uint64_t (type)).text (2, dimensions.bytes);
    return Message ()
        .text (1, name)
        .text (2, Message ().text (1, tensor.bytes).bytes)
        .bytes;
  }

  Message graph;
  int64_t opset;
  int nodes = 0;
};

/* A network that makes the red channel of a frame of 8 x 8 pixels its only output, 1x1x8x8 */
inline OnnxModel
red_matte_model ()
{
  OnnxModel model;
  model.input ("frame", {1, 3, 8, 8}).output ("matte", {1, 1, 8, 8});
  model.constant ("filter", {1, 3, 1, 1}, {1, 0, 0});
  model.node ("Conv", {"frame", "filter"}, {"matte"});
  return model;
}
} // namespace check
