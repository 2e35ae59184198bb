/* Common properties of the elements with user-supplied programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/settings.hpp>

namespace compute {
struct ProgramSettings {
  std::string location, source, expression;
  std::string kernel, parameters, options;
  opencl::Structure arguments;
  std::string global_size, local_size;
  opencl::Caps output_caps;
  gint fill_output = -1;
  bool live = false; /* openclkernelsrc only */
  guint reloads = 0; /* number of requests to read files again */
};

/* All properties except `is-live` */
opencl::PropertyTable<ProgramSettings> program_properties ();

/* Installs the action signal `reload`. `of` returns the settings of an instance. */
void install_reload (
    gpointer klass, opencl::Settings<ProgramSettings> *(*of) (gpointer instance));
} // namespace compute
