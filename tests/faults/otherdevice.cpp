/* A device that is not as this machine's
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "otherdevice.hpp"

#include "realopencl.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
struct Fact {
  const char *name;
  cl_device_info what;
  size_t bytes;
};

const Fact facts[] = {
    {"type", CL_DEVICE_TYPE, sizeof (cl_device_type)},
    {"units", CL_DEVICE_MAX_COMPUTE_UNITS, sizeof (cl_uint)},
    {"group", CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof (size_t)},
    {"local", CL_DEVICE_LOCAL_MEM_SIZE, sizeof (cl_ulong)},
    {"local-type", CL_DEVICE_LOCAL_MEM_TYPE, sizeof (cl_device_local_mem_type)},
    {"unified", CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof (cl_bool)},
    {"lanes", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof (cl_uint)},
    {"align", CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof (cl_uint)}, /* bits */
    {"bits", CL_DEVICE_ADDRESS_BITS, sizeof (cl_uint)},
    {"doubles", CL_DEVICE_DOUBLE_FP_CONFIG, sizeof (cl_device_fp_config)},
    {"memory", CL_DEVICE_GLOBAL_MEM_SIZE, sizeof (cl_ulong)},
    {"largest-buffer", CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof (cl_ulong)},
};

using Sayings = std::map<std::string, cl_ulong>;

Sayings
parse (const char *text)
{
  Sayings read;
  std::istringstream words (text ? text : "");
  for (std::string word; words >> word;) {
    const size_t equals = word.find ('=');
    if (equals != std::string::npos)
      read[word.substr (0, equals)] = std::stoull (word.substr (equals + 1));
  }
  return read;
}

/* Value of `name` in OTHER_DEVICE, or else `otherwise` */
cl_ulong
said (const std::string &name, cl_ulong otherwise)
{
  static const Sayings *const all = new Sayings (parse (getenv ("OTHER_DEVICE")));
  auto found = all->find (name);
  return found == all->end () ? otherwise : found->second;
}

const cl_ulong unsaid = ~cl_ulong (0);

/* Work-items of a group at most. A kernel that is built for one size has that. */
cl_ulong
largest_group (cl_kernel kernel, cl_device_id device)
{
  size_t built_for[3] = {};
  REAL (clGetKernelWorkGroupInfo)
  (kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof built_for, built_for,
      nullptr);
  const cl_ulong most = said ("group", unsaid);
  return built_for[0] > 0 ? most : said ("kernel-group", most);
}

/* clGetDeviceInfo and its like, of what is `bytes` at `from`. */
cl_int
answer (const void *from, size_t bytes, size_t room, void *value, size_t *size)
{
  if (value && room < bytes)
    return CL_INVALID_VALUE;
  if (value)
    memcpy (value, from, bytes);
  if (size)
    *size = bytes;
  return CL_SUCCESS;
}

/* Buffers and their guards */

const unsigned char filling = 0xa5;

/* Smallest alignment of buffers on any device: that of its longest type, long16 */
const size_t alignment = 128;

size_t
rounded (size_t size, size_t to)
{
  return (size + to - 1) / to * to;
}

/* Pages for the buffer between one in front and one behind. */
struct Guarded {
  char *pages;
  size_t bytes; /* with both guards */
  char *begin;  /* of the buffer */
  size_t size;

  char *inner () const { return pages + getpagesize (); }
  char *end () const { return pages + bytes - getpagesize (); }
};

Guarded *
make_guarded (size_t size)
{
  const size_t page = size_t (getpagesize ());
  auto *made = new Guarded ();
  made->size = size;
  made->bytes = rounded (size, page) + 2 * page;
  made->pages = static_cast<char *> (mmap (nullptr, made->bytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  mprotect (made->inner (), made->bytes - 2 * page, PROT_READ | PROT_WRITE);
  memset (made->inner (), filling, made->bytes - 2 * page);
  made->begin =
      said ("guard", 0) == 2 ? made->inner () : made->end () - rounded (size, alignment);
  return made;
}

/* Writes closer than the alignment of buffers, which no guard detects */
bool
is_untouched (const char *from, const char *to)
{
  return std::all_of (from, to, [] (char byte) { return byte == char (filling); });
}

void CL_CALLBACK
let_go (cl_mem, void *data)
{
  auto *guarded = static_cast<Guarded *> (data);
  if (!is_untouched (guarded->inner (), guarded->begin)
      || !is_untouched (guarded->begin + guarded->size, guarded->end ())) {
    fprintf (stderr, "Written beside a buffer of %zu bytes\n", guarded->size);
    abort ();
  }
  munmap (guarded->pages, guarded->bytes);
  delete guarded;
}

/* A thread that does one thing after the other, for as long as the process lives. */
class Worker {
public:
  Worker ()
  {
    std::thread ([this] { loop (); }).detach ();
  }

  void run (const std::function<void ()> &work)
  {
    std::packaged_task<void ()> task (work);
    {
      std::lock_guard<std::mutex> guard (lock);
      tasks.push_back (&task);
    }
    changed.notify_one ();
    task.get_future ().wait ();
  }

private:
  std::packaged_task<void ()> *next ()
  {
    std::unique_lock<std::mutex> guard (lock);
    changed.wait (guard, [this] { return !tasks.empty (); });
    auto *task = tasks.front ();
    tasks.pop_front ();
    return task;
  }

  void loop ()
  {
    while (true)
      (*next ()) ();
  }

  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::packaged_task<void ()> *> tasks;
};

std::string
source_of (cl_program program)
{
  size_t size = 0;
  REAL (clGetProgramInfo) (program, CL_PROGRAM_SOURCE, 0, nullptr, &size);
  std::vector<char> text (size + 1);
  REAL (clGetProgramInfo) (program, CL_PROGRAM_SOURCE, size, text.data (), nullptr);
  return text.data ();
}

void
write_program (const char *folder, const std::string &text)
{
  std::ofstream file (std::string (folder) + "/"
                      + std::to_string (std::hash<std::string> () (text)) + ".cl");
  file << text;
}
} // namespace

namespace otherdevice {
cl_int
get_device_info (
    cl_device_id device, cl_device_info what, size_t room, void *value, size_t *size)
{
  for (const Fact &fact : facts) {
    const cl_ulong number = fact.what == what ? said (fact.name, unsaid) : unsaid;
    if (number != unsaid) /* of a little-endian machine */
      return answer (&number, fact.bytes, room, value, size);
  }
  return REAL (clGetDeviceInfo) (device, what, room, value, size);
}

cl_int
get_kernel_work_group_info (cl_kernel kernel, cl_device_id device,
    cl_kernel_work_group_info what, size_t room, void *value, size_t *size)
{
  cl_int code = REAL (clGetKernelWorkGroupInfo) (kernel, device, what, room, value, size);
  if (what == CL_KERNEL_WORK_GROUP_SIZE && code == CL_SUCCESS && value) {
    auto *group = static_cast<size_t *> (value);
    *group = std::min<cl_ulong> (*group, largest_group (kernel, device));
  }
  return code;
}

cl_mem
create_buffer (
    cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
  if (said ("guard", 0) == 0 || size == 0 || (flags & CL_MEM_USE_HOST_PTR))
    return REAL (clCreateBuffer) (context, flags, size, host, code);
  Guarded *guarded = make_guarded (size);
  if (flags & CL_MEM_COPY_HOST_PTR)
    memcpy (guarded->begin, host, size);
  flags &= ~cl_mem_flags (CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR);
  cl_mem made = REAL (clCreateBuffer) (
      context, flags | CL_MEM_USE_HOST_PTR, size, guarded->begin, code);
  if (made)
    REAL (clSetMemObjectDestructorCallback) (made, let_go, guarded);
  else
    let_go (made, guarded);
  return made;
}

cl_program
create_program (cl_context context, cl_uint n, const char **texts, const size_t *lengths,
    cl_int *code)
{
  if (said ("doubles", 1) > 0)
    return REAL (clCreateProgramWithSource) (context, n, texts, lengths, code);
  std::string text = "#undef cl_khr_fp64\n#define double no_double_here\n#line 1\n";
  for (cl_uint i = 0; i < n; i++)
    text += lengths && lengths[i] ? std::string (texts[i], lengths[i]) : texts[i];
  const char *all = text.c_str ();
  return REAL (clCreateProgramWithSource) (context, 1, &all, nullptr, code);
}

cl_int
build_program (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (CL_CALLBACK *notify) (cl_program, void *), void *data)
{
  if (const char *folder = getenv ("OTHER_DEVICE_PROGRAMS"))
    write_program (folder,
        std::string ("// ") + (options ? options : "") + "\n" + source_of (program));
  return REAL (clBuildProgram) (program, n, devices, options, notify, data);
}

cl_int
enqueue_kernel (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
    const cl_event *waits, cl_event *event)
{
  cl_device_id device;
  cl_ulong memory = 0;
  size_t items = 1;
  for (cl_uint d = 0; local && d < dimensions; d++)
    items *= local[d];
  REAL (clGetCommandQueueInfo)
  (queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  if (items > largest_group (kernel, device))
    return CL_INVALID_WORK_GROUP_SIZE;
  REAL (clGetKernelWorkGroupInfo)
  (kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof memory, &memory, nullptr);
  if (memory > said ("local", unsaid))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueNDRangeKernel) (
      queue, kernel, dimensions, offset, global, local, n, waits, event);
}

/* Oclgrind keeps account of what a call has written last: that is to be all of it. */
cl_int
fill_buffer (cl_command_queue queue, cl_mem buffer, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint n, const cl_event *waits,
    cl_event *event)
{
  if (!said ("one-thread", 0))
    return REAL (clEnqueueFillBuffer) (
        queue, buffer, pattern, pattern_size, offset, size, n, waits, event);
  std::vector<char> bytes (size);
  for (size_t at = 0; at < size; at += pattern_size)
    memcpy (&bytes[at], pattern, pattern_size);
  return REAL (clEnqueueWriteBuffer) (
      queue, buffer, CL_TRUE, offset, size, bytes.data (), n, waits, event);
}

void
run (const std::function<void ()> &work)
{
  static Worker *const worker = said ("one-thread", 0) ? new Worker : nullptr;
  if (worker)
    worker->run (work);
  else
    work ();
}
} // namespace otherdevice
