/* Translates an expression for each element of arrays to an OpenCL kernel
 *
 * The kernel calls the expression as a function of one element of each operand, with the
 * types of expressionvalue.hpp. Adjacent dimensions that are contiguous in all operands
 * are merged, so that most expressions run over rows or over the whole array. A work-item
 * reads, computes and writes up to 16 bytes of neighbouring elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "expression.hpp"

#include "expressionparser.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>

namespace compute {
namespace {
using opencl::NumberType;

/* A stream or a user-supplied array, with strides along the dimensions of the result */
struct Operand {
  std::string name;     /* in the expression */
  std::string argument; /* of the kernel */
  opencl::ArrayFormat array;
  int scale = 1;           /* full scale of a video component; 1: array */
  bool is_output = false;  /* the output or `previous` */
  bool is_complex = false; /* `array` is without the innermost dimension of 2 */
  bool has_vectors () const { return !is_complex && array.type != NumberType::f16; }
  /* In elements, innermost dimension first; 0 along dimensions that are broadcast */
  std::vector<gsize> strides;
  /* The dimension whose stride is an argument of each frame (rows of video), or -1 */
  int lines = -1;
};

/* A number in `arguments`. */
struct Scalar {
  std::string name;     /* in the expression */
  std::string argument; /* of the kernel */
  Value value;
};

/* A parameter of the generated function element () */
struct Variable {
  Value value;
  const Operand *operand; /* (nullable) */
  std::string argument;   /* what the kernel passes if there is no operand */
};

/* The parts of the generated kernel. */
struct Plan {
  std::vector<Operand> operands;
  Operand output;
  std::vector<Scalar> scalars;
  std::vector<Variable> variables;
  Translation translation;
  std::vector<gsize> lengths; /* of the result, innermost first, dimensions merged */
  bool is_double = false;
  bool uses_indices = false;
  gsize width = 1; /* elements per work-item */
};

/* Keep the user's names apart from those of OpenCL C and of the generated kernel */
const char *const prefix_of_arrays = "array_";
const char *const prefix_of_scalars = "number_";

bool
is_of_name (char letter)
{
  return g_ascii_isalnum (letter) || letter == '_';
}

bool
is_name (const std::string &text)
{
  return !text.empty () && !g_ascii_isdigit (text[0])
         && std::all_of (text.begin (), text.end (), is_of_name);
}

void
make_complex (Operand &operand)
{
  operand.is_complex = true;
  operand.array.shape.pop_back ();
}

Operand
operand_of_stream (const Stream &stream)
{
  Operand operand;
  operand.name = stream.name;
  operand.argument = prefix_of_arrays + stream.name;
  operand.array = stream.array;
  if (stream.lines () > 1)
    operand.lines = int (stream.array.shape.size ()) - 1;
  if (stream.is_video)
    operand.scale = stream.array.type == NumberType::u8 ? 255 : 65535;
  operand.is_output = stream.is_output;
  if (stream.is_complex)
    make_complex (operand);
  return operand;
}

/* Returns the macros "-DNAME=VALUE" and "-D NAME=VALUE" of compiler options. A NAME alone
 * is 1. */
std::map<std::string, std::string>
macros_of (const std::string &options)
{
  std::map<std::string, std::string> macros;
  gchar **words = nullptr;

  if (!g_shell_parse_argv (options.c_str (), nullptr, &words, nullptr))
    return macros;
  for (gchar **word = words; *word; word++) {
    if (!g_str_has_prefix (*word, "-D"))
      continue;
    const std::string definition = (*word)[2] || !word[1] ? *word + 2 : *++word;
    const gsize end = definition.find ('=');
    macros[definition.substr (0, end)] =
        end == std::string::npos ? "1" : definition.substr (end + 1);
  }
  g_strfreev (words);
  return macros;
}

/* Chooses the type by the type of `number`, not by its value, which may change without a
 * new program. */
bool
sort_scalar (const char *name, const GValue *number, Plan &plan, GError **error)
{
  static const struct {
    GType type;
    NumberType number;
  } types[] = {{G_TYPE_BOOLEAN, NumberType::u8}, {G_TYPE_INT, NumberType::i32},
      {G_TYPE_UINT, NumberType::u32}, {G_TYPE_INT64, NumberType::i64},
      {G_TYPE_UINT64, NumberType::u64}};
  std::vector<Number> numbers;
  NumberType type = NumberType::f32;

  if (!numbers_of_value (number, numbers) || numbers.size () != 1) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "The argument \"%s\" has %" G_GSIZE_FORMAT
        " numbers, expected 1 in an expression",
        name, numbers.size ());
    return false;
  }
  for (const auto &row : types) {
    if (G_VALUE_TYPE (number) == row.type)
      type = row.number;
  }
  const std::string argument = prefix_of_scalars + std::string (name);
  plan.scalars.push_back ({name, argument, value_of_type (type, argument)});
  return true;
}

/* Strings are paths of arrays, all other arguments are numbers. */
bool
sort_arguments (
    const opencl::Structure &given, Plan &plan, GstStructure *arguments, GError **error)
{
  for (gint n = 0; given && n < gst_structure_n_fields (given.get ()); n++) {
    const gchar *name = gst_structure_nth_field_name (given.get (), guint (n));
    const GValue *value = gst_structure_get_value (given.get (), name);
    if (!G_VALUE_HOLDS_STRING (value)) {
      if (!sort_scalar (name, value, plan, error))
        return false;
      gst_structure_set_value (arguments, plan.scalars.back ().argument.c_str (), value);
      continue;
    }
    opencl::NpyHeader header;
    Operand operand;
    if (!opencl::npy_load_header (g_value_get_string (value), header, error))
      return false;
    operand.name = name;
    operand.argument = prefix_of_arrays + operand.name;
    operand.array = {header.type, header.shape};
    operand.is_complex = header.complex;
    gst_structure_set_value (arguments, operand.argument.c_str (), value);
    plan.operands.push_back (operand);
  }
  return true;
}

/* --- dimensions --- */

void
find_strides (Operand &operand, const std::vector<gsize> &lengths)
{
  gsize stride = operand.is_complex ? 2 : 1;
  operand.strides.clear ();
  for (gsize d = 0; d < lengths.size (); d++) {
    const gsize length = operand.array.length (d);
    operand.strides.push_back (length == lengths[d] ? stride : 0);
    stride *= length;
  }
}

/* Returns true if dimensions d and d + 1 of the operand have a common stride. */
bool
is_one_run (const Operand &operand, const std::vector<gsize> &lengths, gsize d)
{
  if (operand.lines == int (d) || operand.lines == int (d) + 1)
    return false;
  const gsize inner = operand.strides[d], outer = operand.strides[d + 1];
  return (inner == 0 && outer == 0) || outer == inner * lengths[d];
}

/* Merges adjacent dimensions that have a common stride in all operands. */
void
merge_dimensions (Plan &plan)
{
  std::vector<Operand *> all = {&plan.output};
  for (Operand &operand : plan.operands)
    all.push_back (&operand);
  for (gsize d = 0; d + 1 < plan.lengths.size ();) {
    const bool mergeable = std::all_of (all.begin (), all.end (),
        [&] (const Operand *operand) { return is_one_run (*operand, plan.lengths, d); });
    if (!mergeable) {
      d++;
      continue;
    }
    plan.lengths[d] *= plan.lengths[d + 1];
    plan.lengths.erase (plan.lengths.begin () + gssize (d) + 1);
    for (Operand *operand : all) {
      operand->strides.erase (operand->strides.begin () + gssize (d) + 1);
      if (operand->lines > int (d))
        operand->lines--;
    }
  }
}

/* Chooses vectors of at most 16 bytes that divide the innermost dimension. */
void
choose_width (Plan &plan, bool on_cpu)
{
  gsize largest = opencl::info_of (plan.output.array.type).size;
  bool is_single = on_cpu || plan.uses_indices || !plan.output.has_vectors ();

  for (const Operand &operand : plan.operands) {
    largest = std::max (largest, opencl::info_of (operand.array.type).size);
    is_single = is_single || !operand.has_vectors ();
  }
  /* A CPU's compiler vectorizes over neighbouring work-items. */
  const gsize most = is_single ? 1 : 16 / largest;
  plan.width = 1;
  while (2 * plan.width <= most && plan.lengths[0] % (2 * plan.width) == 0)
    plan.width *= 2;
}

/* --- names --- */

/* Video components are 0 … 1. */
Value
value_of_operand (const Operand &operand, const std::string &text)
{
  return operand.is_complex   ? complex_value (text)
         : operand.scale == 1 ? value_of_type (operand.array.type, text)
                              : real_value (text);
}

std::string
name_of_index (gsize dimension)
{
  return "i" + std::to_string (dimension);
}

/* The largest index is rounded up: the range decides about types, and so about the kernel's
 * text, which is to be the same for arrays of many sizes. */
Value
value_of_index (const Plan &plan, gsize dimension)
{
  const gsize length = plan.output.array.length (dimension);
  Number most = Number (length - 1);
  for (gsize power : {31, 15, 12, 8, 0})
    most = length <= gsize (1) << power ? Number ((gsize (1) << power) - 1) : most;
  return integer_value (0, most, name_of_index (dimension));
}

/* The user's names hide predefined ones. */
Names
names_of (const Plan &plan, const std::string &options)
{
  Names names;

  names.values["frame"] = value_of_type (NumberType::u32, "frame");
  names.values["time"] = real_value ("time");
  for (gsize d = 0; d < 4; d++)
    names.values[name_of_index (d)] = value_of_index (plan, d);
  for (const Scalar &scalar : plan.scalars)
    names.values[scalar.name] = scalar.value;
  for (const Operand &operand : plan.operands)
    names.values[operand.name] = value_of_operand (operand, "value_" + operand.name);
  names.macros = macros_of (options);
  return names;
}

const Operand *
operand_named (const Plan &plan, const std::string &name)
{
  auto found = std::find_if (plan.operands.begin (), plan.operands.end (),
      [&] (const Operand &operand) { return operand.name == name; });
  return found == plan.operands.end () ? nullptr : &*found;
}

/* Adds a variable for each name in the expression. */
void
find_variables (const Names &names, Plan &plan)
{
  for (const std::string &name : plan.translation.names) {
    const Value &value = names.values.at (name);
    Variable variable = {value, operand_named (plan, name), value.text};
    for (gsize d = 0; d < 4; d++) {
      if (value.text != name_of_index (d))
        continue;
      variable.argument =
          d < plan.output.array.shape.size () ? "d" + std::to_string (d) : "0";
      plan.uses_indices = true;
    }
    plan.variables.push_back (variable);
  }
}

/* --- OpenCL C --- */

std::string
lane (gsize n)
{
  return std::string (".s") + "0123456789abcdef"[n];
}

/* Sizes are arguments of the kernel, so that arrays of other sizes need no other program. */
std::string
name_of_length (gsize dimension)
{
  return "length_" + std::to_string (dimension);
}

std::string
name_of_stride (const Operand &operand, gsize dimension)
{
  return "stride_" + std::to_string (dimension) + "_" + operand.argument;
}

/* Product of the lengths from the third on */
gsize
rest_of (const Plan &plan)
{
  gsize rest = 1;
  for (gsize d = 2; d < plan.lengths.size (); d++)
    rest *= plan.lengths[d];
  return rest;
}

/* Returns the kernel's arguments of sizes by name. Strides of 0 and 1 are part of the text. */
std::vector<std::pair<std::string, gsize>>
sizes_of (const Plan &plan)
{
  std::vector<std::pair<std::string, gsize>> sizes;
  for (gsize d = 0; d < plan.lengths.size (); d++)
    sizes.emplace_back (name_of_length (d), plan.lengths[d]);
  auto add_strides = [&] (const Operand &operand) {
    for (gsize d = 1; d < plan.lengths.size (); d++)
      if (operand.strides[d] > 0 && operand.lines != int (d))
        sizes.emplace_back (name_of_stride (operand, d), operand.strides[d]);
  };
  std::for_each (plan.operands.begin (), plan.operands.end (), add_strides);
  add_strides (plan.output);
  return sizes;
}

std::string
declaration (const Operand &operand, bool is_const)
{
  std::string text = std::string ("__global ") + (is_const ? "const " : "")
                     + opencl::info_of (operand.array.type).opencl + " *restrict "
                     + operand.argument;
  if (operand.lines >= 0)
    text += ", ulong " + operand.argument + "_stride";
  return text;
}

/* Declares a pointer to the first element of the work-item. */
std::string
declare_pointer (const Operand &operand, gsize rank, bool is_const)
{
  const std::string type = opencl::info_of (operand.array.type).opencl;
  const std::string access = is_const ? "__global const " : "__global ";
  std::string at = operand.argument;

  for (gsize d = 0; d < rank; d++) {
    const std::string index = "d" + std::to_string (d);
    if (operand.lines == int (d))
      at = "(" + access + type + " *) ((" + access + "uchar *) (" + at + ") + " + index
           + " * " + operand.argument + "_stride)";
    else if (operand.strides[d] > 0)
      at += " + " + index
            + (d > 0                 ? " * " + name_of_stride (operand, d)
                : operand.is_complex ? " * 2"
                                     : "");
  }
  return "  " + access + type + " *const p_" + operand.name + " = " + at + ";\n";
}

/* Returns element `n` of the work-item, converted to the type of `variable`. */
std::string
load (const Variable &variable, gsize n, gsize width)
{
  const Operand &operand = *variable.operand;
  const std::string p = "p_" + operand.name;
  const std::string type = "(" + std::string (variable.value.type ()) + ") ";
  std::string text = "v_" + operand.name + lane (n);

  if (operand.is_complex)
    return std::string ("REAL2 (vload")
           + (operand.array.type == NumberType::f16 ? "_half2 (0, " : "2 (0, ") + p
           + "))";
  if (operand.array.type == NumberType::f16)
    text = "vload_half (0, " + p + ")";
  else if (operand.strides[0] == 0 || width == 1)
    text = "*" + p;
  return operand.scale == 1
             ? type + text
             : type + text + " * (REAL (1.0) / " + std::to_string (operand.scale) + ")";
}

/* Converts the value of the expression to an element of the output. */
std::string
store (const Plan &plan, const std::string &text)
{
  const Operand &output = plan.output;
  Value value = plan.translation.value;

  value.text = text;
  if (output.scale != 1)
    value = real_value (convert (value, "real") + " * " + std::to_string (output.scale));
  return stored (value, output.array.type);
}

/* Calls element () for element `n` of the work-item. */
std::string
call (const Plan &plan, gsize n)
{
  std::string text;
  for (const Variable &variable : plan.variables)
    text += (text.empty () ? "" : ", ")
            + (variable.operand ? load (variable, n, plan.width) : variable.argument);
  return "element (" + text + ")";
}

std::string
function_of (const Plan &plan)
{
  const Value &value = plan.translation.value;
  std::string parameters;

  for (const Variable &variable : plan.variables)
    parameters += (parameters.empty () ? "" : ", ") + std::string (variable.value.type ())
                  + " " + variable.value.text;
  return std::string (value.type ()) + " element ("
         + (parameters.empty () ? "void" : parameters) + ")\n{\n"
         + plan.translation.statements + "  return " + value.text + ";\n}\n";
}

/* Uses `double` or `float` instead of `real`, because drivers report argument types as
 * they are written. */
std::string
parameters_of (const Plan &plan)
{
  const std::string real = plan.is_double ? "double " : "float ";
  std::string text = declaration (plan.output, false) + ", uint frame, " + real + "time";
  for (const Operand &operand : plan.operands)
    text += ",\n    " + declaration (operand, true);
  for (const Scalar &scalar : plan.scalars)
    text += ", "
            + (scalar.value.is_real () ? real : scalar.value.type () + std::string (" "))
            + scalar.argument;
  for (const auto &[name, size] : sizes_of (plan))
    text += ", ulong " + name;
  return text;
}

/* Declares d0 …, the indices of the work-item's first element in the result. */
std::string
indices_of (const Plan &plan)
{
  const gsize rank = plan.lengths.size ();
  std::string text =
      "  const size_t d0 = get_global_id (0) * " + std::to_string (plan.width) + ";\n";
  auto leave_beyond = [&text] (const char *index, const std::string &length) {
    text += std::string ("  if (") + index + " >= " + length + ")\n    return;\n";
  };
  std::string all = "1";
  leave_beyond ("d0", name_of_length (0));
  if (rank > 1) {
    text += "  const size_t d1 = get_global_id (1);\n";
    leave_beyond ("d1", name_of_length (1));
  }
  for (gsize d = 2; d < rank; d++)
    all += " * " + name_of_length (d);
  if (rank > 2) {
    text += "  size_t rest = get_global_id (2);\n";
    leave_beyond ("rest", all);
  }
  for (gsize d = 2; d < rank; d++) {
    const std::string length = name_of_length (d);
    text += "  const size_t d" + std::to_string (d) + " = rest";
    text += d + 1 < rank ? " % " + length + ";\n  rest /= " + length + ";\n" : ";\n";
  }
  return text;
}

std::string
body_of (const Plan &plan)
{
  const std::string type = opencl::info_of (plan.output.array.type).opencl;
  const std::string width = std::to_string (plan.width);
  std::string text;

  if (plan.width == 1) {
    const std::string value = store (plan, call (plan, 0));
    if (plan.output.is_complex)
      return "  vstore2 (" + value + ", 0, p_" + plan.output.name + ");\n";
    return plan.output.array.type == NumberType::f16
               ? "  vstore_half_rte (" + value + ", 0, p_" + plan.output.name + ");\n"
               : "  *p_" + plan.output.name + " = " + value + ";\n";
  }
  for (const Operand &operand : plan.operands) {
    const std::string vector = opencl::info_of (operand.array.type).opencl + width;
    if (operand.strides[0] > 0)
      text += "  const " + vector + " v_" + operand.name + " = *(__global const " + vector
              + " *) p_" + operand.name + ";\n";
  }
  text += "  " + type + width + " result;\n";
  for (gsize n = 0; n < plan.width; n++)
    text += "  result" + lane (n) + " = " + store (plan, call (plan, n)) + ";\n";
  return text + "  *(__global " + type + width + " *) p_" + plan.output.name
         + " = result;\n";
}

bool
source_of (const Plan &plan, std::string &source, GError **error)
{
  const gsize rank = plan.lengths.size ();
  gchar *text = gst_opencl_source_of_resource (
      "/org/freedesktop/gstreamer/opencl/compute/expression.clh", error);
  if (!text)
    return false;
  const std::string functions = text;
  g_free (text);
  source = std::string (plan.is_double ? "#define EXPRESSION_IN_DOUBLE\n" : "")
           + functions + "#line 1 \"generated\"\n" + function_of (plan)
           + "__kernel void\nexpression (" + parameters_of (plan) + ")\n{\n"
           + indices_of (plan);
  for (const Operand &operand : plan.operands)
    source += declare_pointer (operand, rank, true);
  source += declare_pointer (plan.output, rank, false) + body_of (plan) + "}\n";
  return true;
}

std::string
size_of (const Plan &plan)
{
  std::string text = std::to_string (plan.lengths[0] / plan.width);
  if (plan.lengths.size () > 1)
    text += "," + std::to_string (plan.lengths[1]);
  return rest_of (plan) > 1 ? text + "," + std::to_string (rest_of (plan)) : text;
}

bool
check_name (const std::string &name, GError **error)
{
  if (is_name (name))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "\"%s\" is not a valid name in an expression, expected letters, digits and _",
      name.c_str ());
  return false;
}

bool
result_of (const Plan &plan, std::vector<gsize> &shape, GError **error)
{
  std::vector<std::string> names;
  std::vector<std::vector<gsize>> shapes;
  for (const Operand &operand : plan.operands) {
    names.push_back (operand.name);
    shapes.push_back (operand.array.shape);
  }
  return broadcast (names, shapes, shape, error);
}
} // namespace

bool
broadcast (const std::vector<std::string> &names,
    const std::vector<std::vector<gsize>> &shapes, std::vector<gsize> &result,
    GError **error)
{
  std::string all;

  result.clear ();
  for (gsize n = 0; n < shapes.size (); n++) {
    all += (n ? ", " : "") + names[n] + " " + opencl::npy_shape_text (shapes[n]);
    if (shapes[n].size () > result.size ())
      result.insert (result.begin (), shapes[n].size () - result.size (), 1);
  }
  for (const std::vector<gsize> &shape : shapes) {
    for (gsize d = 0; d < shape.size (); d++) {
      gsize &length = result[result.size () - 1 - d];
      const gsize own = shape[shape.size () - 1 - d];
      if (own != 1 && length != 1 && own != length) {
        g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
            "Arrays cannot be broadcast together: %s", all.c_str ());
        return false;
      }
      length = std::max (length, own);
    }
  }
  return true;
}

/* Returns the name of what makes all floating-point numbers float64, or "". */
static std::string
reason_for_double (const Plan &plan)
{
  std::string name;
  for (const Operand &operand : plan.operands) {
    if (operand.array.type == NumberType::f64)
      name = operand.name;
  }
  return plan.translation.has_double ? "a cast" : name;
}

bool
result_of_expression (const std::string &expression, const std::string &options,
    const std::vector<Stream> &inputs, const GstStructure *arguments,
    ExpressionResult &result, GError **error)
{
  Plan plan;
  std::vector<gsize> &shape = result.array.shape;
  opencl::Structure given (arguments, [] (const GstStructure *) {});
  GstStructure *unused = gst_structure_new_empty ("arguments");

  for (const Stream &stream : inputs)
    plan.operands.push_back (operand_of_stream (stream));
  const bool sorted = sort_arguments (given, plan, unused, error);
  gst_structure_free (unused);
  if (!sorted || !result_of (plan, shape, error))
    return false;
  plan.output.array.shape = shape;
  /* It has the type of the output, which is complex if the rest is. */
  plan.scalars.push_back ({"previous", "", real_value ("previous")});
  result.is_complex = translate_expression (
                          expression, names_of (plan, options), plan.translation, nullptr)
                      && plan.translation.value.is_complex ();
  if (!inputs.empty ())
    result.array.type = inputs[0].array.type;
  if (!result.is_complex)
    return true;
  result.array.type =
      reason_for_double (plan).empty () ? NumberType::f32 : NumberType::f64;
  shape.push_back (2);
  return true;
}

/* Makes the output and `previous` complex. */
static bool
make_output_complex (Plan &plan, GError **error)
{
  const opencl::ArrayFormat made = plan.output.array;
  if ((made.type != NumberType::f32 && made.type != NumberType::f64)
      || made.length (0) != 2) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "The value of the expression is complex, but the output is of %s %s, expected "
        "float32 or float64 with an innermost dimension of 2",
        opencl::info_of (made.type).name, opencl::npy_shape_text (made.shape).c_str ());
    return false;
  }
  make_complex (plan.output);
  for (Operand &operand : plan.operands) {
    if (operand.is_output)
      make_complex (operand);
  }
  return true;
}

static std::vector<gsize>
without_leading_ones (const std::vector<gsize> &shape)
{
  return std::vector<gsize> (std::find_if (shape.begin (), shape.end (),
                                 [] (gsize length) { return length != 1; }),
      shape.end ());
}

static bool
make_plan (const std::string &expression, const std::string &options,
    const std::vector<Stream> &streams, const opencl::Structure &given,
    GstStructure *arguments, Plan &plan, GError **error)
{
  std::vector<gsize> shape;

  for (gsize n = 0; n + 1 < streams.size (); n++)
    plan.operands.push_back (operand_of_stream (streams[n]));
  plan.output = operand_of_stream (streams.back ());
  if (!sort_arguments (given, plan, arguments, error))
    return false;
  if (!translate_expression (
          expression, names_of (plan, options), plan.translation, error)
      || (plan.translation.value.is_complex () && !make_output_complex (plan, error))
      || !result_of (plan, shape, error))
    return false;
  /* Without an input, the expression is broadcast to the shape of the output. */
  const bool is_source = streams.size () == 1;
  const std::vector<gsize> &made = plan.output.array.shape;
  std::vector<gsize> whole;
  if (is_source
      && !broadcast ({"the output", "the expression"}, {made, shape}, whole, error))
    return false;
  if (without_leading_ones (is_source ? whole : shape) == without_leading_ones (made))
    return true;
  /* Elements in C order are the same array in another shape. */
  const opencl::ArrayFormat computed = {plan.output.array.type, shape};
  if (!is_source && plan.output.lines < 0 && !streams.back ().is_video
      && computed.count () == plan.output.array.count ()) {
    plan.output.array = computed;
    return true;
  }
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "The expression has the shape %s, but the output has the shape %s",
      opencl::npy_shape_text (shape).c_str (), opencl::npy_shape_text (made).c_str ());
  return false;
}

/* Chooses one precision for all floating-point numbers. The 24 bits of float32 are enough
 * for outputs of 16 bits. */
static bool
choose_precision (Plan &plan, const ExpressionDevice &device, GError **error)
{
  const opencl::NumberInfo &output = opencl::info_of (plan.output.array.type);
  std::string name = reason_for_double (plan);

  if (name.empty () && output.type == NumberType::f64)
    name = "the output";
  plan.is_double =
      !name.empty () || (device.has_double && output.kind != 'f' && output.size >= 4);
  if (name.empty () || device.has_double)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "expression: %s is float64, which the device does not support", name.c_str ());
  return false;
}

static bool
check_names (const Plan &plan, GError **error)
{
  return std::all_of (plan.operands.begin (), plan.operands.end (),
             [&] (const Operand &operand) { return check_name (operand.name, error); })
         && std::all_of (plan.scalars.begin (), plan.scalars.end (),
             [&] (const Scalar &scalar) { return check_name (scalar.name, error); });
}

static void
lay_out (Plan &plan, bool on_cpu)
{
  const gsize rank = std::max (plan.output.array.shape.size (), gsize (1));

  for (gsize d = 0; d < rank; d++)
    plan.lengths.push_back (plan.output.array.length (d));
  find_strides (plan.output, plan.lengths);
  for (Operand &operand : plan.operands)
    find_strides (operand, plan.lengths);
  if (!plan.uses_indices)
    merge_dimensions (plan);
  choose_width (plan, on_cpu);
}

bool
task_of_expression (const std::string &expression, const ExpressionDevice &device,
    std::vector<Stream> &streams, const opencl::Structure &given,
    opencl::Structure &arguments, Task &task, GError **error)
{
  GstStructure *sorted = gst_structure_new_empty ("arguments");
  arguments.reset (sorted, [] (const GstStructure *structure) {
    gst_structure_free (const_cast<GstStructure *> (structure));
  });
  Plan plan;

  if (is_product (expression)) {
    if (!task_of_product (expression, device, streams, given, sorted, task, error))
      return false;
    for (Stream &stream : streams)
      stream.name = prefix_of_arrays + stream.name;
    return true;
  }
  if (!make_plan (expression, task.options, streams, given, sorted, plan, error)
      || !check_names (plan, error))
    return false;
  const Names names = names_of (plan, task.options);
  plan.translation = {};
  if (!translate_expression (expression, names, plan.translation, error)
      || !choose_precision (plan, device, error))
    return false;
  find_variables (names, plan);
  lay_out (plan, device.is_cpu);
  if (!source_of (plan, task.source, error))
    return false;

  task.kernel = "expression";
  task.global_size = size_of (plan);
  for (const auto &[name, size] : sizes_of (plan))
    gst_structure_set (sorted, name.c_str (), G_TYPE_UINT64, guint64 (size), nullptr);
  task.arguments = sorted;
  task.alignment = plan.width * opencl::info_of (plan.output.array.type).size;
  for (const Operand &operand : plan.operands)
    task.alignment =
        std::max (task.alignment, plan.width * opencl::info_of (operand.array.type).size);
  task.checks_size = true;
  for (Stream &stream : streams)
    stream.name = prefix_of_arrays + stream.name;
  return true;
}
} // namespace compute
