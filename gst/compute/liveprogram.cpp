/* Settings, output caps and program of an element, rebuilt while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "liveprogram.hpp"

#include "expression/expression.hpp"

#include <gst/common/text.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>
#include <utility>

namespace compute {
/* --- settings --- */

opencl::PropertyTable<ProgramSettings>
program_properties ()
{
  return {
      {"location", "Location",
          "Program file: OpenCL C, which may include <random.clh> and files in its "
          "directory, a program binary, or SPIR-V (set one of location, source and "
          "expression)",
          &ProgramSettings::location, opencl::playing},
      {"source", "Source", "OpenCL C source (set one of location, source and expression)",
          &ProgramSettings::source, opencl::playing},
      {"expression", "Expression",
          "Expression in C syntax, computed for each element of the input x, such as \"x "
          "* gain\" with gain from arguments (set one of location, source and "
          "expression)",
          &ProgramSettings::expression, opencl::playing},
      {"complex", "Complex inputs",
          "Names of complex inputs, such as x,y, whose innermost dimension of 2 is real "
          "and imaginary part (expression)",
          &ProgramSettings::complex, opencl::playing},
      {"kernel", "Kernel", "Name of the kernel (unset = the only one in the program)",
          &ProgramSettings::kernel, opencl::playing},
      {"parameters", "Parameters",
          "Parameters of the kernel in OpenCL C, such as \"global const uchar *input, "
          "global uchar *output, int stride\" (program binaries and SPIR-V; unset = as "
          "the driver reports them)",
          &ProgramSettings::parameters, opencl::playing},
      {"options", "Build options", "Compiler options, such as -DRADIUS=3",
          &ProgramSettings::options, opencl::playing},
      {"arguments", "Arguments",
          "Values of the kernel's arguments by name, as a structure such as \"arguments, "
          "gain=2.5, color=<1,0,0,1>, weights=w.npy\"",
          &ProgramSettings::arguments, opencl::playing},
      {"inputs", "Inputs",
          "Kernel arguments that receive the inputs, such as \"x,y\", in the order of "
          "the pads (unset = arguments with the names of the pads)",
          &ProgramSettings::inputs, opencl::playing},
      {"outputs", "Outputs",
          "Kernel arguments that are the outputs, such as \"y,count\", in the order of "
          "the output caps; an input may be one, too (unset = output, or output0, "
          "output1 …)",
          &ProgramSettings::outputs, opencl::playing},
      {"global-size", "Global size",
          "Number of work-items, \"x,y,z\": expressions of numbers and sizes such as "
          "width, height, count or input_width, as in \"width/4,height\" (unset = one "
          "per output pixel or array element)",
          &ProgramSettings::global_size, opencl::playing},
      {"local-size", "Local size",
          "Work-group size, \"x,y,z\", expressions as in global-size (unset = automatic)",
          &ProgramSettings::local_size, opencl::playing},
      {"output-caps", "Output caps",
          "Output caps, or those fields that differ from the input caps (unset = as "
          "downstream requires, otherwise as the input)",
          &ProgramSettings::output_caps, opencl::playing},
      {"fill-output", "Fill output",
          "Byte that the output is filled with before the kernel runs (-1 = none; the "
          "output then holds old values)",
          &ProgramSettings::fill_output, {-1, 255}, opencl::playing},
      {"check-bounds", "Check bounds",
          "Report an error if the kernel writes up to 64 KiB before or after an array; "
          "slow, and reads are not checked",
          &ProgramSettings::check_bounds, opencl::playing},
      {"keep-state", "Keep state",
          "Keep arrays that the kernel writes, and the last output, after a seek, a "
          "flush, a DISCONT buffer or a restart (new formats always reset them)",
          &ProgramSettings::keep_state, opencl::playing},
  };
}

static LiveProgram *
program_of (GClosure *closure, const GValue *instance)
{
  return reinterpret_cast<ProgramOf> (closure->data) (g_value_peek_pointer (instance));
}

static void
reload (GClosure *closure, GValue *, guint, const GValue *values, gpointer, gpointer)
{
  program_of (closure, values)->reload ();
}

static void
describe (
    GClosure *closure, GValue *result, guint, const GValue *values, gpointer, gpointer)
{
  auto *context = static_cast<GstOpenCLContext *> (g_value_get_object (&values[1]));
  g_value_take_boxed (result, program_of (closure, values)->describe (context));
}

void
install_actions (gpointer klass, ProgramOf of)
{
  GType context = GST_TYPE_OPENCL_CONTEXT;
  const struct {
    const char *name;
    GClosureMarshal marshal;
    GType result;
    guint n_arguments;
  } actions[] = {
      {"reload", reload, G_TYPE_NONE, 0}, {"describe", describe, GST_TYPE_STRUCTURE, 1}};
  for (const auto &action : actions) {
    GClosure *closure =
        g_closure_new_simple (sizeof (GClosure), reinterpret_cast<gpointer> (of));
    g_closure_set_marshal (closure, action.marshal);
    g_signal_newv (action.name, G_TYPE_FROM_CLASS (klass),
        GSignalFlags (G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION), closure, nullptr, nullptr,
        nullptr, action.result, action.n_arguments, &context);
  }
}

/* --- the program --- */

static bool
has_name (const GstStructure *structure, const char *name)
{
  return structure && gst_structure_has_name (structure, name);
}

bool
LiveProgram::check (const ProgramSettings &settings, GError **error)
{
  const GstStructure *output =
      settings.output_caps && gst_caps_get_size (settings.output_caps.get ()) > 0
          ? gst_caps_get_structure (settings.output_caps.get (), 0)
          : nullptr;
  gint tensors = 1;
  std::vector<opencl::ArrayFormat> arrays;

  /* Negotiation would fail without a reason. */
  if (has_name (output, TENSORS_NAME)
      && gst_structure_get_int (output, "num_tensors", &tensors) && tensors > 1
      && !opencl::arrays_of_caps (settings.output_caps.get (), arrays, error))
    return false;
  if (tensors > 1 && !settings.expression.empty ()) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "output-caps has num_tensors=%d, but an expression has one output", tensors);
    return false;
  }
  if (!settings.expression.empty ()
      && !(settings.inputs.empty () && settings.outputs.empty ())) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "inputs and outputs are arguments of a kernel: unset them with expression");
    return false;
  }
  const int given = int (!settings.location.empty ()) + int (!settings.source.empty ())
                    + int (!settings.expression.empty ());
  if (given == 1)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%d of location, source and expression are set, expected one", given);
  return false;
}

bool
LiveProgram::open (GstOpenCLContext *context, GError **error)
{
  if (held.get () != context)
    program = nullptr;
  held.reset (GST_OPENCL_CONTEXT (gst_object_ref (context)), gst_object_unref);
  has_warned = false;
  return check (settings->committed (), error);
}

void
LiveProgram::close ()
{
  if (!keeps_state) {
    program = nullptr;
    held = nullptr;
  }
  file = {};
  settings->stop ();
}

/* Reads the file if its name has changed or a reload was requested. */
bool
LiveProgram::read_file (const ProgramSettings &wanted, File &read, GError **error) const
{
  GError *reason = nullptr;

  if (file.read && file.read->location == wanted.location
      && file.reloads == wanted.reloads) {
    read = file;
    return true;
  }
  auto now = std::make_shared<ProgramFile> ();
  if (read_program_file (wanted.location, *now, &reason)) {
    read = {now, wanted.reloads};
    return true;
  }
  g_propagate_prefixed_error (
      error, reason, "location %s cannot be read: ", wanted.location.c_str ());
  return false;
}

/* Marks the inputs that `names` lists as complex. */
static bool
mark_complex (const std::string &names, std::vector<Stream> &streams, GError **error)
{
  gchar **list = g_strsplit (names.c_str (), ",", -1), **name = list;

  for (; *name; name++) {
    g_strstrip (*name);
    auto found = std::find_if (streams.begin (), streams.end (),
        [name] (const Stream &stream) { return stream.name == *name; });
    if (found == streams.end () || found->is_output || found->array.length (0) != 2
        || opencl::info_of (found->array.type).kind != 'f')
      break;
    found->is_complex = true;
  }
  const bool found_all = *name == nullptr;
  if (!found_all)
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "complex=%s, but %s is not an input of floating-point numbers with an innermost "
        "dimension of 2",
        names.c_str (), *name);
  g_strfreev (list);
  return found_all;
}

/* Makes `previous` an operand of an expression that has it, unless an input or a field of
 * `arguments` has the name. The program adds its stream itself. */
static bool
task_of_expression_with_state (const ProgramSettings &wanted,
    const ExpressionDevice &device, std::vector<Stream> &streams,
    opencl::Structure &arguments, Task &task, GError **error)
{
  std::vector<Stream> operands = streams;
  const bool is_other =
      (wanted.arguments && gst_structure_has_field (wanted.arguments.get (), "previous"))
      || std::any_of (streams.begin (), streams.end (),
          [] (const Stream &stream) { return stream.name == "previous"; });
  const bool has_previous =
      !is_other
      && g_regex_match_simple ("\\bprevious\\b", wanted.expression.c_str (),
          GRegexCompileFlags (0), GRegexMatchFlags (0));

  if (!mark_complex (wanted.complex, operands, error))
    return false;
  if (has_previous) {
    operands.insert (operands.end () - 1, streams.back ());
    operands[streams.size () - 1].name = "previous";
  }
  if (!task_of_expression (
          wanted.expression, device, operands, wanted.arguments, arguments, task, error))
    return false;
  if (has_previous)
    operands.erase (operands.end () - 2);
  streams = operands;
  return true;
}

/* Takes over the program, unless it is an expression, and what belongs to it. */
bool
LiveProgram::set_program (
    const ProgramSettings &wanted, File &read, Task &task, GError **error) const
{
  task.options = wanted.options;
  task.kernel = wanted.kernel;
  task.parameters = wanted.parameters;
  if (!wanted.source.empty ())
    task.source = opencl::take_text (gst_opencl_source_of_text (wanted.source.c_str ()));
  if (wanted.location.empty ())
    return true;
  if (!read_file (wanted, read, error))
    return false;
  if (read.read->form == ProgramForm::SOURCE)
    task.source = read.read->contents;
  else
    task.compiled = read.read;
  return true;
}

/* "global written float32 4 16 __global float4 *x" */
static std::string
description_of (const Parameter &parameter)
{
  static constexpr const char *spaces[] = {
      "value", "global", "constant", "local", "image"};
  return std::string (spaces[parameter.space])
         + (parameter.is_written () ? " written " : " const ")
         + (parameter.number          ? opencl::info_of (parameter.number->type).name
             : parameter.is_struct () ? "struct"
                                      : "other")
         + ' ' + std::to_string (parameter.number ? parameter.lanes : 1) + ' '
         + std::to_string (parameter.size ()) + ' ' + parameter.text ();
}

GstStructure *
LiveProgram::describe (GstOpenCLContext *context) const
{
  const ProgramSettings wanted = settings->committed ();
  GstStructure *described = gst_structure_new_empty ("kernel");
  Signature signature;
  GError *error = nullptr;
  File read = file;
  Task task;

  if (check (wanted, &error) && set_program (wanted, read, task, &error)
      && Program::describe (context, task, signature, &error)) {
    for (const Parameter &parameter : signature)
      gst_structure_set (described, parameter.name.c_str (), G_TYPE_STRING,
          description_of (parameter).c_str (), nullptr);
    return described;
  }
  gst_structure_set_name (described, "error");
  gst_structure_set (described, "message", G_TYPE_STRING, error->message, nullptr);
  g_error_free (error);
  return described;
}

/* Changes nothing if it fails. */
bool
LiveProgram::make (const ProgramSettings &wanted, const FindStreams &find, GError **error)
{
  std::vector<Stream> streams;
  opencl::Structure arguments = wanted.arguments;
  GstOpenCLContext *context = held.get ();
  File read = file;
  Task task;

  if (!check (wanted, error) || !find (wanted, streams, error))
    return false;
  if (!set_program (wanted, read, task, error))
    return false;
  task.inputs = wanted.inputs;
  task.outputs = wanted.outputs;
  task.checks_bounds = wanted.check_bounds;
  task.global_size = wanted.global_size;
  task.local_size = wanted.local_size;
  task.fill_output = wanted.fill_output;
  task.arguments = arguments.get ();
  task.reloads = wanted.reloads;
  if (!wanted.expression.empty ()
      && !task_of_expression_with_state (wanted,
          {opencl::is_cpu (context), opencl::has_double (context),
              opencl::float_lanes (context), opencl::largest_group (context)},
          streams, arguments, task, error))
    return false;
  std::unique_ptr<Program> made =
      Program::create (context, task, streams, program.get (), error);
  if (!made)
    return false;
  program = std::move (made);
  keeps_state = wanted.keep_state;
  flop = task.flop;
  file = read;
  if (wanted.expression.empty () && program->adds_to_old_values (task.source)
      && !std::exchange (has_warned, true))
    GST_ELEMENT_WARNING (element, LIBRARY, SETTINGS,
        ("the kernel calls an atomic function on output, which holds old values; set "
         "fill-output=0 to start from zeros"),
        (nullptr));
  return true;
}

bool
LiveProgram::enqueue_kernel (cl_command_queue queue,
    const std::vector<const GstOpenCLFrame *> &frames, const Moment &moment,
    GError **error)
{
  const bool is_first =
      starts_over.exchange (false) || GST_BUFFER_IS_DISCONT (frames.back ()->buffer);
  gst_opencl_profile_add_work ("", flop, 0);
  return (!is_first || keeps_state || program->start_over (queue, error))
         && program->enqueue_kernel (queue, frames, moment, error);
}

bool
LiveProgram::adopt (const FindStreams &find, GError **error)
{
  auto accept = [&] (const ProgramSettings &wanted, GError **why) {
    return make (wanted, find, why);
  };
  auto fits = [&] (const ProgramSettings &wanted) {
    return wanted.output_caps == settings->current ().output_caps;
  };
  return settings->adopt (accept, fits, error);
}

bool
LiveProgram::update (const FindStreams &find)
{
  auto accept = [&] (const ProgramSettings &wanted, GError **error) {
    return make (wanted, find, error);
  };
  return settings->update (accept);
}

/* --- output caps --- */

namespace {
#define DEVICE_MEMORY GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY

GstCaps *
all_caps ()
{
  return gst_caps_from_string (COMPUTE_CAPS ("(" DEVICE_MEMORY ")"));
}

void
copy_if_missing (GstStructure *to, const GstStructure *from, const char *field)
{
  const GValue *value = from ? gst_structure_get_value (from, field) : nullptr;
  if (value && !gst_structure_has_field (to, field))
    gst_structure_set_value (to, field, value);
}

/* Separates lists by commas. Points need no quotation marks in `output-caps`. */
void
separate_by_commas (GstStructure *structure, const char *field)
{
  const gchar *text = gst_structure_get_string (structure, field);
  gchar *list = text ? g_strdelimit (g_strdup (text), ".", ',') : nullptr;

  if (list)
    gst_structure_set (structure, field, G_TYPE_STRING, list, nullptr);
  g_free (list);
}

/* Sets missing fields. The framerate is that of `like`; the others too, if it has the
 * same media type. */
void
complete_structure (GstStructure *structure, const GstStructure *like)
{
  const bool same_kind = like && has_name (like, gst_structure_get_name (structure));

  copy_if_missing (structure, like, "framerate");
  if (has_name (structure, TENSORS_NAME)) {
    if (!gst_structure_has_field (structure, "format"))
      gst_structure_set (structure, "format", G_TYPE_STRING, "static", nullptr);
    if (!gst_structure_has_field (structure, "num_tensors"))
      gst_structure_set (structure, "num_tensors", G_TYPE_INT, 1, nullptr);
    separate_by_commas (structure, "types");
    separate_by_commas (structure, "dimensions");
  }
  if (!same_kind)
    return;
  for (const char *field : {"format", "width", "height", "pixel-aspect-ratio", "types",
           "dimensions", "domain", "samples", "lines"})
    copy_if_missing (structure, like, field);
}

void
append_tensors (GstCaps *caps, const opencl::ArrayFormat &array, const GstStructure *like)
{
  GstStructure *structure = tensors_like (like);
  opencl::set_array_fields (structure, array);
  gst_caps_append (caps, device_caps (structure));
}

/* Appends tensors of the element types from `least` on, that of `array` first. */
void
append_tensors_from_type (GstCaps *caps, opencl::NumberType least,
    opencl::ArrayFormat array, const GstStructure *like)
{
  const opencl::NumberType first = array.type;
  append_tensors (caps, array, like);
  for (int type = int (least); type <= int (opencl::NumberType::f64); type++) {
    array.type = opencl::NumberType (type);
    if (array.type != first)
      append_tensors (caps, array, like);
  }
}

bool
is_number_of_components (gsize length)
{
  return length == 1 || length == 3 || length == 4;
}

/* Returns the shape without the leading axes of length 1 that a picture does not have. Results
 * of networks begin with a batch axis. */
std::vector<gsize>
shape_of_picture (std::vector<gsize> shape)
{
  while (!shape.empty () && shape[0] == 1
         && (shape.size () > 3
             || (shape.size () == 3 && !is_number_of_components (shape[2]))))
    shape.erase (shape.begin ());
  return shape;
}

/* Appends the video formats that have the shape of the array. */
void
append_video (
    GstCaps *caps, const std::vector<gsize> &array_shape, const GstStructure *like)
{
  const std::vector<gsize> shape = shape_of_picture (array_shape);
  static constexpr struct {
    gsize components;
    const char *formats[8];
  } kinds[] = {{1, {"GRAY8", "GRAY16_LE"}}, {3, {"RGB"}}, {4, {"RGBA", "RGBA64_LE"}}};
  const gsize components = shape.size () == 2 ? 1 : shape.size () == 3 ? shape[2] : 0;

  for (const auto &kind : kinds) {
    for (const char *format : kind.formats) {
      if (!format || kind.components != components || shape[0] > G_MAXINT
          || shape[1] > G_MAXINT)
        continue;
      GstStructure *structure = gst_structure_new ("video/x-raw", "format", G_TYPE_STRING,
          format, "width", G_TYPE_INT, gint (shape[1]), "height", G_TYPE_INT,
          gint (shape[0]), nullptr);
      copy_if_missing (structure, like, "framerate");
      gst_caps_append (caps, device_caps (structure));
    }
  }
}

/* Appends all supported caps, with the framerate of `structure`. */
void
append_all_at_rate (GstCaps *caps, const GstStructure *structure)
{
  GstCaps *all = all_caps ();
  for (guint n = 0; n < gst_caps_get_size (all); n++) {
    GstStructure *made = gst_structure_copy (gst_caps_get_structure (all, n));
    if (const GValue *rate = gst_structure_get_value (structure, "framerate"))
      gst_structure_set_value (made, "framerate", rate);
    gst_caps_append (caps, device_caps (made));
  }
  gst_caps_unref (all);
}

/* If the expression cannot make the wanted type, building the program reports it. */
bool
append_outputs_of_expression (GstCaps *result, const ProgramSettings &settings,
    GstStructure *input, const InputFormats &inputs)
{
  std::vector<Stream> streams (1);

  if (settings.expression.empty () || !inputs.is_known
      || !stream_of_structure (inputs.main.c_str (), input, streams[0], nullptr))
    return false;
  streams.insert (streams.end (), inputs.others.begin (), inputs.others.end ());
  GstCaps *made = outputs_of_expression (settings, streams, input, nullptr);
  if (made)
    gst_caps_append (result, made);
  return made != nullptr;
}

void
append_outputs_of (GstCaps *result, const ProgramSettings &settings, GstStructure *input,
    const InputFormats &inputs)
{
  if (append_outputs_of_expression (result, settings, input, inputs))
    return;
  if (settings.output_caps) {
    gst_caps_append (result, complete_caps (settings.output_caps.get (), input, false));
    return;
  }
  gst_caps_append (result, device_caps (gst_structure_copy (input)));
  append_all_at_rate (result, input);
}

/* Returns those of `made` (transfer full) that are wanted, or the wanted caps if there
 * are none. */
GstCaps *
wanted_of (GstCaps *made, const ProgramSettings &settings, const GstStructure *like)
{
  if (!settings.output_caps)
    return made;
  GstCaps *wanted = complete_caps (settings.output_caps.get (), nullptr, false);
  GstCaps *both = gst_caps_intersect_full (wanted, made, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (made);
  if (!gst_caps_is_empty (both)) {
    gst_caps_unref (wanted);
    return both;
  }
  gst_caps_unref (both);
  gst_caps_unref (wanted);
  return complete_caps (settings.output_caps.get (), like, false);
}
} // namespace

GstCaps *
complete_caps (const GstCaps *wanted, const GstStructure *like, bool any_memory)
{
  GstCaps *result = gst_caps_new_empty ();

  for (guint n = 0; n < gst_caps_get_size (wanted); n++) {
    GstStructure *structure = gst_structure_copy (gst_caps_get_structure (wanted, n));
    complete_structure (structure, like);
    if (any_memory)
      gst_caps_append_structure (result, gst_structure_copy (structure));
    gst_caps_append (result, device_caps (structure));
  }
  return result;
}

GstCaps *
outputs_of (const ProgramSettings &settings, GstCaps *caps, const InputFormats &inputs)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (caps); n++)
    append_outputs_of (result, settings, gst_caps_get_structure (caps, n), inputs);
  return result;
}

GstCaps *
inputs_of (const ProgramSettings &settings, GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    GstStructure *output = gst_caps_get_structure (caps, n);
    gst_caps_append (result, device_caps (gst_structure_copy (output)));
    append_all_at_rate (result, output);
  }
  return result;
}

GstCaps *
outputs_of_expression (const ProgramSettings &settings, const std::vector<Stream> &inputs,
    const GstStructure *like, GError **error)
{
  std::vector<Stream> operands = inputs;
  ExpressionResult made_by;
  const opencl::ArrayFormat &array = made_by.array;

  if (!mark_complex (settings.complex, operands, error))
    return nullptr;
  if (is_product (settings.expression)) {
    if (!array_of_product (settings.expression, operands, settings.arguments.get (),
            made_by.array, error))
      return nullptr;
    GstCaps *made = gst_caps_new_empty ();
    append_tensors (made, array, like);
    return wanted_of (made, settings, like);
  }
  if (!result_of_expression (settings.expression, settings.options, operands,
          settings.arguments.get (), made_by, error))
    return nullptr;
  GstCaps *result = gst_caps_new_empty ();
  const bool same = !inputs.empty () && array == inputs[0].array;
  if (same && like)
    gst_caps_append (result, device_caps (gst_structure_copy (like)));
  /* The input's type, float32, would be preferred to float64. */
  append_tensors_from_type (
      result, made_by.is_complex ? array.type : opencl::NumberType::i8, array, like);
  if (!made_by.is_complex)
    append_video (result, array.shape, like);
  return wanted_of (result, settings, like);
}

/* Fixates fields to those of `like`, or to the nearest values. */
static void
fixate_structure (GstStructure *structure, const GstStructure *like)
{
  static constexpr const char *texts[] = {"format", "types", "dimensions", "domain"};
  static constexpr const char *numbers[] = {"width", "height", "samples", "lines"};
  static constexpr const char *fractions[] = {"framerate", "pixel-aspect-ratio"};
  gint number, numerator, denominator;

  for (const char *field : texts) {
    const gchar *text = gst_structure_get_string (like, field);
    if (text && gst_structure_has_field (structure, field))
      gst_structure_fixate_field_string (structure, field, text);
  }
  for (const char *field : numbers) {
    if (gst_structure_get_int (like, field, &number)
        && gst_structure_has_field (structure, field))
      gst_structure_fixate_field_nearest_int (structure, field, number);
  }
  for (const char *field : fractions) {
    if (gst_structure_get_fraction (like, field, &numerator, &denominator)
        && gst_structure_has_field (structure, field))
      gst_structure_fixate_field_nearest_fraction (
          structure, field, numerator, denominator);
  }
}

/* Sets missing dimensions to those of `like`, because caps without dimensions cannot be
 * fixated. */
static void
open_dimensions_as_in (GstStructure *structure, const GstStructure *like)
{
  Stream stream;

  if (!has_name (structure, TENSORS_NAME)
      || gst_structure_has_field (structure, "dimensions")
      || !stream_of_structure ("input", like, stream, nullptr))
    return;
  gst_structure_set (structure, "dimensions", G_TYPE_STRING,
      opencl::dimensions_text (stream.array.shape).c_str (), nullptr);
  gst_structure_fixate_field_string (
      structure, "types", opencl::info_of (stream.array.type).name);
}

GstCaps *
fixate_like (GstCaps *caps, GstCaps *like)
{
  GstCaps *same = gst_caps_intersect_full (caps, like, GST_CAPS_INTERSECT_FIRST);

  if (!gst_caps_is_empty (same)) {
    gst_caps_unref (caps);
    caps = same;
  } else {
    gst_caps_unref (same);
  }
  caps = gst_caps_truncate (gst_caps_make_writable (caps));
  GstStructure *structure = gst_caps_get_structure (caps, 0);
  open_dimensions_as_in (structure, gst_caps_get_structure (like, 0));
  fixate_structure (structure, gst_caps_get_structure (like, 0));
  gst_caps_unref (like);
  return gst_caps_fixate (caps);
}
} // namespace compute
