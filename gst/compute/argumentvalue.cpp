/* Parses the values of kernel arguments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "argumentvalue.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace compute {
namespace {
/* Stores `number` as a T. Returns false if T is an integer type that cannot hold it.
 * Floating-point types round it. */
template <typename T>
bool
put_number (Number number, guint8 *bytes)
{
  using Limits = std::numeric_limits<T>;
  if (Limits::is_integer
      && (number != std::floor (number) || number < Number (Limits::min ())
          || number > Number (Limits::max ())))
    return false;
  const T value = T (number);
  memcpy (bytes, &value, sizeof value);
  return true;
}

bool
put_half (Number, guint8 *)
{
  return false; /* OpenCL C has no such argument */
}

/* In the order of opencl::NumberType */
constexpr bool (*putters[]) (Number, guint8 *) = {put_number<gint8>, put_number<guint8>,
    put_number<gint16>, put_number<guint16>, put_number<gint32>, put_number<guint32>,
    put_number<gint64>, put_number<guint64>, put_half, put_number<gfloat>,
    put_number<gdouble>};

bool
number_of_value (const GValue *value, Number &number)
{
  if (G_VALUE_HOLDS (value, GST_TYPE_FRACTION)) {
    number = Number (gst_value_get_fraction_numerator (value))
             / gst_value_get_fraction_denominator (value);
    return true;
  }
  switch (G_VALUE_TYPE (value)) {
  case G_TYPE_BOOLEAN:
    number = g_value_get_boolean (value) ? 1 : 0;
    return true;
  case G_TYPE_INT:
    number = g_value_get_int (value);
    return true;
  case G_TYPE_UINT:
    number = g_value_get_uint (value);
    return true;
  case G_TYPE_INT64:
    number = Number (g_value_get_int64 (value));
    return true;
  case G_TYPE_UINT64:
    number = Number (g_value_get_uint64 (value));
    return true;
  case G_TYPE_FLOAT:
    number = g_value_get_float (value);
    return true;
  case G_TYPE_DOUBLE:
    number = g_value_get_double (value);
    return true;
  default:
    return false;
  }
}

std::string
number_text (Number number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_formatd (text, sizeof text, "%.9g", double (number));
}
} // namespace

bool
numbers_of_value (const GValue *value, std::vector<Number> &numbers)
{
  const bool is_array = GST_VALUE_HOLDS_ARRAY (value);
  if (!is_array && !GST_VALUE_HOLDS_LIST (value)) {
    Number number;
    if (!number_of_value (value, number))
      return false;
    numbers.push_back (number);
    return true;
  }
  const guint size =
      is_array ? gst_value_array_get_size (value) : gst_value_list_get_size (value);
  for (guint n = 0; n < size; n++) {
    if (!numbers_of_value (is_array ? gst_value_array_get_value (value, n)
                                    : gst_value_list_get_value (value, n),
            numbers))
      return false;
  }
  return true;
}

bool
bytes_of_numbers (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error)
{
  if (numbers.size () != parameter.lanes) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s: %" G_GSIZE_FORMAT " numbers, expected %u", parameter.text ().c_str (),
        numbers.size (), parameter.lanes);
    return false;
  }
  bytes.assign (parameter.size (), 0);
  for (gsize n = 0; n < numbers.size (); n++) {
    if (putters[int (parameter.number->type)](
            numbers[n], bytes.data () + n * parameter.number->size))
      continue;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s: the type cannot hold %s", parameter.text ().c_str (),
        number_text (numbers[n]).c_str ());
    return false;
  }
  return true;
}

bool
fail_argument (GError **error, const std::string &message, const Signature &signature)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s; the kernel's arguments: %s", message.c_str (),
      signature_text (signature).c_str ());
  return false;
}
} // namespace compute
