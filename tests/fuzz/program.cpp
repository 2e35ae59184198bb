/* Fuzzing: the text of a program, its `#include`s put in, a build log's lines named, the
 * dimensions of its kernel, and a struct
 *
 * The first text is the program, the second one a build log.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/compute/program/kernelsource.hpp"
#include <gst/opencl/core/programs.hpp>

using fuzz::promise;

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);
  const std::string text = input.take_text (), log = input.take_text ();
  const std::string source = opencl::source_of_text (text.c_str ());
  const std::string named = opencl::map_log_lines (log, source);

  promise (log.find ("<kernel>:") != std::string::npos || named == log,
      "a log without places stays as it is");
  const unsigned dimensions = compute::work_dimensions (source, "k");
  promise (dimensions >= 1 && dimensions <= 3, "work has up to three dimensions");
  const std::string body = compute::body_of_struct (source, log);
  promise (
      body.find_first_of ("{}") == std::string::npos, "a struct's body has no braces");
  compute::uses_integers_of (source, "input");
  return 0;
}
