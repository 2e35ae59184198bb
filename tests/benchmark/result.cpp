/* opencl-bench: results as JSON objects, one per line
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
  const double rate = median (result.rates);
  const auto range = std::minmax_element (result.rates.begin (), result.rates.end ());
  object.add ("rate", rate);
  object.add ("unit", quoted (result.unit));
  object.add ("windows", result.rates.size ());
  object.add ("least", *range.first);
  object.add ("greatest", *range.second);
  if (result.limit > 0) {
    object.add ("limit", result.limit);
    object.add ("of_limit", rate / result.limit);
  }
}

void
add_delays (Object &object, const Result &result)
{
  object.add ("latency_p50_ms", percentile (result.delays, 0.5) * 1e3);
  object.add ("latency_p99_ms", percentile (result.delays, 0.99) * 1e3);
}
} // namespace

std::string
to_json (const Result &result)
{
  Object object, sizes;
  object.add ("what", quoted (result.what));
  object.add ("device", quoted (result.device));
  for (const auto &size : result.sizes)
    sizes.add (size.first, size.second);
  object.add ("sizes", sizes.text ());
  if (!result.error.empty () || result.rates.empty ()) {
    object.add ("error", quoted (result.error.empty () ? "no frame" : result.error));
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
