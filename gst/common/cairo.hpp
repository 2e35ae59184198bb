/* Loads cairo, which draws text and which not every server has
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cairo.h>
#include <gst/gst.h>

namespace opencl {
/* clang-format off */
/* Functions of cairo, without their prefix */
#define OPENCL_CAIRO_FUNCTIONS(F)                                                        \
  F (create) F (destroy) F (fill) F (font_options_create) F (font_options_destroy)       \
  F (font_options_set_antialias) F (get_target) F (image_surface_create)                 \
  F (image_surface_get_data) F (image_surface_get_stride) F (move_to) F (paint)          \
  F (rectangle) F (select_font_face) F (set_font_options) F (set_font_size)              \
  F (set_operator) F (set_source_rgba) F (show_text) F (surface_destroy)                 \
  F (surface_flush) F (text_extents)
/* clang-format on */

struct Cairo {
#define OPENCL_CAIRO_MEMBER(name) decltype (&cairo_##name) name = nullptr;
  OPENCL_CAIRO_FUNCTIONS (OPENCL_CAIRO_MEMBER)
#undef OPENCL_CAIRO_MEMBER

  /* Returns the functions, or nullptr with the reason if cairo cannot be loaded. */
  static const Cairo *load (GError **error);
};
} // namespace opencl
