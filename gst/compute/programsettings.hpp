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
  bool live = false; /* a source's */
  guint reloads = 0; /* counts that files are to be read again */
};

/* Without `is-live`. */
opencl::PropertyTable<ProgramSettings> program_properties ();

/* The action signal `reload`; `of` gives an instance's settings. */
void install_reload (
    gpointer klass, opencl::Settings<ProgramSettings> *(*of) (gpointer instance));
} // namespace compute
