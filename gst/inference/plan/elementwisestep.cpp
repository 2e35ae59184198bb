/* Element-wise programs as generated kernels
 *
 * The kernel has the program as a function of one element, or of a vector of neighbours where
 * all operands are contiguous or constant along the innermost dimension. Lengths and strides
 * are arguments, so that equal programs share a kernel.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace inference {
namespace {
using opencl::NumberType;

/* Lengths of the output and strides of all tensors, innermost first. Dimensions of length 1
 * are left out, and dimensions that are contiguous in all tensors are one. */
struct Loops {
  std::vector<gint64> lengths;
  std::vector<std::vector<gint64>> strides; /* the output's, then those of the inputs */

  gsize rank () const { return lengths.size (); }
};

std::vector<gint64>
broadcast_strides (const Tensor &tensor, gsize rank)
{
  std::vector<gint64> strides (rank - tensor.rank (), 0);
  for (gsize d = 0; d < tensor.rank (); d++)
    strides.push_back (tensor.shape[d] == 1 ? 0 : tensor.strides[d]);
  return strides;
}

Loops
loops_of (const Tensor &output, const std::vector<Tensor> &inputs)
{
  const gsize rank = output.rank ();
  std::vector<std::vector<gint64>> all = {output.strides};
  for (const Tensor &input : inputs)
    all.push_back (broadcast_strides (input, rank));
  std::vector<gsize> order;
  for (gsize d = rank; d-- > 0;)
    if (output.shape[d] != 1)
      order.push_back (d);
  std::stable_sort (order.begin (), order.end (), [&] (gsize a, gsize b) {
    return std::abs (output.strides[a]) < std::abs (output.strides[b]);
  });

  Loops loops;
  loops.strides.resize (all.size ());
  for (const gsize d : order) {
    bool merges = loops.rank () > 0;
    for (gsize t = 0; t < all.size () && merges; t++)
      merges = all[t][d] == loops.strides[t].back () * loops.lengths.back ();
    if (merges) {
      loops.lengths.back () *= output.shape[d];
      continue;
    }
    loops.lengths.push_back (output.shape[d]);
    for (gsize t = 0; t < all.size (); t++)
      loops.strides[t].push_back (all[t][d]);
  }
  if (loops.lengths.empty ()) { /* a single number */
    loops.lengths.push_back (1);
    for (auto &strides : loops.strides)
      strides.push_back (1);
  }
  return loops;
}

/* --- text --- */

/* Type in which values of a type are computed */
std::string
computed_name (ElementType type)
{
  switch (type) {
  case ElementType::f32:
  case ElementType::f16:
    return "float";
  case ElementType::f64:
    return "double";
  case ElementType::u64:
    return "ulong";
  default:
    return "long";
  }
}

/* A constant of OpenCL C. `type` is "float", "double" or an integer type. */
std::string
number_text (double value, const std::string &type)
{
  if (type != "float" && type != "double")
    return value <= double (G_MININT64)   ? "LONG_MIN"
           : value >= double (G_MAXINT64) ? "LONG_MAX"
                                          : std::to_string (gint64 (value));
  if (std::isnan (value))
    return "NAN";
  if (std::isinf (value))
    return value < 0 ? "-INFINITY" : "INFINITY";
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (text, sizeof text, type == "float" ? "%.9e" : "%.17e", value);
  return std::string (text) + (type == "float" ? "f" : "");
}

void
replace (std::string &text, const std::string &what, const std::string &by)
{
  for (gsize at = 0; (at = text.find (what, at)) != std::string::npos; at += by.size ())
    text.replace (at, what.size (), by);
}

/* A name that stands alone: "T" but not "TILE" */
void
replace_word (std::string &text, const std::string &word, const std::string &by)
{
  auto is_part = [] (char letter) { return g_ascii_isalnum (letter) || letter == '_'; };
  for (gsize at = 0; (at = text.find (word, at)) != std::string::npos;) {
    const gsize end = at + word.size ();
    if ((at > 0 && is_part (text[at - 1]))
        || (end < text.size () && is_part (text[end]))) {
      at = end;
      continue;
    }
    text.replace (at, word.size (), by);
    at += by.size ();
  }
}

std::string
mask_name (const std::string &type, const std::string &suffix)
{
  return (type == "float" ? "int" : "long") + suffix;
}

std::string
suffix_of (gsize lanes)
{
  return lanes > 1 ? std::to_string (lanes) : "";
}
} // namespace

std::string
text_of (
    const Instruction &instruction, gsize lanes, const std::vector<std::string> &operands)
{
  const std::string type = computed_name (instruction.computed);
  std::string text =
      is_float (instruction.computed) ? instruction.op->real : instruction.op->integer;
  replace_word (text, "T", type + suffix_of (lanes));
  replace_word (text, "M", mask_name (type, suffix_of (lanes)));
  for (gsize k = 0; k < operands.size (); k++)
    replace (text, "$" + std::to_string (k), operands[k]);
  for (gsize k = 0; k < instruction.parameters.size (); k++)
    replace (
        text, "%" + std::to_string (k), number_text (instruction.parameters[k], type));
  return text;
}

namespace {
class Source {
public:
  Source (const ElementProgram &program, const Tensor &output,
      const std::vector<Tensor> &inputs, const std::vector<ElementType> &types,
      const Loops &loops, gsize width, const std::string &index)
      : program (program), output (output), inputs (inputs), types (types), loops (loops),
        width (width), index (index)
  {
  }
  std::string text () const;

private:
  std::string expression (gsize n, gsize lanes) const;
  std::string function (gsize lanes) const;
  std::string load (gsize input, gsize lanes) const;
  std::string store (gsize lanes) const;
  std::string parameters () const;
  std::string length (gsize d) const;
  std::string call (gsize lanes) const;
  ElementType result_type () const
  {
    return program.empty () ? types[0] : program.back ().type;
  }

  const ElementProgram &program;
  const Tensor &output;
  const std::vector<Tensor> &inputs;
  const std::vector<ElementType> &types; /* of the inputs */
  const Loops &loops;
  gsize width;
  const std::string index; /* type that counts the work-items */
};

/* Value of instruction `n`, wrapped to its type */
std::string
Source::expression (gsize n, gsize lanes) const
{
  const Instruction &instruction = program[n];
  const std::string type = computed_name (instruction.computed);
  std::vector<std::string> operands;
  for (const gint32 operand : instruction.operands)
    operands.push_back (operand >= 0 ? "x" + std::to_string (operand)
                                     : "t" + std::to_string (-1 - operand));
  std::string text = text_of (instruction, lanes, operands);

  const std::string made = computed_name (instruction.type);
  if (instruction.type == ElementType::boolean)
    return "(long)((" + text + ") != 0)";
  if (made != type)
    text = "convert_" + made + suffix_of (lanes) + " (" + text + ")";
  if (!is_float (instruction.type) && size_of (instruction.type) < 8)
    text = "(long)("
           + std::string (opencl::info_of (info_of (instruction.type).number).opencl)
           + ")(" + text + ")";
  return text;
}

std::string
Source::function (gsize lanes) const
{
  const std::string result = computed_name (result_type ()) + suffix_of (lanes);
  std::string text = result + " element" + suffix_of (lanes) + " (";
  for (gsize n = 0; n < inputs.size (); n++)
    text += (n ? ", " : "") + computed_name (types[n]) + suffix_of (lanes) + " x"
            + std::to_string (n);
  text += ")\n{\n";
  for (gsize n = 0; n < program.size (); n++)
    text += "  const " + computed_name (program[n].type) + suffix_of (lanes) + " t"
            + std::to_string (n) + " = " + expression (n, lanes) + ";\n";
  return text + "  return "
         + (program.empty () ? "x0" : "t" + std::to_string (program.size () - 1))
         + ";\n}\n";
}

/* `lanes` neighbours of an input, at column x */
std::string
Source::load (gsize n, gsize lanes) const
{
  const Tensor &input = inputs[n];
  const std::string p = "p" + std::to_string (n), of_type = computed_name (types[n]);
  const gint64 step = loops.strides[n + 1][0];
  const std::string at = step == 0   ? "0"
                         : step == 1 ? "x"
                                     : "x * s" + std::to_string (n) + "_0";
  const std::string wide = step == 1 ? suffix_of (lanes) : "";
  std::string text;
  if (input.type == NumberType::f16)
    text = "load_half" + wide + " (" + p + " + " + at + ")";
  else if (wide.empty ())
    text = p + "[" + at + "]";
  else
    text = "vload" + wide + " (0, " + p + " + x)";
  if (wide.empty () && lanes > 1)
    text = "(" + of_type + suffix_of (lanes) + ")(" + text + ")";
  else if (input.type != NumberType::f16)
    text = "convert_" + of_type + wide + " (" + text + ")";
  return text;
}

std::string
Source::store (gsize lanes) const
{
  const std::string type = opencl::info_of (output.type).opencl;
  const std::string at = loops.strides[0][0] == 1 ? "x" : "x * so_0";
  if (output.type == NumberType::f16)
    return "store_half" + suffix_of (lanes) + " (y, po + " + at + ");";
  return lanes > 1 ? "vstore" + suffix_of (lanes) + " (convert_" + type
                         + suffix_of (lanes) + " (y), 0, po + x);"
                   : "po[" + at + "] = (" + type + ")y;";
}

std::string
Source::parameters () const
{
  auto tensor = [&] (const std::string &name, const Tensor &of, bool is_const) {
    std::string text = std::string ("global ") + (is_const ? "const " : "")
                       + opencl::info_of (of.type).opencl + " *restrict p" + name
                       + ", long offset" + name;
    for (gsize d = 0; d < loops.rank (); d++)
      text += ", long s" + name + "_" + std::to_string (d);
    return text;
  };
  std::string text = tensor ("o", output, false);
  for (gsize n = 0; n < inputs.size (); n++)
    text += ",\n    " + tensor (std::to_string (n), inputs[n], true);
  for (gsize d = 0; d < loops.rank (); d++)
    text += ", uint length" + std::to_string (d);
  return text + ", " + index + " items";
}

/* Division by a constant is a product, which pays where many single elements are placed. */
std::string
Source::length (gsize d) const
{
  return width == 1 && output.count () >= 4096 ? std::to_string (loops.lengths[d]) + "u"
                                               : "length" + std::to_string (d);
}

std::string
Source::call (gsize lanes) const
{
  std::string text = computed_name (result_type ()) + suffix_of (lanes) + " y = element"
                     + suffix_of (lanes) + " (";
  for (gsize n = 0; n < inputs.size (); n++)
    text += (n ? ", " : "") + load (n, lanes);
  return text + "); " + store (lanes);
}

const char *const helpers =
    "long floored_remainder (long a, long b)\n{\n"
    "  const long rest = b == 0 || b == -1 ? 0 : a % b;\n"
    "  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;\n}\n"
    "long truncated_remainder (long a, long b)\n{\n"
    "  return b == 0 || b == -1 ? 0 : a % b;\n}\n"
    "long whole_power (long base, long exponent)\n{\n"
    "  long result = 1;\n"
    "  for (; exponent > 0; exponent >>= 1, base *= base)\n"
    "    if (exponent & 1)\n      result *= base;\n"
    "  return result;\n}\n";

std::string
Source::text () const
{
  bool is_double = output.type == NumberType::f64, whole = false;
  for (const Tensor &input : inputs)
    is_double = is_double || input.type == NumberType::f64;
  for (const Instruction &instruction : program)
    whole = whole || !is_float (instruction.computed);
  std::string source = "#include <halfvectors.clh>\n#include <limits.clh>\n";
  if (is_double)
    source += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  if (whole)
    source += helpers;
  source +=
      "#define BFLOAT16(x, T, M) select (as_##T (as_##M (x) + 0x7fff + (as_##M (x) >> "
      "16 & 1) & ~0xffff), x, (M)((x) != (x)))\n";
  source += function (1);
  if (width > 1)
    source += function (width);
  source += "kernel void\nelementwise (" + parameters () + ")\n{\n  const " + index
            + " item = get_global_id (0);\n  if (item >= items)\n    return;\n";
  const std::string wide = std::to_string (width);
  if (loops.rank () == 1)
    source += "  " + index + " x = item * " + wide + ";\n";
  else
    source += "  const uint columns = (" + length (0) + " + " + std::to_string (width - 1)
              + ") / " + wide + ";\n  " + index + " x = item % columns * " + wide + ", "
              + "rest = item / columns;\n";
  std::string at_output = "offseto";
  std::vector<std::string> at;
  for (gsize n = 0; n < inputs.size (); n++)
    at.push_back ("offset" + std::to_string (n));
  for (gsize d = 1; d < loops.rank (); d++) {
    const std::string place = "d" + std::to_string (d);
    source += "  const long " + place + " = rest";
    source += d + 1 < loops.rank ()
                  ? " % " + length (d) + ";\n  rest /= " + length (d) + ";\n"
                  : ";\n";
    at_output += " + " + place + " * so_" + std::to_string (d);
    for (gsize n = 0; n < inputs.size (); n++)
      at[n] += " + " + place + " * s" + std::to_string (n) + "_" + std::to_string (d);
  }
  source += "  po += " + at_output + ";\n";
  for (gsize n = 0; n < inputs.size (); n++)
    source += "  p" + std::to_string (n) + " += " + at[n] + ";\n";
  if (width == 1)
    return source + "  " + call (1) + "\n}\n";
  return source + "  if (x + " + std::to_string (width) + " <= length0) {\n    "
         + call (width) + "\n    return;\n  }\n  for (; x < length0; x++) {\n    "
         + call (1) + "\n  }\n}\n";
}

/* --- the step --- */

class ElementwiseStep : public Step {
public:
  bool create (const StepRequest &request, const ElementProgram &program, GError **error);
  bool enqueue (
      cl_command_queue queue, const Memories &memories, GError **error) override;

private:
  gsize choose_width (GstOpenCLContext *context, const ElementProgram &program) const;
  bool set_tensor (cl_uint &index, const Tensor &tensor,
      const std::vector<gint64> &strides, const Memories &memories, GError **error);

  std::vector<Tensor> inputs;
  Tensor output;
  Loops loops;
  gsize width = 1, items = 0;
  opencl::Kernel kernel;
};

/* Vectors need floating-point numbers that are neighbours, or one for all. */
gsize
ElementwiseStep::choose_width (
    GstOpenCLContext *context, const ElementProgram &program) const
{
  auto suits = [] (const Tensor &tensor) {
    return tensor.type == NumberType::f32 || tensor.type == NumberType::f16;
  };
  bool wide = suits (output) && loops.strides[0][0] == 1;
  for (gsize n = 0; n < inputs.size () && wide; n++)
    wide = suits (inputs[n])
           && (loops.strides[n + 1][0] == 0 || loops.strides[n + 1][0] == 1);
  for (const Instruction &instruction : program)
    wide =
        wide
        && (instruction.computed == ElementType::f32
            || instruction.computed == ElementType::f16)
        && (instruction.type == ElementType::f32 || instruction.type == ElementType::f16);
  if (!wide)
    return 1;
  const bool cpu = opencl::is_cpu (context);
  const gsize lanes = cpu ? opencl::float_lanes (context) : 4;
  if (cpu && lanes < 16 && loops.lengths[0] % gint64 (2 * lanes) == 0)
    return 2 * lanes; /* half as many places to find */
  return loops.lengths[0] >= gint64 (lanes) ? lanes : 1;
}

/* A quotient decides to which step a number is rounded. */
const char *
options_of (GstOpenCLContext *context, const ElementProgram &program)
{
  const bool divides =
      std::any_of (program.begin (), program.end (), [] (const Instruction &instruction) {
        return std::string (instruction.op->name) == "Quantize";
      });
  const auto config =
      opencl::device_info<cl_device_fp_config> (context, CL_DEVICE_SINGLE_FP_CONFIG);
  return divides && (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
             ? "-cl-fp32-correctly-rounded-divide-sqrt"
             : nullptr;
}

ElementType
element_type_of (NumberType type)
{
  for (const ElementType element : {ElementType::f32, ElementType::f64, ElementType::f16,
           ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
           ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64})
    if (info_of (element).number == type)
      return element;
  return ElementType::u8;
}

bool
ElementwiseStep::create (
    const StepRequest &request, const ElementProgram &program, GError **error)
{
  inputs = request.inputs;
  output = request.outputs[0];
  loops = loops_of (output, inputs);
  width = choose_width (request.context, program);
  items = gsize ((loops.lengths[0] + gint64 (width) - 1) / gint64 (width));
  for (gsize d = 1; d < loops.rank (); d++)
    items *= gsize (loops.lengths[d]);
  std::vector<ElementType> types;
  for (const Tensor &input : inputs)
    types.push_back (element_type_of (input.type));
  const Source source (program, output, inputs, types, loops, width, index_type (items));
  return kernel.create_from_source (request.context, source.text ().c_str (),
      "elementwise", options_of (request.context, program), error);
}

bool
ElementwiseStep::set_tensor (cl_uint &index, const Tensor &tensor,
    const std::vector<gint64> &strides, const Memories &memories, GError **error)
{
  if (!kernel.set (index, buffer_of (tensor, memories), error)
      || !kernel.set (index, cl_long (offset_of (tensor, memories)), error))
    return false;
  for (const gint64 stride : strides)
    if (!kernel.set (index, cl_long (stride), error))
      return false;
  return true;
}

bool
ElementwiseStep::enqueue (
    cl_command_queue queue, const Memories &memories, GError **error)
{
  cl_uint index = 0;
  if (!set_tensor (index, output, loops.strides[0], memories, error))
    return false;
  for (gsize n = 0; n < inputs.size (); n++)
    if (!set_tensor (index, inputs[n], loops.strides[n + 1], memories, error))
      return false;
  for (const gint64 length : loops.lengths)
    if (!kernel.set (index, cl_uint (length), error))
      return false;
  return set_count (kernel, index, items, error)
         && kernel.enqueue (queue, items, 1, error);
}
} // namespace

StepPointer
make_elementwise_step (
    const StepRequest &request, const ElementProgram &program, GError **error)
{
  auto step = std::make_unique<ElementwiseStep> ();
  return step->create (request, program, error) ? std::move (step) : nullptr;
}

StepPointer
make_copy_step (const StepRequest &request, GError **error)
{
  return make_elementwise_step (request, {}, error);
}
} // namespace inference
