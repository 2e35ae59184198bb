/* Outputs of a network that travel with the frame, from openclinference to
 * opencltensordecoder
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "outputsmeta.hpp"

#include <utility>

namespace inference {
namespace {
struct OutputsMeta {
  GstMeta meta;
  AttachedOutputs *outputs;
};

/* Elements that change the frame do not know the tag, and leave out the meta. */
GType
api_type ()
{
  static const gchar *tags[] = {"tensors", nullptr};
  static const GType type =
      gst_meta_api_type_register ("GstOpenCLNetworkOutputsMetaAPI", tags);
  return type;
}

gboolean
init_meta (GstMeta *meta, gpointer, GstBuffer *)
{
  reinterpret_cast<OutputsMeta *> (meta)->outputs = new AttachedOutputs ();
  return TRUE;
}

void
free_meta (GstMeta *meta, GstBuffer *)
{
  delete reinterpret_cast<OutputsMeta *> (meta)->outputs;
}

gboolean
copy_meta (GstBuffer *copy, GstMeta *meta, GstBuffer *, GQuark type, gpointer)
{
  if (!GST_META_TRANSFORM_IS_COPY (type))
    return FALSE;
  attach_outputs (copy, *reinterpret_cast<OutputsMeta *> (meta)->outputs);
  return TRUE;
}

const GstMetaInfo *
meta_info ()
{
  static const GstMetaInfo *const info =
      gst_meta_register (api_type (), "GstOpenCLNetworkOutputsMeta", sizeof (OutputsMeta),
          init_meta, free_meta, copy_meta);
  return info;
}
} // namespace

std::vector<GstVideoRegionOfInterestMeta *>
region_metas_of (GstBuffer *frame)
{
  std::vector<GstVideoRegionOfInterestMeta *> metas;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    metas.push_back (reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta));
  return metas;
}

void
attach_outputs (GstBuffer *frame, AttachedOutputs outputs)
{
  GstMeta *meta = gst_buffer_add_meta (frame, meta_info (), nullptr);
  *reinterpret_cast<OutputsMeta *> (meta)->outputs = std::move (outputs);
}

std::optional<AttachedOutputs>
detach_outputs (GstBuffer *frame)
{
  std::optional<AttachedOutputs> outputs;
  GstMeta *last = nullptr;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (frame, &state, api_type ()))
    last = meta;
  if (last) {
    outputs = *reinterpret_cast<OutputsMeta *> (last)->outputs;
    gst_buffer_remove_meta (frame, last);
  }
  return outputs;
}
} // namespace inference
