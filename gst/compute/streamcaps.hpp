/* Caps of inputs and outputs, and the arrays in them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclfilter.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace compute {
/* --- inputs and outputs --- */

/* domain=wavelength is left out, because raw spectra are also gray video. npyparse can
 * output application/x-oct or arrays. Without this domain it chooses arrays. */
#define COMPUTE_CAPS(features)                                                           \
  "video/x-raw" features ", format = (string) " ARRAY_VIDEO_FORMATS                      \
  ", width = (int) [ 1, 2147483647 ], height = (int) [ 1, 2147483647 ], "                \
  "framerate = (fraction) [ 0/1, 2147483647/1 ]; " TENSORS_CAPS (                        \
      features) "; application/x-oct" features                                           \
                ", domain = (string) { depth, wavenumber }, "                            \
                "format = (string) { F32LE, CF32LE }, samples = (int) [ 1, max ], "      \
                "lines = (int) [ 1, max ], framerate = (fraction) [ 0/1, "               \
                "2147483647/1 ]"

/* Output caps of kernels: one array or several tensors */
#define COMPUTE_OUTPUT_CAPS(features)                                                    \
  COMPUTE_CAPS (features) "; " SEVERAL_TENSORS_CAPS (features)

struct Stream {
  std::string name;
  opencl::ArrayFormat array;
  bool is_video = false;
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN; /* of video */
  bool is_output = false;
  bool is_complex = false; /* the innermost 2 of `array` is real and imaginary part */
  gsize offset = 0;        /* of an output in the buffer of all of them, in bytes */

  bool operator== (const Stream &other) const
  {
    return name == other.name && array == other.array && is_video == other.is_video;
  }

  gsize width () const { return is_video ? array.shape[1] : array.length (0); }
  gsize height () const { return is_video ? array.shape[0] : array.length (1); }
  /* Number of rows that may have padding between them, and bytes of a row without
   * padding */
  gsize lines () const { return is_video ? array.shape[0] : 1; }
  gsize line_bytes () const { return array.bytes () / lines (); }
  /* Row stride without padding */
  gsize row_bytes () const
  {
    return is_video ? line_bytes ()
                    : array.length (0) * opencl::info_of (array.type).size;
  }
};

/* Reads format and size from fixed caps. */
bool stream_of_caps (const char *name, GstCaps *caps, Stream &stream, GError **error);
/* The same for a structure. Returns false if it is not fixed. */
bool stream_of_structure (
    const char *name, const GstStructure *structure, Stream &stream, GError **error);

/* Appends the outputs of fixed caps: `output`, or `output0`, `output1` … of several. */
bool append_outputs (GstCaps *caps, std::vector<Stream> &streams, GError **error);

/* --- filters whose output caps follow from input caps and settings --- */

/* Returns the output caps for fixed input caps. Returns NULL, with an error for settings
 * that do not fit, if there are none. (transfer full) */
using OutputOf = std::function<GstStructure *(const GstStructure *input, GError **error)>;

bool is_fixed (const GstStructure *structure);

/* Caps of one structure, in device memory. (transfer full) */
GstCaps *device_caps (GstStructure *structure);

/* Keeps `output` if it may and fits `outputs`. Otherwise replaces it by those of `outputs`
 * that the peer of `source` accepts, after `fixate`. Returns false with an error if there
 * are none. Takes ownership of @outputs. */
bool choose_output (GstPad *source, GstCaps *outputs, bool may_stay,
    const std::function<GstCaps *(GstCaps *)> &fixate, GstCaps **output, GError **error);

/* Applies changed settings between two frames. `update` (input caps, output caps) returns
 * whether it uses other settings, and may replace the output caps, which the base class
 * then negotiates before the next frame. */
template <typename Update>
void
update_output (GstBaseTransform *transform, Update update)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *before = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (transform));
  GstCaps *output = before ? gst_caps_ref (before) : nullptr;

  if (input && output && update (input, &output) && !gst_caps_is_equal (before, output))
    gst_base_transform_reconfigure_src (transform);
  gst_clear_caps (&input);
  gst_clear_caps (&before);
  gst_clear_caps (&output);
}

/* Functions of a class whose instances have `settings`, and an `engine` made of them.
 * `make` (instance, settings, input caps, output caps, error) changes nothing if it fails.
 * `output_of` (instance, settings) returns an OutputOf. */
template <auto settings, auto engine, auto make, auto output_of> struct ArrayFilter;

template <typename Instance, typename Values, typename Engine,
    opencl::Settings<Values> *Instance::*settings,
    std::unique_ptr<Engine> *Instance::*engine, auto make, auto output_of>
struct ArrayFilter<settings, engine, make, output_of> {
  static Instance *of (gpointer instance) { return static_cast<Instance *> (instance); }

  static gboolean set_formats (
      GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
  {
    auto accept = [&] (const Values &wanted, GError **why) {
      return make (of (filter), wanted, input, output, why);
    };
    return (of (filter)->*settings)->adopt (accept, error);
  }

  static void begin_frame (GstOpenCLFilter *filter, GstBuffer *)
  {
    auto *transform = GST_BASE_TRANSFORM (filter);
    update_output (transform, [&] (GstCaps *input, GstCaps **output) {
      auto accept = [&] (const Values &wanted, GError **error) {
        GstStructure *made =
            output_of (of (filter), wanted) (gst_caps_get_structure (input, 0), error);
        return made
               && choose_output (GST_BASE_TRANSFORM_SRC_PAD (transform),
                   device_caps (made), true, gst_caps_fixate, output, error)
               && make (of (filter), wanted, input, *output, error);
      };
      opencl::Settings<Values> *current = of (filter)->*settings;
      return current->is_started () && current->update (accept);
    });
  }

  static void close (GstOpenCLFilter *filter)
  {
    (of (filter)->*engine)->reset ();
    (of (filter)->*settings)->stop ();
  }

  static void install (GstOpenCLFilterClass *klass)
  {
    klass->set_formats = set_formats;
    klass->begin_frame = begin_frame;
    klass->close = close;
    klass->get_frame_size = opencl::get_array_size;
  }
};

/* --- caps and axes of filters of arrays --- */

/* Reads axes such as "0,-1" in NumPy's order, outermost dimension first. `axes` is empty
 * if the text is. */
bool parse_axes (
    const std::string &text, gsize rank, std::vector<gsize> &axes, GError **error);

/* Returns the output array for an input array. Fails with an error for settings that do
 * not fit. */
using ArrayOutputOf = std::function<bool (
    const Stream &input, opencl::ArrayFormat &output, GError **error)>;

/* Tensors of any size with the framerate of `structure` (nullable): (transfer full) */
GstStructure *tensors_like (const GstStructure *structure);

/* `other/tensors` caps with the framerate of the input */
OutputOf tensors_of (const ArrayOutputOf &output_of);

/* Returns output caps for input caps that may be ranges. Input without an output gives
 * caps of its own array: set_caps() reports the reason. (transfer full) */
GstCaps *array_outputs (GstCaps *inputs, const ArrayOutputOf &output_of);

/* Returns input caps for output caps: arrays of any type and size, or also video.
 * (transfer full) */
GstCaps *array_inputs (GstCaps *outputs, bool also_video);

/* Checks that negotiated output caps are those of `made`. */
bool check_agreed (const opencl::ArrayFormat &made, GstCaps *output, GError **error);

/* Converts a byte offset into elements of `size` bytes. */
bool element_offset (gsize bytes, gsize size, gint64 &elements, GError **error);
} // namespace compute
