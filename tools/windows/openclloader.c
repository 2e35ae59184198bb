/* Loads OpenCL.dll at the first call, so that plugins load where no driver has installed it
 *
 * Part of the import library that sysroot.sh makes. mingw-w64 has no __delayLoadHelper2().
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>

#include <delayimp.h>

extern char __ImageBase[];

/* Returns CL_PLATFORM_NOT_FOUND_KHR, as clGetPlatformIDs() does if there is no driver. */
static int
no_platform (void)
{
  return -1001;
}

FARPROC WINAPI
__delayLoadHelper2 (const ImgDelayDescr *library, FARPROC *function)
{
  char *base = __ImageBase;
  HMODULE *module = (HMODULE *) (base + library->rvaHmod);
  const ULONG_PTR *names = (const ULONG_PTR *) (base + library->rvaINT);
  const ULONG_PTR name = names[function - (FARPROC *) (base + library->rvaIAT)];
  FARPROC loaded = NULL;

  if (!*module)
    *module = LoadLibraryA (base + library->rvaDLLName);
  if (*module)
    loaded = GetProcAddress (*module, ((IMAGE_IMPORT_BY_NAME *) (base + name))->Name);
  *function = loaded ? loaded : (FARPROC) no_platform;
  return *function;
}
