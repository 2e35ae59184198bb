/* The program of an element: built from its settings, and rebuilt while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "program.hpp"

#include <gst/opencl/gstopenclframe.h>
#include "programsettings.hpp"

namespace compute {
/* Used by the streaming thread, or by a state change while there is no streaming
 * thread */
class LiveProgram {
public:
  /* `settings` of `element` must outlive the object. */
  LiveProgram (GstOpenCLContext *context, gpointer element,
      opencl::Settings<ProgramSettings> *settings)
      : context (context), element (element), settings (settings)
  {
  }

  /* Returns TRUE if exactly one of location, source and expression is set. */
  static bool check (const ProgramSettings &settings, GError **error);

  /* Finds the inputs and the output for the given settings. May query caps, and fails if
   * caps do not fit. */
  using FindStreams =
      std::function<bool (const ProgramSettings &, std::vector<Stream> &, GError **)>;

  /* Call with new caps. Builds the program of the latest settings or, if these fail, of
   * the settings in use. */
  bool adopt (const FindStreams &find, GError **error);

  /* Call between two frames. Returns TRUE if settings have changed and are now in use. */
  bool update (const FindStreams &find);

  bool enqueue (cl_command_queue queue, const std::vector<const GstOpenCLFrame *> &frames,
      const Moment &moment, GError **error)
  {
    return program->enqueue (queue, frames, moment, error);
  }

private:
  /* The file that was read last */
  struct File {
    std::shared_ptr<const ProgramFile> read; /* (nullable) */
    guint reloads = 0;
  };

  bool make (const ProgramSettings &wanted, const FindStreams &find, GError **error);
  bool read_file (const ProgramSettings &wanted, File &read, GError **error) const;

  GstOpenCLContext *context;
  gpointer element;
  opencl::Settings<ProgramSettings> *settings;
  std::unique_ptr<Program> program;
  File file;
  bool has_warned = false; /* of atomic functions on the output */
};
} // namespace compute
