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
          "File of OpenCL C, which may include files beside it and <random.clh>, or a "
          "program binary or SPIR-V (set one of location, source and expression)",
          &ProgramSettings::location, opencl::playing},
      {"source", "Source", "OpenCL C", &ProgramSettings::source, opencl::playing},
      {"expression", "Expression",
          "Expression for each element, with C's operators and OpenCL C's functions. "
          "Names: x for the input (a mixer's inputs have the names of its pads), those "
          "in "
          "arguments, frame, time, and i0 … i3, the element's indices, innermost first. "
          "Video is 0 … 1 in each component; types and shapes follow NumPy: integers are "
          "exact in 64 bits, and / is the true division",
          &ProgramSettings::expression, opencl::playing},
      {"kernel", "Kernel", "Name of the kernel (unset = the only one in the program)",
          &ProgramSettings::kernel, opencl::playing},
      {"parameters", "Parameters",
          "Parameters of the kernel in OpenCL C, \"global const uchar *input, global "
          "uchar "
          "*output, int stride\"; unset: as the driver describes them (program binaries "
          "and SPIR-V)",
          &ProgramSettings::parameters, opencl::playing},
      {"options", "Build options", "Compiler options, such as -DRADIUS=3",
          &ProgramSettings::options, opencl::playing},
      {"arguments", "Arguments",
          "The kernel's arguments by name, \"arguments, gain=2.5, color=<1,0,0,1>, "
          "weights=w.npy\": numbers, arrays of them for vectors, a .npy file for a "
          "pointer, a count of elements for local memory",
          &ProgramSettings::arguments, opencl::playing},
      {"global-size", "Global size",
          "Number of work-items, \"x,y,z\" of numbers, width, height, count and shape0 "
          "… shape3, also \"width/4\", rounded up (unset: one for each pixel of the "
          "output, or each element of an array, in as many dimensions as the kernel "
          "reads "
          "by get_global_id ())",
          &ProgramSettings::global_size, opencl::playing},
      {"local-size", "Local size",
          "Work-items of a group, \"x,y,z\"; unset: as the device likes, on a GPU a row",
          &ProgramSettings::local_size, opencl::playing},
      {"output-caps", "Output caps",
          "Fields of the output caps (unset = as downstream requires, else as those of "
          "the "
          "input)",
          &ProgramSettings::output_caps, opencl::playing},
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
