/* Reads an ONNX file: the messages of onnx.proto3 that inference needs
 *
 * Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "wire.hpp"
#include "model.hpp"

#include <gst/common/platform.hpp>

#include <algorithm>
#include <cstring>
#include <map>

namespace inference {
namespace {
/* Older files than opset 9 work if their operators have not changed since. */
const gint64 oldest_opset = 1, newest_opset = 23;
const gsize most_dimensions = 8;
const guint most_depth = 16; /* of branches in branches */
const gint32 bfloat16 = 16;  /* element type of ONNX */
/* A constant that is larger than this is an error and not an allocation. */
const gint64 most_elements = gint64 (1) << 32;
/* Maximum size of a model with its external data */
const guint64 most_bytes = guint64 (1) << 32;

WireBytes
bytes_of (const std::string &data)
{
  return {reinterpret_cast<const guint8 *> (data.data ()), data.size ()};
}

/* The part of a file that holds a tensor: "location", "offset" and "length" */
using ExternalPlace = std::map<std::string, std::string>;

class OnnxReader {
public:
  OnnxReader (Model &model, std::shared_ptr<const void> owner, std::string folder)
      : model (model), owner (std::move (owner)), folder (std::move (folder))
  {
  }

  ~OnnxReader () { g_clear_error (&problem); }

  bool read_model (WireBytes message, GError **error);
  bool read_tensor (WireBytes message, std::string &name, Array &array, GError **error);

private:
  bool read_opset (WireBytes message, GError **error);
  bool read_graph (WireBytes message, Body &body, GError **error);
  bool read_branch (
      WireBytes message, std::shared_ptr<const Body> &branch, GError **error);
  bool read_node (WireBytes message, Body &body, GError **error);
  bool read_attribute (WireBytes message, const Node &node, std::string &name,
      Attribute &attribute, GError **error);
  bool read_port (WireBytes message, std::vector<Port> &ports, GError **error);
  bool read_tensor_type (WireBytes message, Port &port, GError **error);
  bool read_shape (WireBytes message, Port &port, GError **error);
  bool read_external (
      ExternalPlace &place, gsize size, std::string &data, GError **error);

  bool fail (GError **error, const std::string &what) const
  {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "%s", what.c_str ());
    return false;
  }
  /* Keeps the first error of a part of the graph. The rest is read for its operators. */
  void keep (GError *&reason)
  {
    if (problem)
      g_clear_error (&reason);
    else
      problem = std::exchange (reason, nullptr);
  }
  bool finish (const WireReader &reader, const char *message, GError **error) const
  {
    return !reader.failed ()
           || fail (
               error, std::string ("truncated or no ONNX file (in ") + message + ")");
  }

  Model &model;
  std::shared_ptr<const void> owner;
  std::string folder;
  GError *problem = nullptr;
  guint depth = 0; /* of the graph that is read */
};

void
read_entry (WireBytes message, ExternalPlace &place)
{
  WireReader reader (message);
  std::string key, value;

  while (reader.next ())
    (reader.field == 1 ? key : value) = reader.bytes.text ();
  place[key] = value;
}

bool
OnnxReader::read_model (WireBytes message, GError **error)
{
  WireReader reader (message);
  WireBytes graph;
  bool has_graph = false;

  model.bytes = message.size;
  while (reader.next ()) {
    if (reader.field == 7) {
      graph = reader.bytes;
      has_graph = true;
    } else if (reader.field == 8 && !read_opset (reader.bytes, error)) {
      return false;
    } else if (reader.field == 14) {
      read_entry (reader.bytes, model.metadata);
    }
  }
  if (!finish (reader, "ModelProto", error))
    return false;
  if (!has_graph)
    return fail (error, "no ONNX file: it has no graph");
  GError *reason = nullptr;
  if (model.opset == 0) {
    fail (&reason, "no ONNX file, or no opset of its own operators");
    keep (reason);
  }
  if (model.opset < oldest_opset || model.opset > newest_opset) {
    fail (&reason, "opset " + std::to_string (model.opset) + ", expected "
                       + std::to_string (oldest_opset) + " to "
                       + std::to_string (newest_opset));
    keep (reason);
  }
  if (!read_graph (graph, model, &reason))
    keep (reason);
  if (!problem)
    return true;
  const std::string missing = missing_operators (model);
  return fail (error,
      problem->message
          + (missing.empty () ? "" : "; operators that are not supported: " + missing));
}

bool
OnnxReader::read_opset (WireBytes message, GError **error)
{
  WireReader reader (message);
  std::string domain;
  gint64 version = 0;

  while (reader.next ()) {
    if (reader.field == 1)
      domain = reader.bytes.text ();
    else if (reader.field == 2)
      version = reader.as_signed ();
  }
  if (domain.empty () || domain == "ai.onnx")
    model.opset = version;
  return finish (reader, "OperatorSetIdProto", error);
}

bool
OnnxReader::read_graph (WireBytes message, Body &body, GError **error)
{
  WireReader reader (message);
  std::vector<Port> inputs;

  while (reader.next ()) {
    bool read = true;
    GError *reason = nullptr;
    if (reader.field == 1) {
      read = read_node (reader.bytes, body, &reason);
    } else if (reader.field == 5) {
      std::string name;
      Array array;
      read = read_tensor (reader.bytes, name, array, &reason);
      body.constants[name] = array;
    } else if (reader.field == 11) {
      read = read_port (reader.bytes, inputs, &reason);
    } else if (reader.field == 12) {
      read = read_port (reader.bytes, body.outputs, &reason);
    } else if (reader.field == 15) {
      read = fail (&reason, "sparse initializers are not supported");
    }
    if (!read)
      keep (reason);
  }
  /* Before IR version 4 an initializer was also an input. */
  std::copy_if (inputs.begin (), inputs.end (), std::back_inserter (body.inputs),
      [&] (const Port &port) { return body.constants.count (port.name) == 0; });
  return finish (reader, "GraphProto", error);
}

bool
OnnxReader::read_branch (
    WireBytes message, std::shared_ptr<const Body> &branch, GError **error)
{
  if (depth == most_depth)
    return fail (error,
        "branches in branches, more than " + std::to_string (most_depth) + " deep");
  auto body = std::make_shared<Body> ();
  depth++;
  const bool read = read_graph (message, *body, error);
  depth--;
  branch = body;
  return read;
}

bool
OnnxReader::read_node (WireBytes message, Body &body, GError **error)
{
  WireReader reader (message);
  std::vector<WireBytes> attributes;
  Node node;

  while (reader.next ()) {
    switch (reader.field) {
    case 1:
      node.inputs.push_back (reader.bytes.text ());
      break;
    case 2:
      node.outputs.push_back (reader.bytes.text ());
      break;
    case 3:
      node.name = reader.bytes.text ();
      break;
    case 4:
      node.op = reader.bytes.text ();
      break;
    case 5:
      attributes.push_back (reader.bytes);
      break;
    case 7:
      node.domain = reader.bytes.text ();
      break;
    }
  }
  if (!finish (reader, "NodeProto", error))
    return false;
  if (node.domain == "ai.onnx")
    node.domain.clear ();
  for (const WireBytes &bytes : attributes) {
    std::string name;
    Attribute attribute;
    GError *reason = nullptr;
    if (!read_attribute (bytes, node, name, attribute, &reason))
      keep (reason);
    node.attributes[name] = attribute;
  }
  body.nodes.push_back (std::move (node));
  return true;
}

bool
OnnxReader::read_attribute (WireBytes message, const Node &node, std::string &name,
    Attribute &attribute, GError **error)
{
  WireReader reader (message);
  std::string unused;
  Array array;

  while (reader.next ()) {
    switch (reader.field) {
    case 1:
      name = reader.bytes.text ();
      break;
    case 2:
      attribute.number = reader.as_float ();
      break;
    case 3:
      attribute.integer = reader.as_signed ();
      break;
    case 4:
      attribute.text = reader.bytes.text ();
      break;
    case 5:
      if (!read_tensor (reader.bytes, unused, array, error)) {
        g_prefix_error (error, "%s: ", text_of (model, node).c_str ());
        return false;
      }
      attribute.array = array;
      break;
    case 6:
      if (!read_branch (reader.bytes, attribute.graph, error))
        return false;
      break;
    case 7:
      reader.append_to (attribute.numbers);
      break;
    case 8:
      reader.append_to (attribute.integers);
      break;
    case 9:
      attribute.texts.push_back (reader.bytes.text ());
      break;
    }
  }
  return finish (reader, "AttributeProto", error);
}

bool
OnnxReader::read_external (
    ExternalPlace &place, gsize size, std::string &data, GError **error)
{
  guint64 offset = 0, length = size;
  const std::pair<const char *, guint64 *> fields[] = {
      {"offset", &offset}, {"length", &length}};
  for (const auto &[name, number] : fields) {
    const auto entry = place.find (name);
    if (entry != place.end ()
        && !g_ascii_string_to_unsigned (
            entry->second.c_str (), 10, 0, G_MAXUINT64, number, nullptr))
      return fail (error, std::string (name) + " of external data is \""
                              + entry->second.c_str ()
                              + "\", expected a number of bytes");
  }
  if (length != size)
    return fail (error, std::to_string (size) + " bytes expected in external data");
  if (size > most_bytes - model.bytes)
    return fail (error, "the model has more than 4 GiB");
  model.bytes += size;
  return read_external_data (folder, place["location"], offset, size, data, error);
}

/* Values of the fields that are not raw bytes */
struct TypedValues {
  std::vector<gint64> integers;
  std::vector<float> floats;
  std::vector<double> doubles;

  bool fill (Array &array) const
  {
    const gsize count = array.count ();
    if (array.type == ElementType::f32 && floats.size () == count) {
      for (gsize n = 0; n < count; n++)
        array.set_number (n, double (floats[n]));
    } else if (array.type == ElementType::f64 && doubles.size () == count) {
      for (gsize n = 0; n < count; n++)
        array.set_number (n, doubles[n]);
    } else if (array.type == ElementType::f16 && integers.size () == count) {
      for (gsize n = 0; n < count; n++) {
        const guint16 bits = guint16 (integers[n]);
        memcpy (array.writable () + n * sizeof bits, &bits, sizeof bits);
      }
    } else if (integers.size () == count) {
      for (gsize n = 0; n < count; n++)
        array.set_integer (n, integers[n]);
    } else {
      return false;
    }
    return true;
  }
  gsize count () const
  {
    return std::max ({integers.size (), floats.size (), doubles.size ()});
  }
};

bool
OnnxReader::read_tensor (
    WireBytes message, std::string &name, Array &array, GError **error)
{
  WireReader reader (message);
  TypedValues values;
  ExternalPlace external;
  WireBytes raw;
  bool is_raw = false, is_external = false;
  gint32 type = 0;
  Shape shape;

  while (reader.next ()) {
    switch (reader.field) {
    case 1:
      reader.append_to (shape);
      break;
    case 2:
      type = gint32 (reader.integer);
      break;
    case 4:
      reader.append_to (values.floats);
      break;
    case 5:
    case 7:
    case 11:
      reader.append_to (values.integers);
      break;
    case 8:
      name = reader.bytes.text ();
      break;
    case 9:
      raw = reader.bytes;
      is_raw = true;
      break;
    case 10:
      reader.append_to (values.doubles);
      break;
    case 13:
      read_entry (reader.bytes, external);
      break;
    case 14:
      is_external = reader.integer == 1;
      break;
    }
  }
  if (!finish (reader, "TensorProto", error))
    return false;

  const std::string tensor = "tensor \"" + name + "\"";
  const bool is_bfloat16 = type == bfloat16;
  const ElementInfo *info =
      is_bfloat16 ? &info_of (ElementType::u16) : element_of_onnx (type);
  gint64 count;
  if (is_bfloat16)
    model.bfloat16.insert (name);
  if (!info)
    return fail (error,
        tensor + ": element type " + std::to_string (type) + " of ONNX is not supported");
  if (shape.size () > most_dimensions || !count_within (shape, most_elements, count))
    return fail (error, tensor + ": no such shape: " + text_of (shape));

  const gsize size = gsize (count) * size_of (info->type);
  std::shared_ptr<const void> kept = owner;
  if (is_external) {
    auto data = std::make_shared<std::string> ();
    if (!read_external (external, size, *data, error)) {
      g_prefix_error (error, "%s: ", tensor.c_str ());
      return false;
    }
    raw = bytes_of (*data);
    kept = data;
    is_raw = true;
  }
  if (is_raw) {
    if (raw.size != size)
      return fail (error, tensor + " of shape " + text_of (shape) + " has "
                              + std::to_string (raw.size) + " bytes, expected "
                              + std::to_string (size));
    array = Array (info->type, shape, kept, raw.data);
    if (is_bfloat16)
      array = Array::of_bfloat16 (array);
    return true;
  }
  /* Compared before the allocation, so that a shape alone takes no memory. */
  if (values.count () != gsize (count))
    return fail (error, tensor + " of shape " + text_of (shape) + " has "
                            + std::to_string (values.count ()) + " values");
  array = Array (info->type, shape);
  if (!values.fill (array))
    return fail (error, tensor + ": no values of its type");
  if (is_bfloat16)
    array = Array::of_bfloat16 (array);
  return true;
}

bool
OnnxReader::read_port (WireBytes message, std::vector<Port> &ports, GError **error)
{
  WireReader reader (message);
  WireBytes type;
  Port port;

  while (reader.next ()) {
    if (reader.field == 1)
      port.name = reader.bytes.text ();
    else if (reader.field == 2)
      type = reader.bytes;
  }
  if (!finish (reader, "ValueInfoProto", error))
    return false;
  if (depth > 0) { /* a branch gives its types itself */
    ports.push_back (port);
    return true;
  }
  WireReader types (type);
  bool is_tensor = false;
  while (types.next ()) {
    if (types.field == 1) {
      is_tensor = true;
      if (!read_tensor_type (types.bytes, port, error))
        return false;
    }
  }
  if (!finish (types, "TypeProto", error))
    return false;
  if (!is_tensor)
    return fail (error, "\"" + port.name + "\" is no tensor");
  ports.push_back (port);
  return true;
}

bool
OnnxReader::read_tensor_type (WireBytes message, Port &port, GError **error)
{
  WireReader reader (message);
  const ElementInfo *info = nullptr;
  gint32 type = 0;

  while (reader.next ()) {
    if (reader.field == 1) {
      type = gint32 (reader.integer);
      if (type == bfloat16)
        model.bfloat16.insert (port.name);
      info = element_of_onnx (type == bfloat16 ? 1 : type);
    } else if (reader.field == 2) {
      port.has_shape = true;
      if (!read_shape (reader.bytes, port, error))
        return false;
    }
  }
  if (!finish (reader, "TypeProto.Tensor", error))
    return false;
  if (!info)
    return fail (error, "\"" + port.name + "\": element type " + std::to_string (type)
                            + " of ONNX is not supported");
  port.type = info->type;
  return true;
}

bool
OnnxReader::read_shape (WireBytes message, Port &port, GError **error)
{
  WireReader reader (message);
  while (reader.next ()) {
    if (reader.field != 1)
      continue;
    WireReader dimension (reader.bytes);
    gint64 length = -1;
    while (dimension.next ())
      if (dimension.field == 1)
        length = dimension.as_signed ();
    /* Some exporters write 0 for an unknown length. */
    port.shape.push_back (length > 0 ? length : -1);
    if (!finish (dimension, "Dimension", error))
      return false;
  }
  if (port.shape.size () > most_dimensions)
    return fail (error, "\"" + port.name + "\": more than "
                            + std::to_string (most_dimensions) + " dimensions");
  return finish (reader, "TensorShapeProto", error);
}
} // namespace

std::shared_ptr<const Model>
Model::parse (std::shared_ptr<const void> owner, const guint8 *data, gsize size,
    const std::string &folder, GError **error)
{
  auto model = std::make_shared<Model> ();
  OnnxReader reader (*model, std::move (owner), folder);
  return reader.read_model ({data, size}, error) ? model : nullptr;
}

std::shared_ptr<const Model>
Model::load (const std::string &file, GError **error)
{
  auto contents = std::make_shared<std::string> ();
  if (!opencl::read_file (file, *contents, error))
    return nullptr;
  gchar *folder = g_path_get_dirname (file.c_str ());
  auto model = std::make_shared<Model> ();
  model->file = file;
  OnnxReader reader (*model, contents, folder);
  g_free (folder);
  if (reader.read_model (bytes_of (*contents), error))
    return model;
  g_prefix_error (error, "%s: ", file.c_str ());
  return nullptr;
}

bool
load_tensor (const std::string &file, std::string &name, Array &array, GError **error)
{
  auto contents = std::make_shared<std::string> ();
  Model unused;
  return opencl::read_file (file, *contents, error)
         && OnnxReader (unused, contents, "")
                .read_tensor (bytes_of (*contents), name, array, error);
}

std::string
text_of (const Model &model, const Node &node)
{
  std::string name = node.name;
  if (name.empty () && !node.outputs.empty ())
    name = "of \"" + node.outputs[0] + "\"";
  return "node " + name + " (" + (node.domain.empty () ? "" : node.domain + ".") + node.op
         + ", opset " + std::to_string (model.opset) + ")";
}

gint64
Node::integer (const char *name, gint64 initial) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? initial : found->second.integer;
}

double
Node::number (const char *name, double initial) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? initial : double (found->second.number);
}

std::string
Node::text (const char *name, const char *initial) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? initial : found->second.text;
}

std::vector<gint64>
Node::integers (const char *name) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? std::vector<gint64> () : found->second.integers;
}

std::vector<float>
Node::numbers (const char *name) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? std::vector<float> () : found->second.numbers;
}

std::vector<std::string>
Node::texts (const char *name) const
{
  auto found = attributes.find (name);
  return found == attributes.end () ? std::vector<std::string> () : found->second.texts;
}
} // namespace inference
