/* Facts about a kernel that only its source shows
 *
 * OpenCL does not report which dimensions a kernel uses, nor which functions it calls, so
 * the source is searched.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelsource.hpp"

#include <algorithm>
#include <glib.h>
#include <map>
#include <set>
#include <vector>

namespace compute {
namespace {
struct Token {
  std::string text;
  int conditions; /* number of enclosing #if */
};

using Tokens = std::vector<Token>;

bool
is_of_name (char letter)
{
  return g_ascii_isalnum (letter) || letter == '_';
}

/* Replaces comments and strings by blanks, and joins continued lines. */
std::string
without_comments (const std::string &source)
{
  std::string text;
  gsize at = 0;

  auto skip_to = [&] (const char *end, gsize from) {
    const gsize found = source.find (end, from);
    return found == std::string::npos ? source.size () : found;
  };
  while (at < source.size ()) {
    if (source.compare (at, 2, "//") == 0) {
      at = skip_to ("\n", at);
    } else if (source.compare (at, 2, "/*") == 0) {
      at = std::min (skip_to ("*/", at + 2) + 2, source.size ());
      text += ' ';
    } else if (source.compare (at, 2, "\\\n") == 0) {
      at += 2;
    } else if (source[at] == '"') {
      for (at++; at < source.size () && source[at] != '"' && source[at] != '\n'; at++)
        at += source[at] == '\\' ? 1 : 0;
      at++;
      text += ' ';
    } else {
      text += source[at++];
    }
  }
  return text;
}

void
add_tokens (const std::string &line, int conditions, Tokens &tokens)
{
  for (gsize at = 0; at < line.size ();) {
    gsize end = at;
    while (end < line.size () && is_of_name (line[end]))
      end++;
    end = std::max (end, at + 1);
    if (!g_ascii_isspace (line[at]))
      tokens.push_back ({line.substr (at, end - at), conditions});
    at = end;
  }
}

/* Functions and macros by name. A name with two definitions depends on conditions and is
 * ignored. */
class Definitions {
public:
  explicit Definitions (const std::string &source)
  {
    const std::string text = without_comments (source);
    Tokens tokens;
    int conditions = 0;

    for (gsize at = 0; at < text.size ();) {
      const gsize end = std::min (text.find ('\n', at), text.size ());
      const std::string line = text.substr (at, end - at);
      const gsize start = line.find_first_not_of (" \t");
      if (start != std::string::npos && line[start] == '#')
        add_directive (line.substr (start + 1), conditions);
      else
        add_tokens (line, conditions, tokens);
      at = end + 1;
    }
    add_functions (tokens);
  }

  /* (nullable) */
  const Tokens *find (const std::string &name) const
  {
    auto found = bodies.find (name);
    return found == bodies.end () || found->second.size () != 1 ? nullptr
                                                                : &found->second[0];
  }

private:
  void add_directive (const std::string &line, int &conditions)
  {
    Tokens tokens;
    add_tokens (line, 0, tokens);
    if (tokens.empty ())
      return;
    const std::string &directive = tokens[0].text;
    conditions += directive.compare (0, 2, "if") == 0 ? 1 : directive == "endif" ? -1 : 0;
    if (directive == "define" && tokens.size () > 1)
      bodies[tokens[1].text].emplace_back (tokens.begin () + 2, tokens.end ());
  }

  /* The body of a function follows the ")" of its parameters. */
  void add_functions (const Tokens &tokens)
  {
    for (gsize at = 0; at < tokens.size (); at++) {
      if (tokens[at].text != "{")
        continue;
      const gsize end = closing (tokens, at, "{", "}", 1);
      const gsize opening = at > 0 && tokens[at - 1].text == ")"
                                ? closing (tokens, at - 1, ")", "(", -1)
                                : tokens.size ();
      if (end < tokens.size () && opening > 0 && opening < at)
        bodies[tokens[opening - 1].text].emplace_back (
            tokens.begin () + gssize (at), tokens.begin () + gssize (end));
      at = end;
    }
  }

  /* Returns the index of the bracket that matches the one at `at`, or the number of
   * tokens. */
  static gsize closing (
      const Tokens &tokens, gsize at, const char *open, const char *close, int direction)
  {
    int depth = 0;
    for (; at < tokens.size (); at += gsize (direction)) {
      depth += tokens[at].text == open ? 1 : tokens[at].text == close ? -1 : 0;
      if (depth == 0)
        return at;
    }
    return tokens.size ();
  }

  std::map<std::string, std::vector<Tokens>> bodies;
};

/* Returns 2 for "get_global_id (1)" at `at`, 3 for "get_global_id (2)", else 1. */
unsigned
dimensions_of_call (const Tokens &tokens, gsize at)
{
  static constexpr const char *names[] = {
      "get_global_id", "get_group_id", "get_local_id"};
  const bool is_call = at + 3 < tokens.size () && tokens[at + 1].text == "("
                       && tokens[at + 3].text == ")"
                       && std::any_of (std::begin (names), std::end (names),
                           [&] (const char *name) { return tokens[at].text == name; });
  const std::string argument = is_call ? tokens[at + 2].text.substr (0, 1) : "0";
  return argument == "1" ? 2 : argument == "2" ? 3 : 1;
}
} // namespace

unsigned
work_dimensions (const std::string &source, const std::string &kernel)
{
  const Definitions definitions (source);
  std::vector<std::string> waiting = {kernel};
  std::set<std::string> seen = {kernel};
  unsigned dimensions = 1;

  while (!waiting.empty ()) {
    const Tokens *body = definitions.find (waiting.back ());
    waiting.pop_back ();
    for (gsize at = 0; body && at < body->size (); at++) {
      const Token &token = (*body)[at];
      if (token.conditions != body->front ().conditions)
        continue;
      dimensions = std::max (dimensions, dimensions_of_call (*body, at));
      if (is_of_name (token.text[0]) && seen.insert (token.text).second)
        waiting.push_back (token.text);
    }
  }
  return dimensions;
}

/* A plain store does not read the old value. */
static bool
is_atomic (const std::string &name)
{
  const bool stores = name.compare (0, 12, "atomic_store") == 0 || name == "atomic_init";
  return (name.compare (0, 7, "atomic_") == 0 && !stores)
         || name.compare (0, 5, "atom_") == 0;
}

static bool
is_of_integers (const std::string &name)
{
  return name == "read_imagei" || name == "read_imageui" || name == "write_imagei"
         || name == "write_imageui";
}

/* Returns whether `name` is in the first argument of a call of such a function. */
static bool
calls_on (const std::string &source, bool (*is_meant) (const std::string &),
    const std::string &name)
{
  Tokens tokens;
  add_tokens (without_comments (source), 0, tokens);
  for (gsize call = 0; call + 1 < tokens.size (); call++) {
    if (!is_meant (tokens[call].text) || tokens[call + 1].text != "(")
      continue;
    int depth = 0;
    for (gsize at = call + 1; at < tokens.size (); at++) {
      const std::string &text = tokens[at].text;
      depth += text == "(" ? 1 : text == ")" ? -1 : 0;
      if (depth == 0 || (depth == 1 && text == ","))
        break;
      if (text == name)
        return true;
    }
  }
  return false;
}

bool
calls_atomic_on (const std::string &source, const std::string &pointer)
{
  return calls_on (source, is_atomic, pointer);
}

bool
uses_integers_of (const std::string &source, const std::string &image)
{
  return calls_on (source, is_of_integers, image);
}

std::string
body_of_struct (const std::string &source, const std::string &type)
{
  const std::string text = without_comments (source);
  std::string found;

  auto stripped = [&] (gsize begin, gsize end) {
    const gsize first = text.find_first_not_of (" \t\n", begin);
    const gsize last = text.find_last_not_of (" \t\n", end - 1);
    return first < end ? text.substr (first, last + 1 - first) : "";
  };
  for (gsize at = 0, open; (at = text.find ("struct", at)) != std::string::npos;
       at = open) {
    open = std::min (text.find_first_of ("{;", at), text.size ());
    const gsize close = text.find_first_of ("{}", open + 1);
    const gsize end = close < text.size () ? text.find_first_of ("{;", close + 1) : close;
    if (end >= text.size () || text[open] != '{' || text[close] != '}'
        || text[end] != ';')
      continue;
    const std::string alias = stripped (close + 1, end);
    if (alias != type && (!alias.empty () || stripped (at, open) != type))
      continue;
    if (!found.empty ())
      return ""; /* which of them counts depends on conditions */
    found = text.substr (open + 1, close - open - 1);
  }
  return found;
}
} // namespace compute
