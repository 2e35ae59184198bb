/* Steps of keying elements in a chain, and the kernel that runs them in one launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keychain.hpp"

#include "unkeyed.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

#define FOLDER "/org/freedesktop/gstreamer/opencl/keying/"

namespace keying {
/* Alpha times opacity is rounded, so that values below one half become 0. */
cl_uint
DistanceKey::least_alpha () const
{
  const cl_uint half = 32768, none = 65536;
  return opacity == 0 ? none : std::min (none, (half + opacity - 1) / opacity);
}

bool
FlowRule::operator== (const FlowRule &other) const
{
  return mask == other.mask && threshold == other.threshold && key_cb == other.key_cb
         && key_cr == other.key_cr && limit == other.limit;
}

bool
KeyChain::add (Step step, guint iterations)
{
  if (iterations == 0)
    return true;
  if (iterations > deepest - depth_ || count_ == sizeof steps_)
    return false;
  steps_ |= cl_ulong (cl_uint (step) << 6 | iterations) << 8 * count_++;
  depth_ += iterations;
  return true;
}

bool
KeyChain::add_noise_reduction (guint fills, guint reductions)
{
  KeyChain longer = *this;

  if (!longer.add (Step::fill, fills) || !longer.add (Step::reduce, reductions))
    return false;
  *this = longer;
  return true;
}

/* A chain has only one set of planes for flow, so that all its flow steps have the same
 * rule. */
bool
KeyChain::add_flow (const FlowRule &rule, guint iterations)
{
  if ((flows_ && !(rule == rule_)) || !add (Step::flow, iterations))
    return false;
  rule_ = rule;
  flows_ = true;
  return true;
}

/* Tile of a work-group on a GPU, and its maximum number of work-items. A plane takes 4
 * KiB. Five planes fit the minimum local memory of OpenCL, and the local memory of a GPU
 * has room for several work-groups. Tiles have the height that the deepest chains need.
 * They are narrower on devices with less local memory. */
static const gsize most_words = 8, least_words = 4, tile_rows = 128, most_items = 512;
static const gsize most_planes = 5;

/* Tile of a work-item on a CPU: four planes of 16 KiB */
static const gsize wide_columns = 512, wide_rows = 256, wide_vector = 16;

static KeyChainKernel::Form
best_form (GstOpenCLContext *context)
{
  return opencl::is_cpu (context) ? KeyChainKernel::Form::cpu : KeyChainKernel::Form::gpu;
}

static gsize
bytes_of_plane (gsize words)
{
  return (tile_rows + 2) * words * sizeof (cl_uint);
}

static gsize
words_of_tile (GstOpenCLContext *context)
{
  const gsize local_memory = opencl::local_memory (context);
  gsize words = most_words;
  while (words > least_words && most_planes * bytes_of_plane (words) > local_memory)
    words /= 2;
  return words;
}

/* Returns a power of two. */
static gsize
items_of_tile (GstOpenCLContext *context)
{
  gsize most = opencl::largest_group (context);
  gsize items = most_items;
  while (items > 1 && items > most)
    items /= 2;
  return items;
}

KeyChainKernel::KeyChainKernel (GstOpenCLContext *context, const InputFormat &format)
    : KeyChainKernel (context, format, best_form (context))
{
}

/* On a GPU camera formats are converted by a launch of their own. Tiles overlap, and a
 * work-item reads each row and the next, so run_chain_gpu() would convert pixels several
 * times. It took four times as long that way on an H200. The separate launch takes a
 * fifth of that. */
static InputFormat
format_to_read (const InputFormat &format, KeyChainKernel::Form form)
{
  const bool makes_pixels = form == KeyChainKernel::Form::gpu && format.is_of_camera ();
  return makes_pixels ? InputFormat (format.output (), format.output ()) : format;
}

KeyChainKernel::KeyChainKernel (
    GstOpenCLContext *context, const InputFormat &format, Form form)
    : context (GST_OPENCL_CONTEXT (gst_object_ref (context))), format_ (format),
      form (form), read (format_to_read (format, form))
{
  std::string options = read.options ();
  if (makes_pixels ())
    pixels.prepare (context, format);
  if (form == Form::cpu) {
    options += " -DWIDE_ROWS=" + std::to_string (wide_rows);
    kernel.prepare (context, FOLDER "keychain_cpu.cl", "run_chain_cpu", options);
    return;
  }
  items = items_of_tile (context);
  tile_words = words_of_tile (context);
  options += " -DTILE_WORDS=" + std::to_string (tile_words) + " -DTILE_ROWS="
             + std::to_string (tile_rows) + " -DGROUP_ITEMS=" + std::to_string (items);
  kernel.prepare (context, FOLDER "keychain_gpu.cl", "run_chain_gpu", options);
}

KeyChainKernel::~KeyChainKernel ()
{
  gst_object_unref (context);
}

template <typename... Rest>
bool
KeyChainKernel::launch (const opencl::Groups &groups, cl_command_queue queue,
    const KeyChain &chain, const GstOpenCLFrame *input, const GstOpenCLFrame *output,
    GError **error, Rest... rest)
{
  const DistanceKey &key = chain.key ();
  const FlowRule &rule = chain.rule ();
  Unkeyed unkeyed;

  GstOpenCLFrame converted;
  if (!unkeyed.map (format_.of (input), key.opacity, format_, queue, error)
      || (makes_pixels () && !pixels.convert (input, &converted, queue, error)))
    return false;
  const InputFrame frame = read.of (makes_pixels () ? &converted : input);
  return kernel.launch_groups (queue, groups, error, frame, output,
      unkeyed.unkeyed ().frame, unkeyed.unkeyed ().opacity, unkeyed.deeper ().frame,
      unkeyed.deeper ().opacity, cl_uint (format_.output ().width),
      cl_uint (format_.output ().height), key.color, key.mask, key.threshold,
      key.inverted, key.least_alpha (), key.opacity, rule.mask, rule.threshold,
      rule.key_cb, rule.key_cr, rule.limit, chain.steps (), cl_uint (chain.depth ()),
      cl_uint (chain.flows ()), rest...);
}

static gsize
count_of (gsize size, gsize part)
{
  return (size + part - 1) / part;
}

/* Returns the margin in columns: the depth, rounded up to whole vectors. */
static gsize
side_of (const KeyChain &chain, gsize vector)
{
  return count_of (chain.depth (), vector) * vector;
}

bool
KeyChainKernel::enqueue_gpu (cl_command_queue queue, const KeyChain &chain,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  gsize columns = 32 * tile_words - 2 * side_of (chain, 8);
  gsize rows = tile_rows - 2 * chain.depth ();
  opencl::Groups groups = {count_of (format_.output ().width, columns),
      count_of (format_.output ().height, rows), items};
  gsize planes = 2 + 2 * chain.flows () + (chain.rule ().limit > 0);

  return launch (groups, queue, chain, input, output, error,
      opencl::LocalMemory{planes * bytes_of_plane (tile_words)});
}

/* Uses tiles of similar height. */
bool
KeyChainKernel::enqueue_cpu (cl_command_queue queue, const KeyChain &chain,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  gsize columns = wide_columns - 2 * side_of (chain, wide_vector);
  gsize rows = count_of (format_.output ().height, wide_rows - 2 * chain.depth ());
  gsize core = count_of (format_.output ().height, rows);
  opencl::Groups groups = {count_of (format_.output ().width, columns), rows, 1};

  return launch (groups, queue, chain, input, output, error, cl_uint (core));
}

bool
KeyChainKernel::enqueue_chain (cl_command_queue queue, const KeyChain &chain,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  std::lock_guard<std::mutex> guard (launching);
  return form == Form::cpu ? enqueue_cpu (queue, chain, input, output, error)
                           : enqueue_gpu (queue, chain, input, output, error);
}
} // namespace keying
