/* The program of an element: built from its settings, and rebuilt while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "liveprogram.hpp"

#include "expression/expression.hpp"
#include "kernelsource.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <utility>

namespace compute {
bool
LiveProgram::check (const ProgramSettings &settings, GError **error)
{
  const int given = int (!settings.location.empty ()) + int (!settings.source.empty ())
                    + int (!settings.expression.empty ());
  if (given == 1)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%d of location, source and expression are set, expected one", given);
  return false;
}

/* Takes @text, which may be NULL. */
static std::string
take_text (gchar *text)
{
  const std::string taken = text ? text : "";
  g_free (text);
  return taken;
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

/* Changes nothing if it fails. */
bool
LiveProgram::make (const ProgramSettings &wanted, const FindStreams &find, GError **error)
{
  std::vector<Stream> streams;
  opencl::Structure arguments = wanted.arguments;
  File read = file;
  Task task;

  if (!check (wanted, error) || !find (wanted, streams, error))
    return false;
  task.options = wanted.options;
  task.kernel = wanted.kernel;
  task.parameters = wanted.parameters;
  task.global_size = wanted.global_size;
  task.local_size = wanted.local_size;
  task.fill_output = wanted.fill_output;
  task.arguments = arguments.get ();
  task.reloads = wanted.reloads;
  if (!wanted.location.empty ()) {
    if (!read_file (wanted, read, error))
      return false;
    if (read.read->form == ProgramForm::SOURCE)
      task.source = read.read->contents;
    else
      task.compiled = read.read;
  } else if (!wanted.source.empty ()) {
    task.source = take_text (gst_opencl_source_of_text (wanted.source.c_str ()));
  } else if (!task_of_expression (wanted.expression,
                 {opencl::is_cpu (context), opencl::has_double (context)}, streams,
                 wanted.arguments, arguments, task, error)) {
    return false;
  }
  std::unique_ptr<Program> made =
      Program::create (context, task, streams, program.get (), error);
  if (!made)
    return false;
  program = std::move (made);
  file = read;
  if (task.fill_output < 0 && calls_atomic_on (task.source, "output")
      && !std::exchange (has_warned, true))
    GST_ELEMENT_WARNING (element, LIBRARY, SETTINGS,
        ("the kernel calls an atomic function on output, which holds old values; set "
         "fill-output=0 to start from zeros"),
        (nullptr));
  return true;
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
} // namespace compute
