/* Draws rectangles and labels over frames in device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <map>
#include <string>
#include <vector>

namespace inference {
struct Area {
  cl_int x, y, width, height;

  bool is_empty () const { return width <= 0 || height <= 0; }
};

/* In the order of drawitems.cl */
struct DrawnItem {
  Area area;
  cl_uint color;
  cl_int source, width; /* of a label, else -1 */
  cl_int unused;

  bool operator== (const DrawnItem &other) const;
};

class Drawing {
public:
  /* Frames have components of 8 bits. `text_size` is the height of the font in pixels. */
  bool create (GstOpenCLContext *context, const GstVideoInfo &info, gint text_size,
      GError **error);

  /* Start of a frame. What is drawn later covers what was drawn before. */
  void begin ();
  /* Fills a rectangle with a colour 0xRRGGBB. */
  void fill (const Area &area, guint color);
  /* Draws `text` on the colour, as far as there is room. A text that is new is rendered by
   * cairo and uploaded; those before are on the device. */
  bool write (cl_command_queue queue, gint x, gint y, const std::string &text,
      guint color, GError **error);
  gint line_height () const { return align (gint (1.4 * em)); }

  /* Draws all of it into the frame. */
  bool enqueue (cl_command_queue queue, const GstOpenCLFrame &frame, GError **error);

private:
  struct Label {
    cl_int source, width;
  };

  gint align (gint length) const { return (length + alignment - 1) & ~(alignment - 1); }
  void add (Area area, cl_uint color, const Label *label);
  cl_uint components_of (guint color) const;
  std::vector<cl_uint> render (const std::string &text, guint color, gint &width) const;
  bool find_label (cl_command_queue queue, const std::string &text, guint color,
      Label &label, GError **error);

  GstOpenCLContext *context = nullptr;
  GstVideoInfo info = {};
  opencl::ColorMatrix colors = {};
  double em = 0;
  gint alignment = 1;     /* columns and rows that share chroma */
  bool is_packed = false; /* pixels have four bytes */
  opencl::Kernel kernel;
  std::vector<DrawnItem> items, uploaded; /* of this frame, and in `table` */
  cl::Buffer table, labels;
  std::map<std::pair<std::string, guint>, Label> known;
  gsize used = 0, capacity = 0; /* pixels of `labels` */
  bool is_full = false;
};
} // namespace inference
