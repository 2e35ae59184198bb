/* opencl-bench: results as rows of a table
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "table.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {
constexpr int case_width = 32, size_width = 16, rate_width = 20, range_width = 18,
              limit_width = 6, delay_width = 16, change_width = 14;

/* Pads with spaces to a width in characters. The last column has width 0. */
std::string
cell (const std::string &text, int width, bool right = false)
{
  const int missing = width - int (g_utf8_strlen (text.c_str (), -1));
  const std::string spaces (size_t (std::max (missing, 0)), ' ');
  return (right ? spaces + text : text + spaces) + "  ";
}

std::string
format (const char *form, double value)
{
  char text[64];
  g_snprintf (text, sizeof text, form, value);
  return text;
}

struct Prefix {
  double factor;
  const char *name;
};

/* Returns the SI prefix for rates of bytes and lines; other units have none. */
Prefix
prefix_of (double rate, const std::string &unit)
{
  static const Prefix prefixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  if (unit == "B/s" || unit == "A-lines/s" || unit == "lines/s")
    for (const Prefix &prefix : prefixes)
      if (rate >= prefix.factor)
        return prefix;
  return {1, ""};
}

std::string
sizes_of (const Result &result)
{
  std::string text;
  for (const auto &size : result.sizes)
    text += (text.empty () ? "" : " × ") + std::to_string (size.second);
  return text;
}

std::string
remarks_of (const Result &result)
{
  std::string text = result.choice;
  for (const auto &value : result.more)
    text +=
        (text.empty () ? "" : ", ") + value.first + " " + format ("%.3g", value.second);
  return text;
}

std::string
delays_of (const Result &result)
{
  if (result.delays.empty ())
    return "";
  return format ("%.3g", percentile (result.delays, 0.5) * 1e3) + ", "
         + format ("%.3g", percentile (result.delays, 0.99) * 1e3);
}

/* Returns the cells of the rate, of its range and of the share of the limit. */
std::string
rate_cells (const Result &result)
{
  const Rate rate = rate_of (result);
  const Prefix prefix = prefix_of (rate.median, result.unit);
  const auto scaled = [&] (double value) {
    return format ("%.4g", value / prefix.factor);
  };
  const std::string share =
      result.limit > 0 ? format ("%.0f %%", rate.median / result.limit * 100) : "";
  return cell (scaled (rate.median) + " " + prefix.name + result.unit, rate_width, true)
         + cell (scaled (rate.least) + " … " + scaled (rate.greatest), range_width)
         + cell (share, limit_width, true);
}
} // namespace

void
Table::print_head (const std::string &device)
{
  printf ("Device: %s\n\n", device.c_str ());
  std::string head = cell ("case", case_width) + cell ("size", size_width)
                     + cell ("rate (median)", rate_width, true)
                     + cell ("range", range_width) + cell ("limit", limit_width, true);
  if (compared)
    head += cell ("of before", change_width);
  head += cell ("p50, p99 in ms", delay_width) + "more";
  puts (head.c_str ());
  has_head = true;
}

void
Table::print (const Result &result)
{
  if (!has_head)
    print_head (result.device);
  std::string row = cell (result.what, case_width) + cell (sizes_of (result), size_width);
  const std::string error = error_of (result);
  if (error.empty ()) {
    row += rate_cells (result) + (compared ? change_cell (result) : "");
    row += cell (delays_of (result), delay_width) + remarks_of (result);
  } else {
    row += error;
  }
  puts (g_strchomp (row.data ()));
  fflush (stdout);
}

/* Counts a rate as changed if the windows of both runs have no rate in common. One window
 * has no range to compare. */
std::string
Table::change_cell (const Result &result)
{
  const Rate rate = rate_of (result), &before = result.before;
  if (before.median <= 0) {
    missing++;
    return cell ("new", change_width);
  }
  const bool comparable = result.rates.size () > 1;
  const bool is_higher = comparable && rate.least > before.greatest;
  const bool is_lower = comparable && rate.greatest < before.least;
  unsigned &count = is_higher ? higher : is_lower ? lower : alike;
  count++;
  return cell (format ("%.3g", rate.median / before.median)
                   + (is_higher   ? " higher"
                       : is_lower ? " lower"
                                  : ""),
      change_width);
}

void
Table::print_summary () const
{
  if (compared)
    printf ("\n%u higher and %u lower than before, beyond the range of both runs; "
            "%u alike, %u new\n",
        higher, lower, alike, missing);
}
} // namespace bench
