/* opencl-bench: results of an earlier run, to compare with (--compare)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "earlier.hpp"

#include <json-glib/json-glib.h>

namespace bench {
namespace {
std::string
key_of (const Result &result)
{
  std::string key = result.what;
  for (const auto &size : result.sizes)
    key += " " + size.first + "=" + std::to_string (size.second);
  return key;
}

/* Returns the sizes in the order of the file, which is that of Result::sizes. */
Result::Sizes
sizes_of (JsonObject *object)
{
  Result::Sizes sizes;
  GList *names = json_object_get_members (object);
  for (GList *name = names; name; name = name->next) {
    const auto *text = static_cast<const char *> (name->data);
    sizes.emplace_back (
        text, unsigned (json_object_get_int_member_with_default (object, text, 0)));
  }
  g_list_free (names);
  return sizes;
}

/* Returns whether the object is a result. Results without a rate have an error instead. */
bool
read_result (JsonObject *object, Result &result)
{
  result.what = json_object_get_string_member_with_default (object, "what", "");
  JsonNode *sizes = json_object_get_member (object, "sizes");
  if (result.what.empty () || !sizes || !JSON_NODE_HOLDS_OBJECT (sizes))
    return false;
  result.sizes = sizes_of (json_node_get_object (sizes));
  result.before = {json_object_get_double_member_with_default (object, "rate", 0),
      json_object_get_double_member_with_default (object, "least", 0),
      json_object_get_double_member_with_default (object, "greatest", 0)};
  return true;
}

bool
parse_line (JsonParser *parser, const char *line, Result &result)
{
  if (!json_parser_load_from_data (parser, line, -1, nullptr))
    return false;
  JsonNode *root = json_parser_get_root (parser);
  return root && JSON_NODE_HOLDS_OBJECT (root)
         && read_result (json_node_get_object (root), result);
}
} // namespace

std::string
EarlierResults::read (const std::string &path)
{
  gchar *text = nullptr;
  GError *error = nullptr;
  if (!g_file_get_contents (path.c_str (), &text, nullptr, &error)) {
    const std::string reason = error->message;
    g_error_free (error);
    return reason;
  }
  JsonParser *parser = json_parser_new ();
  gchar **lines = g_strsplit (text, "\n", -1);
  std::string wrong;
  for (guint n = 0; lines[n] && wrong.empty (); n++) {
    Result result;
    if (!*g_strstrip (lines[n]))
      continue;
    if (parse_line (parser, lines[n], result))
      rates[key_of (result)] = result.before;
    else
      wrong = path + ": line " + std::to_string (n + 1)
              + " is no result: expected the output of opencl-bench --json";
  }
  g_strfreev (lines);
  g_object_unref (parser);
  g_free (text);
  return wrong.empty () && rates.empty () ? path + ": has no results" : wrong;
}

void
EarlierResults::compare (Result &result) const
{
  const auto found = rates.find (key_of (result));
  if (found != rates.end ())
    result.before = found->second;
}
} // namespace bench
