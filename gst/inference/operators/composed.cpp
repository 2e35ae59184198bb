/* Operators of ONNX as several others: masks and Einstein sums
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <set>

namespace inference {
namespace {
/* --- masks --- */

bool
triangle (Lowering &l, GError **error)
{
  const Shape shape = l.shape (l.input (0));
  const bool upper = l.node ().integer ("upper", 1) != 0;
  std::vector<gint64> k = {0};
  if (shape.size () < 2 || (l.has (1) && !l.integers_of_input (1, k, error)))
    return l.fail (error, "expected matrices and a constant k");
  if (k.size () != 1)
    return l.fail (error, "expected one number k");
  const gint64 rows = shape[shape.size () - 2], columns = shape.back ();
  if (!l.reserve (ElementType::boolean, {rows, columns}, error, growth_effort))
    return false;
  Array mask (ElementType::boolean, {rows, columns});
  for (gint64 n = 0; n < rows * columns; n++) {
    const gint64 diagonal = n % columns - n / columns;
    mask.set_integer (gsize (n), upper ? diagonal >= k[0] : diagonal <= k[0]);
  }
  Formula f (l, error);
  return f.give (f.where (
      l.add_constant (mask), l.input (0), l.number (l.value (l.input (0)).type, 0)));
}

/* --- Einstein sums --- */

const gsize most_terms = 64; /* the time grows with the square of it */

/* An operand, or a product of operands, and a letter for each dimension */
struct Term {
  std::string letters;
  ValueId value;

  gsize place (char letter) const { return letters.find (letter); }
  bool has (char letter) const { return place (letter) != std::string::npos; }
};

/* The dimensions of "..." are '0' to '7', aligned at the last one. */
bool
expand_ellipsis (std::string &letters, gsize dimensions)
{
  const gsize at = letters.find ("...");
  if (at != std::string::npos) {
    std::string names;
    for (gsize n = std::min (dimensions, gsize (8)); n > 0; n--)
      names += char ('0' + 8 - n);
    letters.replace (at, 3, names);
  }
  return std::all_of (letters.begin (), letters.end (),
      [] (char letter) { return g_ascii_isalnum (letter); });
}

/* Reads "ab,bc->ac". Digits are no letters of an equation. */
bool
parse_equation (
    Lowering &l, std::vector<Term> &terms, std::string &output, GError **error)
{
  std::string equation = l.node ().text ("equation", "");
  equation.erase (std::remove (equation.begin (), equation.end (), ' '), equation.end ());
  const gsize arrow = equation.find ("->");
  if (l.inputs () > most_terms)
    return l.fail (error, "%" G_GSIZE_FORMAT " inputs", l.inputs ());
  gchar **parts = g_strsplit (equation.substr (0, arrow).c_str (), ",", -1);
  bool valid = g_strv_length (parts) == l.inputs ()
               && equation.find_first_of ("0123456789") == std::string::npos;
  gsize widest = 0;
  for (gsize n = 0; valid && n < l.inputs (); n++) {
    valid = l.has (n);
    if (!valid)
      break;
    const gsize rank = l.shape (l.input (n)).size ();
    Term term = {parts[n], l.input (n)};
    const gsize others =
        term.letters.size () - (term.letters.find ("...") == std::string::npos ? 0 : 3);
    valid = others <= rank && expand_ellipsis (term.letters, rank - others)
            && term.letters.size () == rank;
    widest = std::max (widest, rank - std::min (rank, others));
    terms.push_back (term);
  }
  g_strfreev (parts);
  if (arrow != std::string::npos) {
    output = equation.substr (arrow + 2);
    valid = valid && expand_ellipsis (output, widest);
  } else { /* the letters that occur once, in order; digits are smaller */
    std::string all;
    for (const Term &term : terms)
      all += term.letters;
    std::sort (all.begin (), all.end ());
    for (const char letter : all)
      if (g_ascii_isdigit (letter) ? output.find (letter) == std::string::npos
                                   : std::count (all.begin (), all.end (), letter) == 1)
        output += letter;
  }
  return valid
         || l.fail (error, "equation \"%s\" does not fit the inputs", equation.c_str ());
}

class Contraction {
public:
  Contraction (Lowering &l, GError **error) : l (l), f (l, error), error (error) {}

  /* Adds up the dimensions that are not in `kept`. */
  void sum_others (Term &term, const std::string &kept)
  {
    std::vector<bool> reduced;
    std::string letters;
    Shape shape;
    if (term.value == no_value)
      return;
    for (gsize d = 0; d < term.letters.size (); d++) {
      reduced.push_back (kept.find (term.letters[d]) == std::string::npos);
      if (reduced.back ())
        continue;
      letters += term.letters[d];
      shape.push_back (l.shape (term.value)[d]);
    }
    term = {letters, f.reshape (f.reduce (Reduction::sum, term.value, reduced), shape)};
  }

  ValueId ordered (const Term &term, const std::string &letters)
  {
    std::vector<gint64> order;
    for (const char letter : letters)
      order.push_back (gint64 (term.place (letter)));
    return f.transpose (term.value, order);
  }

  /* The sum over the letters that both have and `later` has not, as a product of matrices */
  Term product (Term a, Term b, const std::string &later)
  {
    sum_others (a, b.letters + later);
    sum_others (b, a.letters + later);
    if (a.value == no_value || b.value == no_value)
      return {"", no_value};
    std::string batch, rows, inner, columns;
    for (const char letter : a.letters)
      (!b.has (letter)                               ? rows
          : later.find (letter) == std::string::npos ? inner
                                                     : batch) += letter;
    for (const char letter : b.letters)
      if (!a.has (letter))
        columns += letter;
    for (const char letter : inner + batch)
      if (length (a, letter) != length (b, letter)
          && (inner.find (letter) != std::string::npos || !g_ascii_isdigit (letter))) {
        refuse (a, letter);
        return a;
      }
    const Shape of_a = lengths (a, batch), of_b = lengths (b, batch);
    const gint64 m = count (a, rows), k = count (a, inner), n = count (b, columns);
    const ValueId left =
        f.reshape (ordered (a, batch + rows + inner), with (of_a, {m, k}));
    const ValueId right =
        f.reshape (ordered (b, batch + inner + columns), with (of_b, {k, n}));
    ValueId result = f.product (left, right);
    if (result != no_value) {
      Shape shape = l.shape (result);
      shape.resize (batch.size ());
      result = f.reshape (
          result, with (with (shape, lengths (a, rows)), lengths (b, columns)));
    }
    return {batch + rows + columns, result};
  }

private:
  gint64 length (const Term &term, char letter) const
  {
    return l.shape (term.value)[term.place (letter)];
  }
  Shape lengths (const Term &term, const std::string &letters) const
  {
    Shape shape;
    for (const char letter : letters)
      shape.push_back (length (term, letter));
    return shape;
  }
  gint64 count (const Term &term, const std::string &letters) const
  {
    return count_of (lengths (term, letters));
  }
  static Shape with (Shape shape, const Shape &more)
  {
    shape.insert (shape.end (), more.begin (), more.end ());
    return shape;
  }
  void refuse (Term &term, char letter)
  {
    l.fail (error, "dimension %c has several lengths", letter);
    term.value = no_value;
  }

  Lowering &l;
  Formula f;
  GError **error;
};

bool
einsum (Lowering &l, GError **error)
{
  std::vector<Term> terms;
  std::string output;
  if (!parse_equation (l, terms, output, error))
    return false;
  for (const Term &term : terms) {
    const std::set<char> different (term.letters.begin (), term.letters.end ());
    if (different.size () < term.letters.size ())
      return l.fail (error, "a diagonal (a letter twice in an input) is not supported");
    if (l.value (term.value).type != l.value (terms[0].value).type)
      return l.fail (error, "the inputs differ in type");
  }
  Contraction contraction (l, error);
  Term result = terms[0];
  for (gsize n = 1; n < terms.size () && result.value != no_value; n++) {
    std::string later = output;
    for (gsize k = n + 1; k < terms.size (); k++)
      later += terms[k].letters;
    result = contraction.product (result, terms[n], later);
  }
  contraction.sum_others (result, output);
  if (result.value == no_value)
    return false;
  std::string sorted = result.letters, wanted = output;
  std::sort (sorted.begin (), sorted.end ());
  std::sort (wanted.begin (), wanted.end ());
  if (sorted != wanted)
    return l.fail (
        error, "the output \"%s\" has other letters than the inputs", output.c_str ());
  return Formula (l, error).give (contraction.ordered (result, output));
}
} // namespace

const std::vector<Operator> composed_operators = {
    {"Trilu", 1, 2, triangle},
    {"Einsum", 1, any_number, einsum},
};
} // namespace inference
