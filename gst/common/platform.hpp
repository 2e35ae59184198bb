/* Files, child processes and libraries: code that differs between operating systems
 *
 * Other files include no headers of a system; a static test checks it. File descriptors of
 * device memory are an exception, because only Linux has them.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace opencl {
/* --- reading files --- */

/* Random access to bytes */
class ByteSource {
public:
  virtual ~ByteSource () = default;

  virtual guint64 size () const = 0;
  /* Reads `size` bytes from `offset` on. `done` is less only at the end. */
  virtual bool read (
      guint64 offset, void *data, gsize size, gsize &done, GError **error) = 0;

  /* Reads the header at `offset`, whose first bytes tell its size to `get_size`. It is
   * shorter at the end. */
  bool read_header (guint64 offset, gsize (*get_size) (const guint8 *bytes, gsize size),
      std::vector<guint8> &header, GError **error);
};

class RegularFile : public ByteSource {
public:
  RegularFile () = default;
  ~RegularFile () override;
  RegularFile (const RegularFile &) = delete;
  RegularFile &operator= (const RegularFile &) = delete;

  /* Opens the file; call it only once. Fails for a folder, a pipe, a device … The error
   * does not name the path. With `is_private`, also fails for a symbolic link and for a file
   * that another user may have written. */
  bool open (const char *path, GError **error, bool is_private = false);
  guint64 size () const override { return bytes; }

  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **error) override
  {
    return seek (offset, error) && read (data, size, done, error);
  }
  /* Reads the next `size` bytes. `done` is less only at the end of the file. */
  bool read (void *data, gsize size, gsize &done, GError **error);
  /* Sets the position of the next read. */
  bool seek (guint64 offset, GError **error);
  bool rewind (GError **error) { return seek (0, error); }

private:
  gintptr handle = -1; /* a file descriptor, or a HANDLE of Windows */
  guint64 bytes = 0;
};

/* Fails for a file that filesrc cannot open or would wait for, as it does for a FIFO. The
 * error names the path. */
bool check_regular (const std::string &path, GError **error);

/* Reads a whole file of up to 2 GiB. The error names the path. */
bool read_file (const std::string &path, std::string &contents, GError **error,
    bool is_private = false);

/* Returns the path without links and with its folders, or an empty string if there is no
 * such file. */
std::string resolved_path (const std::string &path);

#ifdef G_OS_WIN32
#define PATH_SEPARATORS "\\/"
#else
#define PATH_SEPARATORS "/"
#endif

/* Returns the index at which the name of the file begins in a path: after the last separator, or
 * after the drive in C:file where a backslash is a separator. */
gsize begin_of_name (const std::string &path, const char *separators = PATH_SEPARATORS);
/* Returns the name of the file. */
std::string name_of_file (
    const std::string &path, const char *separators = PATH_SEPARATORS);

/* --- writing files --- */

/* Resolves symbolic links in the name of a file that will be created or replaced.
 * `target` is the file itself, which need not exist. Fails for a folder, a FIFO, a device
 * … The error names `path`. */
bool resolve_target (const std::string &path, std::string &target, GError **error);

/* File that has a temporary name beside its target until it is complete */
class TemporaryFile {
public:
  TemporaryFile () = default;
  ~TemporaryFile () { close (true); }
  TemporaryFile (const TemporaryFile &) = delete;
  TemporaryFile &operator= (const TemporaryFile &) = delete;

  /* Symbolic links in `location` are resolved. The mode of a file that will be replaced and,
   * where possible, its owner are kept. Fails if the target exists and is not a regular
   * file. The name ends with `suffix`, for programs that check the extension. Errors name
   * `location`. */
  bool create_file (
      const std::string &location, const std::string &suffix, GError **error);
  bool write (guint64 offset, const void *data, gsize size, GError **error);
  /* Frees the space behind `size` bytes if possible. */
  void truncate (guint64 size);
  /* Renames the file to its target. A `durable` file is on the disk before. */
  bool finish (bool durable, GError **error);
  /* Closes a file that is not finished. */
  void close (bool remove);

  bool is_open () const { return handle != -1; }
  const std::string &name () const { return temporary; }

private:
  gintptr handle = -1;                     /* as RegularFile's */
  std::string location, target, temporary; /* target: location without symbolic links */
};

/* Writes `bytes` to a new file, or replaces the file. */
bool write_file (const std::string &location, const std::string &bytes, GError **error);

/* --- caches --- */

/* Returns the path of a folder below that of this project in the user's cache. */
std::string cache_folder (const char *name);

/* Returns false for a folder that another user may write, and logs why. It need not
 * exist. */
bool is_private_folder (const std::string &folder);

/* Read and write a file in such a folder, which is made if needed. They log why they
 * fail. */
bool read_private_file (const std::string &path, std::string &contents);
bool write_private_file (const std::string &path, const std::string &contents);

/* Locks a file until the result is deleted. Waits up to `seconds` for another thread or process
 * that has locked it. Then, or if the file cannot be opened, and on Windows, it is not
 * locked. */
std::shared_ptr<void> lock_file (const std::string &path, guint seconds);

/* Returns the SHA-256 in hexadecimal digits, which names such files. */
std::string checksum_of (const void *bytes, gsize size);

/* --- processes and libraries --- */

struct ChildLimits {
  guint processor_seconds = 0;                  /* 0: no limit */
  guint seconds = 0;                            /* by the clock; 0: no limit */
  const std::atomic<bool> *cancelled = nullptr; /* (nullable): ends the child when set */
};

struct ChildResult {
  enum End {
    not_started,
    ended,   /* the program returned */
    crashed, /* by a fault of its own; `reason` describes it */
    stopped, /* by another process or the system; `reason` describes it */
    timeout, /* a limit was reached, or it was cancelled */
  };
  End end = not_started;
  std::string output, reason;
  guint64 processor_seconds = 0;
};

/* Runs a program with the text `input`, and returns what it prints. */
ChildResult run_child (const std::vector<std::string> &arguments,
    const std::string &input, const ChildLimits &limits);

/* Returns true in a process that was forked after the first call. It has none of the threads of
 * its parent's libraries. */
bool is_forked_child ();

/* Gives other processes priority over this one. */
void lower_priority ();

/* Returns the number of this process as text. */
std::string id_of_process ();

/* Ends this process when the thread that started it ends, where the system can do that. `id`
 * is the parent's id_of_process(). */
void end_with_parent (const std::string &id);

/* Returns the free memory and the limits of what this process may use, in an order that is the
 * same for all processes. More memory than any self-check needs counts as that much, so that
 * it does not vary. Returns an empty vector on Windows. */
std::vector<double> resources_of_process ();

/* Returns the path of the helper file `name`, or an empty string if there is none. Looks in
 * the folder gstreamer-opencl-1.0 beside the library or program that contains this code,
 * then beside it, as in a build folder. */
std::string find_helper_file (const std::string &name);
/* The same for a program, whose file may have an extension */
std::string find_helper_program (const std::string &name);

/* Returns the name, release and machine of the operating system, such as "Linux 6.1 x86_64". */
std::string name_of_system ();

/* Returns the arguments of main() in UTF-8. They last as long as the program. */
char **arguments_in_utf8 (char **arguments);

/* While in scope, this thread writes numbers with a decimal point, whatever the
 * locale. */
class PlainNumbers {
public:
  PlainNumbers ();
  ~PlainNumbers ();
  PlainNumbers (const PlainNumbers &) = delete;
  PlainNumbers &operator= (const PlainNumbers &) = delete;

private:
  void *plain, *previous; /* locales */
};

/* Returns a function of the libraries that the process has loaded. (nullable) */
void *find_loaded_function (const char *name);
} // namespace opencl
