/* Macros that define and register tests
 *
 *   TEST (test_filter_finishes_all_frames_before_eos)
 *   {
 *     …
 *   }
 *
 *   TEST_ROWS (test_filter_runs_ahead_by_its_depth, {1u, 2u, 5u})
 *   {
 *     … row …
 *   }
 *
 * Each row is a test of its own, named "test_… [label]". The label is the row itself if
 * that is a string or a number, otherwise its member `label`, otherwise its index.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace check {
using Labels = std::function<std::vector<std::string> ()>;

/* Registers one test, or one for each label. */
bool register_test (const char *name, void (*run) (int), Labels labels);
void begin (const char *name, const char *file, int line);
void end ();

/* For all tests of the program: functions called around each test, and a timeout in
 * seconds that replaces that of the environment */
bool around_each_test (void (*before) (), void (*after) ());
bool set_test_timeout (double seconds);
/* Runs each test in its own process, even with CK_FORK=no. For tests that count objects
 * of the process, such as contexts, or break it. */
bool fork_each_test ();
/* Runs tests whose names start with `beginning` only if the argument `data` is passed to
 * the program, and then only these. They are skipped unless GST_OPENCL_TEST_DATA names a
 * folder of measured data. */
bool require_data (const char *beginning);
/* Path of `name` in that folder */
std::string data_path (const std::string &name);

/* Says why tests are skipped; tests/allowed-skips.txt lists the allowed reasons. */
void report_skip (const std::string &why);

/* Returns true, and reports that the test is skipped, if there is no such element: not every
 * machine has all plugins of GStreamer. */
bool is_missing (const std::string &element);

template <typename T, std::size_t n>
std::vector<T>
rows_of (const T (&rows)[n])
{
  return std::vector<T> (rows, rows + n);
}

template <typename T>
std::vector<T>
rows_of (std::vector<T> rows)
{
  return rows;
}

template <typename Row, typename = void> struct HasLabel : std::false_type {
};
template <typename Row>
struct HasLabel<Row, std::void_t<decltype (Row::label)>> : std::true_type {
};

template <typename Row>
std::string
label_of (const Row &row, std::size_t n)
{
  if constexpr (std::is_convertible_v<const Row &, std::string>)
    return row;
  else if constexpr (std::is_arithmetic_v<Row>)
    return std::to_string (row);
  else if constexpr (HasLabel<Row>::value)
    return row.label;
  else
    return std::to_string (n);
}

template <typename Rows>
std::vector<std::string>
labels_of (const Rows &rows)
{
  std::vector<std::string> labels;
  for (const auto &row : rows)
    labels.push_back (label_of (row, labels.size ()));
  return labels;
}
} // namespace check

#define TEST(name)                                                                       \
  static void name ();                                                                   \
  static void name##_run (int)                                                           \
  {                                                                                      \
    check::begin (#name, __FILE__, __LINE__);                                            \
    name ();                                                                             \
    check::end ();                                                                       \
  }                                                                                      \
  [[maybe_unused]] static const bool name##_is_registered =                              \
      check::register_test (#name, name##_run, nullptr);                                 \
  static void name ()

/* The rows (in braces, an array or a std::vector) are built when the program starts. */
#define TEST_ROWS(name, ...)                                                             \
  static const auto &name##_rows ()                                                      \
  {                                                                                      \
    static const auto made = check::rows_of (__VA_ARGS__);                               \
    return made;                                                                         \
  }                                                                                      \
  static void name (const std::decay_t<decltype (name##_rows ())>::value_type &row);     \
  static void name##_run (int n)                                                         \
  {                                                                                      \
    check::begin (#name, __FILE__, __LINE__);                                            \
    name (name##_rows ()[n]);                                                            \
    check::end ();                                                                       \
  }                                                                                      \
  [[maybe_unused]] static const bool name##_is_registered = check::register_test (       \
      #name, name##_run, [] { return check::labels_of (name##_rows ()); });              \
  static void name (const std::decay_t<decltype (name##_rows ())>::value_type &row)
