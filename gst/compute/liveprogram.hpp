/* The program of an element: built from its settings, and rebuilt while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "program.hpp"
#include "programsettings.hpp"

namespace compute {
/* Used by the streaming thread, or by a state change while there is no streaming
 * thread */
class LiveProgram {
public:
  /* `settings` outlive this. */
  LiveProgram (GstOpenCLContext *context, opencl::Settings<ProgramSettings> *settings)
      : context (context), settings (settings)
  {
  }

  /* Whether settings say which program at all. */
  static bool check (const ProgramSettings &settings, GError **error);

  /* The inputs and the output of the program that settings are of; may look at caps, and
   * fails where these do not hold. */
  using FindStreams =
      std::function<bool (const ProgramSettings &, std::vector<Stream> &, GError **)>;

  /* With new caps: the settings that are set, or else those in force. */
  bool adopt (const FindStreams &find, GError **error);

  /* Between two frames: whether settings that were set since are in force now. */
  bool update (const FindStreams &find);

  bool enqueue (cl_command_queue queue, const std::vector<const GstOpenCLFrame *> &frames,
      const Moment &moment, GError **error)
  {
    return program->enqueue (queue, frames, moment, error);
  }

private:
  /* A file as it was read last. */
  struct File {
    std::shared_ptr<const ProgramFile> read; /* (nullable) */
    guint reloads = 0;
  };

  bool make (const ProgramSettings &wanted, const FindStreams &find, GError **error);
  bool read_file (const ProgramSettings &wanted, File &read, GError **error) const;

  GstOpenCLContext *context;
  opencl::Settings<ProgramSettings> *settings;
  std::unique_ptr<Program> program;
  File file;
};
} // namespace compute
