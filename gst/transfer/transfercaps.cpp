/* Memory features in caps, and how uploads and downloads change them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "transfercaps.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <array>

namespace {
struct Feature {
  Memory memory;
  const char *name;
};
const Feature known_features[] = {
    {Memory::SYSTEM, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY},
    {Memory::DEVICE, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY},
    {Memory::DMA_BUF, GST_CAPS_FEATURE_MEMORY_DMABUF},
    {Memory::GL, "memory:GLMemory"}, /* without linking GStreamer's GL library */
};

Memory
memory_named (const gchar *feature)
{
  for (const Feature &known : known_features) {
    if (g_str_equal (known.name, feature))
      return known.memory;
  }
  return Memory::OTHER;
}

bool
has_meta_feature (const GstCapsFeatures *features)
{
  for (guint i = 0; i < gst_caps_features_get_size (features); i++) {
    if (g_str_has_prefix (gst_caps_features_get_nth (features, i), "meta:"))
      return true;
  }
  return false;
}

/* Replaces the memory feature, and keeps others such as meta:… and format:Interlaced. By
 * convention, system memory is named only together with meta:…, and features are compared
 * by name. */
GstCapsFeatures *
with_memory (const GstCapsFeatures *features, Memory memory)
{
  GstCapsFeatures *changed = gst_caps_features_is_any (features)
                                 ? gst_caps_features_new_empty ()
                                 : gst_caps_features_copy (features);

  if (memory_of (changed) == memory)
    return changed;
  for (const Feature &known : known_features)
    gst_caps_features_remove (changed, known.name);
  for (const Feature &known : known_features) {
    if (known.memory == memory
        && (memory != Memory::SYSTEM || has_meta_feature (changed)))
      gst_caps_features_add (changed, known.name);
  }
  return changed;
}

/* Copies the structure. GL memory gets the texture targets that the host can read, other
 * memory none. */
GstStructure *
copy_for (const GstStructure *structure, Memory memory)
{
  static const char field[] = "texture-target";
  GstStructure *copy = gst_structure_copy (structure);

  gst_structure_remove_field (copy, field);
  if (memory != Memory::GL)
    return copy;
  GValue targets = G_VALUE_INIT;
  g_value_init (&targets, GST_TYPE_LIST);
  for (const char *target : {"2D", "rectangle"}) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_STRING);
    g_value_set_static_string (&value, target);
    gst_value_list_append_and_take_value (&targets, &value);
  }
  gst_structure_take_value (copy, field, &targets);
  return copy;
}

/* Does not use gst_caps_simplify(), which makes lists of ranges that GStreamer cannot
 * compare. Takes ownership of `changed` (nullable). */
void
append_if_new (GstCaps *result, GstStructure *changed, const GstCapsFeatures *like)
{
  if (!changed)
    return;
  GstCapsFeatures *features = gst_caps_features_copy (like);
  if (gst_caps_is_subset_structure_full (result, changed, features)) {
    gst_structure_free (changed);
    gst_caps_features_free (features);
  } else {
    gst_caps_append_structure_full (result, changed, features);
  }
}

void
append_with_memory (GstCaps *result, const GstCaps *caps, guint index, Memory memory)
{
  const GstStructure *structure = gst_caps_get_structure (caps, index);
  const GstCapsFeatures *given = gst_caps_get_features (caps, index);

  if (is_memory_of_others (memory) && !gst_structure_has_name (structure, "video/x-raw"))
    return;
  GstCapsFeatures *features = with_memory (given, memory);
  if (opencl::is_dma_drm (structure)) {
    if (memory_of (given) == Memory::DMA_BUF)
      append_if_new (result, opencl::raw_of_dma_drm (structure), features);
  } else {
    append_if_new (result, copy_for (structure, memory), features);
    if (memory == Memory::DMA_BUF)
      append_if_new (result, opencl::dma_drm_of_raw (structure), features);
  }
  gst_caps_features_free (features);
}

/* Kinds of memory for the other pad, best first */
constexpr guint max_others = 4;
struct Conversion {
  TransferMode mode;
  GstPadDirection known;
  Memory memory;
  std::array<Memory, max_others> others; /* unused ones are OTHER */
};

const Conversion conversions[] = {
    {TransferMode::UPLOAD, GST_PAD_SINK, Memory::SYSTEM, {Memory::DEVICE}},
    {TransferMode::UPLOAD, GST_PAD_SINK, Memory::DEVICE, {Memory::DEVICE}},
    {TransferMode::UPLOAD, GST_PAD_SINK, Memory::DMA_BUF, {Memory::DEVICE}},
    {TransferMode::UPLOAD, GST_PAD_SINK, Memory::GL, {Memory::DEVICE}},
    {TransferMode::UPLOAD, GST_PAD_SRC, Memory::DEVICE,
        {Memory::DEVICE, Memory::SYSTEM, Memory::DMA_BUF, Memory::GL}},
    {TransferMode::IMPORT, GST_PAD_SRC, Memory::DEVICE,
        {Memory::DEVICE, Memory::DMA_BUF, Memory::SYSTEM, Memory::GL}},
    {TransferMode::DOWNLOAD, GST_PAD_SINK, Memory::SYSTEM, {Memory::SYSTEM}},
    {TransferMode::DOWNLOAD, GST_PAD_SINK, Memory::DEVICE,
        {Memory::SYSTEM, Memory::DEVICE, Memory::GL}},
    {TransferMode::DOWNLOAD, GST_PAD_SRC, Memory::GL, {Memory::DEVICE}},
    {TransferMode::DOWNLOAD, GST_PAD_SRC, Memory::SYSTEM,
        {Memory::DEVICE, Memory::SYSTEM}},
    {TransferMode::DOWNLOAD, GST_PAD_SRC, Memory::DEVICE, {Memory::DEVICE}},
};

/* Imports without a row of their own have that of uploads. */
const Conversion *
find_conversion (TransferMode mode, GstPadDirection known, Memory memory)
{
  for (const Conversion &conversion : conversions) {
    if (conversion.mode == mode && conversion.known == known
        && conversion.memory == memory)
      return &conversion;
  }
  if (mode == TransferMode::IMPORT)
    return find_conversion (TransferMode::UPLOAD, known, memory);
  return nullptr;
}
} // namespace

Memory
memory_of (const GstCapsFeatures *features)
{
  Memory memory = Memory::SYSTEM;

  if (gst_caps_features_is_any (features))
    return memory;
  for (guint i = 0; i < gst_caps_features_get_size (features); i++) {
    const gchar *feature = gst_caps_features_get_nth (features, i);
    const Memory named = memory_named (feature);
    if (named == Memory::DEVICE)
      return named;
    if (g_str_has_prefix (feature, "memory:") && named != Memory::SYSTEM)
      memory = named;
  }
  return memory;
}

std::string
refused_dma_drm (const GstCaps *caps)
{
  std::string asked, known;

  if (gst_caps_is_any (caps))
    return "";
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    GstStructure *raw = opencl::is_dma_drm (structure)
                            ? opencl::raw_of_dma_drm (structure)
                            : gst_structure_copy (structure);
    if (raw) {
      gst_structure_free (raw);
      return "";
    }
    for (const std::string &format : opencl::strings_of_field (structure, "drm-format"))
      asked += (asked.empty () ? "" : ", ") + format;
  }
  if (asked.empty ())
    return "";
  for (const opencl::DrmFormat &format : opencl::drm_formats)
    known += std::string (known.empty () ? "" : ", ") + format.drm;
  return "DMABuf with drm-format=" + asked
         + " cannot be uploaded: expected linear memory (no modifier, or "
         + (opencl::linear_modifier + 1) + ") in one of these formats: " + known;
}

GstCaps *
convert_transfer_caps (TransferMode mode, GstPadDirection known, GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();

  for (guint choice = 0; choice < max_others; choice++) {
    for (guint i = 0; i < gst_caps_get_size (caps); i++) {
      const Conversion *conversion =
          find_conversion (mode, known, memory_of (gst_caps_get_features (caps, i)));
      if (conversion && conversion->others[choice] != Memory::OTHER)
        append_with_memory (result, caps, i, conversion->others[choice]);
    }
  }
  return result;
}
