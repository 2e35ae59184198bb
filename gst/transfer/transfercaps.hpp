/* Memory features in caps, and how uploads and downloads change them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

enum class Memory {
  OTHER,  /* unknown here */
  SYSTEM, /* also if no feature names a memory */
  DEVICE,
  DMA_BUF,
  GL,
};

Memory memory_of (const GstCapsFeatures *features);

/* Returns true for memory of other APIs that can be uploaded. */
inline bool
is_memory_of_others (Memory memory)
{
  return memory == Memory::DMA_BUF || memory == Memory::GL;
}

/* Returns why DMABuf of `caps` cannot be used, if all of them are format=DMA_DRM that is
 * not linear or of unknown formats. Otherwise returns an empty string. */
std::string refused_dma_drm (const GstCaps *caps);

enum class TransferMode {
  UPLOAD,
  IMPORT,   /* upload that prefers to import dma_bufs */
  DOWNLOAD, /* also to textures */
};

/* Returns the caps for the other pad, given `caps` on the pad of direction `known`.
 * `caps` must not be ANY. All structures come in the best memory first, then all in the
 * next. Linear DMABuf of format=DMA_DRM is offered besides DMABuf of raw formats.
 * (transfer full) */
GstCaps *convert_transfer_caps (TransferMode mode, GstPadDirection known, GstCaps *caps);
