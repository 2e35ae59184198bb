/* Translates a user-supplied expression to OpenCL C
 *
 * A recursive-descent parser: each function reads a part of the expression and returns
 * its value. It generates OpenCL C while parsing, without a syntax tree.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "expressionparser.hpp"

#include "expressionfunctions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace compute {
namespace {
struct Token {
  enum Kind { END, NUMBER, NAME, SYMBOL } kind = END;
  std::string text;
  gsize at = 0;
};

bool
is_of_name (char letter)
{
  return g_ascii_isalnum (letter) || letter == '_';
}

/* Returns the length of the number at the start of `text`, including letters right after
 * it. */
gsize
length_of_number (const std::string &text)
{
  const bool is_hex = text.compare (0, 2, "0x") == 0 || text.compare (0, 2, "0X") == 0;
  const char *const exponents = is_hex ? "pP" : "eE";
  gsize end = 0;

  while (
      end < text.size ()
      && (is_of_name (text[end]) || text[end] == '.'
          || (strchr ("+-", text[end]) && end > 0 && strchr (exponents, text[end - 1]))))
    end++;
  return end;
}

gsize
length_of_symbol (const std::string &text)
{
  static constexpr const char *pairs[] = {
      "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  return std::any_of (std::begin (pairs), std::end (pairs),
             [&] (const char *pair) { return text.compare (0, 2, pair) == 0; })
             ? 2
             : 1;
}

Token
token_at (const std::string &text, gsize at)
{
  while (at < text.size () && g_ascii_isspace (text[at]))
    at++;
  if (at >= text.size ())
    return {Token::END, "", text.size ()};
  const std::string rest = text.substr (at, 256);
  const bool starts_number =
      g_ascii_isdigit (rest[0])
      || (rest[0] == '.' && rest.size () > 1 && g_ascii_isdigit (rest[1]));
  if (starts_number)
    return {Token::NUMBER, rest.substr (0, length_of_number (rest)), at};
  if (!is_of_name (rest[0]))
    return {Token::SYMBOL, rest.substr (0, length_of_symbol (rest)), at};
  const auto end = std::find_if_not (rest.begin (), rest.end (), is_of_name);
  return {Token::NAME, std::string (rest.begin (), end), at};
}

/* "1:5" */
std::string
place_in (const std::string &text, gsize at)
{
  const std::string before = text.substr (0, at);
  const gsize start =
      before.rfind ('\n') == std::string::npos ? 0 : before.rfind ('\n') + 1;
  return std::to_string (1 + std::count (before.begin (), before.end (), '\n')) + ":"
         + std::to_string (1 + before.size () - start);
}

/* Returns the token in quotes, for error messages. */
std::string
quoted (const Token &token)
{
  if (token.kind == Token::END)
    return "the end";
  gchar *escaped = g_strescape (token.text.c_str (), nullptr);
  std::string text = "'" + std::string (escaped) + "'";
  g_free (escaped);
  return text;
}

/* Returns the scalar type `name` of OpenCL C, or NULL if there is none. */
const opencl::NumberInfo *
type_named (const std::string &name)
{
  const opencl::NumberInfo *type = opencl::number_of_opencl (name.c_str ());
  return type && type->type == opencl::NumberType::f16 ? nullptr : type;
}

bool
is_vector_type (const std::string &name)
{
  const gsize end = name.find_first_of ("0123456789");
  return end != std::string::npos
         && opencl::number_of_opencl (name.substr (0, end).c_str ()) != nullptr;
}

class Parser {
  static constexpr guint deepest = 200; /* maximum nesting, because of the recursion */

public:
  Parser (const std::string &a_text, const Names &a_names, Translation &a_made)
      : text (a_text), names (a_names), made (a_made)
  {
    token = token_at (text, 0);
  }

  bool parse (GError **error)
  {
    made.value = conditional ();
    if (token.kind != Token::END)
      fail (token, "expected an operator, found " + quoted (token));
    if (failure.empty ())
      return true;
    g_set_error_literal (
        error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, failure.c_str ());
    return false;
  }

private:
  /* Keeps only the first failure, and ends parsing. */
  Value fail (const Token &where, const std::string &message)
  {
    if (failure.empty ())
      failure = "expression:" + place_in (text, where.at) + ": " + message;
    token = {Token::END, "", text.size ()};
    return real_value ("0");
  }

  /* Limits the recursion. */
  Value nested (Value (Parser::*part) ())
  {
    if (depth == deepest)
      return fail (token, "nested too deeply");
    depth++;
    const Value value = (this->*part) ();
    depth--;
    return value;
  }

  Value fail_complex (const Token &where)
  {
    return fail (where, quoted (where) + " does not take complex numbers");
  }

  Token take ()
  {
    Token taken = token;
    token = token_at (text, token.at + token.text.size ());
    return taken;
  }

  bool is_next (const char *symbol) const
  {
    return token.kind == Token::SYMBOL && token.text == symbol;
  }

  bool accept (const char *symbol)
  {
    const bool accepted = is_next (symbol);
    if (accepted)
      take ();
    return accepted;
  }

  void expect (const char *symbol)
  {
    if (!accept (symbol))
      fail (token, "expected '" + std::string (symbol) + "', found " + quoted (token));
  }

  /* Moves a long value to a variable, because compilers limit the nesting of
   * parentheses. */
  Value keep (Value value)
  {
    const gsize longest = 300;
    if (value.text.size () > longest) {
      const std::string name = "value" + std::to_string (kept++);
      made.statements += "  const " + std::string (value.type ()) + " " + name + " = "
                         + value.text + ";\n";
      value.text = name;
    }
    return value;
  }

  Value conditional ();
  Value binary (int precedence);
  Value unary ();
  Value power ();
  Value primary ();
  Value number (const Token &where);
  Value named (const Token &where);
  Value call (const Token &where);
  Value raised (const Token &where, const Value &base, const Value &exponent);
  Value macro (const Token &where, const std::string &replacement);
  Value parse_cast ();
  bool is_cast () const;

  std::string text;
  const Names &names;
  Translation &made;
  Token token; /* the next */
  std::string failure;
  guint depth = 0, kept = 0;
};

Value
Parser::conditional ()
{
  if (depth == deepest)
    return fail (token, "nested too deeply");
  depth++;
  Value value = binary (1);
  if (accept ("?")) {
    const Value first = conditional ();
    expect (":");
    value = keep (choose (value, first, conditional ()));
  }
  depth--;
  return value;
}

Value
Parser::binary (int precedence)
{
  Value value = unary ();
  while (token.kind == Token::SYMBOL) {
    const BinaryOperator *found = binary_operator (token.text);
    if (!found || found->precedence < precedence)
      break;
    const Token symbol = take ();
    const Value right = binary (found->precedence + 1);
    if (!found->takes_complex && common_kind ({value, right}) == Value::COMPLEX)
      return fail_complex (symbol);
    if (found->takes_integers && (value.is_real () || right.is_real ()))
      return fail (
          symbol, quoted (symbol) + " needs integers, use a cast such as (int) x");
    value = keep (found->apply (symbol.text, value, right));
  }
  return value;
}

Value
Parser::unary ()
{
  static constexpr const char *symbols[] = {"-", "+", "!", "~"};
  std::vector<Token> found;

  auto is_unary = [&] {
    return std::any_of (std::begin (symbols), std::end (symbols),
        [&] (const char *symbol) { return is_next (symbol); });
  };
  while (is_unary ())
    found.push_back (take ());
  Value value = is_cast () ? parse_cast () : power ();
  for (; !found.empty (); found.pop_back ()) {
    if (strchr ("!~", found.back ().text[0]) && value.is_complex ())
      return fail_complex (found.back ());
    if (found.back ().text == "~" && value.is_real ())
      return fail (found.back (), "'~' needs an integer, use a cast such as (int) x");
    value = keep (apply_unary (found.back ().text, value));
  }
  return value;
}

/* As in Python, -x ** -y is -(x ** (-y)). */
Value
Parser::power ()
{
  const Value base = primary ();
  if (!is_next ("**"))
    return base;
  const Token symbol = take ();
  return raised (symbol, base, nested (&Parser::unary));
}

Value
Parser::raised (const Token &where, const Value &base, const Value &exponent)
{
  if (exponent.is_complex () || (base.is_complex () && !exponent.is_constant ()))
    return fail (
        where, quoted (where) + " of complex numbers needs a constant integer exponent");
  return keep (raise (base, exponent));
}

/* Returns true if "(" and the name of a type follow. */
bool
Parser::is_cast () const
{
  if (!is_next ("("))
    return false;
  const Token next = token_at (text, token.at + 1);
  return next.kind == Token::NAME && !names.values.count (next.text)
         && (type_named (next.text) || next.text == "bool" || is_vector_type (next.text));
}

Value
Parser::parse_cast ()
{
  expect ("(");
  const Token name = take ();
  const opencl::NumberInfo *type = type_named (name.text);

  if (is_vector_type (name.text))
    return fail (name, quoted (name) + ": vectors are not supported");
  expect (")");
  const Value value = nested (&Parser::unary);
  if (value.is_complex ())
    return fail_complex (name);
  if (!type)
    return keep (integer_value (0, 1, truth (value)));
  made.has_double = made.has_double || type->type == opencl::NumberType::f64;
  return keep (cast (value, type->type));
}

Value
Parser::primary ()
{
  const Token first = take ();

  if (first.kind == Token::NUMBER)
    return number (first);
  if (first.kind == Token::NAME)
    return is_next ("(") ? call (first) : named (first);
  if (first.kind == Token::SYMBOL && first.text == "(") {
    Value value = conditional ();
    expect (")");
    return value;
  }
  return fail (first, "expected an operand, found " + quoted (first));
}

/* Suffixes do not change the precision: all floating-point numbers are `real`. */
Value
Parser::number (const Token &where)
{
  const std::string &all = where.text;
  const bool is_hex = all.size () > 1 && all[0] == '0' && strchr ("xX", all[1]);
  const bool has_point = all.find_first_of (is_hex ? ".pP" : ".eE") != std::string::npos;
  const char *suffixes = is_hex && !has_point ? "uUlL" : "fFuUlL";
  const std::string digits = all.substr (0, all.find_last_not_of (suffixes) + 1);
  const bool is_real =
      has_point || all.find_first_of ("fF", digits.size ()) != std::string::npos;
  gchar *end = nullptr;

  errno = 0;
  if (is_real) {
    g_ascii_strtod (digits.c_str (), &end);
    return *end ? fail (where, quoted (where) + " is not a number")
                : real_value ("REAL (" + digits + (has_point ? ")" : ".0)"));
  }
  const guint64 integer = g_ascii_strtoull (digits.c_str (), &end, 0);
  if (*end || errno == ERANGE)
    return fail (
        where, quoted (where) + (*end ? " is not a number" : " exceeds 64 bits"));
  return integer_constant (Number (integer));
}

Value
Parser::named (const Token &where)
{
  const auto value = names.values.find (where.text);
  const auto replacement = names.macros.find (where.text);
  Value constant;

  if (value != names.values.end ()) {
    made.names.insert (where.text);
    return value->second;
  }
  if (replacement != names.macros.end ())
    return macro (where, replacement->second);
  if (constant_named (where.text, constant))
    return constant;
  if (function_named (where.text))
    return fail (where, quoted (where) + " is a function, expected '(' after it");
  std::string known;
  for (const auto &each : names.values)
    known += (known.empty () ? "" : ", ") + each.first;
  return fail (where, "unknown name " + quoted (where) + ", expected one of " + known);
}

Value
Parser::call (const Token &where)
{
  const Function *function = function_named (where.text);
  std::vector<Value> arguments;

  if (!function)
    return fail (where, "unknown function " + quoted (where));
  expect ("(");
  if (!is_next (")")) {
    do
      arguments.push_back (conditional ());
    while (accept (","));
  }
  expect (")");
  if (!failure.empty ())
    return real_value ("0");
  if (arguments.size () != function->arguments)
    return fail (where, quoted (where) + " takes " + std::to_string (function->arguments)
                            + " arguments, not " + std::to_string (arguments.size ()));
  if (where.text == "pow")
    return raised (where,
        arguments[0].is_complex () ? arguments[0]
                                   : real_value (convert (arguments[0], "real")),
        arguments[1]);
  if (!function->takes_complex && common_kind (arguments) == Value::COMPLEX)
    return fail_complex (where);
  made.has_double = made.has_double || where.text.find ("_double") != std::string::npos;
  return keep (function->call (where.text, arguments));
}

/* Parses the replacement of a macro as an expression of its own. */
Value
Parser::macro (const Token &where, const std::string &replacement)
{
  const std::string outer = std::move (text);
  const Token next = token;

  text = replacement;
  token = token_at (text, 0);
  const Value value = conditional ();
  const bool is_complete = token.kind == Token::END;
  text = outer;
  if (!failure.empty ()) {
    failure.clear ();
    return fail (where,
        quoted (where) + " is \"" + replacement + "\", which is not an expression");
  }
  token = next;
  return is_complete ? value
                     : fail (where, quoted (where) + " is \"" + replacement
                                        + "\", which is not an expression");
}
} // namespace

bool
translate_expression (const std::string &expression, const Names &names,
    Translation &translation, GError **error)
{
  return Parser (expression, names, translation).parse (error);
}
} // namespace compute
