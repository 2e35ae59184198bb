/* Comparisons that fail with readable messages
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

/* The older name of ck_abort_msg() collides with a member function of C++ streams. */
#undef fail

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gst/check/gstcheck.h>
#undef fail

namespace check {
/* As _ck_assert_failed() of Check, which the macros call with a format or nullptr. A
 * process that runs all tests prints the failure and exits: Check would jump out of the
 * test and leave its pipelines running, and later tests would wait for them. */
[[noreturn]] void fail_test (const char *file, int line, const char *expression, ...);
} // namespace check
#define _ck_assert_failed check::fail_test

/* Check writes to a file for each assertion that holds. That takes microseconds, which is
 * too long for an assertion on each pixel. */
#undef fail_unless
#undef fail_if
#define fail_unless(condition, ...)                                                      \
  ((condition) ? (void)0                                                                 \
               : _ck_assert_failed (__FILE__, __LINE__,                                  \
                   "Assertion '" #condition "' failed", ##__VA_ARGS__, nullptr))
#define fail_if(condition, ...)                                                          \
  ((condition) ? _ck_assert_failed (                                                     \
       __FILE__, __LINE__, "Failure '" #condition "' occurred", ##__VA_ARGS__, nullptr)  \
               : (void)0)

namespace check {
/* Returns `value` as text for a failure message. */
template <typename T>
std::string
to_text (const T &value)
{
  std::ostringstream text;
  text.precision (17);
  if constexpr (std::is_enum_v<T>)
    text << static_cast<long long> (value);
  else if constexpr (std::is_convertible_v<const T &, const char *>)
    text << '"' << static_cast<const char *> (value) << '"';
  else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, guint8>)
    text << int (value);
  else
    text << value;
  return text.str ();
}

/* Compares strings by content, and integers of different types by value. */
template <typename A, typename B>
bool
are_equal (const A &a, const B &b)
{
  constexpr bool numbers = (std::is_arithmetic_v<A> || std::is_enum_v<A>)&&(
      std::is_arithmetic_v<B> || std::is_enum_v<B>);
  if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>)
    return a == b;
  else if constexpr (numbers)
    return (a < A (0)) == (b < B (0)) && guint64 (a) == guint64 (b);
  else if constexpr (std::is_convertible_v<const A &,
                         const char *> && std::is_convertible_v<const B &, const char *>)
    return g_strcmp0 (a, b) == 0;
  else
    return a == b;
}

/* Returns a description of the difference, or an empty string. */
template <typename A, typename B>
std::string
difference (
    const char *what, const A &got, const B &expected, const std::string &label = "")
{
  if (are_equal (got, expected))
    return "";
  return (label.empty () ? "" : label + ": ") + what + " is " + to_text (got)
         + ", expected " + to_text (expected);
}

template <typename A, typename B>
std::string
difference (const char *what, const std::atomic<A> &got, const B &expected,
    const std::string &label = "")
{
  return difference (what, got.load (), expected, label);
}

/* expect_equal (got, expected[, label]); the label precedes the failure message. */
#define expect_equal(got, ...)                                                           \
  do {                                                                                   \
    const std::string different = check::difference (#got, got, __VA_ARGS__);            \
    fail_unless (different.empty (), "%s", different.c_str ());                          \
  } while (0)

/* Fails unless each value of `got` is within `tolerance` of that of `expected`. */
template <typename Got, typename Expected>
void
expect_near (
    const Got &got, const Expected &expected, double tolerance, const std::string &what)
{
  expect_equal (std::size (got), std::size (expected), what);
  double worst = 0;
  gsize at = 0;
  for (gsize n = 0; n < std::size (got) && !std::isnan (worst); n++) {
    double difference = got[n] == expected[n] ? 0 : std::abs (got[n] - expected[n]);
    if (!(difference <= worst)) {
      worst = difference;
      at = n;
    }
  }
  fail_unless (worst <= tolerance, "%s: value %zu is %s, expected %s within %g",
      what.c_str (), at, to_text (got[at]).c_str (), to_text (expected[at]).c_str (),
      tolerance);
}

/* Fails unless `text` contains all `parts`. */
inline void
expect_contains (const std::string &text, const std::vector<std::string> &parts)
{
  for (const std::string &part : parts)
    fail_unless (text.find (part) != std::string::npos, "\"%s\" is not in: %s",
        part.c_str (), text.c_str ());
}
} // namespace check
