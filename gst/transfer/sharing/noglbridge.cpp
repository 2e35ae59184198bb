/* Builds without OpenGL or Vulkan have no bridge between device memory and textures
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "glbridge.hpp"

const bool GLBridge::is_built = false;

std::unique_ptr<GLBridge>
GLBridge::create (GstOpenCLContext *, GstBuffer *, GError **)
{
  return nullptr;
}

bool
has_gl_downstream (GstPad *)
{
  return false;
}

GstBufferPool *
new_gl_pool (GstPad *)
{
  return nullptr;
}

bool
is_gl_pool (GstBufferPool *)
{
  return false;
}
