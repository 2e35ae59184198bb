/* File headers of NRRD and NIfTI-1
 *
 * NRRD follows Teem's "Definition of NRRD File Format", version 4. NIfTI-1 follows
 * nifti1.h of the Data Format Working Group. libnifti is not used because it writes a
 * whole file from memory. It cannot write a file that grows with each frame and is always
 * readable.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/recording.hpp>

#include <array>

namespace oct {
/* Voxel spacing in micrometres along depth, A-lines and B-scans, and the time between
 * volumes in seconds. 0 means unknown. */
struct Spacing {
  std::array<double, 3> micrometres = {0, 0, 0};
  guint first_depth = 0; /* bin of the first voxel */
  double seconds = 0;
  bool image = false; /* B-scan image, whose columns are A-lines */
};

/* Direction of an axis in the sample. */
enum class Along { depth, lines, b_scans, time, none };

struct FileAxis {
  guint64 size;
  Along along;
  bool has_step;
  double step; /* in mm, or s for time; unknown: 1 */
};

/* Number format and axes of a file, fastest axis first. */
struct FileAxes {
  const opencl::NumberInfo *number;
  bool complex;
  bool has_lengths;  /* of all spatial axes; otherwise there is no unit for all */
  bool lacks_some;   /* of the spatial axes, but not all */
  guint first_depth; /* bin of the first voxel */
  std::vector<FileAxis> axes;
};

FileAxes axes_of (const opencl::FrameFormat &format, bool growing, guint64 frames,
    const Spacing &spacing);

/* Make headers whose length does not depend on the number of frames. */
bool make_nrrd_header (const FileAxes &axes, std::string &header, GError **error);
bool make_nifti_header (const FileAxes &axes, std::string &header, GError **error);
} // namespace oct
