/* The OpenCL that stands behind a program whose own calls stand in front of it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <dlfcn.h>

/* Where only plugins use OpenCL, the loader is not behind this program in the order of
 * symbols, so that RTLD_NEXT finds nothing. */
template <typename Function>
Function *
real (Function *, const char *name)
{
  static void *const loader = dlopen ("libOpenCL.so.1", RTLD_LAZY);
  return reinterpret_cast<Function *> (dlsym (loader ? loader : RTLD_NEXT, name));
}

#define REAL(name) real (name, #name)
