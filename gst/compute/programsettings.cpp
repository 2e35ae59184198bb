/* Common properties of the elements with user-supplied programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programsettings.hpp"

namespace compute {
opencl::PropertyTable<ProgramSettings>
program_properties ()
{
  return {
      {"location", "Location",
          "File with OpenCL C, which may include <random.clh> and files in the same "
          "directory, or with a program binary or SPIR-V (set one of location, source "
          "and expression)",
          &ProgramSettings::location, opencl::playing},
      {"source", "Source", "OpenCL C source (set one of location, source and expression)",
          &ProgramSettings::source, opencl::playing},
      {"expression", "Expression",
          "Expression for each element, with operators of C and functions of OpenCL C. "
          "Names: x (the input; inputs of a mixer have the names of its pads), the "
          "fields of arguments, frame, time, and i0 … i3 (indices of the element, "
          "innermost first). Video is 0 … 1 in each component. Types and shapes follow "
          "NumPy: integers are exact in 64 bits, and / is true division",
          &ProgramSettings::expression, opencl::playing},
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
          "Arguments of the kernel by name, such as \"arguments, gain=2.5, "
          "color=<1,0,0,1>, weights=w.npy\": a number, an array for a vector, a .npy "
          "file for a pointer, a number of elements for local memory",
          &ProgramSettings::arguments, opencl::playing},
      {"global-size", "Global size",
          "Number of work-items, \"x,y,z\". Each is a number, width, height, count, "
          "shape0 … shape3, or a product or quotient such as \"width/4\", rounded up "
          "(unset = one per pixel of the output, or per element of an array, with the "
          "dimensions that the kernel passes to get_global_id ())",
          &ProgramSettings::global_size, opencl::playing},
      {"local-size", "Local size",
          "Work-group size, \"x,y,z\" (unset = the device's choice, on a GPU a row)",
          &ProgramSettings::local_size, opencl::playing},
      {"output-caps", "Output caps",
          "Fields of the output caps (unset = those that downstream requires, otherwise "
          "those of the input)",
          &ProgramSettings::output_caps, opencl::playing},
      {"fill-output", "Fill output",
          "Byte that the output is filled with before the kernel runs (-1 = none; the "
          "output then holds old values)",
          &ProgramSettings::fill_output, {-1, 255}, opencl::playing},
  };
}

using SettingsOf = opencl::Settings<ProgramSettings> *(*)(gpointer instance);

static void
reload (GClosure *closure, GValue *, guint, const GValue *values, gpointer, gpointer)
{
  gpointer instance = g_value_peek_pointer (&values[0]);
  auto of = reinterpret_cast<SettingsOf> (closure->data);
  of (instance)->change ([] (ProgramSettings &settings) { settings.reloads++; });
}

void
install_reload (gpointer klass, SettingsOf of)
{
  GClosure *closure =
      g_closure_new_simple (sizeof (GClosure), reinterpret_cast<gpointer> (of));
  g_closure_set_marshal (closure, reload);
  g_signal_newv ("reload", G_TYPE_FROM_CLASS (klass),
      GSignalFlags (G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION), closure, nullptr, nullptr,
      nullptr, G_TYPE_NONE, 0, nullptr);
}
} // namespace compute
