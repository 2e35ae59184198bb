/* Preloaded library that makes an OpenCL compiler treat some programs wrong
 *
 * BROKEN_KERNEL is "TEXT|REPLACEMENT": every program that contains TEXT is made with
 * REPLACEMENT in its place. "TEXT|!abort" ends the process where such a program is made, as a
 * compiler that fails does, and "TEXT|!hang" never returns from there.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "realopencl.hpp"

#include <cstdlib>
#include <ctime>
#include <string>

extern "C" __attribute__ ((visibility ("default"))) cl_program
clCreateProgramWithSource (cl_context context, cl_uint n, const char **texts,
    const size_t *lengths, cl_int *code)
{
  const std::string broken = getenv ("BROKEN_KERNEL") ? getenv ("BROKEN_KERNEL") : "|";
  const std::string text = broken.substr (0, broken.find ('|'));
  const std::string replacement = broken.substr (broken.find ('|') + 1);
  std::string source;
  for (cl_uint i = 0; i < n; i++)
    source += lengths && lengths[i] ? std::string (texts[i], lengths[i]) : texts[i];
  size_t at = text.empty () ? std::string::npos : source.find (text);
  if (at != std::string::npos && replacement == "!abort")
    abort ();
  while (at != std::string::npos && replacement == "!hang")
    clock (); /* as busy as a compiler without an end */
  for (; at != std::string::npos; at = source.find (text, at + replacement.size ()))
    source.replace (at, text.size (), replacement);
  const char *all = source.c_str ();
  return REAL (clCreateProgramWithSource) (context, 1, &all, nullptr, code);
}
