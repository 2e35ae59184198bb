/* Tests of the cache of compiled programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
const char *const source =
    "__kernel void set (__global int *x) { x[get_global_id (0)] = VALUE; }";

/* A cache folder, in use during the lifetime of this object */
class Cache : public Folder {
public:
  Cache () { use (path); }
  ~Cache () { g_unsetenv ("GST_OPENCL_PROGRAM_CACHE"); }
  static void use (const std::string &folder)
  {
    g_setenv ("GST_OPENCL_PROGRAM_CACHE", folder.c_str (), TRUE);
  }
  std::string only_file () const
  {
    expect_equal (names ().size (), gsize (1));
    return file (names ()[0]);
  }
};

/* Returns how many programs a new context compiles from source for a program with
 * -DVALUE=`value`. Its kernel must work. */
guint
compiled_for (int value)
{
  const guint before = counting::count (counting::CREATE_PROGRAM);
  Owned<GstOpenCLContext> any = new_context (), context = new_other_context (any);
  cl_command_queue queue =
      gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  OwnedCL<cl_program> program = gst_opencl_context_get_program (
      context, source, text ("-DVALUE=%d", value).c_str (), nullptr);
  fail_unless (program != nullptr);
  cl_int code, result = 0;
  OwnedCL<cl_kernel> kernel = clCreateKernel (program, "set", &code);
  expect_equal (code, CL_SUCCESS);
  OwnedCL<cl_mem> memory = clCreateBuffer (gst_opencl_context_get_handle (context),
      CL_MEM_READ_WRITE, sizeof result, nullptr, &code);
  const cl_mem handle = memory;
  const size_t one = 1;
  expect_equal (clSetKernelArg (kernel, 0, sizeof handle, &handle), CL_SUCCESS);
  expect_equal (clEnqueueNDRangeKernel (
                    queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
      CL_SUCCESS);
  expect_equal (clEnqueueReadBuffer (queue, memory, CL_TRUE, 0, sizeof result, &result, 0,
                    nullptr, nullptr),
      CL_SUCCESS);
  expect_equal (result, value);
  return counting::count (counting::CREATE_PROGRAM) - before;
}
} // namespace

TEST (test_binary_cache_compiles_a_program_once_for_all_contexts)
{
  Cache cache;
  expect_equal (compiled_for (3), 1u);
  expect_equal (compiled_for (3), 0u);
  expect_equal (compiled_for (4), 1u, "other options");
  expect_equal (cache.names ().size (), gsize (2));
}

TEST (test_binary_cache_keeps_nothing_where_the_driver_does)
{
  Cache cache;
  Cache::use ("0");
  expect_equal (compiled_for (3), 1u);
  expect_equal (compiled_for (3), 1u);
  expect_equal (cache.names ().size (), gsize (0));
}

/* Some drivers do not describe the arguments of a program that was created from a
 * binary. */
TEST (test_binary_cache_leaves_out_programs_with_argument_info)
{
  Cache cache;
  for (guint n = 0; n < 2; n++) {
    const guint before = counting::count (counting::CREATE_PROGRAM);
    Owned<GstOpenCLContext> any = new_context (), context = new_other_context (any);
    OwnedCL<cl_program> program = gst_opencl_context_get_program (
        context, source, "-DVALUE=1 -cl-kernel-arg-info", nullptr);
    fail_unless (program != nullptr);
    expect_equal (counting::count (counting::CREATE_PROGRAM) - before, 1u);
  }
  expect_equal (cache.names ().size (), gsize (0));
}

/* A file that is truncated, empty or changed is replaced by a complete one. */
TEST (test_binary_cache_replaces_damaged_files)
{
  Cache cache;
  compiled_for (3);
  const std::string file = cache.only_file (), whole = contents_of (file);
  std::string changed = whole;
  changed[whole.size () / 2] ^= 1;
  for (const std::string &damaged : {std::string (), whole.substr (0, 10),
           whole.substr (0, 200), whole.substr (0, whole.size () - 1), changed}) {
    fail_unless (g_file_set_contents (
        file.c_str (), damaged.data (), gssize (damaged.size ()), nullptr));
    expect_equal (compiled_for (3), 1u, text ("%zu bytes", damaged.size ()));
    expect_equal (compiled_for (3), 0u, text ("after %zu bytes", damaged.size ()));
  }
}

TEST (test_binary_cache_compiles_what_the_driver_refuses)
{
  Cache cache;
  compiled_for (3);
  counting::fail_call (counting::BUILD_PROGRAM, 1, CL_INVALID_BINARY);
  expect_equal (compiled_for (3), 1u);
}

TEST (test_binary_cache_ignores_files_of_another_driver_version)
{
  Cache cache;
  const char version[] = "0.1 of another driver";
  counting::override_device_info (CL_DRIVER_VERSION, version, sizeof version);
  expect_equal (compiled_for (3), 1u);
  counting::restore_device_info ();
  const std::string other = contents_of (cache.only_file ());
  expect_equal (compiled_for (3), 1u);
  expect_equal (cache.names ().size (), gsize (2));
  for (const std::string &name : cache.names ()) /* under the file name of this version */
    cache.write (name, other);
  expect_equal (compiled_for (3), 1u);
}

/* The checksum of a file does not tell who wrote it. */
TEST (test_binary_cache_leaves_out_files_that_others_may_write)
{
  Cache cache;
  compiled_for (3);
  const std::string file = cache.only_file (), moved = cache.file ("moved");
  for (const mode_t mode : {0620, 0602}) {
    fail_unless_equals_int (chmod (file.c_str (), mode), 0);
    expect_equal (compiled_for (3), 1u, text ("mode %o", mode));
    expect_equal (compiled_for (3), 0u, text ("replaced after mode %o", mode));
  }
  fail_unless_equals_int (rename (file.c_str (), moved.c_str ()), 0);
  fail_unless_equals_int (symlink (moved.c_str (), file.c_str ()), 0);
  expect_equal (compiled_for (3), 1u, "a link");
  expect_equal (compiled_for (3), 0u);
  if (geteuid () != 0)
    return report_skip ("no root, who alone gives away files");
  fail_unless_equals_int (chown (file.c_str (), 65534, gid_t (-1)), 0);
  expect_equal (compiled_for (3), 1u, "another owner");
  expect_equal (compiled_for (3), 0u);
}

TEST (test_binary_cache_does_not_use_a_folder_that_others_may_write)
{
  for (const mode_t mode : {0720, 0702, 01777}) {
    Cache cache;
    compiled_for (3);
    fail_unless_equals_int (chmod (cache.path.c_str (), mode), 0);
    expect_equal (compiled_for (3), 1u, text ("mode %o", mode));
    expect_equal (compiled_for (4), 1u);
    expect_equal (cache.names ().size (), gsize (1), "nothing is stored there");
  }
  Cache cache;
  compiled_for (3);
  if (geteuid () != 0)
    return report_skip ("no root, who alone gives away files");
  fail_unless_equals_int (chown (cache.path.c_str (), 65534, gid_t (-1)), 0);
  expect_equal (compiled_for (3), 1u, "another owner");
}

/* With a umask of 002, as where each user has a group of the same name */
TEST (test_binary_cache_makes_files_that_it_takes)
{
  Cache cache;
  Cache::use (cache.file ("programs"));
  const mode_t before = umask (002);
  compiled_for (3);
  expect_equal (compiled_for (3), 0u);
  umask (before);
}

/* Root may write anywhere, so the folder's path leads through a file. */
TEST (test_binary_cache_works_without_a_folder_that_can_be_written)
{
  Cache cache;
  Cache::use (cache.write ("file", "") + "/programs");
  expect_equal (compiled_for (3), 1u);
  expect_equal (compiled_for (3), 1u);
}

TEST (test_binary_cache_removes_files_that_were_not_used_for_longest)
{
  using std::chrono::hours;
  Cache cache;
  const auto now = std::filesystem::file_time_type::clock::now ();
  const std::string oldest = cache.write (std::string (64, 'a'), "a"),
                    large = cache.write (std::string (64, 'b') + ".1X2Y", "b"),
                    recent = cache.write (std::string (64, 'c'), "c"),
                    of_others = cache.write ("letter", "d");
  std::filesystem::resize_file (of_others, 64 << 20);
  std::filesystem::last_write_time (of_others, now - hours (4));
  std::filesystem::resize_file (large, 64 << 20); /* a sparse file */
  std::filesystem::last_write_time (oldest, now - hours (3));
  std::filesystem::last_write_time (large, now - hours (2));
  std::filesystem::last_write_time (recent, now - hours (1));
  compiled_for (3);
  for (const std::string &gone : {oldest, large})
    fail_if (std::filesystem::exists (gone), "%s", gone.c_str ());
  for (const std::string &kept : {recent, of_others})
    fail_unless (std::filesystem::exists (kept), "%s", kept.c_str ());
  expect_equal (cache.names ().size (), gsize (3));
  expect_equal (compiled_for (3), 0u);
}

/* A program that is used counts as recent. */
TEST (test_binary_cache_notes_the_last_use_of_a_file)
{
  Cache cache;
  compiled_for (3);
  const auto before =
      std::filesystem::file_time_type::clock::now () - std::chrono::hours (5);
  std::filesystem::last_write_time (cache.only_file (), before);
  compiled_for (3);
  fail_unless (std::filesystem::last_write_time (cache.only_file ()) > before);
}

/* Each context writes a complete file or none. */
TEST (test_binary_cache_is_written_by_several_contexts_at_once)
{
  Cache cache;
  Owned<GstOpenCLContext> any = new_context ();
  std::vector<Owned<GstOpenCLContext>> contexts (4);
  for (auto &context : contexts)
    context = new_other_context (any);
  together (contexts.size (), [&] (guint n) {
    for (int value = 0; value < 4; value++)
      OwnedCL<cl_program> program = gst_opencl_context_get_program (
          contexts[n], source, text ("-DVALUE=%d", value).c_str (), nullptr);
  });
  expect_equal (cache.names ().size (), gsize (4));
  for (int value = 0; value < 4; value++)
    expect_equal (compiled_for (value), 0u);
}
