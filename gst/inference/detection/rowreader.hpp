/* Reads text or numbers in the output of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "layout.hpp"

#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/device/kernel.hpp>

namespace inference {
struct ReadText {
  std::string text;
  double score = 0; /* mean of its characters */
};

class RowReader {
public:
  /* For the methods ctc and embedding */
  static std::unique_ptr<RowReader> create (GstOpenCLContext *context,
      const OutputsFormat &format, const OutputLayout &layout, GError **error);

  bool enqueue (
      cl_command_queue queue, const std::vector<Memory> &outputs, GError **error);
  /* Waits for the numbers, of which embedding has as many as the output. */
  bool read_numbers (
      cl_command_queue queue, std::vector<gfloat> &numbers, GError **error);
  /* Steps of one class are one character, unless class 0 is between them. Class 1 is the first of
   * the characters, and the class after the last one is a space. */
  bool read_text (cl_command_queue queue, const std::vector<std::string> &characters,
      ReadText &text, GError **error);

private:
  OutputLayout found;
  gsize group = 0;
  opencl::Kernel kernel;
  cl::Buffer results;
  opencl::ReadBack values;
};
} // namespace inference
