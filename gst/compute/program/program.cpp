/* A user-supplied kernel with its arguments bound to streams and settings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "program.hpp"

#include "kernelsource.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclkernel.h>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace compute {
namespace {
const gsize least_guard = 64 << 10; /* bytes beside each array, with check-bounds */

std::string
join (const std::vector<std::string> &words)
{
  std::string text;
  for (const std::string &word : words)
    text += (text.empty () ? "" : ", ") + word;
  return text;
}

bool
ends_with (const std::string &text, const std::string &end)
{
  return text.size () > end.size ()
         && text.compare (text.size () - end.size (), end.size (), end) == 0;
}

/* Moves the first error of the log to the start of the message. */
void
put_first_error_first (GError *error)
{
  std::istringstream log (error->message);
  std::string head, line;

  std::getline (log, head);
  while (std::getline (log, line)) {
    if (line.find ("error") == std::string::npos)
      continue;
    const gsize start = line.find_first_not_of (" \t");
    std::string message = line.substr (start) + " (" + head + ")";
    const gchar *rest = strchr (error->message, '\n');
    gchar *whole = g_strconcat (message.c_str (), rest, nullptr);
    g_free (error->message);
    error->message = whole;
    return;
  }
}
} // namespace

/* --- the kernel --- */

std::unique_ptr<Program>
Program::create (GstOpenCLContext *context, const Task &task,
    const std::vector<Stream> &streams, const Program *previous, GError **error)
{
  auto program = std::make_unique<Program> ();

  program->context = context;
  program->part_alignment = std::max (
      1u, opencl::device_info<cl_uint> (context, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  program->streams = streams;
  program->n_given = streams.size ();
  while (!streams[program->n_inputs].is_output)
    program->n_inputs++;
  program->alignment = task.alignment;
  program->fill = task.fill_output;
  program->checks_bounds = task.checks_bounds;
  if (!program->build (task, previous, error)
      || !program->take_names ("inputs", task.inputs, 0, program->n_inputs, error)
      || !program->take_names (
          "outputs", task.outputs, program->n_inputs, program->n_outputs (), error))
    return nullptr;
  program->given = program->streams;
  program->continues = previous && previous->given == program->given;
  if (!program->find_in_out (error))
    return nullptr;
  program->add_last_outputs (task, previous);
  program->name_streams (task.arguments);
  program->scratch.resize (program->streams.size ());
  program->scratch_bytes.resize (program->streams.size ());
  program->parts.resize (program->streams.size ());
  program->images.resize (program->streams.size ());
  if ((task.outputs.empty () && !program->check_outputs (error))
      || !program->choose_row_strides (error)
      || !program->check_arguments (task.arguments, error)
      || !program->bind_all (task, previous, error) || !program->set_size (task, error))
    return nullptr;
  return program;
}

bool
Program::describe (
    GstOpenCLContext *context, const Task &task, Signature &signature, GError **error)
{
  Program program;

  program.context = context;
  const bool is_built = program.build (task, nullptr, error);
  signature = program.signature;
  return is_built;
}

cl::Program
Program::build_source (const Task &task, GError **error) const
{
  GError *reason = nullptr;
  cl::Program program (gst_opencl_context_get_program (
      context, task.source.c_str (), options.c_str (), &reason));

  if (!program ()) {
    if (g_error_matches (reason, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD))
      put_first_error_first (reason);
    g_propagate_error (error, reason);
  }
  return program;
}

/* Loading a program takes seconds on some boards, so a change of arguments reuses it. */
cl::Program
Program::build_compiled (const Task &task, const Program *previous, GError **error)
{
  compiled = task.compiled;
  built = previous && previous->compiled == compiled && previous->options == options
                  && previous->context == context
              ? opencl::retained<cl::Program> (previous->built (), error)
              : build_compiled_program (context, *compiled, options, error);
  return built () ? opencl::retained<cl::Program> (built (), error) : cl::Program ();
}

/* PoCL reports the arguments of a binary's kernels only with -cl-kernel-arg-info here. */
bool
Program::build (const Task &task, const Program *previous, GError **error)
{
  GError *reason = nullptr;

  if (!task.compiled && !task.parameters.empty ())
    return fail (error,
        "parameters is set, but OpenCL C declares the kernel's parameters "
        "itself: unset it");
  options = "-cl-kernel-arg-info " + task.options;
  cl::Program program =
      task.compiled ? build_compiled (task, previous, error) : build_source (task, error);
  if (!program () || !choose_kernel (program (), task, error))
    return false;
  if (!task.parameters.empty ())
    return read_declared_signature (kernel (), task.parameters, signature, error);
  if (read_signature (kernel (), signature, &reason)) {
    if (!task.compiled)
      find_types (task.source);
    return true;
  }
  g_prefix_error (&reason, "The arguments of the kernel \"%s\" cannot be bound by name: ",
      kernel_name.c_str ());
  g_propagate_error (error, reason);
  return false;
}

/* The compiler evaluates three constants of `source` and stores them in a kernel's
 * work-group size. Returns zeros if they do not compile. */
std::array<gsize, 3>
Program::constants_of (const std::string &source, const std::string &constants) const
{
  std::array<gsize, 3> group{};
  const std::string text = source
                           + "\nkernel __attribute"
                             "__ ((reqd_work_group_size ("
                           + constants
                           + "))) void size_of_argument (global int *unused) { }\n";
  const cl::Program sized (
      gst_opencl_context_get_program (context, text.c_str (), options.c_str (), nullptr));
  const cl::Kernel kernel (
      sized () ? clCreateKernel (sized (), "size_of_argument", nullptr) : nullptr);
  if (kernel ()
      && clGetKernelWorkGroupInfo (kernel (), gst_opencl_context_get_device (context),
             CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group.data (), nullptr)
             != CL_SUCCESS)
    group.fill (0);
  return group;
}

/* Finds the number that a typedef stands for. The sizes of sums tell floating-point numbers
 * from integers. */
void
Program::find_typedef (const std::string &source, Parameter &parameter) const
{
  const std::string type = "((" + parameter.type + ") ", zero = type + "0)";
  const auto [size, with_long, with_float] = constants_of (source,
      "sizeof " + zero + ", sizeof (" + zero + " + 0L), sizeof (" + zero + " + 0.0f)");
  if (size == 0)
    return;
  const bool is_float = (size == 8 ? with_float : with_long) == size;
  const bool is_signed =
      !is_float && constants_of (source, "1 + (" + type + "-1) < 0), 1, 1")[0] == 2;
  parameter.number = opencl::number_of_kind (is_float    ? 'f'
                                             : is_signed ? 'i'
                                                         : 'u',
      size);
  parameter.lanes = 1;
}

/* Finds the number that a typedef stands for. Else finds the size of structs, and their
 * members if these have the usual alignment. Some drivers do not check the size of an
 * argument. */
void
Program::find_types (const std::string &source)
{
  for (Parameter &parameter : signature) {
    const std::string &type = parameter.type;
    if (parameter.number || parameter.is_image () || parameter.is_sampler ()
        || type == "void")
      continue;
    read_fields (source, parameter);
    if (body_of_struct (source, type).empty ())
      find_typedef (source, parameter);
    if (parameter.number)
      continue;
    const gsize bytes = constants_of (source, "sizeof (" + type + "), 1, 1")[0];
    if (parameter.bytes != bytes) {
      parameter.fields.clear (); /* of a packed struct, or not found */
      parameter.bytes = bytes;
    }
  }
}

bool
Program::choose_kernel (cl_program program, const Task &task, GError **error)
{
  std::vector<std::string> names;
  cl_int code = CL_SUCCESS;

  if (!kernels_of_program (program, names, error))
    return false;
  if (names.empty ())
    return fail (error, "The program has no kernel");
  if (task.kernel.empty () && names.size () > 1)
    return fail (error,
        "The program has several kernels, set `kernel` to one of: " + join (names));
  kernel_name = task.kernel.empty () ? names[0] : task.kernel;
  if (std::find (names.begin (), names.end (), kernel_name) == names.end ())
    return fail (error, "The program has no kernel \"" + kernel_name
                            + "\"; its kernels: " + join (names));
  kernel = cl::Kernel (clCreateKernel (program, kernel_name.c_str (), &code));
  return gst_opencl_check (code, "clCreateKernel", error);
}

const Parameter *
Program::parameter_named (const std::string &name) const
{
  for (const Parameter &parameter : signature) {
    if (parameter.name == name)
      return &parameter;
  }
  return nullptr;
}

const Stream *
Program::stream_named (const std::string &name) const
{
  for (const Stream &stream : streams) {
    if (stream.name == name)
      return &stream;
  }
  return nullptr;
}

/* Gives `count` streams the names that a property lists. An output must be written. */
bool
Program::take_names (const char *property, const std::string &text, gsize first,
    gsize count, GError **error)
{
  const std::string start = std::string (property) + "=" + text + ": ";
  std::istringstream parts (text);
  std::vector<std::string> names;

  for (std::string part; std::getline (parts, part, ',');) {
    const std::string name = g_strstrip (&part[0]);
    const Parameter *parameter = parameter_named (name);
    if (!parameter)
      return fail_argument (error,
          start + "the kernel \"" + kernel_name + "\" has no argument \"" + name + "\"",
          signature);
    if (std::find (names.begin (), names.end (), name) != names.end ())
      return fail (error, start + "\"" + name + "\" is listed twice");
    if (!parameter->is_array () && !parameter->is_image ())
      return fail (error,
          start + "\"" + parameter->text () + "\" is neither a pointer nor an image");
    if (first == n_inputs && !parameter->is_written ())
      return fail (error, start + "the kernel cannot write to \"" + parameter->text ()
                              + "\", expected a pointer that is not const");
    names.push_back (name);
  }
  if (!names.empty () && names.size () != count)
    return fail (error, start + std::to_string (names.size ()) + " names, but there are "
                            + std::to_string (count) + " " + property);
  for (gsize n = 0; n < names.size (); n++)
    streams[first + n].name = names[n];
  return true;
}

/* An input with the name of an output is copied to it. The kernel has no argument for the
 * input itself. */
bool
Program::find_in_out (GError **error)
{
  for (gsize n = 0; n < n_inputs; n++) {
    Stream &in = streams[n];
    const auto out = std::find_if (streams.begin () + gssize (n_inputs), streams.end (),
        [&] (const Stream &stream) { return stream.name == in.name; });
    if (out == streams.end ())
      continue;
    if (in.array.type != out->array.type || in.lines () != out->lines ()
        || in.line_bytes () != out->line_bytes ())
      return fail (error,
          "\"" + in.name + "\" is an input and an output, but the input has type "
              + opencl::info_of (in.array.type).name + " and dimensions "
              + opencl::dimensions_text (in.array.shape) + ", and the output has type "
              + opencl::info_of (out->array.type).name + " and dimensions "
              + opencl::dimensions_text (out->array.shape));
    in_outs.push_back ({n, gsize (out - streams.begin ())});
    in.name.clear ();
  }
  return true;
}

/* Returns whether an output has contents before the kernel runs. */
bool
Program::is_filled (gsize output) const
{
  return fill >= 0
         || std::any_of (in_outs.begin (), in_outs.end (),
             [output] (const InOut &in_out) { return in_out.output == output; });
}

bool
Program::adds_to_old_values (const std::string &source) const
{
  for (gsize n = n_inputs; n < n_given; n++) {
    if (!is_filled (n) && calls_atomic_on (source, streams[n].name))
      return true;
  }
  return false;
}

/* Checks that the kernel has the outputs that the caps have. */
bool
Program::check_outputs (GError **error) const
{
  const std::string start = "The kernel \"" + kernel_name + "\" has ";
  gsize n = 0;

  while (has ("output" + std::to_string (n)))
    n++;
  if (n > 0 && n != n_outputs () && (n_outputs () > 1 || !has (output ().name)))
    return fail_argument (error,
        start + std::to_string (n) + " outputs (output0 …), but the output's caps have "
            + std::to_string (n_outputs ())
            + " tensors: set num_tensors, types and dimensions in output-caps",
        signature);
  if (!has (output ().name))
    return fail_argument (
        error, start + "no argument \"" + output ().name + "\"", signature);
  return true;
}

/* Makes the last outputs inputs if the kernel has arguments of their names, unless an
 * input or a field of `arguments` has the name too. */
void
Program::add_last_outputs (const Task &task, const Program *previous)
{
  for (gsize n = n_inputs; n < n_given; n++) {
    Stream stream = streams[n];
    if (!task.outputs.empty ())
      stream.name = "previous"
                    + (n_outputs () > 1 ? std::to_string (n - n_inputs) : std::string ());
    else
      stream.name.replace (stream.name.rfind ("output"), strlen ("output"), "previous");
    if (!has (stream.name) || stream_named (stream.name)
        || (task.arguments
            && gst_structure_has_field (task.arguments, stream.name.c_str ())))
      continue;
    LastOutput last = {n, streams.size ()};
    for (const LastOutput &known :
        continues ? previous->last_outputs : std::vector<LastOutput> ()) {
      if (known.output == n)
        last = known;
    }
    last.stream = streams.size ();
    last_outputs.push_back (last);
    stream.is_output = false;
    streams.push_back (stream);
  }
}

/* Renames the output if the kernel does not have its name, to the only array or image that
 * the kernel writes. Renames the inputs if it has the name of none, to those that it
 * reads, in order. */
void
Program::name_streams (const GstStructure *arguments)
{
  std::vector<std::string> read, written_to;

  for (const Parameter &parameter : signature) {
    const char *name = parameter.name.c_str ();
    const bool is_named = stream_named (parameter.name)
                          || (arguments && gst_structure_has_field (arguments, name));
    if (!is_named && parameter.is_written ())
      written_to.push_back (parameter.name);
    else if (!is_named && (parameter.space == Parameter::GLOBAL || parameter.is_image ()))
      read.push_back (parameter.name);
  }
  if (n_outputs () == 1 && !has (output ().name) && written_to.size () == 1)
    streams[n_inputs].name = written_to[0];
  if (std::any_of (streams.begin (), streams.begin () + gssize (n_inputs),
          [&] (const Stream &stream) {
            return stream.name.empty () || has (stream.name);
          }))
    return;
  for (gsize n = 0; n < std::min (n_inputs, read.size ()); n++)
    streams[n].name = read[n];
}

/* A kernel without a stride argument expects contiguous rows. */
bool
Program::choose_row_strides (GError **error)
{
  const std::string &out = output ().name;

  for (gsize n = 0; n < streams.size (); n++) {
    const Stream &stream = streams[n];
    const bool has_output_stride = has ("stride") || has (out + "_stride");
    RowStride wanted = RowStride::CONTIGUOUS;
    if (has (stream.name) && parameter_named (stream.name)->is_image ())
      wanted = RowStride::OF_IMAGE;
    else if (has (stream.name + "_stride") || (stream.is_output && has ("stride")))
      wanted = RowStride::OWN;
    else if (n < n_given ? has ("stride") && stream.is_video && output ().is_video
                         : has_output_stride)
      wanted = RowStride::OF_OUTPUT;
    if (wanted == RowStride::OF_OUTPUT && stream.line_bytes () > output ().line_bytes ())
      return fail_argument (error,
          "Rows of " + stream.name + " are longer than those of " + out
              + ", so \"stride\" is not enough: expected \"" + stream.name
              + "_stride\" and \"" + out + "_stride\"",
          signature);
    row_strides.push_back (wanted);
  }
  return true;
}

/* --- arguments --- */

bool
Program::check_arguments (const GstStructure *arguments, GError **error) const
{
  for (gint n = 0; arguments && n < gst_structure_n_fields (arguments); n++) {
    const std::string name = gst_structure_nth_field_name (arguments, guint (n));
    if (!has (name))
      return fail_argument (error,
          "The kernel \"" + kernel_name + "\" has no argument \"" + name + "\"",
          signature);
    if (stream_named (name))
      return fail_argument (error,
          "The argument \"" + name + "\" is an input or the output, and cannot be set",
          signature);
  }
  return true;
}

/* Binds arrays first, because other arguments may be their sizes. */
bool
Program::bind_all (const Task &task, const Program *previous, GError **error)
{
  written.assign (streams.size (), false);
  for (bool pass_of_arrays : {true, false}) {
    for (cl_uint index = 0; index < signature.size (); index++) {
      if (signature[index].is_array () == pass_of_arrays
          && !bind (index, task, previous, error))
        return false;
    }
  }
  return true;
}

/* (nullable) */
static const GValue *
argument_of (const Task &task, const Parameter &parameter)
{
  return task.arguments
             ? gst_structure_get_value (task.arguments, parameter.name.c_str ())
             : nullptr;
}

bool
Program::bind (cl_uint index, const Task &task, const Program *previous, GError **error)
{
  const Parameter &parameter = signature[index];
  const GValue *value = argument_of (task, parameter);
  bool bound = false;

  if (parameter.is_image ())
    return bind_image (index, task, error);
  if (parameter.is_sampler ())
    return bind_sampler (index, value, error);
  if (parameter.is_array ())
    return bind_array (index, task, previous, error);
  if (parameter.space == Parameter::LOCAL && value)
    return bind_local (index, value, error);
  if (parameter.is_struct ())
    return bind_struct (index, value, error);
  if (parameter.space == Parameter::VALUE && value)
    return bind_number (index, value, error);
  if (parameter.space == Parameter::VALUE && !bind_attribute (index, bound, error))
    return false;
  return bound
         || fail_argument (error,
             "The kernel \"" + kernel_name + "\" has no value for its argument \""
                 + parameter.name + "\"",
             signature);
}

bool
Program::bind_array (
    cl_uint index, const Task &task, const Program *previous, GError **error)
{
  const Parameter &parameter = signature[index];
  std::shared_ptr<StoredArray> stored;

  if (const Stream *stream = stream_named (parameter.name)) {
    const gsize n = gsize (stream - streams.data ());
    written[n] = written[n] || parameter.is_written ();
    bindings.push_back ({Binding::STREAM, index, n});
    return true;
  }
  const GValue *value = argument_of (task, parameter);
  if (!value)
    return fail_argument (error,
        "The kernel \"" + kernel_name + "\" has no array for its argument \""
            + parameter.name + "\": expected the name of a .npy file",
        signature);
  if (!G_VALUE_HOLDS_STRING (value))
    return fail_argument (error,
        "The argument \"" + parameter.name
            + "\" is an array: expected the name of a .npy file",
        signature);
  if (!store_array (g_value_get_string (value), parameter, task, previous, stored, error))
    return false;
  arrays[parameter.name] = stored;
  const cl_mem buffer = stored->buffer ();
  return set (index, sizeof buffer, &buffer, error);
}

bool
Program::bind_image (cl_uint index, const Task &task, GError **error)
{
  const Parameter &parameter = signature[index];
  const Stream *stream = stream_named (parameter.name);
  if (!stream || stream->is_output != parameter.is_written ())
    return fail_argument (error,
        "The argument \"" + parameter.name
            + "\" is an image, expected a read_only image that is an input, or a "
              "write_only one that is the output",
        signature);
  const gsize n = gsize (stream - streams.data ());
  images[n] = FrameImage::make (context, *stream, parameter,
      uses_integers_of (task.source, parameter.name), is_filled (n), error);
  bindings.push_back ({Binding::STREAM, index, n});
  return images[n] != nullptr;
}

bool
Program::bind_sampler (cl_uint index, const GValue *value, GError **error)
{
  samplers.emplace_back ();
  const bool made =
      make_sampler (context, signature[index], value, samplers.back (), error);
  const cl_sampler sampler = samplers.back () ();
  return made && set (index, sizeof sampler, &sampler, error);
}

static bool
check_type (const char *path, const opencl::NpyHeader &header, const Parameter &parameter,
    GError **error)
{
  const bool same = !parameter.number || header.type == parameter.number->type;
  const bool whole = parameter.size () == 0 || parameter.lanes == 3
                     || (header.record > 0 && !parameter.number
                             ? header.record == parameter.size ()
                             : header.data_size () % parameter.size () == 0);

  if (same && whole && header.data_size () > 0)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s holds an array of shape %s and type '%s', which does not fit the argument "
      "\"%s\"%s",
      path, opencl::npy_shape_text (header.shape).c_str (), header.descr.c_str (),
      parameter.text ().c_str (),
      parameter.number || parameter.size () == 0
          ? ""
          : (" of " + std::to_string (parameter.size ()) + " bytes").c_str ());
  return false;
}

/* The buffer belongs to the program. If the kernel writes to it, it keeps its contents
 * from frame to frame, until the program starts over. */
bool
Program::store_array (const char *path, const Parameter &parameter, const Task &task,
    const Program *previous, std::shared_ptr<StoredArray> &stored, GError **error) const
{
  opencl::NpyArray array;

  if (previous) {
    auto known = previous->arrays.find (parameter.name);
    if (known != previous->arrays.end () && known->second->path == path
        && known->second->reloads == task.reloads && known->second->context == context
        && (known->second->initial () ? continues : !parameter.is_written ())) {
      stored = known->second;
      return check_type (path, stored->header, parameter, error);
    }
  }
  if (!opencl::npy_load (path, array, error, opencl::NpyRecords::TAKE)
      || !check_type (path, array.header, parameter, error))
    return false;
  stored = std::make_shared<StoredArray> ();
  stored->path = path;
  stored->context = context;
  stored->reloads = task.reloads;
  stored->header = array.header;
  for (cl::Buffer *buffer : {&stored->buffer, &stored->initial}) {
    if (buffer == &stored->initial && !parameter.is_written ())
      continue;
    *buffer = opencl::make_buffer (context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
        array.header.data_size (), error, array.values ());
    if (!(*buffer) ())
      return false;
  }
  gst_opencl_count_upload (array.header.data_size ());
  return true;
}

bool
Program::bind_local (cl_uint index, const GValue *value, GError **error)
{
  const Parameter &parameter = signature[index];
  std::vector<Number> numbers;

  if (!numbers_of_value (value, numbers) || numbers.size () != 1 || numbers[0] < 1
      || numbers[0] != std::floor (numbers[0]) || parameter.size () == 0)
    return fail_argument (error,
        "The argument \"" + parameter.name
            + "\" is local memory: expected the number of elements per work-group",
        signature);
  return local_arguments.set (kernel (), gst_opencl_context_get_device (context), index,
      '"' + parameter.name + '"', numbers[0] * Number (parameter.size ()), error);
}

/* The bytes of a file, or numbers if the source declares the struct with numbers only */
bool
Program::bind_struct (cl_uint index, const GValue *value, GError **error)
{
  const Parameter &parameter = signature[index];
  opencl::NpyArray array;

  if (!value || !G_VALUE_HOLDS_STRING (value)) {
    if (value && !parameter.fields.empty ())
      return bind_number (index, value, error);
    const std::string numbers =
        parameter.fields.empty ()
            ? ""
            : "numbers (" + signature_text (parameter.fields) + ") or ";
    return fail_argument (error,
        "The argument \"" + parameter.name + "\" is a struct: expected " + numbers
            + "the name of a .npy file with one record",
        signature);
  }
  if (!opencl::npy_load (
          g_value_get_string (value), array, error, opencl::NpyRecords::TAKE))
    return false;
  const gsize given = array.header.data_size (), known = parameter.size ();
  const gsize most = opencl::device_info<gsize> (context, CL_DEVICE_MAX_PARAMETER_SIZE);
  const cl_int code = given <= most && (known == 0 || known == given)
                          ? clSetKernelArg (kernel (), index, given, array.values ())
                          : CL_INVALID_ARG_SIZE;
  if (code != CL_INVALID_ARG_SIZE)
    return gst_opencl_check (code, "clSetKernelArg", error);
  return fail_argument (error,
      "The argument \"" + parameter.text () + "\" has "
          + (known > 0 ? std::to_string (known) : "another number of") + " bytes, but "
          + g_value_get_string (value) + " holds " + std::to_string (given)
          + " bytes of type " + array.header.descr + " and shape "
          + opencl::npy_shape_text (array.header.shape),
      signature);
}

bool
Program::bind_number (cl_uint index, const GValue *value, GError **error)
{
  std::vector<Number> numbers;

  if (!numbers_of_value (value, numbers))
    return fail_argument (error,
        "The argument \"" + signature[index].name + "\" is set to a "
            + G_VALUE_TYPE_NAME (value) + ", expected "
            + (signature[index].lanes == 1 && signature[index].fields.empty ()
                    ? "a number"
                    : "an array of numbers"),
        signature);
  return set_numbers (index, numbers, error);
}

bool
Program::set (cl_uint index, gsize size, const void *value, GError **error)
{
  return gst_opencl_check (
      clSetKernelArg (kernel (), index, size, value), "clSetKernelArg", error);
}

bool
Program::set_numbers (cl_uint index, const std::vector<Number> &numbers, GError **error)
{
  std::vector<guint8> bytes;
  return bytes_of_numbers (numbers, signature[index], bytes, error)
         && set (index, bytes.size (), bytes.data (), error);
}

/* Sets `bound` to whether the argument has a predefined name. */
bool
Program::bind_attribute (cl_uint index, bool &bound, GError **error)
{
  const std::string &name = signature[index].name;
  gsize value;

  bound = true;
  if (name == "frame" || name == "index" || name == "time") {
    bindings.push_back ({name == "time" ? Binding::TIME : Binding::FRAME, index, 0});
    return true;
  }
  for (gsize n = 0; n < streams.size (); n++) {
    if (name == streams[n].name + "_stride" || (n == n_inputs && name == "stride")) {
      bindings.push_back ({Binding::STRIDE, index, n});
      return true;
    }
  }
  bound = find_attribute (name, value);
  return !bound || set_numbers (index, {Number (value)}, error);
}

/* Finds a length by its name: "width" of the output, "input_width" of the input. */
bool
Program::find_attribute (const std::string &name, gsize &value) const
{
  static constexpr struct {
    const char *name;
    gsize (*value) (const Stream &);
  } attributes[] = {
      {"width", [] (const Stream &s) { return s.width (); }},
      {"height", [] (const Stream &s) { return s.height (); }},
      {"pixels",
          [] (const Stream &s) {
            return s.is_video ? s.width () * s.height () : s.array.count ();
          }},
      {"count", [] (const Stream &s) { return s.array.count (); }},
      {"shape0", [] (const Stream &s) { return s.array.length (0); }},
      {"shape1", [] (const Stream &s) { return s.array.length (1); }},
      {"shape2", [] (const Stream &s) { return s.array.length (2); }},
      {"shape3", [] (const Stream &s) { return s.array.length (3); }},
  };
  for (const auto &attribute : attributes) {
    if (name == attribute.name) {
      value = attribute.value (output ());
      return true;
    }
    if (!ends_with (name, std::string ("_") + attribute.name))
      continue;
    const std::string array_name =
        name.substr (0, name.size () - strlen (attribute.name) - 1);
    auto stored = arrays.find (array_name);
    const Stream *stream = stream_named (array_name);
    Stream user_array;
    if (!stream && stored != arrays.end ()) {
      user_array.array = {stored->second->header.type, stored->second->header.shape};
      if (stored->second->header.complex)
        user_array.array.shape.push_back (2);
      stream = &user_array;
    }
    if (stream) {
      value = attribute.value (*stream);
      return true;
    }
  }
  return false;
}

/* --- number of work-items --- */

/* Returns the innermost length of an output array if that is one vector or struct of the
 * kernel's pointer, else 1. */
gsize
Program::vector_length () const
{
  const Parameter *parameter = parameter_named (output ().name);
  const gsize size = opencl::info_of (output ().array.type).size;
  const gsize length = output ().array.length (0);
  return parameter && parameter->size () > size && parameter->size () == length * size
             ? length
             : 1;
}

/* One work-item for each pixel, or for each element of an array. The kernel's calls of
 * get_global_id () determine the number of dimensions. If the array has more dimensions,
 * the last one of the kernel covers the rest of them. */
bool
Program::default_size (const Task &task, std::vector<gsize> &global, GError **error) const
{
  if (const auto &image = images[n_inputs]) {
    global = {image->width, image->height};
    return true;
  }
  if (output ().is_video) {
    global = {output ().width (), output ().height ()};
    return true;
  }
  if (task.compiled)
    return fail (
        error, "global-size is not set, and " + task.compiled->location
                   + " has no source to find the number of dimensions of the kernel \""
                   + kernel_name + "\": expected a global-size such as count");
  const gsize vector = vector_length ();
  gsize rest = output ().array.count () / vector;
  for (unsigned d = 0; d + 1 < work_dimensions (task.source, kernel_name); d++) {
    global.push_back (output ().array.length (d + (vector > 1)));
    rest /= global.back ();
  }
  global.push_back (rest);
  return true;
}

bool
Program::set_size (const Task &task, GError **error)
{
  std::vector<gsize> global, local;
  const FindLength find = [this] (const std::string &name, gsize &value) {
    return find_attribute (name, value);
  };

  size = WorkSize (context, kernel (), kernel_name);
  return (!task.global_size.empty () || default_size (task, global, error))
         && parse_sizes ("global-size", task.global_size, find, global, error)
         && parse_sizes ("local-size", task.local_size, find, local, error)
         && size.choose_sizes (global, local, task.checks_size, error);
}

/* --- a frame --- */

/* Copies the rows of a stream between two buffers. */
bool
Program::copy_rows (gsize stream, cl_command_queue queue, const Place &from,
    gsize from_offset, const Place &to, gsize to_offset, GError **error) const
{
  const Stream &of = streams[stream];
  const gsize from_origin[] = {from_offset, 0, 0}, to_origin[] = {to_offset, 0, 0};
  const gsize region[] = {of.line_bytes (), of.lines (), 1};

  if (of.lines () == 1)
    return gst_opencl_check (clEnqueueCopyBuffer (queue, from.data, to.data, from_offset,
                                 to_offset, of.line_bytes (), 0, nullptr,
                                 opencl::Profiled (queue, opencl::command::copy)),
        "clEnqueueCopyBuffer", error);
  return gst_opencl_check (
      clEnqueueCopyBufferRect (queue, from.data, to.data, from_origin, to_origin, region,
          from.stride, 0, to.stride, 0, 0, nullptr,
          opencl::Profiled (queue, opencl::command::copy)),
      "clEnqueueCopyBufferRect", error);
}

/* Returns a part of a buffer. It is empty where the device cannot start one at `offset`, or
 * if the buffer is a part itself. NVIDIA's driver makes parts that begin anywhere, which
 * kernels cannot use. */
cl::Buffer
Program::part_of (cl_mem data, gsize offset, gsize bytes) const
{
  const cl_buffer_region region = {offset, bytes};
  if (offset % part_alignment != 0)
    return cl::Buffer ();
  return cl::Buffer (
      clCreateSubBuffer (data, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr));
}

/* Passes the frame itself to the kernel, or a scratch buffer. The kernel gets a scratch
 * buffer if the frame has an offset in its memory, if its row stride does not fit, or if
 * the kernel may write to an input. */
bool
Program::place (gsize stream, cl_command_queue queue, const GstOpenCLFrame &frame,
    gsize output_stride, Place &placed, GError **error)
{
  const Stream &of = streams[stream];
  const gsize frame_stride = of.is_video ? gsize (frame.stride[0]) : of.row_bytes ();
  gsize wanted = frame_stride;

  if (of.is_video && row_strides[stream] == RowStride::CONTIGUOUS)
    wanted = of.line_bytes ();
  else if (of.is_video && row_strides[stream] == RowStride::OF_OUTPUT)
    wanted = output_stride;
  else if (of.is_video && row_strides[stream] == RowStride::OF_IMAGE)
    wanted = images[stream]->row_stride (frame_stride);
  else if (of.is_video)
    wanted = round_up (frame_stride, alignment);
  placed = {frame.data, wanted, false};
  if (of.is_output && n_outputs () > 1) {
    parts[stream] = part_of (frame.data, frame.offset[0] + of.offset, of.array.bytes ());
    placed.data = parts[stream]();
    if (placed.data)
      return true;
  } else if (frame.offset[0] == 0 && wanted == frame_stride
             && (of.is_output || !written[stream])) {
    return true;
  }

  const gsize bytes = of.is_video ? wanted * of.lines () : of.array.bytes ();
  if (scratch_bytes[stream] < bytes) {
    scratch[stream] = opencl::make_buffer (context, bytes, error);
    scratch_bytes[stream] = scratch[stream]() ? bytes : 0;
  }
  if (!scratch[stream]())
    return false;
  placed = {scratch[stream](), wanted, true};
  return of.is_output
         || copy_rows (stream, queue, {frame.data, frame_stride, false}, frame.offset[0],
             placed, 0, error);
}

/* Bytes from the first to the last row */
static gsize
bytes_of_rows (const Stream &stream, gsize stride)
{
  return stride * (stream.lines () - 1) + stream.line_bytes ();
}

bool
Program::fill_output (
    gsize stream, cl_command_queue queue, const Place &placed, GError **error) const
{
  const cl_uchar byte = cl_uchar (fill);
  const gsize bytes = bytes_of_rows (streams[stream], placed.stride);
  return fill < 0
         || gst_opencl_check (
             clEnqueueFillBuffer (queue, placed.data, &byte, sizeof byte, 0, bytes, 0,
                 nullptr, opencl::Profiled (queue, opencl::command::fill)),
             "clEnqueueFillBuffer", error);
}

/* --- the last output --- */

bool
Program::LastOutput::reserve (GstOpenCLContext *context, gsize wanted, GError **error)
{
  if (bytes < wanted) {
    buffer = opencl::make_buffer (context, wanted, error);
    bytes = buffer () ? wanted : 0;
  }
  return bytes >= wanted;
}

/* Before the first frame, the last output is zeros. */
bool
Program::map_last_output (
    LastOutput &last, cl_command_queue queue, GstOpenCLFrame &frame, GError **error)
{
  const gsize bytes = streams[last.output].array.bytes ();
  const cl_uchar zero = 0;

  if (last.stride == 0) {
    if (!last.reserve (context, bytes, error)
        || !gst_opencl_check (
            clEnqueueFillBuffer (queue, last.buffer (), &zero, sizeof zero, 0, bytes, 0,
                nullptr, opencl::Profiled (queue, opencl::command::fill)),
            "clEnqueueFillBuffer", error))
      return false;
    last.stride = streams[last.output].line_bytes ();
  }
  frame.data = last.buffer ();
  frame.stride[0] = gint (last.stride);
  return true;
}

bool
Program::keep_output (
    LastOutput &last, cl_command_queue queue, const Place &placed, GError **error)
{
  const gsize bytes = bytes_of_rows (streams[last.output], placed.stride);

  last.stride = placed.stride;
  /* NVIDIA's driver copies rectangles of whole rows alone. */
  return last.reserve (context, placed.stride * streams[last.output].lines (), error)
         && gst_opencl_check (
             clEnqueueCopyBuffer (queue, placed.data, last.buffer (), 0, 0, bytes, 0,
                 nullptr, opencl::Profiled (queue, opencl::command::copy)),
             "clEnqueueCopyBuffer", error);
}

bool
Program::start_over (cl_command_queue queue, GError **error)
{
  for (LastOutput &last : last_outputs)
    last.stride = 0;
  for (const auto &[name, array] : arrays) {
    if (array->initial ()
        && !gst_opencl_check (
            clEnqueueCopyBuffer (queue, array->initial (), array->buffer (), 0, 0,
                array->header.data_size (), 0, nullptr,
                opencl::Profiled (queue, opencl::command::copy)),
            "clEnqueueCopyBuffer", error))
      return false;
  }
  return true;
}

namespace {
/* Range of `data` in its root buffer, in bytes */
struct MemoryRange {
  cl_mem root;
  gsize begin = 0, end = 0;
};

MemoryRange
extent_of (cl_mem data)
{
  MemoryRange extent = {data};
  cl_mem parent = nullptr;
  gsize size = 0;
  clGetMemObjectInfo (data, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
  clGetMemObjectInfo (data, CL_MEM_OFFSET, sizeof extent.begin, &extent.begin, nullptr);
  clGetMemObjectInfo (data, CL_MEM_SIZE, sizeof size, &size, nullptr);
  if (parent)
    extent.root = parent;
  extent.end = extent.begin + size;
  return extent;
}
} // namespace

/* Checks that no input overlaps the output: an application may pass the same memory. */
bool
Program::check_overlap (const std::vector<Place> &places, GError **error) const
{
  for (gsize pair = 0; pair < n_inputs * n_outputs (); pair++) {
    const gsize n = pair % n_inputs, to = n_inputs + pair / n_inputs;
    if (!places[n].data)
      continue; /* copied to an output */
    const MemoryRange read = extent_of (places[n].data),
                      written_to = extent_of (places[to].data);
    if (read.root == written_to.root && read.begin < written_to.end
        && written_to.begin < read.end)
      return fail_argument (error,
          "The arguments \"" + streams[n].name + "\" and \"" + streams[to].name
              + "\" overlap in memory",
          signature);
  }
  return true;
}

bool
Program::set_frame_arguments (
    const std::vector<Place> &places, const Moment &moment, GError **error)
{
  for (const Binding &binding : bindings) {
    const Place &placed = places[binding.stream];
    const auto &image = images[binding.stream];
    const cl_mem data = image ? image->handle () : placed.data;
    const bool is_stream = binding.kind == Binding::STREAM;
    Number number = 0;
    switch (binding.kind) {
    case Binding::STREAM:
      break;
    case Binding::STRIDE:
      number = Number (placed.stride);
      break;
    case Binding::FRAME:
      number = Number (moment.frame & G_MAXUINT32);
      break;
    case Binding::TIME:
      number = moment.time;
      break;
    }
    if (!(is_stream ? set (binding.index, sizeof data, &data, error)
                    : set_numbers (binding.index, {number}, error)))
      return false;
  }
  return true;
}

bool
Program::place_outputs (cl_command_queue queue, const GstOpenCLFrame &frame,
    std::vector<Place> &places, GError **error)
{
  for (gsize n = n_inputs; n < n_given; n++) {
    if (!place (n, queue, frame, 0, places[n], error)
        || !fill_output (n, queue, places[n], error))
      return false;
  }
  return true;
}

/* `previous` is placed as an input. An input that is an output is copied to it. */
bool
Program::place_inputs (cl_command_queue queue,
    const std::vector<const GstOpenCLFrame *> &frames, std::vector<Place> &places,
    GError **error)
{
  const gsize stride = places[n_inputs].stride;

  for (const auto &[input, output] : in_outs) {
    const GstOpenCLFrame &frame = *frames[input];
    const gsize frame_stride =
        streams[input].is_video ? gsize (frame.stride[0]) : streams[input].row_bytes ();
    if (!copy_rows (output, queue, {frame.data, frame_stride, false}, frame.offset[0],
            places[output], 0, error))
      return false;
  }
  for (gsize n = 0; n < n_inputs; n++) {
    if (!streams[n].name.empty ()
        && !place (n, queue, *frames[n], stride, places[n], error))
      return false;
  }
  for (LastOutput &last : last_outputs) {
    GstOpenCLFrame frame = {};
    if (!map_last_output (last, queue, frame, error)
        || !place (last.stream, queue, frame, stride, places[last.stream], error))
      return false;
  }
  return true;
}

/* Keeps outputs for the next frame, and copies those that the kernel wrote elsewhere. */
bool
Program::finish_outputs (cl_command_queue queue, const GstOpenCLFrame &frame,
    const std::vector<Place> &places, GError **error)
{
  const Place whole = {frame.data, gsize (frame.stride[0]), false};

  for (LastOutput &last : last_outputs) {
    if (!keep_output (last, queue, places[last.output], error))
      return false;
  }
  for (gsize n = n_inputs; n < n_given; n++) {
    if (places[n].is_scratch
        && !copy_rows (
            n, queue, places[n], 0, whole, frame.offset[0] + streams[n].offset, error))
      return false;
  }
  return true;
}

/* --- guards --- */

/* Passes guarded copies of all arrays to the kernel. */
bool
Program::begin_check (
    cl_command_queue queue, const std::vector<Place> &places, GError **error)
{
  guarded.resize (checks_bounds ? signature.size () : 0);
  for (cl_uint index = 0; index < guarded.size (); index++) {
    const Stream *stream = stream_named (signature[index].name);
    const auto array = arrays.find (signature[index].name);
    Guarded &guard = guarded[index];
    gsize bytes, stride = 0;
    if (stream && !signature[index].is_image ()) {
      const Place &place = places[gsize (stream - streams.data ())];
      guard.original = place.data;
      stride = place.stride;
      bytes = bytes_of_rows (*stream, stride);
    } else if (array != arrays.end ()) {
      guard.original = array->second->buffer ();
      bytes = array->second->header.data_size ();
    } else {
      continue;
    }
    if (!guard.copy.begin (
            context, queue, guard.original, bytes, std::max (least_guard, stride), error))
      return false;
    const cl_mem copy = guard.copy ();
    if (!set (index, sizeof copy, &copy, error))
      return false;
  }
  return true;
}

/* Waits for the kernel. */
bool
Program::end_check (cl_command_queue queue, GError **error)
{
  cl_event event = nullptr;
  gboolean is_over;

  if (!checks_bounds)
    return true;
  if (!gst_opencl_check (clEnqueueMarkerWithWaitList (queue, 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList", error))
    return false;
  clFlush (queue);
  const bool succeeded = gst_opencl_wait (event, &is_over, error);
  clReleaseEvent (event);
  for (gsize index = 0; succeeded && index < guarded.size (); index++) {
    const Guarded &guard = guarded[index];
    if (guard.original
        && (!check_guards (queue, guard.copy, signature[index], error)
            || (signature[index].is_written ()
                && !guard.copy.end (queue, guard.original, error))))
      return false;
  }
  return succeeded;
}

bool
Program::check_guards (cl_command_queue queue, const GuardedBuffer &copy,
    const Parameter &parameter, GError **error) const
{
  const Stream *stream = stream_named (parameter.name);
  const gint64 size = gint64 (parameter.size () > 0 ? parameter.size ()
                              : stream ? opencl::info_of (stream->array.type).size
                                       : 1);
  const gint64 count = gint64 (copy.bytes ()) / size;
  bool is_changed;
  gint64 outside;

  if (!copy.check (queue, is_changed, outside, error))
    return false;
  if (!is_changed)
    return true;
  const gint64 element = outside < 0 ? (outside + 1) / size - 1 : count + outside / size;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
      "The kernel \"%s\" writes element %" G_GINT64_FORMAT " of its argument \"%s\", "
      "%s the %" G_GINT64_FORMAT " elements of the array",
      kernel_name.c_str (), element, parameter.text ().c_str (),
      outside < 0 ? "before" : "behind", count);
  return false;
}

bool
Program::enqueue_kernel (cl_command_queue queue,
    const std::vector<const GstOpenCLFrame *> &frames, const Moment &moment,
    GError **error)
{
  std::vector<Place> places (streams.size ());

  auto each_image = [&] (auto use) {
    for (gsize n = 0; n < streams.size (); n++) {
      if (images[n]
          && !(images[n].get ()->*use) (queue, places[n].data, places[n].stride, error))
        return false;
    }
    return true;
  };

  return place_outputs (queue, *frames.back (), places, error)
         && place_inputs (queue, frames, places, error) && check_overlap (places, error)
         && each_image (&FrameImage::begin) && set_frame_arguments (places, moment, error)
         && begin_check (queue, places, error)
         && gst_opencl_launch (queue, kernel (), guint (size.global.size ()),
             size.global.data (), size.local.empty () ? nullptr : size.local.data (),
             error)
         && end_check (queue, error) && each_image (&FrameImage::end)
         && finish_outputs (queue, *frames.back (), places, error);
}
} // namespace compute
