/* Fuzzing: what a target reads its choices from
 *
 * A target is a file that defines LLVMFuzzerTestOneInput (); bytes are taken from the front
 * of its input until there are no more, then all are zero.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

namespace fuzz {
class Input {
public:
  Input (const guint8 *a_data, gsize a_size) : data (a_data), left (a_size) {}

  template <typename Number> Number take ()
  {
    Number number{};
    const gsize n = std::min (left, sizeof number);
    if (n > 0)
      memcpy (&number, data, n);
    advance (n);
    return number;
  }

  /* One of `n` choices, n at most 256. */
  guint choose (guint n) { return take<guint8> () % n; }

  /* Up to the next zero byte, or all that is left. */
  std::string take_text ()
  {
    const auto *end = std::find (data, data + left, 0);
    std::string text (reinterpret_cast<const char *> (data), gsize (end - data));
    advance (std::min (left, text.size () + 1));
    return text;
  }

  const guint8 *rest () const { return data; }
  gsize remaining () const { return left; }
  void advance (gsize n)
  {
    data += n;
    left -= n;
  }

private:
  const guint8 *data;
  gsize left;
};

/* Properties that hold for any input */
inline void
promise (bool holds, const char *what)
{
  if (holds)
    return;
  fprintf (stderr, "broken promise: %s\n", what);
  abort ();
}
} // namespace fuzz
