/* Runs a chain of keying steps in one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyrunner.hpp"

#include "unkeyed.hpp"

#include <gst/opencl/context/deviceinfo.hpp>

#include <algorithm>

#define FOLDER "/org/freedesktop/gstreamer/opencl/keying/"

namespace keying {
/* Size of the tile of a work-group of the form `tiles`, and its largest number of
 * work-items. A plane has 4 KiB. Five planes fit the smallest local memory that OpenCL
 * allows, and several groups that of a GPU. Tiles are as high as the longest runs
 * need, and narrower if a device has less. */
static const gsize most_words = 8, least_words = 4, tile_rows = 128, most_items = 512;
static const gsize most_planes = 5;

/* Block of a work-item of the form `wide`: four planes of 16 KiB */
static const gsize wide_columns = 512, wide_rows = 256, wide_vector = 16;

static KeyRunner::Form
best_form (GstOpenCLContext *context)
{
  return opencl::is_cpu (context) ? KeyRunner::Form::wide : KeyRunner::Form::tiles;
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

/* A power of two */
static gsize
items_of_tile (GstOpenCLContext *context)
{
  gsize most = opencl::largest_group (context);
  gsize items = most_items;
  while (items > 1 && items > most)
    items /= 2;
  return items;
}

KeyRunner::KeyRunner (GstOpenCLContext *context, const InputFormat &format)
    : KeyRunner (context, format, best_form (context))
{
}

/* The tiles of work-groups overlap, and a work-item reads each line and the next: that a
 * camera's pixels are made each time took run_chain_gpu four times as long on an H200, and a
 * launch of its own for them a fifth of that. */
static InputFormat
format_to_read (const InputFormat &format, KeyRunner::Form form)
{
  const bool makes_pixels = form == KeyRunner::Form::tiles && format.is_of_camera ();
  return makes_pixels ? InputFormat (format.output (), format.output ()) : format;
}

KeyRunner::KeyRunner (GstOpenCLContext *context, const InputFormat &format, Form form)
    : context (GST_OPENCL_CONTEXT (gst_object_ref (context))), format_ (format),
      form (form), read (format_to_read (format, form))
{
  std::string options = read.options ();
  if (makes_pixels ())
    pixels.prepare (context, format);
  if (form == Form::wide) {
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

KeyRunner::~KeyRunner ()
{
  gst_object_unref (context);
}

template <typename... Rest>
bool
KeyRunner::launch (const opencl::Groups &groups, cl_command_queue queue,
    const KeyRun &run, const GstOpenCLFrame *input, const GstOpenCLFrame *output,
    GError **error, Rest... rest)
{
  const DistanceKey &key = run.key ();
  const FlowRule &rule = run.rule ();
  Unkeyed unkeyed;

  GstOpenCLFrame made;
  if (!unkeyed.map (format_.of (input), key.opacity, format_, queue, error)
      || (makes_pixels () && !pixels.take (input, &made, queue, error)))
    return false;
  const InputFrame filmed = read.of (makes_pixels () ? &made : input);
  return kernel.launch_groups (queue, groups, error, filmed, output,
      unkeyed.unkeyed ().frame, unkeyed.unkeyed ().opacity, unkeyed.deeper ().frame,
      unkeyed.deeper ().opacity, cl_uint (format_.output ().width),
      cl_uint (format_.output ().height), key.color, key.mask, key.threshold,
      key.inverted, key.least_alpha (), key.opacity, rule.mask, rule.threshold,
      rule.key_cb, rule.key_cr, rule.limit, run.steps (), cl_uint (run.depth ()),
      cl_uint (run.flows ()), rest...);
}

static gsize
count_of (gsize size, gsize part)
{
  return (size + part - 1) / part;
}

/* Columns of margin, so that what is written begins with a whole vector */
static gsize
side_of (const KeyRun &run, gsize vector)
{
  return count_of (run.depth (), vector) * vector;
}

bool
KeyRunner::enqueue_tiles (cl_command_queue queue, const KeyRun &run,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  gsize columns = 32 * tile_words - 2 * side_of (run, 8);
  gsize rows = tile_rows - 2 * run.depth ();
  opencl::Groups groups = {count_of (format_.output ().width, columns),
      count_of (format_.output ().height, rows), items};
  gsize planes = 2 + 2 * run.flows () + (run.rule ().limit > 0);

  return launch (groups, queue, run, input, output, error,
      opencl::LocalMemory{planes * bytes_of_plane (tile_words)});
}

/* Tiles of like height */
bool
KeyRunner::enqueue_wide (cl_command_queue queue, const KeyRun &run,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  gsize columns = wide_columns - 2 * side_of (run, wide_vector);
  gsize rows = count_of (format_.output ().height, wide_rows - 2 * run.depth ());
  gsize core = count_of (format_.output ().height, rows);
  opencl::Groups groups = {count_of (format_.output ().width, columns), rows, 1};

  return launch (groups, queue, run, input, output, error, cl_uint (core));
}

bool
KeyRunner::enqueue (cl_command_queue queue, const KeyRun &run,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error)
{
  std::lock_guard<std::mutex> guard (launching);
  return form == Form::wide ? enqueue_wide (queue, run, input, output, error)
                            : enqueue_tiles (queue, run, input, output, error);
}
} // namespace keying
