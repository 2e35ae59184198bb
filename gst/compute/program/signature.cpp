/* Parameters of a user-supplied kernel by name and type, and the values of its arguments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelsource.hpp"
#include "signature.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <cmath>
#include <limits>

namespace compute {
/* --- parameters --- */

namespace {
constexpr gsize most_fields = 256; /* of a struct that is given as numbers */

/* Drivers report types as they are written, or by the short names of OpenCL C. */
constexpr struct {
  const char *written, *type;
} long_names[] = {{"unsigned char", "uchar"}, {"unsigned short", "ushort"},
    {"unsigned int", "uint"}, {"unsigned long", "ulong"}, {"signed char", "char"},
    {"unsigned", "uint"}, {"signed int", "int"}};

/* Returns the address space that a word names, or VALUE. */
Parameter::Space
space_named (const std::string &word)
{
  static constexpr struct {
    const char *name;
    Parameter::Space space;
  } spaces[] = {{"global", Parameter::GLOBAL}, {"constant", Parameter::CONSTANT},
      {"local", Parameter::LOCAL}};
  for (const auto &known : spaces) {
    if (word == known.name || word == std::string ("__") + known.name)
      return known.space;
  }
  return Parameter::VALUE;
}

bool
is_qualifier (const std::string &word)
{
  static constexpr const char *words[] = {"const", "volatile", "restrict", "private",
      "read_only", "write_only", "read_write"};
  return std::any_of (std::begin (words), std::end (words),
             [&] (const char *known) { return word == known; })
         || word.compare (0, 2, "__") == 0 || space_named (word) != Parameter::VALUE;
}

/* "const float4*" → "float4" */
std::string
bare_type (const std::string &name)
{
  std::istringstream words (name.substr (0, name.find ('*')));
  std::string word, bare;

  while (words >> word) {
    if (!is_qualifier (word))
      bare += (bare.empty () ? "" : " ") + word;
  }
  for (const auto &known : long_names) {
    if (bare == known.written)
      return known.type;
  }
  return bare;
}

/* PoCL renames built-in functions by macros, so it reports "step" as "_cl_step". */
std::string
written_name (const std::string &name)
{
  const std::string prefix = "_cl_";
  return name.compare (0, prefix.size (), prefix) == 0 ? name.substr (prefix.size ())
                                                       : name;
}

/* "float4" is a float of 4 lanes. */
void
read_type (Parameter &parameter)
{
  const std::string &type = parameter.type;
  const gsize end = type.find_first_of ("0123456789");
  const std::string lanes = end == std::string::npos ? "1" : type.substr (end);

  parameter.number = opencl::number_of_opencl (type.substr (0, end).c_str ());
  parameter.lanes = unsigned (atoi (lanes.c_str ()));
  const bool is_valid = lanes == "1" || lanes == "2" || lanes == "3" || lanes == "4"
                        || lanes == "8" || lanes == "16";
  if (!is_valid)
    parameter.number = nullptr;
}

bool
read_text (cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, std::string &text,
    GError **error)
{
  gsize size = 0;
  cl_int code = clGetKernelArgInfo (kernel, index, what, 0, nullptr, &size);
  text.assign (size, '\0');
  if (code == CL_SUCCESS)
    code = clGetKernelArgInfo (kernel, index, what, size, &text[0], nullptr);
  text.resize (strlen (text.c_str ()));
  if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) {
    g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "the driver does not report the parameters of the kernel: set `parameters`, or "
        "compile the program with -cl-kernel-arg-info");
    return false;
  }
  return gst_opencl_check (code, "clGetKernelArgInfo", error);
}

Parameter::Space
space_of (cl_kernel_arg_address_qualifier qualifier)
{
  switch (qualifier) {
  case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    return Parameter::GLOBAL;
  case CL_KERNEL_ARG_ADDRESS_CONSTANT:
    return Parameter::CONSTANT;
  case CL_KERNEL_ARG_ADDRESS_LOCAL:
    return Parameter::LOCAL;
  default:
    return Parameter::VALUE;
  }
}

bool
is_image (const std::string &type)
{
  return g_str_has_prefix (type.c_str (), "image")
         && g_str_has_suffix (type.c_str (), "_t");
}

/* An image without a qualifier is read_only. */
void
set_access (Parameter &parameter, bool is_read, bool is_written)
{
  parameter.space = Parameter::IMAGE;
  parameter.is_read = is_read || !is_written;
  parameter.is_const = !is_written;
}

bool
fail_declaration (GError **error, const std::string &message)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "parameters: %s, expected the parameters of the kernel in OpenCL C, such as "
      "\"global const uchar *input, global uchar *output, int stride\"",
      message.c_str ());
  return false;
}

/* "global const float4 *weights" */
bool
parse_parameter (const std::string &text, Parameter &parameter, GError **error)
{
  static const char *const letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const gsize last = text.find_last_not_of (" \t\n");
  const gsize before =
      last == std::string::npos ? last : text.find_last_not_of (letters, last);
  if (before == std::string::npos)
    return fail_declaration (error, "\"" + text + "\" is not a parameter");
  const std::string type = text.substr (0, before + 1);
  std::istringstream words (type.substr (0, type.find ('*')));
  for (std::string word; words >> word;) {
    if (parameter.space == Parameter::VALUE)
      parameter.space = space_named (word);
    parameter.is_const = parameter.is_const || word == "const";
  }
  parameter.name = text.substr (before + 1, last - before);
  parameter.type = bare_type (type);
  parameter.is_const = parameter.is_const || parameter.space == Parameter::CONSTANT;
  read_type (parameter);
  const bool is_pointer = type.find ('*') != std::string::npos;
  const bool is_of_struct = g_str_has_prefix (parameter.type.c_str (), "struct ");
  if (is_image (parameter.type) && !is_pointer && parameter.space == Parameter::VALUE)
    set_access (parameter, type.find ("read_") != std::string::npos,
        type.find ("write") != std::string::npos);
  else if ((!parameter.number && !is_of_struct && !parameter.is_sampler ())
           || is_pointer != (parameter.space != Parameter::VALUE))
    parameter.name.clear ();
  if (parameter.name.empty ())
    return fail_declaration (error, "\"" + text + "\" is neither a number nor a pointer");
  return true;
}

bool
count_parameters (cl_kernel kernel, cl_uint &count, GError **error)
{
  return gst_opencl_check (
      clGetKernelInfo (kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr),
      "clGetKernelInfo", error);
}

template <typename Info>
bool
read_info (
    cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, Info &info, GError **error)
{
  return gst_opencl_check (
      clGetKernelArgInfo (kernel, index, what, sizeof info, &info, nullptr),
      "clGetKernelArgInfo", error);
}

bool
read_parameter (cl_kernel kernel, cl_uint index, Parameter &parameter, GError **error)
{
  cl_kernel_arg_address_qualifier space = 0;
  cl_kernel_arg_access_qualifier access = 0;
  cl_kernel_arg_type_qualifier qualifiers = 0;
  std::string type;

  if (!read_text (kernel, index, CL_KERNEL_ARG_NAME, parameter.name, error)
      || !read_text (kernel, index, CL_KERNEL_ARG_TYPE_NAME, type, error)
      || !read_info (kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, space, error)
      || !read_info (kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, qualifiers, error)
      || !read_info (kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, access, error))
    return false;
  parameter.name = written_name (parameter.name);
  parameter.type = bare_type (type);
  parameter.space = space_of (space);
  if (parameter.is_sampler ())
    parameter.space = Parameter::VALUE;
  parameter.is_const = parameter.space == Parameter::CONSTANT
                       || (qualifiers & CL_KERNEL_ARG_TYPE_CONST)
                       || type.find ("const ") != std::string::npos;
  read_type (parameter);
  if (is_image (parameter.type))
    set_access (parameter, access != CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
        access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY
            || access == CL_KERNEL_ARG_ACCESS_READ_WRITE);
  return true;
}
} // namespace

gsize
Parameter::size () const
{
  return number ? number->size * (lanes == 3 ? 4 : lanes) : bytes;
}

/* Appends the field "float a" or "float a[4]" to the struct. */
static bool
add_field (const std::string &text, Parameter &parameter)
{
  const gsize bracket = text.find ('['), end = text.find (']');
  guint64 count = 1;
  Parameter field;

  if (bracket != end
      && (text.find_last_not_of (" \t\n") != end
          || !g_ascii_string_to_unsigned (
              text.substr (bracket + 1, end - bracket - 1).c_str (), 10, 1, most_fields,
              &count, nullptr)))
    return false;
  if (!parse_parameter (text.substr (0, bracket), field, nullptr) || !field.number
      || parameter.fields.size () + count > most_fields)
    return false;
  field.name = parameter.name + '.' + field.name;
  for (; count > 0; count--) {
    field.offset = round_up (parameter.bytes, field.size ());
    parameter.bytes = field.offset + field.size ();
    parameter.fields.push_back (field);
  }
  return true;
}

void
read_fields (const std::string &source, Parameter &parameter)
{
  std::istringstream members (body_of_struct (source, parameter.type));
  gsize alignment = 1;
  bool is_known = true;

  for (std::string member, part; is_known && std::getline (members, member, ';');) {
    std::istringstream parts (member);
    std::string type;
    while (is_known && std::getline (parts, part, ',')
           && part.find_first_not_of (" \t\n") != std::string::npos) {
      is_known = add_field (type + part, parameter);
      type = is_known ? parameter.fields.back ().type + ' ' : "";
    }
  }
  for (const Parameter &field : parameter.fields)
    alignment = std::max (alignment, field.size ());
  parameter.bytes = is_known ? round_up (parameter.bytes, alignment) : 0;
  if (!is_known)
    parameter.fields.clear ();
}

std::string
Parameter::text () const
{
  const char *const access = !is_written () ? "read_only "
                             : is_read      ? "read_write "
                                            : "write_only ";
  const char *const spaces[] = {"", "__global ", "__constant ", "__local ", access};
  const bool is_pointer = is_array () || space == LOCAL;
  return spaces[space] + std::string (is_const && space == GLOBAL ? "const " : "") + type
         + (is_pointer ? " *" : " ") + name;
}

std::string
signature_text (const Signature &signature)
{
  std::string text;
  for (const Parameter &parameter : signature)
    text += (text.empty () ? "" : ", ") + parameter.text ();
  return text.empty () ? "(none)" : text;
}

bool
read_signature (cl_kernel kernel, Signature &signature, GError **error)
{
  cl_uint count = 0;

  if (!count_parameters (kernel, count, error))
    return false;
  signature.assign (count, Parameter ());
  for (cl_uint index = 0; index < count; index++) {
    if (!read_parameter (kernel, index, signature[index], error))
      return false;
  }
  return true;
}

bool
read_declared_signature (
    cl_kernel kernel, const std::string &declared, Signature &signature, GError **error)
{
  std::istringstream parts (declared);
  cl_uint count = 0;

  signature.clear ();
  for (std::string part; std::getline (parts, part, ',');) {
    signature.emplace_back ();
    if (!parse_parameter (part, signature.back (), error))
      return false;
  }
  if (!count_parameters (kernel, count, error))
    return false;
  return count == signature.size ()
         || fail_declaration (error, std::to_string (signature.size ())
                                         + " are declared (" + signature_text (signature)
                                         + "), but the kernel has "
                                         + std::to_string (count));
}

bool
kernels_of_program (cl_program program, std::vector<std::string> &names, GError **error)
{
  gsize size = 0, count = 0;
  /* NVIDIA's driver crashes if the names of a program without kernels are queried. */
  cl_int code =
      clGetProgramInfo (program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, nullptr);
  if (code == CL_SUCCESS && count == 0)
    return true;
  if (code == CL_SUCCESS)
    code = clGetProgramInfo (program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
  std::string all (size, '\0'), name;

  if (code == CL_SUCCESS)
    code = clGetProgramInfo (program, CL_PROGRAM_KERNEL_NAMES, size, &all[0], nullptr);
  if (!gst_opencl_check (code, "clGetProgramInfo", error))
    return false;
  std::istringstream parts (all.c_str ());
  while (std::getline (parts, name, ';'))
    if (!name.empty ())
      names.push_back (name);
  std::sort (names.begin (), names.end ());
  return true;
}

/* --- values of arguments --- */

namespace {
/* Stores `number` as a T. Returns false if T is an integer type that cannot hold it.
 * Floating-point types round it. */
template <typename T>
bool
put_number (Number number, guint8 *bytes)
{
  using Limits = std::numeric_limits<T>;
  if (Limits::is_integer
      && (number != std::floor (number) || number < Number (Limits::min ())
          || number > Number (Limits::max ())))
    return false;
  const T value = T (number);
  memcpy (bytes, &value, sizeof value);
  return true;
}

bool
put_half (Number, guint8 *)
{
  return false; /* OpenCL C has no such argument */
}

/* In the order of opencl::NumberType */
constexpr bool (*putters[]) (Number, guint8 *) = {put_number<gint8>, put_number<guint8>,
    put_number<gint16>, put_number<guint16>, put_number<gint32>, put_number<guint32>,
    put_number<gint64>, put_number<guint64>, put_half, put_number<gfloat>,
    put_number<gdouble>};

bool
number_of_value (const GValue *value, Number &number)
{
  if (G_VALUE_HOLDS (value, GST_TYPE_FRACTION)) {
    number = Number (gst_value_get_fraction_numerator (value))
             / gst_value_get_fraction_denominator (value);
    return true;
  }
  switch (G_VALUE_TYPE (value)) {
  case G_TYPE_BOOLEAN:
    number = g_value_get_boolean (value) ? 1 : 0;
    return true;
  case G_TYPE_INT:
    number = g_value_get_int (value);
    return true;
  case G_TYPE_UINT:
    number = g_value_get_uint (value);
    return true;
  case G_TYPE_INT64:
    number = Number (g_value_get_int64 (value));
    return true;
  case G_TYPE_UINT64:
    number = Number (g_value_get_uint64 (value));
    return true;
  case G_TYPE_FLOAT:
    number = g_value_get_float (value);
    return true;
  case G_TYPE_DOUBLE:
    number = g_value_get_double (value);
    return true;
  default:
    return false;
  }
}

std::string
number_text (Number number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_formatd (text, sizeof text, "%.9g", double (number));
}
} // namespace

bool
numbers_of_value (const GValue *value, std::vector<Number> &numbers)
{
  const bool is_array = GST_VALUE_HOLDS_ARRAY (value);
  if (!is_array && !GST_VALUE_HOLDS_LIST (value)) {
    Number number;
    if (!number_of_value (value, number))
      return false;
    numbers.push_back (number);
    return true;
  }
  const guint size =
      is_array ? gst_value_array_get_size (value) : gst_value_list_get_size (value);
  for (guint n = 0; n < size; n++) {
    if (!numbers_of_value (is_array ? gst_value_array_get_value (value, n)
                                    : gst_value_list_get_value (value, n),
            numbers))
      return false;
  }
  return true;
}

static bool
bytes_of_fields (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error)
{
  std::vector<guint8> value;
  auto next = numbers.begin ();

  bytes.assign (parameter.size (), 0);
  for (const Parameter &field : parameter.fields) {
    if (!bytes_of_numbers ({next, next + field.lanes}, field, value, error))
      return false;
    std::copy (value.begin (), value.end (), bytes.begin () + gssize (field.offset));
    next += field.lanes;
  }
  return true;
}

bool
bytes_of_numbers (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error)
{
  unsigned expected = parameter.fields.empty () ? parameter.lanes : 0;
  for (const Parameter &field : parameter.fields)
    expected += field.lanes;
  if (numbers.size () != expected) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s: %" G_GSIZE_FORMAT " numbers, expected %u%s", parameter.text ().c_str (),
        numbers.size (), expected,
        parameter.fields.empty () ? ""
                                  : (": " + signature_text (parameter.fields)).c_str ());
    return false;
  }
  if (!parameter.fields.empty ())
    return bytes_of_fields (numbers, parameter, bytes, error);
  bytes.assign (parameter.size (), 0);
  for (gsize n = 0; n < numbers.size (); n++) {
    if (putters[int (parameter.number->type)](
            numbers[n], bytes.data () + n * parameter.number->size))
      continue;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s: the type cannot hold %s", parameter.text ().c_str (),
        number_text (numbers[n]).c_str ());
    return false;
  }
  return true;
}

bool
fail (GError **error, const std::string &message)
{
  g_set_error_literal (
      error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, message.c_str ());
  return false;
}

bool
fail_argument (GError **error, const std::string &message, const Signature &signature)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s; the kernel's arguments: %s", message.c_str (),
      signature_text (signature).c_str ());
  return false;
}
} // namespace compute
