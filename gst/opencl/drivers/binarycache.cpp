/* Cache of compiled programs in files
 *
 * A file holds a line of text, the key, the checksum of the binary and the binary. The
 * key, a checksum of all that the binary depends on, is also the name of the file.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/platform.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/gst.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <glib/gstdio.h>
#include <vector>

namespace opencl {
namespace {
namespace fs = std::filesystem;

/* Keeps compiled programs for the next process, for drivers that do not do so themselves.
 * A file that is damaged or belongs to another driver, device or program is ignored and
 * replaced. A folder or file that another user may write is not used, since a driver trusts
 * programs. Without a usable folder every program is compiled. Programs with
 * -cl-kernel-arg-info are not kept. */
class BinaryCache {
public:
  static constexpr guint64 capacity = 64 << 20; /* bytes of all files */

  BinaryCache () = default; /* keeps nothing */
  explicit BinaryCache (const cl::Device &device);

  /* Returns an empty program if there is no usable file. */
  cl::Program load (const cl::Context &context, const std::string &source,
      const std::string &options) const;
  void store (const cl::Program &program, const std::string &source,
      const std::string &options) const;

private:
  bool keeps (const std::string &options) const;
  std::string key_of (const std::string &source, const std::string &options) const;
  std::string path_of (const std::string &key) const;
  void remove_oldest () const;

  cl::Device device;
  std::string folder;   /* empty: keeps nothing */
  std::string identity; /* of driver and device */
};

const char *const first_line = "gst-opencl program 1\n";

/* Platforms whose drivers do not cache compiled programs. PoCL and NVIDIA do. */
const char *const platforms_without_cache[] = {"Intel(R) OpenCL", "rusticl"};

/* Returns the cache folder, or an empty string for none. GST_OPENCL_PROGRAM_CACHE names a
 * folder for all drivers, or is 0 for none. */
std::string
folder_for (const std::string &platform)
{
  const char *wanted = g_getenv ("GST_OPENCL_PROGRAM_CACHE");
  if (wanted && *wanted)
    return strcmp (wanted, "0") == 0 ? "" : wanted;
  for (const char *name : platforms_without_cache) {
    if (platform == name)
      return cache_folder ("programs");
  }
  return "";
}

/* Returns the header of a cache file, which precedes the binary */
std::string
header_of (const std::string &key, const void *binary, gsize size)
{
  return first_line + key + '\n' + checksum_of (binary, size) + '\n';
}

/* Returns the binary in a cache file. It is empty if there is no file, or if the file is
 * damaged, has another key or may be another user's. */
std::vector<unsigned char>
binary_of (const std::string &path, const std::string &key)
{
  const gsize start = header_of (key, "", 0).size ();
  std::string file;

  if (!read_private_file (path, file))
    return {};
  if (file.size () > start
      && file.compare (
             0, start, header_of (key, file.data () + start, file.size () - start))
             == 0)
    return std::vector<unsigned char> (file.begin () + gssize (start), file.end ());
  GST_INFO ("%s is damaged or belongs to another driver; replacing it", path.c_str ());
  return {};
}

/* Returns the binary of a program for one device of its context. It is empty if the
 * driver does not provide one. */
std::vector<unsigned char>
binary_of (const cl::Program &program, const cl::Device &device)
{
  std::vector<cl::Device> devices;
  std::vector<std::vector<unsigned char>> binaries;
  if (program.getInfo (CL_PROGRAM_DEVICES, &devices) != CL_SUCCESS
      || program.getInfo (CL_PROGRAM_BINARIES, &binaries) != CL_SUCCESS)
    return {};
  for (gsize n = 0; n < std::min (devices.size (), binaries.size ()); n++) {
    if (devices[n]() == device ())
      return binaries[n];
  }
  return {};
}

struct CachedFile {
  fs::path path;
  guint64 size;
  fs::file_time_type used;
};

/* Returns true if the name begins with a key, because GST_OPENCL_PROGRAM_CACHE may be a
 * folder with other files. This includes temporary files, which a killed process may
 * leave. */
bool
is_ours (const fs::path &path)
{
  const std::string name = path.filename ().u8string ();
  const gsize digits = 2 * g_checksum_type_get_length (G_CHECKSUM_SHA256);
  return name.size () >= digits
         && std::all_of (name.begin (), name.begin () + gssize (digits),
             [] (char c) { return g_ascii_isxdigit (c); });
}

std::vector<CachedFile>
files_in (const std::string &folder)
{
  std::vector<CachedFile> files;
  std::error_code code;
  for (fs::directory_iterator at (fs::u8path (folder), code), end; !code && at != end;
       at.increment (code)) {
    std::error_code gone; /* removed by another process */
    if (!at->is_regular_file (gone) || !is_ours (at->path ()))
      continue;
    const guint64 size = at->file_size (gone);
    const fs::file_time_type used = at->last_write_time (gone);
    if (!gone)
      files.push_back ({at->path (), size, used});
  }
  return files;
}
BinaryCache::BinaryCache (const cl::Device &device) : device (device)
{
  folder = folder_for (platform_text (device, CL_PLATFORM_NAME));
  if (!is_private_folder (folder))
    folder.clear ();
  if (!folder.empty ())
    identity = identity_of (device);
}

cl::Program
BinaryCache::load (const cl::Context &context, const std::string &source,
    const std::string &options) const
{
  if (!keeps (options))
    return cl::Program ();
  const std::string key = key_of (source, options), path = path_of (key);
  const std::vector<unsigned char> binary = binary_of (path, key);
  if (binary.empty ())
    return cl::Program ();
  cl_int code, status = CL_SUCCESS;
  const unsigned char *bytes = binary.data ();
  const gsize size = binary.size ();
  const cl_device_id handle = device ();
  cl::Program program (
      clCreateProgramWithBinary (context (), 1, &handle, &size, &bytes, &status, &code));
  if (code == CL_SUCCESS && status == CL_SUCCESS)
    code = clBuildProgram (program (), 1, &handle, options.c_str (), nullptr, nullptr);
  if (code != CL_SUCCESS || status != CL_SUCCESS) {
    GST_INFO ("the driver rejects the program in %s", path.c_str ());
    return cl::Program ();
  }
  std::error_code ignored; /* the time of the last use */
  fs::last_write_time (fs::u8path (path), fs::file_time_type::clock::now (), ignored);
  return program;
}

void
BinaryCache::store (const cl::Program &program, const std::string &source,
    const std::string &options) const
{
  if (!keeps (options))
    return;
  const std::vector<unsigned char> binary = binary_of (program, device);
  if (binary.empty ())
    return;
  const std::string key = key_of (source, options), path = path_of (key);
  std::string file = header_of (key, binary.data (), binary.size ());
  file.append (binary.begin (), binary.end ());
  write_private_file (path, file);
  remove_oldest ();
}

/* Intel's runtime does not support clGetKernelArgInfo() for a program from a binary. */
bool
BinaryCache::keeps (const std::string &options) const
{
  return !folder.empty () && options.find ("-cl-kernel-arg-info") == std::string::npos;
}

std::string
BinaryCache::key_of (const std::string &source, const std::string &options) const
{
  const std::string all = identity + options + '\n' + source;
  return checksum_of (all.data (), all.size ());
}

std::string
BinaryCache::path_of (const std::string &key) const
{
  return folder + G_DIR_SEPARATOR_S + key;
}

void
BinaryCache::remove_oldest () const
{
  std::vector<CachedFile> files = files_in (folder);
  guint64 used = 0;
  std::error_code ignored;

  std::sort (files.begin (), files.end (),
      [] (const CachedFile &a, const CachedFile &b) { return a.used > b.used; });
  for (const CachedFile &file : files) {
    used += file.size;
    if (used > capacity)
      fs::remove (file.path, ignored);
  }
}

BuildProgram
build_with_cache (const cl::Device &device)
{
  return [cache = BinaryCache (device)] (const cl::Context &context,
             const std::string &source, const std::string &options, const auto &compile) {
    cl::Program program = cache.load (context, source, options);
    if (program ())
      return program;
    program = compile ();
    if (program ())
      cache.store (program, source, options);
    return program;
  };
}

[[maybe_unused]] const auto hook = driver_hooks ().program_build = build_with_cache;
} // namespace
} // namespace opencl
