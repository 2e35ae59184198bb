/* Copies frames between device memory and OpenGL textures, without host memory
 *
 * OpenCL exports no memory, and OpenGL only imports it. Therefore Vulkan allocates memory on
 * the same device, which both import by its file descriptor: OpenCL as a buffer, OpenGL as a
 * pixel buffer object. Textures are read to and written from that object.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "glbridge.hpp"

#include "externalframe.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>

#include <gst/gl/gl.h>
#include <gst/gl/gstglfuncs.h>
#include <vulkan/vulkan.h>

#include <array>
#include <glib/gstdio.h>
#include <gmodule.h>
#include <mutex>
#include <vector>

namespace {
using Uuid = std::array<guint8, VK_UUID_SIZE>;

bool
refuse (GError **error, const char *reason)
{
  g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED, reason);
  return false;
}

/* --- Vulkan --- */

bool
check (VkResult result, const char *call, GError **error)
{
  if (result == VK_SUCCESS)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%s of Vulkan failed with %d", call, int (result));
  return false;
}

/* A device of Vulkan, which allocates memory for others */
class VulkanDevice {
public:
  ~VulkanDevice ();

  bool open (const Uuid &uuid, GError **error);
  /* Allocates at least `size` bytes, and sets `size` to their number. Returns the file
   * descriptor, which the caller closes, or -1. */
  int allocate (gsize &size, GError **error);

private:
  bool find (const Uuid &uuid, GError **error);
  bool allocate_for (
      VkBuffer buffer, VkDeviceMemory &memory, gsize &size, GError **error);

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
};

VulkanDevice::~VulkanDevice ()
{
  if (device)
    vkDestroyDevice (device, nullptr);
  if (instance)
    vkDestroyInstance (instance, nullptr);
}

bool
VulkanDevice::open (const Uuid &uuid, GError **error)
{
  const VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr,
      "gst-opencl", 0, nullptr, 0, VK_API_VERSION_1_1};
  VkInstanceCreateInfo wanted = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  wanted.pApplicationInfo = &application;
  if (!check (vkCreateInstance (&wanted, nullptr, &instance), "vkCreateInstance", error)
      || !find (uuid, error))
    return false;

  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1; /* Vulkan requires one */
  queue.pQueuePriorities = &priority;
  const char *extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = 1;
  info.ppEnabledExtensionNames = &extension;
  return check (
      vkCreateDevice (physical, &info, nullptr, &device), "vkCreateDevice", error);
}

bool
VulkanDevice::find (const Uuid &uuid, GError **error)
{
  guint32 n = 0;
  vkEnumeratePhysicalDevices (instance, &n, nullptr);
  std::vector<VkPhysicalDevice> devices (n);
  vkEnumeratePhysicalDevices (instance, &n, devices.data ());
  for (VkPhysicalDevice candidate : devices) {
    VkPhysicalDeviceIDProperties id = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id};
    vkGetPhysicalDeviceProperties2 (candidate, &properties);
    if (std::equal (uuid.begin (), uuid.end (), id.deviceUUID)) {
      physical = candidate;
      return true;
    }
  }
  return refuse (error, "Vulkan does not have the device");
}

bool
VulkanDevice::allocate_for (
    VkBuffer buffer, VkDeviceMemory &memory, gsize &size, GError **error)
{
  VkMemoryRequirements needs;
  VkPhysicalDeviceMemoryProperties has;
  vkGetBufferMemoryRequirements (device, buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties (physical, &has);
  guint32 type = 0;
  while (type < has.memoryTypeCount
         && !((needs.memoryTypeBits >> type & 1)
              && (has.memoryTypes[type].propertyFlags
                  & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)))
    type++;
  if (type == has.memoryTypeCount)
    return refuse (error, "Vulkan has no device memory for buffers");

  VkExportMemoryAllocateInfo exported = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
  exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  const VkMemoryAllocateInfo info = {
      VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &exported, needs.size, type};
  size = needs.size;
  return check (
      vkAllocateMemory (device, &info, nullptr, &memory), "vkAllocateMemory", error);
}

/* The memory lives on as long as others have imported it. */
int
VulkanDevice::allocate (gsize &size, GError **error)
{
  constexpr gsize room = 4096; /* Mesa's OpenGL on a CPU reads beyond a buffer's end */
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  int fd = -1;
  VkExternalMemoryBufferCreateInfo external = {
      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external};
  info.size = size + room;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

  if (check (vkCreateBuffer (device, &info, nullptr, &buffer), "vkCreateBuffer", error)
      && allocate_for (buffer, memory, size, error)) {
    const auto get_fd = reinterpret_cast<PFN_vkGetMemoryFdKHR> (
        vkGetDeviceProcAddr (device, "vkGetMemoryFdKHR"));
    const VkMemoryGetFdInfoKHR wanted = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
        nullptr, memory, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    check (get_fd (device, &wanted, &fd), "vkGetMemoryFdKHR", error);
  }
  vkFreeMemory (device, memory, nullptr);
  vkDestroyBuffer (device, buffer, nullptr);
  return fd;
}

/* --- OpenGL --- */

/* Functions of GL_EXT_memory_object_fd */
struct GLCalls {
  PFNGLGETUNSIGNEDBYTEI_VEXTPROC get_bytes = nullptr;
  PFNGLCREATEMEMORYOBJECTSEXTPROC create_memory = nullptr;
  PFNGLDELETEMEMORYOBJECTSEXTPROC delete_memory = nullptr;
  PFNGLIMPORTMEMORYFDEXTPROC import_memory = nullptr;
  PFNGLBUFFERSTORAGEMEMEXTPROC set_storage = nullptr;

  bool load (GstGLContext *context, GError **error);
};

bool
GLCalls::load (GstGLContext *context, GError **error)
{
  auto find = [context] (auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype (function)>> (
        gst_gl_context_get_proc_address (context, name));
    return function != nullptr;
  };
  return (gst_gl_context_check_feature (context, "GL_EXT_memory_object_fd")
             && find (get_bytes, "glGetUnsignedBytei_vEXT")
             && find (create_memory, "glCreateMemoryObjectsEXT")
             && find (delete_memory, "glDeleteMemoryObjectsEXT")
             && find (import_memory, "glImportMemoryFdEXT")
             && find (set_storage, "glBufferStorageMemEXT"))
         || refuse (error, "OpenGL does not have GL_EXT_memory_object_fd");
}

/* Calls `work` in the thread of the OpenGL context, and waits for it. */
template <typename Work>
void
in_gl_thread (GstGLContext *context, Work work)
{
  gst_gl_context_thread_add (
      context, [] (GstGLContext *, gpointer work) { (*static_cast<Work *> (work)) (); },
      &work);
}

GstGLContext *
gl_context_of (GstBuffer *textures)
{
  return GST_GL_BASE_MEMORY_CAST (gst_buffer_peek_memory (textures, 0))->context;
}

/* --- the bridge --- */

/* Memory that both have imported */
struct Shared {
  GstGLContext *gl_context;
  const GLCalls &gl;
  cl::Buffer buffer;
  GLuint memory = 0, pixels = 0; /* names of the memory object and of the buffer object */

  Shared (GstGLContext *context, const GLCalls &calls)
      : gl_context (GST_GL_CONTEXT (gst_object_ref (context))), gl (calls)
  {
  }
  ~Shared ();
  Shared (const Shared &) = delete;

  bool import (gsize allocated, gsize size, int fd, GError **error);
};

Shared::~Shared ()
{
  in_gl_thread (gl_context, [this] {
    if (pixels)
      gl_context->gl_vtable->DeleteBuffers (1, &pixels);
    if (memory)
      gl.delete_memory (1, &memory);
  });
  gst_object_unref (gl_context);
}

/* Takes ownership of `fd`. */
bool
Shared::import (gsize allocated, gsize size, int fd, GError **error)
{
  GLenum code = GL_NO_ERROR;
  in_gl_thread (gl_context, [&] {
    const GstGLFuncs *functions = gl_context->gl_vtable;
    while (functions->GetError () != GL_NO_ERROR) {
    }
    gl.create_memory (1, &memory);
    gl.import_memory (memory, allocated, GL_HANDLE_TYPE_OPAQUE_FD_EXT, fd);
    functions->GenBuffers (1, &pixels);
    functions->BindBuffer (GL_PIXEL_PACK_BUFFER, pixels);
    gl.set_storage (GL_PIXEL_PACK_BUFFER, size, memory, 0);
    functions->BindBuffer (GL_PIXEL_PACK_BUFFER, 0);
    code = functions->GetError ();
  });
  return code == GL_NO_ERROR || refuse (error, "OpenGL cannot import memory of Vulkan");
}

class Bridge final : public GLBridge {
public:
  Bridge (GstOpenCLContext *device, GstBuffer *textures)
      : context (GST_OPENCL_CONTEXT (gst_object_ref (device))),
        gl_context (GST_GL_CONTEXT (gst_object_ref (gl_context_of (textures)))),
        size (gst_buffer_get_size (textures))
  {
  }
  ~Bridge () override
  {
    unused.reset ();
    gst_object_unref (gl_context);
    gst_object_unref (context);
  }

  bool open (GError **error);
  bool fits (GstBuffer *textures) const override;
  GstBuffer *read (GstBuffer *textures, GError **error) override;
  bool write (GstBuffer *textures, GstBuffer *frame, const GstVideoInfo *info,
      cl_event *event, GError **error) override;

private:
  /* Shared memory that no frame uses. Frames may outlive the bridge. */
  struct Unused {
    GLCalls gl;
    std::mutex lock;
    std::vector<std::unique_ptr<Shared>> shared;
  };
  struct Use;

  std::unique_ptr<Shared> take (GError **error);
  bool copy (GstBuffer *textures, const Shared &shared, GLenum target, GError **error);
  ExternalBytes bytes_of (const Shared &shared) const
  {
    return {shared.buffer (), size, 0, size};
  }

  GstOpenCLContext *context;
  GstGLContext *gl_context;
  gsize size;
  VulkanDevice vulkan;
  std::shared_ptr<Unused> unused = std::make_shared<Unused> ();
};

/* Memory of a frame, which is used again when the frame is freed */
struct Bridge::Use {
  std::shared_ptr<Unused> unused;
  std::unique_ptr<Shared> shared;

  ~Use ()
  {
    if (!shared)
      return;
    std::lock_guard<std::mutex> guard (unused->lock);
    unused->shared.push_back (std::move (shared));
  }
};

/* Other devices of the machine could not import the memory. */
bool
Bridge::open (GError **error)
{
  constexpr cl_device_info uuid_of_device = 0x106A; /* CL_DEVICE_UUID_KHR */
  Uuid uuid;
  bool is_same = false;

  if (!opencl::read_device_info (context, uuid_of_device, uuid.size (), uuid.data ()))
    return refuse (error, "the OpenCL driver does not tell the UUID of its device");
  if (!unused->gl.load (gl_context, error))
    return false;
  in_gl_thread (gl_context, [&] {
    Uuid of_gl;
    GLint n = 0;
    gl_context->gl_vtable->GetIntegerv (GL_NUM_DEVICE_UUIDS_EXT, &n);
    for (GLint i = 0; i < n; i++) {
      unused->gl.get_bytes (GL_DEVICE_UUID_EXT, i, of_gl.data ());
      is_same = is_same || of_gl == uuid;
    }
  });
  if (!is_same)
    return refuse (error, "OpenGL uses another device");
  return vulkan.open (uuid, error);
}

bool
Bridge::fits (GstBuffer *textures) const
{
  return gl_context_of (textures) == gl_context && gst_buffer_get_size (textures) == size;
}

std::unique_ptr<Shared>
Bridge::take (GError **error)
{
  {
    std::lock_guard<std::mutex> guard (unused->lock);
    if (!unused->shared.empty ()) {
      std::unique_ptr<Shared> shared = std::move (unused->shared.back ());
      unused->shared.pop_back ();
      return shared;
    }
  }
  auto shared = std::make_unique<Shared> (gl_context, unused->gl);
  gsize allocated = size;
  const int fd = vulkan.allocate (allocated, error);
  if (fd < 0)
    return nullptr;
  shared->buffer = cl::Buffer (gst_opencl_context_import_fd (
      context, GST_OPENCL_HANDLE_OPAQUE_FD, fd, size, error));
  if (!shared->buffer ()) {
    g_close (fd, nullptr);
    return nullptr;
  }
  return shared->import (allocated, size, fd, error) ? std::move (shared) : nullptr;
}

/* Copies all planes from or to the textures, and waits until OpenCL may use the memory.
 * GstGLMemory copies only what is marked as written by the CPU. */
bool
Bridge::copy (GstBuffer *textures, const Shared &shared, GLenum target, GError **error)
{
  const bool reads = target == GL_PIXEL_PACK_BUFFER;
  const GstMapFlags access =
      GstMapFlags ((reads ? GST_MAP_READ : GST_MAP_WRITE) | GST_MAP_GL);
  bool copied = true;

  in_gl_thread (gl_context, [&] {
    const GstGLFuncs *gl = gl_context->gl_vtable;
    gsize offset = 0;
    if (GstGLSyncMeta *sync = gst_buffer_get_gl_sync_meta (textures))
      gst_gl_sync_meta_wait (sync, gl_context);
    for (guint i = 0; i < gst_buffer_n_memory (textures) && copied; i++) {
      GstMemory *memory = gst_buffer_peek_memory (textures, i);
      auto *texture = reinterpret_cast<GstGLMemory *> (memory);
      gpointer at = GSIZE_TO_POINTER (offset);
      GstMapInfo map;
      copied = gst_memory_map (memory, &map, access);
      if (!copied)
        break;
      gl->BindBuffer (target, shared.pixels);
      if (reads) {
        copied = gst_gl_memory_read_pixels (texture, at);
      } else {
        GST_MINI_OBJECT_FLAG_SET (memory, GST_GL_BASE_MEMORY_TRANSFER_NEED_UPLOAD);
        gst_gl_memory_texsubimage (texture, at);
        GST_MINI_OBJECT_FLAG_UNSET (memory, GST_GL_BASE_MEMORY_TRANSFER_NEED_UPLOAD);
      }
      gl->BindBuffer (target, 0);
      gst_memory_unmap (memory, &map);
      offset += memory->size;
    }
    gl->Finish ();
  });
  return copied || refuse (error, "OpenGL cannot access the textures of a frame");
}

GstBuffer *
Bridge::read (GstBuffer *textures, GError **error)
{
  std::unique_ptr<Shared> shared = take (error);
  if (!shared || !copy (textures, *shared, GL_PIXEL_PACK_BUFFER, error))
    return nullptr;
  const ExternalBytes bytes = bytes_of (*shared);
  auto *use = new Use{unused, std::move (shared)};
  GstBuffer *frame = acquire_external (
      context, bytes, textures, GST_VIDEO_FORMAT_UNKNOWN, use,
      [] (gpointer use) { delete static_cast<Use *> (use); }, error);
  if (!frame)
    delete use;
  return frame;
}

bool
Bridge::write (GstBuffer *textures, GstBuffer *frame, const GstVideoInfo *info,
    cl_event *event, GError **error)
{
  const Use use{unused, take (error)};
  return use.shared
         && copy_to_external (
             context, bytes_of (*use.shared), textures, frame, info, event, error)
         && copy (textures, *use.shared, GL_PIXEL_UNPACK_BUFFER, error);
}

std::unique_ptr<GLBridge>
new_bridge (GstOpenCLContext *context, GstBuffer *textures, GError **error)
{
  for (guint i = 0; i < gst_buffer_n_memory (textures); i++) {
    if (!gst_is_gl_memory (gst_buffer_peek_memory (textures, i))) {
      refuse (error, "the frame does not consist of textures");
      return nullptr;
    }
  }
  auto bridge = std::make_unique<Bridge> (context, textures);
  return bridge->open (error) ? std::move (bridge) : nullptr;
}

/* Elements of OpenGL that follow take the display's context, too. */
GstBufferPool *
new_pool (GstContext *of_display)
{
  GstGLDisplay *display = nullptr;
  GstGLContext *context = nullptr;
  GstBufferPool *pool = nullptr;

  if (!gst_context_get_gl_display (of_display, &display))
    return nullptr;
  GST_OBJECT_LOCK (display);
  do {
    gst_clear_object (&context);
    context = gst_gl_display_get_gl_context_for_thread (display, nullptr);
    if (!context && !gst_gl_display_create_context (display, nullptr, &context, nullptr))
      break;
  } while (!gst_gl_display_add_context (display, context));
  GST_OBJECT_UNLOCK (display);
  if (context)
    pool = gst_gl_buffer_pool_new (context);
  gst_clear_object (&context);
  gst_object_unref (display);
  return pool;
}

bool
is_pool (GstBufferPool *pool)
{
  return GST_IS_GL_BUFFER_POOL (pool);
}
} // namespace

extern "C" G_MODULE_EXPORT const GLModule gst_opencl_module_gl = {
    new_bridge, new_pool, is_pool};
