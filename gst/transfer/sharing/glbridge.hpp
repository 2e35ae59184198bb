/* Copies frames between device memory and OpenGL textures, without host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#include <gst/video/video.h>
#include <memory>

/* Copies frames of one size between a device and an OpenGL context on the same device */
class GLBridge {
public:
  static const bool is_built; /* without OpenGL or Vulkan there is no bridge */

  /* Returns a bridge for frames like `textures`, a buffer of GstGLMemory. Returns nullptr with
   * the reason if device and OpenGL cannot share memory. */
  static std::unique_ptr<GLBridge> create (
      GstOpenCLContext *context, GstBuffer *textures, GError **error);
  virtual ~GLBridge () = default;

  /* Returns true if `textures` have the same OpenGL context and size as those of create(). */
  virtual bool fits (GstBuffer *textures) const = 0;
  /* Returns a copy of `textures` in device memory. (transfer full) (nullable) */
  virtual GstBuffer *read (GstBuffer *textures, GError **error) = 0;
  /* Copies a frame of device memory to `textures`. `event` is as for
   * gst_opencl_buffer_copy_async(). */
  virtual bool write (GstBuffer *textures, GstBuffer *frame, const GstVideoInfo *info,
      cl_event *event, GError **error) = 0;
};

/* Returns true if an element behind `src` uses OpenGL, which elements of OpenGL do as soon as
 * they are READY. */
bool has_gl_downstream (GstPad *src);

/* Returns a pool of textures for the elements behind `src`, or nullptr if none of them uses
 * OpenGL. (transfer full) */
GstBufferPool *new_gl_pool (GstPad *src);

/* Returns true if `pool` makes buffers of GstGLMemory. */
bool is_gl_pool (GstBufferPool *pool);
