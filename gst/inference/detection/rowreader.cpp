/* Reads text or numbers in the output of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "rowreader.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/rows.cl"

namespace inference {
std::unique_ptr<RowReader>
RowReader::create (GstOpenCLContext *context, const OutputsFormat &format,
    const OutputLayout &layout, GError **error)
{
  auto reader = std::make_unique<RowReader> ();
  const bool is_text = layout.is.method == Method::ctc;
  const NetworkOutput &output = format.outputs[gsize (layout.scores.output)];
  const gsize words = gsize (is_text ? 2 * layout.count : layout.classes);
  reader->found = layout;
  reader->group = opencl::is_cpu (context) ? 16 : 256;
  const bool built = opencl::build_for_group (reader->group, {&reader->kernel}, [&] {
    std::string options;
    const std::pair<const char *, std::string> numbers[] = {
        {"COLUMNS", std::to_string (layout.classes)},
        {"GROUP", std::to_string (reader->group)},
        {"SCORES", opencl::info_of (info_of (output.type).number).opencl}, {"COUNT", "1"},
        {"IS_LOGIT", layout.is.activation == ScoreActivation::softmax ? "1" : "0"}};
    for (const auto &[name, value] : numbers)
      opencl::define (options, name, "", value);
    return reader->kernel.create (
        context, KERNELS, is_text ? "best_of_rows" : "copy_row", options, error);
  });
  return built && reader->values.create_block (context, words, error)
                 && opencl::make_buffer (
                     context, reader->values.bytes (), reader->results, error)
             ? std::move (reader)
             : nullptr;
}

bool
RowReader::enqueue (
    cl_command_queue queue, const std::vector<Memory> &outputs, GError **error)
{
  cl_mem scores = outputs[gsize (found.scores.output)].buffer;
  return found.is.method == Method::ctc
             ? kernel.launch_groups (
                 queue, gsize (found.count), group, error, scores, results ())
             : kernel.launch (queue, gsize (found.classes), 1, error, scores, results ());
}

bool
RowReader::read_numbers (
    cl_command_queue queue, std::vector<gfloat> &numbers, GError **error)
{
  const cl_uint *words =
      values.read (queue, results (), error) ? values.wait (error) : nullptr;
  if (!words)
    return false;
  numbers.resize (values.bytes () / sizeof (gfloat));
  memcpy (numbers.data (), words, values.bytes ());
  return true;
}

bool
RowReader::read_text (cl_command_queue queue, const std::vector<std::string> &characters,
    ReadText &text, GError **error)
{
  const cl_uint *steps =
      values.read (queue, results (), error) ? values.wait (error) : nullptr;
  guint count = 0;
  text = {};
  if (!steps)
    return false;
  for (gint64 n = 0; n < found.count; n++) {
    const cl_uint kind = steps[2 * n];
    gfloat score;
    if (kind == 0 || (n > 0 && steps[2 * n - 2] == kind))
      continue;
    memcpy (&score, steps + 2 * n + 1, sizeof score);
    text.text += kind <= characters.size () ? characters[kind - 1] : " ";
    text.score += double (score);
    count++;
  }
  text.score /= std::max (count, 1u);
  return true;
}
} // namespace inference
