/* Imports dma_bufs as device memory: those of a camera or decoder, or of a display
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "dmabufimport.hpp"

#include "externalframe.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclexternal.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

namespace {
/* The file behind a descriptor */
struct File {
  bool is_known = false;
  dev_t device = 0;
  ino_t inode = 0;

  bool operator== (const File &other) const
  {
    return is_known && other.is_known && device == other.device && inode == other.inode;
  }
};

/* Before Linux 5.3, all dma_bufs shared the inode of anonymous files. Other systems have no
 * dma_buf. */
File
file_of (int fd)
{
#ifdef __linux__
  struct stat status;
  struct statfs system;
  const bool is_known = fstat (fd, &status) == 0 && fstatfs (fd, &system) == 0
                        && system.f_type != ANON_INODE_FS_MAGIC;
  return is_known ? File{true, status.st_dev, status.st_ino} : File ();
#else
  return File ();
#endif
}

struct Import {
  File file;
  gsize size;
  cl::Buffer buffer;
};

/* Imports of a context. An import lasts as long as the context and a GstMemory of its
 * dma_buf. Sources use a few dma_bufs again and again. */
class Imports : public std::enable_shared_from_this<Imports> {
public:
  static std::shared_ptr<Imports> of (GstOpenCLContext *context);

  /* Returns the import of @whole or of another memory of the same dma_buf. (nullable) */
  std::shared_ptr<Import> find_or_import (
      GstOpenCLContext *context, GstMemory *whole, GError **error);

private:
  std::shared_ptr<Import> find (const File &file, gsize size);
  void keep (GstMemory *whole, std::shared_ptr<Import> import);

  std::mutex lock;
  std::map<GstMemory *, std::shared_ptr<Import>> by_memory;
};

std::shared_ptr<Imports>
Imports::of (GstOpenCLContext *context)
{
  using Owner = std::shared_ptr<Imports>;
  static const GQuark quark = g_quark_from_static_string ("gst-opencl-dma-buf-imports");
  GObject *object = G_OBJECT (context);

  GST_OBJECT_LOCK (context);
  auto *owner = static_cast<Owner *> (g_object_get_qdata (object, quark));
  if (!owner) {
    owner = new Owner (std::make_shared<Imports> ());
    g_object_set_qdata_full (
        object, quark, owner, [] (gpointer data) { delete static_cast<Owner *> (data); });
  }
  Owner imports = *owner;
  GST_OBJECT_UNLOCK (context);
  return imports;
}

std::shared_ptr<Import>
Imports::find (const File &file, gsize size)
{
  const auto found =
      std::find_if (by_memory.begin (), by_memory.end (), [&] (const auto &entry) {
        return entry.second->file == file && entry.second->size >= size;
      });
  return found == by_memory.end () ? nullptr : found->second;
}

/* Imports the complete dma_buf, because other memory may cover more of it than @whole. */
std::shared_ptr<Import>
import_whole (
    GstOpenCLContext *context, GstMemory *whole, const File &file, GError **error)
{
  const int fd = gst_dmabuf_memory_get_fd (whole);
  const off_t end = lseek (fd, 0, SEEK_END);
  const gsize size = std::max (whole->maxsize, gsize (std::max (end, off_t (0))));
  cl::Buffer buffer (
      gst_opencl_context_import_fd (context, GST_OPENCL_HANDLE_DMA_BUF, fd, size, error));
  return buffer () ? std::make_shared<Import> (Import{file, size, std::move (buffer)})
                   : nullptr;
}

std::shared_ptr<Import>
Imports::find_or_import (GstOpenCLContext *context, GstMemory *whole, GError **error)
{
  std::lock_guard<std::mutex> guard (lock);
  const auto known = by_memory.find (whole);
  if (known != by_memory.end ())
    return known->second;
  const File file = file_of (gst_dmabuf_memory_get_fd (whole));
  std::shared_ptr<Import> import = find (file, whole->maxsize);
  if (!import)
    import = import_whole (context, whole, file, error);
  if (import)
    keep (whole, import);
  return import;
}

void
Imports::keep (GstMemory *whole, std::shared_ptr<Import> import)
{
  using Known = std::weak_ptr<Imports>; /* the context may be gone before the memory */
  auto forget = [] (gpointer data, GstMiniObject *memory) {
    const std::unique_ptr<Known> known (static_cast<Known *> (data));
    const std::shared_ptr<Imports> imports = known->lock ();
    if (!imports)
      return;
    std::lock_guard<std::mutex> guard (imports->lock);
    imports->by_memory.erase (GST_MEMORY_CAST (memory));
  };
  by_memory[whole] = std::move (import);
  gst_mini_object_weak_ref (
      GST_MINI_OBJECT_CAST (whole), forget, new Known (shared_from_this ()));
}
} // namespace

bool
is_dma_buf (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) == 1
         && gst_is_dmabuf_memory (gst_buffer_peek_memory (buffer, 0));
}

/* Returns the bytes of `buffer`, which `import` keeps. */
static std::optional<ExternalBytes>
bytes_of (GstOpenCLContext *context, GstBuffer *buffer, std::shared_ptr<Import> &import,
    GError **error)
{
  GstMemory *part = gst_buffer_peek_memory (buffer, 0);
  GstMemory *whole = part->parent ? part->parent : part;
  import = Imports::of (context)->find_or_import (context, whole, error);
  if (!import)
    return std::nullopt;
  return ExternalBytes{import->buffer (), import->size, part->offset, part->size};
}

GstBuffer *
import_dma_buf (
    GstOpenCLContext *context, GstBuffer *input, GstVideoFormat format, GError **error)
{
  std::shared_ptr<Import> import;
  const std::optional<ExternalBytes> bytes = bytes_of (context, input, import, error);
  if (!bytes)
    return nullptr;
  GstBuffer *output = acquire_external (
      context, *bytes, input, format, gst_buffer_ref (input),
      [] (gpointer buffer) { gst_buffer_unref (GST_BUFFER (buffer)); }, error);
  if (output)
    GST_MINI_OBJECT_FLAG_SET (
        gst_buffer_peek_memory (output, 0), GST_MEMORY_FLAG_READONLY);
  else
    gst_buffer_unref (input);
  return output;
}

bool
copy_to_dma_buf (GstOpenCLContext *context, GstBuffer *output, GstBuffer *frame,
    const GstVideoInfo *info, cl_event *event, GError **error)
{
  std::shared_ptr<Import> import;
  const std::optional<ExternalBytes> bytes = bytes_of (context, output, import, error);
  return bytes && copy_to_external (context, *bytes, output, frame, info, event, error);
}
