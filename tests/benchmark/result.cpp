/* opencl-bench: results, and their form as JSON objects
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "result.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {
std::string
quoted (const std::string &text)
{
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c < ' ' ? ' ' : char (c);
  }
  return quoted + "\"";
}

/* JSON has no infinity, no NaN and no decimal comma. */
std::string
number (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (!std::isfinite (value))
    return "null";
  const bool whole = value == std::floor (value) && std::fabs (value) < 1e15;
  return g_ascii_formatd (text, sizeof text, whole ? "%.0f" : "%.6g", value);
}

class Object {
public:
  void add (const std::string &key, const std::string &json)
  {
    members += (members.empty () ? "" : ", ") + quoted (key) + ": " + json;
  }
  void add (const std::string &key, double value) { add (key, number (value)); }
  std::string text () const { return "{" + members + "}"; }

private:
  std::string members;
};

void
add_rate (Object &object, const Result &result)
{
  const Rate rate = rate_of (result);
  object.add ("rate", rate.median);
  object.add ("unit", quoted (result.unit));
  object.add ("windows", result.rates.size ());
  object.add ("least", rate.least);
  object.add ("greatest", rate.greatest);
  if (result.limit > 0) {
    object.add ("limit", result.limit);
    object.add ("of_limit", rate.median / result.limit);
  }
  if (result.before.median > 0) {
    object.add ("before", result.before.median);
    object.add ("of_before", rate.median / result.before.median);
  }
}

void
add_delays (Object &object, const Result &result)
{
  object.add ("latency_p50_ms", percentile (result.delays, 0.5) * 1e3);
  object.add ("latency_p99_ms", percentile (result.delays, 0.99) * 1e3);
}
} // namespace

Rate
rate_of (const Result &result)
{
  const auto range = std::minmax_element (result.rates.begin (), result.rates.end ());
  return {median (result.rates), *range.first, *range.second};
}

std::string
error_of (const Result &result)
{
  return result.error.empty () && result.rates.empty () ? "no frame" : result.error;
}

std::string
to_json (const Result &result)
{
  Object object, sizes;
  object.add ("what", quoted (result.what));
  object.add ("device", quoted (result.device));
  for (const auto &size : result.sizes)
    sizes.add (size.first, size.second);
  object.add ("sizes", sizes.text ());
  if (!error_of (result).empty ()) {
    object.add ("error", quoted (error_of (result)));
    return object.text ();
  }
  add_rate (object, result);
  if (!result.delays.empty ())
    add_delays (object, result);
  if (!result.choice.empty ())
    object.add ("choice", quoted (result.choice));
  for (const auto &value : result.more)
    object.add (value.first, value.second);
  return object.text ();
}

Result::Sizes
picture_size (unsigned width, unsigned height)
{
  return {{"width", width}, {"height", height}};
}
} // namespace bench
