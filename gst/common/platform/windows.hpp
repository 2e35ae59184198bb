/* Converts strings and error codes of Windows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include "../text.hpp"

#include <string>

namespace opencl {
/* Returns an empty text for bytes that are not UTF-8. */
inline std::wstring
wide (const std::string &text)
{
  auto *wide = reinterpret_cast<wchar_t *> (
      g_utf8_to_utf16 (text.c_str (), -1, nullptr, nullptr, nullptr));
  const std::wstring copy = wide ? wide : L"";
  g_free (wide);
  return copy;
}

inline std::string
narrow (const std::wstring &text)
{
  return take_text (g_utf16_to_utf8 (reinterpret_cast<const gunichar2 *> (text.c_str ()),
      -1, nullptr, nullptr, nullptr));
}

inline std::string
message_of (DWORD error)
{
  return take_text (g_win32_error_message (gint (error)));
}
} // namespace opencl
