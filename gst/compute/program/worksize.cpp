/* Number of work-items and work-groups of a kernel, and the properties that set them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "worksize.hpp"

#include "signature.hpp"

#include <gst/common/text.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace compute {
namespace {
std::string
size_text (const std::vector<gsize> &size)
{
  std::string text;
  for (gsize length : size)
    text += (text.empty () ? "" : "x") + std::to_string (length);
  return text;
}

/* --- expressions --- */

/* Expression of lengths with C's operators + - * / and parentheses. All values are
 * unsigned. An expression of * and / alone, such as "width/4", rounds its quotients up, so
 * that no element is left out. Any other rounds them down, as C does. */
class SizeExpression {
public:
  SizeExpression (const std::string &text, const FindLength &find)
      : at (text.c_str ()), rounds_up (text.find_first_of ("+-(") == std::string::npos),
        find (find)
  {
  }

  /* Fails with a `reason` (). */
  bool evaluate (gsize &value)
  {
    if (!sum (value))
      return false;
    skip_spaces ();
    if (*at != '\0')
      return refuse (opencl::text_of ("\"%c\" is not an operator", *at));
    return value > 0 || refuse ("the size is 0");
  }
  const std::string &reason () const { return why; }

private:
  bool refuse (const std::string &reason)
  {
    why = reason;
    return false;
  }

  void skip_spaces ()
  {
    while (*at == ' ')
      at++;
  }

  /* Returns the next character, and skips it, if it is one of `characters`, else 0. */
  char take (const char *characters)
  {
    skip_spaces ();
    return *at != '\0' && strchr (characters, *at) ? *at++ : '\0';
  }

  bool sum (gsize &value)
  {
    gsize other;
    if (!product (value))
      return false;
    while (const char sign = take ("+-")) {
      if (!product (other))
        return false;
      if (sign == '-' && other > value)
        return refuse ("a difference is below 0");
      if (sign == '-')
        value -= other;
      else if (!g_size_checked_add (&value, value, other))
        return refuse ("a sum is too large");
    }
    return true;
  }

  bool product (gsize &value)
  {
    gsize other;
    if (!operand (value))
      return false;
    while (const char sign = take ("*/")) {
      if (!operand (other))
        return false;
      if (sign == '/' && other == 0)
        return refuse ("a divisor is 0");
      if (sign == '/')
        value = value / other + (rounds_up && value % other != 0 ? 1 : 0);
      else if (!g_size_checked_mul (&value, value, other))
        return refuse ("a product is too large");
    }
    return true;
  }

  bool operand (gsize &value)
  {
    constexpr int most_parentheses = 100;
    if (take ("(")) {
      if (++depth > most_parentheses)
        return refuse ("there are too many parentheses");
      if (!sum (value))
        return false;
      depth--;
      return take (")") || refuse ("\")\" is missing");
    }
    const char *start = at;
    while (g_ascii_isalnum (*at) || *at == '_')
      at++;
    return length ({start, gsize (at - start)}, value);
  }

  bool length (const std::string &word, gsize &value)
  {
    guint64 number = 0;
    if (word.empty ())
      return refuse ("a number or a name is missing");
    if (!g_ascii_isdigit (word[0]))
      return find (word, value) || refuse ('"' + word + "\" is not the name of a size");
    if (!g_ascii_string_to_unsigned (word.c_str (), 10, 0, G_MAXSIZE, &number, nullptr))
      return refuse (word + " is not a number or too large");
    value = gsize (number);
    return true;
  }

  const char *at;
  const bool rounds_up;
  const FindLength &find;
  int depth = 0;
  std::string why;
};
} // namespace

bool
parse_sizes (const char *property, const std::string &text, const FindLength &find,
    std::vector<gsize> &sizes, GError **error)
{
  std::istringstream terms (text);
  std::string term, reason;

  while (reason.empty () && std::getline (terms, term, ',')) {
    SizeExpression expression (term, find);
    gsize value = 0;
    if (sizes.size () == 3)
      reason = "there are more";
    else if (!expression.evaluate (value))
      reason = expression.reason ();
    sizes.push_back (value);
  }
  return reason.empty ()
         || fail (error,
             std::string (property) + "=\"" + text
                 + "\": expected one to three sizes above 0, such as "
                   "\"width/4,(height+15)/16*16\", of numbers, width, height, pixels, "
                   "count, shape0 … shape3 or, with the name of an array, input_width; "
                 + reason);
}

/* --- work-groups --- */

template <typename Info>
bool
WorkSize::info (cl_kernel_work_group_info what, Info &info, GError **error) const
{
  return gst_opencl_check (
      clGetKernelWorkGroupInfo (kernel, gst_opencl_context_get_device (context), what,
          sizeof info, &info, nullptr),
      "clGetKernelWorkGroupInfo", error);
}

bool
WorkSize::choose_sizes (std::vector<gsize> wanted_global, std::vector<gsize> wanted_local,
    bool checks_size, GError **error)
{
  global = std::move (wanted_global);
  local = std::move (wanted_local);
  if (!take_required_groups (error))
    return false;
  if (local.empty ())
    checks_size ? choose_groups () : choose_rows ();
  if (!local.empty ()) {
    const gsize dimensions = std::max (local.size (), global.size ());
    local.resize (dimensions, 1);
    global.resize (dimensions, 1);
  }
  return check_groups (error);
}

/* Takes the work-groups that the kernel declares with reqd_work_group_size. */
bool
WorkSize::take_required_groups (GError **error)
{
  gsize built_for[3] = {};

  if (!info (CL_KERNEL_COMPILE_WORK_GROUP_SIZE, built_for, error))
    return false;
  if (built_for[0] == 0)
    return true;
  std::vector<gsize> fixed (built_for, built_for + 3);
  global.resize (3, 1);
  if (!local.empty ())
    local.resize (3, 1);
  if (!local.empty () && local != fixed)
    return fail (error, "local-size is " + size_text (local) + ", but the kernel \""
                            + kernel_name + "\" requires work-groups of "
                            + size_text (fixed));
  local = fixed;
  return true;
}

/* Chooses up to 256 work-items: fewer leave a GPU idle, more hide no more latency. They go on
 * in the next dimension where rows are short, such as the four components of a pixel. Lines have
 * always as many: drivers may compile a kernel for each size of its groups. */
void
WorkSize::choose_groups ()
{
  gsize max_items = 1, items = 1;
  const std::vector<gsize> most = max_sizes (nullptr);
  info (CL_KERNEL_WORK_GROUP_SIZE, max_items, nullptr);
  max_items = std::min (max_items, gsize (256));
  local.clear ();
  for (gsize d = 0; d < global.size (); d++) {
    gsize group = 1;
    while (2 * group * items <= max_items && (global.size () == 1 || group < global[d])
           && d < most.size () && 2 * group <= most[d])
      group *= 2;
    items *= group;
    local.push_back (group);
    global[d] = round_up (global[d], group);
  }
}

/* Chooses work-groups along rows, if the size is a multiple of them: the kernel may not
 * check its position. A GPU's driver may choose tiles, which use only half of each cache
 * line. */
void
WorkSize::choose_rows ()
{
  gsize max_items = 1, multiple = 0, group = 256;

  if (opencl::is_cpu (context))
    return;
  info (CL_KERNEL_WORK_GROUP_SIZE, max_items, nullptr);
  info (CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, multiple, nullptr);
  while (group > max_items || global[0] % group != 0)
    group /= 2;
  if (group >= multiple)
    local = {group};
}

/* Returns the largest work-group of the device in each dimension, or nothing on failure. */
std::vector<gsize>
WorkSize::max_sizes (GError **error) const
{
  std::vector<gsize> sizes (
      opencl::device_info<cl_uint> (context, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS));
  if (!gst_opencl_check (clGetDeviceInfo (gst_opencl_context_get_device (context),
                             CL_DEVICE_MAX_WORK_ITEM_SIZES,
                             sizes.size () * sizeof sizes[0], sizes.data (), nullptr),
          "clGetDeviceInfo", error))
    sizes.clear ();
  return sizes;
}

bool
WorkSize::check_groups (GError **error) const
{
  const std::vector<gsize> most = max_sizes (error);
  gsize max_items = 0, items = 1;

  if (most.empty () || !info (CL_KERNEL_WORK_GROUP_SIZE, max_items, error))
    return false;
  for (gsize d = 0; d < local.size (); d++) {
    items *= local[d];
    if (d < most.size () && local[d] > most[d])
      max_items = 0;
  }
  if (items > max_items)
    return fail (
        error, "A work-group of " + size_text (local)
                   + " is too large: " + gst_opencl_context_get_device_name (context)
                   + " supports up to " + std::to_string (max_items ? max_items : most[0])
                   + " work-items for the kernel \"" + kernel_name + "\"");
  for (gsize d = 0; d < local.size (); d++) {
    if (global[d] % local[d] != 0)
      return fail (
          error, "global-size " + size_text (global) + " is not a multiple of local-size "
                     + size_text (local)
                     + ": round global-size up if the kernel checks its position");
  }
  return true;
}

} // namespace compute
