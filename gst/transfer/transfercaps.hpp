/* Memory features in caps, and how uploads and downloads change them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

enum class Memory {
  OTHER,  /* unknown here */
  SYSTEM, /* also where no feature speaks of memory */
  DEVICE,
  DMA_BUF,
  GL,
};

Memory memory_of (const GstCapsFeatures *features);

/* Neither the host's nor an OpenCL device's, and yet something to upload. */
inline bool
is_memory_of_others (Memory memory)
{
  return memory == Memory::DMA_BUF || memory == Memory::GL;
}

/* Why no DMABuf of `caps` can be taken, if they are nothing but caps of format=DMA_DRM that is
 * not linear, or of unknown formats; else an empty text */
std::string refused_dma_drm (const GstCaps *caps);

enum class TransferWay {
  UPLOAD,
  IMPORT, /* uploads, but takes a dma_buf as it is: that goes first */
  DOWNLOAD,
};

/* (transfer full): what can stand on the other pad than that of direction `known`, of
 * caps that are not ANY: all structures in the best memory first, then all in the next.
 * Linear DMABuf of format=DMA_DRM stands for raw video beside DMABuf of raw formats. */
GstCaps *convert_transfer_caps (TransferWay way, GstPadDirection known, GstCaps *caps);
