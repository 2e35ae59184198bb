/* Child processes and libraries of Windows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "windows.hpp"

#include "../platform.hpp"
#include "../timelimit.hpp"

#include <array>
#include <clocale>
#include <psapi.h>

namespace opencl {
namespace {
struct Handle {
  HANDLE handle = nullptr;

  Handle () = default;
  explicit Handle (HANDLE of) : handle (of == INVALID_HANDLE_VALUE ? nullptr : of) {}
  Handle (const Handle &) = delete;
  Handle &operator= (const Handle &) = delete;
  ~Handle ()
  {
    if (handle)
      CloseHandle (handle);
  }
};

/* Opens a file for a child, which is removed when it is closed. A file, because a pipe
 * could break or fill. */
HANDLE
temporary_file ()
{
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, nullptr, TRUE};
  std::array<wchar_t, MAX_PATH + 1> folder, name;
  if (!GetTempPathW (DWORD (folder.size ()), folder.data ())
      || !GetTempFileNameW (folder.data (), L"ocl", 0, name.data ()))
    return INVALID_HANDLE_VALUE;
  return CreateFileW (name.data (), GENERIC_READ | GENERIC_WRITE | DELETE,
      FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited, CREATE_ALWAYS,
      FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
}

bool
write_all (HANDLE file, const std::string &text)
{
  DWORD done = 0;
  return WriteFile (file, text.data (), DWORD (text.size ()), &done, nullptr)
         && done == text.size ()
         && SetFilePointer (file, 0, nullptr, FILE_BEGIN) != INVALID_SET_FILE_POINTER;
}

/* Lines end as on other systems. */
std::string
read_all (HANDLE file)
{
  std::string text;
  char part[512];
  DWORD count = 0;
  SetFilePointer (file, 0, nullptr, FILE_BEGIN);
  while (ReadFile (file, part, sizeof part, &count, nullptr) && count > 0) {
    for (DWORD i = 0; i < count; i++) {
      if (part[i] != '\r')
        text += part[i];
    }
  }
  return text;
}

/* As CommandLineToArgvW() takes it apart: backslashes are doubled before a quotation
 * mark. */
std::wstring
command_line (const std::vector<std::string> &arguments)
{
  std::wstring line;
  for (const std::string &argument : arguments) {
    size_t backslashes = 0;
    line += line.empty () ? L"\"" : L" \"";
    for (const wchar_t c : wide (argument) + L'"') {
      if (c == L'"')
        line.append (backslashes, L'\\');
      backslashes = c == L'\\' ? backslashes + 1 : 0;
      line += c;
      if (c == L'"')
        line.insert (line.size () - 1, 1, L'\\');
    }
    line.erase (line.size () - 2, 1); /* the closing mark is none of the text */
  }
  return line;
}

/* The job ends with this process, and its processes with it. A process that crashes shows no
 * window. */
HANDLE
job_of (const ChildLimits &limits)
{
  const HANDLE job = CreateJobObjectW (nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = {};
  auto &basic = info.BasicLimitInformation;
  basic.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
  if (limits.processor_seconds > 0)
    basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
  basic.PerProcessUserTimeLimit.QuadPart = gint64 (limits.processor_seconds) * 10000000;
  SetInformationJobObject (job, JobObjectExtendedLimitInformation, &info, sizeof info);
  return job;
}

/* Begins in the job, so that no limit comes too late. */
HANDLE
start (const std::vector<std::string> &arguments, HANDLE input, HANDLE output, HANDLE job)
{
  std::wstring line = command_line (arguments);
  PROCESS_INFORMATION process = {};
  STARTUPINFOW setup = {};
  setup.cb = sizeof setup;
  setup.dwFlags = STARTF_USESTDHANDLES;
  setup.hStdInput = input;
  setup.hStdOutput = output;
  if (!CreateProcessW (wide (arguments[0]).c_str (), &line[0], nullptr, nullptr, TRUE,
          CREATE_SUSPENDED | CREATE_NO_WINDOW, nullptr, nullptr, &setup, &process))
    return nullptr;
  AssignProcessToJobObject (job, process.hProcess);
  ResumeThread (process.hThread);
  CloseHandle (process.hThread);
  return process.hProcess;
}

guint64
processor_seconds (HANDLE process)
{
  FILETIME created, ended, system, user;
  if (!GetProcessTimes (process, &created, &ended, &system, &user))
    return 0;
  const auto units = [] (const FILETIME &time) {
    return guint64 (time.dwHighDateTime) << 32 | time.dwLowDateTime;
  };
  return (units (system) + units (user)) / 10000000; /* of 100 ns */
}

/* Waits until the child ends. Returns false if it must end before. */
bool
wait_for (HANDLE process, const ChildLimits &limits)
{
  const DWORD interval = 5; /* ms */
  TimeLimit limit (limits.seconds * G_USEC_PER_SEC);
  while (WaitForSingleObject (process, interval) == WAIT_TIMEOUT) {
    if ((limits.seconds > 0 && limit.is_over ())
        || (limits.cancelled && *limits.cancelled)
        || (limits.processor_seconds > 0
            && processor_seconds (process) >= limits.processor_seconds))
      return false;
  }
  return true;
}

/* The code of an unhandled exception, and that of abort() in the C library of mingw, which no
 * program of this project returns */
bool
is_crash (DWORD code)
{
  return code >= 0xC0000000 || code == 3;
}
} // namespace

ChildResult
run_child (const std::vector<std::string> &arguments, const std::string &input,
    const ChildLimits &limits)
{
  const Handle in (temporary_file ()), out (temporary_file ()), job (job_of (limits));
  ChildResult result;
  DWORD code = 0;
  if (!in.handle || !out.handle || !job.handle || !write_all (in.handle, input))
    return result;
  const Handle process (start (arguments, in.handle, out.handle, job.handle));
  if (!process.handle)
    return result;
  result.end =
      wait_for (process.handle, limits) ? ChildResult::ended : ChildResult::timeout;
  if (result.end == ChildResult::timeout)
    TerminateJobObject (job.handle, 1);
  WaitForSingleObject (process.handle, INFINITE);
  result.output = read_all (out.handle);
  result.processor_seconds = processor_seconds (process.handle);
  GetExitCodeProcess (process.handle, &code);
  if (result.end == ChildResult::timeout)
    return result;
  if (code == ERROR_NOT_ENOUGH_QUOTA) { /* the job's limit */
    result.end = ChildResult::timeout;
  } else if (is_crash (code)) {
    result.end = ChildResult::crashed;
    result.reason = "exit code " + std::to_string (code);
  }
  return result;
}

bool
is_forked_child ()
{
  return false;
}

void
lower_priority ()
{
  SetPriorityClass (GetCurrentProcess (), IDLE_PRIORITY_CLASS);
}

std::string
id_of_process ()
{
  return std::to_string (GetCurrentProcessId ());
}

/* The job of run_child() ends it. */
void
end_with_parent (const std::string &)
{
}

std::vector<double>
resources_of_process ()
{
  return {};
}

std::string
find_helper_file (const std::string &name)
{
  std::array<wchar_t, 32768> path;
  HMODULE module;
  if (!GetModuleHandleExW (GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS
                               | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          reinterpret_cast<LPCWSTR> (&find_helper_file), &module)
      || !GetModuleFileNameW (module, path.data (), DWORD (path.size ())))
    return "";
  const std::string own = narrow (path.data ());
  const std::string folder = own.substr (0, begin_of_name (own));
  for (const char *inner : {"gstreamer-opencl-1.0\\", ""}) {
    const std::string file = folder + inner + name;
    if (g_file_test (file.c_str (), G_FILE_TEST_IS_REGULAR))
      return file;
  }
  return "";
}

std::string
find_helper_program (const std::string &name)
{
  return find_helper_file (name + ".exe");
}

std::string
name_of_system ()
{
  const std::string name = take_text (g_get_os_info (G_OS_INFO_KEY_PRETTY_NAME));
  return name.empty () ? "Windows" : name;
}

char **
arguments_in_utf8 (char **)
{
  return g_win32_get_command_line ();
}

PlainNumbers::PlainNumbers ()
    : plain (GINT_TO_POINTER (_configthreadlocale (_ENABLE_PER_THREAD_LOCALE))),
      previous (g_strdup (setlocale (LC_ALL, nullptr)))
{
  setlocale (LC_ALL, "C");
}

PlainNumbers::~PlainNumbers ()
{
  setlocale (LC_ALL, static_cast<char *> (previous));
  g_free (previous);
  _configthreadlocale (GPOINTER_TO_INT (plain));
}

void *
find_loaded_function (const char *name)
{
  std::array<HMODULE, 1024> modules;
  DWORD bytes = 0;
  if (!K32EnumProcessModules (
          GetCurrentProcess (), modules.data (), sizeof modules, &bytes))
    return nullptr;
  for (size_t i = 0; i < MIN (bytes / sizeof (HMODULE), modules.size ()); i++) {
    if (const FARPROC function = GetProcAddress (modules[i], name))
      return reinterpret_cast<void *> (function);
  }
  return nullptr;
}
} // namespace opencl
