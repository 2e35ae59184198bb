/* Program of an element, with settings and output caps, rebuilt when settings change while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "program/program.hpp"
#include "streamcaps.hpp"

#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <atomic>

namespace compute {
/* Common properties of the elements with user-supplied programs */
struct ProgramSettings {
  std::string location, source, expression;
  std::string complex; /* names of inputs, separated by commas */
  std::string kernel, parameters, options;
  opencl::Structure arguments;
  std::string inputs, outputs;
  std::string global_size, local_size;
  opencl::Caps output_caps;
  gint fill_output = -1;
  bool check_bounds = false;
  bool keep_state = false;
  bool live = false; /* openclkernelsrc only */
  guint reloads = 0; /* number of requests to read files again */
};

/* All properties except `is-live` */
opencl::PropertyTable<ProgramSettings> program_properties ();

/* Installs the action signals `reload` and `describe`. `of` returns the program of an
 * instance. */
class LiveProgram;
using ProgramOf = LiveProgram *(*)(gpointer instance);
void install_actions (gpointer klass, ProgramOf of);
template <typename Instance>
void
install_actions (gpointer klass)
{
  install_actions (klass,
      [] (gpointer instance) { return static_cast<Instance *> (instance)->program; });
}

/* The program of an element: built from its settings, and rebuilt while playing */
/* Used by the streaming thread, or by a state change while there is no streaming
 * thread */
class LiveProgram {
public:
  /* `settings` of `element` must outlive the object. */
  LiveProgram (gpointer element, opencl::Settings<ProgramSettings> *settings)
      : element (element), settings (settings)
  {
  }

  /* Call at the start and at the stop of the element. With keep-state, the program and its
   * context stay for the next start. */
  bool open (GstOpenCLContext *context, GError **error);
  void close ();

  /* Returns TRUE if exactly one of location, source and expression is set. */
  static bool check (const ProgramSettings &settings, GError **error);

  /* Reads files again before the next frame. Call in any thread. */
  void reload ()
  {
    settings->change ([] (ProgramSettings &values) { values.reloads++; });
  }

  /* Describes the parameters of the kernel: a structure "kernel" with a string for each, or
   * "error" with a message. Call while the element is stopped. (transfer full) */
  GstStructure *describe (GstOpenCLContext *context) const;

  /* Finds the inputs and the output for the given settings. May query caps, and fails if
   * caps do not fit. */
  using FindStreams =
      std::function<bool (const ProgramSettings &, std::vector<Stream> &, GError **)>;

  /* Call with new caps. Builds the program of the latest settings or, if these fail, of
   * the settings in use. */
  bool adopt (const FindStreams &find, GError **error);

  /* Call between two frames. Returns TRUE if settings have changed and are now in use. */
  bool update (const FindStreams &find);

  /* A DISCONT flag of the output's buffer sets the state back. */
  bool enqueue_kernel (cl_command_queue queue,
      const std::vector<const GstOpenCLFrame *> &frames, const Moment &moment,
      GError **error);

  /* Call after a seek or a flush, in any thread: sets the state back, unless
   * keep-state. */
  void start_over () { starts_over = true; }

private:
  /* The file that was read last */
  struct File {
    std::shared_ptr<const ProgramFile> read; /* (nullable) */
    guint reloads = 0;
  };

  bool set_program (
      const ProgramSettings &wanted, File &read, Task &task, GError **error) const;
  bool make (const ProgramSettings &wanted, const FindStreams &find, GError **error);
  bool read_file (const ProgramSettings &wanted, File &read, GError **error) const;

  std::shared_ptr<GstOpenCLContext> held; /* from open to close, or longer */
  gpointer element;
  opencl::Settings<ProgramSettings> *settings;
  std::unique_ptr<Program> program;
  bool keeps_state = false;
  double flop = 0; /* of a frame */
  std::atomic<bool> starts_over = false;
  File file;
  bool has_warned = false; /* of atomic functions on the output */
};

/* --- output caps --- */

/* Completes `wanted` and adds the device memory feature. With `any_memory`, it also
 * returns the caps without that feature. Missing fields are those of `like` (nullable),
 * if it has the same media type. */
GstCaps *complete_caps (const GstCaps *wanted, const GstStructure *like, bool any_memory);

/* Name of the main input in an expression, and the other inputs */
struct InputFormats {
  std::string main = "x";
  std::vector<Stream> others;
  bool is_known = true; /* all others have caps */
};

/* Returns the output caps for a main input of `caps`, best first. The framerate stays. */
GstCaps *outputs_of (
    const ProgramSettings &settings, GstCaps *caps, const InputFormats &inputs = {});
/* Returns the input caps for an output of `caps`. */
GstCaps *inputs_of (const ProgramSettings &settings, GstCaps *caps);

/* Returns the output caps of an expression: all media types with its shape, those of
 * `like` (nullable) first. Returns NULL with an error if the expression cannot have these
 * inputs. */
GstCaps *outputs_of_expression (const ProgramSettings &settings,
    const std::vector<Stream> &inputs, const GstStructure *like, GError **error);

/* Fixates `caps`, as close to `like` as possible. Takes ownership of both. */
GstCaps *fixate_like (GstCaps *caps, GstCaps *like);
} // namespace compute
