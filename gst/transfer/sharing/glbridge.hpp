/* Copies frames between device memory and OpenGL textures, without host memory
 *
 * The code is in a module, which is loaded where textures are met: it links libraries of OpenGL
 * and Vulkan, which servers do not have.
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

/* Functions of the module */
struct GLModule {
  /* Returns a bridge for frames like `textures`, a buffer of GstGLMemory. Returns nullptr with
   * the reason if device and OpenGL cannot share memory. */
  std::unique_ptr<GLBridge> (*new_bridge) (
      GstOpenCLContext *context, GstBuffer *textures, GError **error);

  /* Returns a pool of textures for elements that use the same display of OpenGL.
   * (transfer full) (nullable) */
  GstBufferPool *(*new_pool) (GstContext *display);

  /* Returns true if `pool` makes buffers of GstGLMemory. */
  bool (*is_pool) (GstBufferPool *pool);
};

/* Name and variable of the module, for gst_opencl_load_module() */
#define GL_MODULE "gstopenclgl"
#define GL_MODULE_SYMBOL "gst_opencl_module_gl"
