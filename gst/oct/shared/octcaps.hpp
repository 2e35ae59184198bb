/* Caps of spectra, depths and B-scan images: pad templates and fields
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "errors.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <initializer_list>
#include <utility>

#define ON_DEVICE "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
#define FRAMERATE "framerate=(fraction)[0/1, 2147483647/1]"
#define VIDEO_CAPS(formats)                                                              \
  "video/x-raw" ON_DEVICE ", format=(string)" formats ", width=(int)[1, 2147483647], "   \
  "height=(int)[1, 2147483647], " FRAMERATE
#define OCT_CAPS(domain, formats)                                                        \
  "application/x-oct" ON_DEVICE ", domain=(string)" domain ", format=(string)" formats   \
  ", samples=(int)[1, 2147483647], lines=(int)[1, 2147483647], " FRAMERATE

#define OCT_DEPTH_CAPS(formats) OCT_CAPS ("depth", formats)
#define OCT_IMAGE_CAPS VIDEO_CAPS ("{GRAY8, GRAY16_LE}")
#define OCT_VOLUME_CAPS TENSORS_CAPS_OF (ON_DEVICE, "{ uint8, uint16, float32 }")
#define OCT_SPECTRUM_CAPS                                                                \
  VIDEO_CAPS ("{GRAY8, GRAY16_LE, GRAY16_BE}")                                           \
  ";" OCT_CAPS ("wavelength", "{U16LE, F32LE, U8, S8, U16BE, S16LE, S16BE, S32LE, "      \
                              "U32LE, MONO10P, MONO12P, MONO12PACKED}")

/* Pad templates of an element: sink_template and src_template */
#define OCT_PADS(sink_caps, src_caps)                                                    \
  static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (                  \
      "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (sink_caps));                \
  static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (                   \
      "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (src_caps))

namespace oct {
bool is_video (const GstStructure *structure);
/* Names of the fields that give the number of A-lines, of samples where A-lines are rows,
 * and of depths where A-lines are columns. `rows`: A-lines are the rows of raw video */
const char *lines_field (const GstStructure *structure, bool rows = false);
const char *samples_field (const GstStructure *structure);
const char *depths_field (const GstStructure *structure);

/* Does nothing if there is no such field. */
void copy_field (
    GstStructure *to, const char *to_field, const GstStructure *from, const char *field);
/* Returns 0 if there is no such field. */
double double_field (const GstStructure *structure, const char *field);
bool has_string (const GstStructure *structure, const char *field, const char *text);
/* Sets the fields whose values are above 0. */
void set_known (GstStructure *structure,
    std::initializer_list<std::pair<const char *, double>> fields);

struct Limits {
  gint64 least, most;
};

/* Returns the limits of a number, a range or a list of these, or the given limits if
 * `value` is null or something else. */
Limits limits_of (const GValue *value, Limits limits);
/* Sets a field to a number or an integer range, within `allowed`. */
void set_limits (GstStructure *structure, const char *field, Limits limits,
    Limits allowed = {1, G_MAXINT});

/* Sets the frame rate to `more` / `fewer` times that of `from`. Returns false if that is
 * not fixed or the result too large. */
bool set_scaled_rate (
    GstStructure *to, const GstStructure *from, guint more, guint fewer = 1);
/* Sets the pixel aspect ratio from the steps between A-lines and depths, if both are
 * known. */
void set_true_scale (GstStructure *image, double line_step, double depth_step);

/* Appends caps (transfer full) with the feature of device memory. */
void append_on_device (GstCaps *caps, GstStructure *structure);

/* (transfer full): what `append` (GstCaps *result, const GstStructure *) makes of each
 * structure, as far as `filter` allows. For transform_caps. */
template <typename Append>
GstCaps *
each_of_caps (const GstCaps *caps, Append append, GstCaps *filter = nullptr)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (caps); n++)
    append (result, gst_caps_get_structure (caps, n));
  return opencl::filtered_caps (result, filter);
}

/* Makes the base class negotiate output caps again, if downstream accepts any of the new
 * ones, `outputs_of` (GstCaps *input) (transfer full). */
template <typename Outputs>
bool
renegotiate (gpointer filter, Outputs outputs_of, GError **error)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (filter);
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *outputs = outputs_of (input);
  gst_caps_unref (input);
  if (!opencl::is_accepted_downstream (transform, outputs, error))
    return false;
  gst_base_transform_reconfigure_src (transform);
  return true;
}
} // namespace oct
