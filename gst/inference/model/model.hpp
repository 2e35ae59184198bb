/* A network as its ONNX file describes it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "array.hpp"

#include <map>
#include <optional>
#include <set>

namespace inference {
struct Body;

struct Attribute {
  gint64 integer = 0;
  float number = 0;
  std::string text;
  std::vector<gint64> integers;
  std::vector<float> numbers;
  std::vector<std::string> texts;
  std::optional<Array> array;
  std::shared_ptr<const Body> graph; /* (nullable) */
};

struct Node {
  std::string name, op;
  std::string domain;                       /* empty for ONNX's own operators */
  std::vector<std::string> inputs, outputs; /* an empty name is an operand left out */
  std::map<std::string, Attribute> attributes;

  gint64 integer (const char *name, gint64 initial) const;
  double number (const char *name, double initial) const;
  std::string text (const char *name, const char *initial) const;
  /* Lists are empty without the attribute. */
  std::vector<gint64> integers (const char *name) const;
  std::vector<float> numbers (const char *name) const;
  std::vector<std::string> texts (const char *name) const;
  bool has (const char *name) const { return attributes.count (name) > 0; }
};

/* An input or output. An unknown length is -1. */
struct Port {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  bool has_shape = false;
};

/* A graph of ONNX: the whole network, or a branch of an If */
struct Body {
  std::vector<Node> nodes;
  std::map<std::string, Array> constants; /* initializers, by name */
  std::vector<Port> inputs, outputs;      /* inputs without those that are initializers */
};

struct Model : Body {
  std::string file;
  gint64 opset = 0;                            /* version of ONNX's own operators */
  guint64 bytes = 0;                           /* of the file and its external data */
  std::map<std::string, std::string> metadata; /* of the network's author */

  /* One of `metadata`, or an empty text */
  std::string property (const char *name) const
  {
    const auto found = metadata.find (name);
    return found == metadata.end () ? "" : found->second;
  }
  /* Inputs and initializers that the file stores as bfloat16, and this as float32 */
  std::set<std::string> bfloat16;

  /* Reads an ONNX file of opset 9 to 23. Files of external data must lie below the folder of
   * the model. Arrays of the model share the bytes that were read. An error also lists the
   * operators that are not supported. */
  static std::shared_ptr<const Model> load (const std::string &file, GError **error);
  /* The same from memory. `folder` is that of external data; without one there is none. */
  static std::shared_ptr<const Model> parse (std::shared_ptr<const void> owner,
      const guint8 *data, gsize size, const std::string &folder, GError **error);
};

/* Reads a file that is one TensorProto, as ONNX's own tests have them. */
bool load_tensor (
    const std::string &file, std::string &name, Array &array, GError **error);

/* "MyOperator, com.example.Other": the operators of a network and of the branches in it that
 * are not supported. Defined beside the table of operators. */
std::string missing_operators (const Body &body);

/* "node conv1 (Conv, opset 13)", for errors */
std::string text_of (const Model &model, const Node &node);
} // namespace inference
