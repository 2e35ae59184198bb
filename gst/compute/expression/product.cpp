/* Products of matrices, "a @ b", as a task
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "expression.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/reduction/matmul.hpp>

namespace compute {
namespace {
using Shape = std::vector<gsize>;

/* An operand as a batch of matrices. Shapes and strides are outermost first. */
struct Matrices {
  std::string name;
  opencl::ArrayFormat array;
  Shape batch;
  gint64 rows, columns;
};

struct Product {
  Matrices a, b;
  Shape batch, shape; /* of the result */
};

bool
refuse (GError **error, const std::string &text)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "expression: %s",
      text.c_str ());
  return false;
}

std::string
text_of (const Matrices &operand)
{
  return operand.name + " of " + opencl::info_of (operand.array.type).name + " "
         + opencl::npy_shape_text (operand.array.shape);
}

std::string
stripped (const std::string &text)
{
  const gsize begin = text.find_first_not_of (" \t\n");
  return begin == std::string::npos
             ? ""
             : text.substr (begin, text.find_last_not_of (" \t\n") + 1 - begin);
}

/* Finds the array of an operand among the inputs and the files in `arguments`. */
bool
find_array (const std::vector<Stream> &inputs, const GstStructure *arguments,
    Matrices &operand, GError **error)
{
  auto is_of_name = [] (char letter) {
    return g_ascii_isalnum (letter) || letter == '_';
  };
  if (!std::all_of (operand.name.begin (), operand.name.end (), is_of_name))
    return refuse (error, "expected NAME @ NAME alone, found \"" + operand.name + "\"");
  const gchar *path =
      arguments ? gst_structure_get_string (arguments, operand.name.c_str ()) : nullptr;
  for (const Stream &stream : inputs) {
    if (stream.name != operand.name)
      continue;
    operand.array = stream.array;
    return !(stream.is_video || stream.is_complex)
           || refuse (error, "@ takes real arrays, but " + operand.name + " is "
                                 + (stream.is_video ? "video" : "complex"));
  }
  opencl::NpyHeader header;
  if (!path)
    return refuse (error, "'" + operand.name
                              + "' is not an array: a product is NAME @ NAME alone, of "
                                "inputs and of .npy files in arguments");
  if (!opencl::npy_load_header (path, header, error))
    return false;
  operand.array = {header.type, header.shape};
  return !header.complex
         || refuse (error, "@ takes real numbers, but " + operand.name + " is complex");
}

/* A vector is a row on the left, and a column on the right. */
bool
find_matrices (bool is_left, Matrices &operand, GError **error)
{
  const Shape &shape = operand.array.shape;
  const gsize rank = shape.size ();
  if (rank == 0)
    return refuse (error, "@ takes arrays of one dimension or more");
  operand.rows = gint64 (rank > 1 ? shape[rank - 2] : is_left ? 1 : shape[0]);
  operand.columns = gint64 (rank > 1 || is_left ? shape[rank - 1] : 1);
  operand.batch.assign (shape.begin (), rank > 2 ? shape.end () - 2 : shape.begin ());
  return true;
}

bool
find_product (const std::string &expression, const std::vector<Stream> &inputs,
    const GstStructure *arguments, Product &product, GError **error)
{
  const gsize at = expression.find ('@');
  Matrices &a = product.a, &b = product.b;
  a.name = stripped (expression.substr (0, at));
  b.name = stripped (expression.substr (at + 1));
  if (!find_array (inputs, arguments, a, error)
      || !find_array (inputs, arguments, b, error) || !find_matrices (true, a, error)
      || !find_matrices (false, b, error))
    return false;
  if (a.columns != b.rows || a.array.type != b.array.type)
    return refuse (error, text_of (a) + " @ " + text_of (b)
                              + (a.columns != b.rows ? ": the lengths do not fit"
                                                     : ": expected the same type"));
  if (!broadcast ({a.name, b.name}, {a.batch, b.batch}, product.batch, error))
    return false;
  product.shape = product.batch;
  if (a.array.shape.size () > 1)
    product.shape.push_back (gsize (a.rows));
  if (b.array.shape.size () > 1)
    product.shape.push_back (gsize (b.columns));
  return true;
}

/* Stride of dimension `d` of the whole batch, counted from the innermost */
gint64
batch_stride (const Matrices &operand, gsize d)
{
  gint64 stride = operand.rows * operand.columns;
  if (d >= operand.batch.size () || operand.batch[operand.batch.size () - 1 - d] == 1)
    return 0;
  for (gsize n = 0; n < d; n++)
    stride *= gint64 (operand.batch[operand.batch.size () - 1 - n]);
  return stride;
}

/* Sizes that are arguments of the kernel, so that matrices of other sizes need no other program.
 * Large ones are constants on a GPU: NVIDIA's code is 6 % faster then. */
std::vector<std::pair<std::string, gint64>>
sizes_of (const Product &product, gint64 run)
{
  return {{"rows", product.a.rows}, {"columns", product.b.columns},
      {"depth", product.a.columns}, {"run", run}};
}

/* Declares the arrays by their names, and the sizes. Those of a batch are constants. */
std::string
definitions_of (const Product &product, gint64 run, bool has_fixed_sizes)
{
  const Matrices &a = product.a, &b = product.b;
  const std::string input = "__global const STORED *restrict array_";
  std::string batch;
  gint64 stride = a.rows * b.columns;
  for (gsize d = 0; d < product.batch.size (); d++) {
    const gsize length = product.batch[product.batch.size () - 1 - d];
    for (gint64 number :
        {gint64 (length), batch_stride (a, d), batch_stride (b, d), stride})
      batch += std::to_string (number) + ", ";
    stride *= gint64 (length);
  }
  std::string parameters, constants;
  for (const auto &[name, size] : sizes_of (product, run))
    if (has_fixed_sizes)
      constants += " const long " + name + " = " + std::to_string (size) + ";";
    else
      parameters += ", long " + name;
  auto pointer = [] (const char *name, const std::string &access, const std::string &to) {
    return " __global " + access + "STORED *restrict " + name + " = array_" + to + ";";
  };
  return "__constant long batch[] = {" + batch + "0};\n#define PARAMETERS " + input
         + a.name + (a.name == b.name ? "" : ", " + input + b.name)
         + ", __global STORED *restrict array_output" + parameters + "\n#define SIZES"
         + constants + pointer ("a", "const ", a.name) + pointer ("b", "const ", b.name)
         + pointer ("c", "", "output")
         + " long a_offset = 0, b_offset = 0, c_offset = 0;"
           " const long a_row = depth, b_row = columns, c_row = columns;"
           " const long a_column = 1, b_column = 1, c_column = 1;\n";
}
} // namespace

bool
is_product (const std::string &expression)
{
  return expression.find ('@') != std::string::npos;
}

bool
array_of_product (const std::string &expression, const std::vector<Stream> &inputs,
    const GstStructure *arguments, opencl::ArrayFormat &array, GError **error)
{
  Product product;
  if (!find_product (expression, inputs, arguments, product, error))
    return false;
  array = {product.a.array.type, product.shape};
  return true;
}

bool
task_of_product (const std::string &expression, const ExpressionDevice &device,
    std::vector<Stream> &streams, const opencl::Structure &given, GstStructure *arguments,
    Task &task, GError **error)
{
  const std::vector<Stream> inputs (streams.begin (), streams.end () - 1);
  const opencl::ArrayFormat &made = streams.back ().array;
  Product product;
  if (!find_product (expression, inputs, given.get (), product, error))
    return false;
  const Matrices &a = product.a, &b = product.b;
  const opencl::ArrayFormat whole = {a.array.type, product.shape};
  if (made.type != whole.type || made.count () != whole.count ()
      || streams.back ().is_video)
    return refuse (error, text_of (a) + " @ " + text_of (b) + " has the shape "
                              + opencl::npy_shape_text (whole.shape)
                              + ", but the output is of "
                              + opencl::info_of (made.type).name + " "
                              + opencl::npy_shape_text (made.shape));
  if (whole.type == opencl::NumberType::f64 && !device.has_double)
    return refuse (error, a.name + " is float64, which the device does not support");
  gsize batches = 1;
  for (gsize length : product.batch)
    batches *= length;
  const MatmulKernel how ({device.is_cpu, device.float_lanes, device.largest_group},
      whole.type, a.rows, b.columns, batches, product.batch.size ());
  gchar *text = gst_opencl_source_of_resource (MATMUL_KERNELS, error);
  if (!text)
    return false;
  const double flop = 2.0 * double (a.columns) * double (whole.count ());
  const bool has_fixed_sizes = !device.is_cpu && flop > 1e10;
  task.source = definitions_of (product, how.run, has_fixed_sizes) + text;
  g_free (text);
  task.options += how.options;
  task.kernel = how.name;
  task.flop = flop;
  auto sizes = [] (const gsize (&size)[3]) {
    return std::to_string (size[0]) + "," + std::to_string (size[1]) + ","
           + std::to_string (size[2]);
  };
  task.global_size = sizes (how.global);
  task.local_size = sizes (how.local);
  for (const Matrices *operand : {&a, &b}) {
    const GValue *path =
        given ? gst_structure_get_value (given.get (), operand->name.c_str ()) : nullptr;
    if (path)
      gst_structure_set_value (arguments, ("array_" + operand->name).c_str (), path);
  }
  for (const auto &[name, size] : sizes_of (product, how.run))
    if (!has_fixed_sizes)
      gst_structure_set (arguments, name.c_str (), G_TYPE_INT64, size, nullptr);
  task.arguments = arguments;
  return true;
}
} // namespace compute
