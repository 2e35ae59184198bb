/* Headers of files that other programs open: NRRD and NIfTI-1
 *
 * NRRD is after Teem's "Definition of NRRD File Format", version 4; NIfTI-1 after nifti1.h
 * of the Data Format Working Group. libnifti writes a file in one piece from memory: what
 * grows with each frame, and is readable at any moment, it does not make.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/recording.hpp>

#include <array>

namespace oct {
/* From voxel to voxel in micrometres, along depth, lines and B-scans, and in seconds from
 * volume to volume; 0 where nobody knows. */
struct Spacing {
  std::array<double, 3> micrometres = {0, 0, 0};
  guint first_depth = 0; /* bin of the first voxel */
  double seconds = 0;
  bool picture = false; /* of a B-scan: A-lines are its columns */
};

/* Along which way of the sample an axis goes. */
enum class Along { depth, lines, b_scans, time, nothing };

struct FileAxis {
  guint64 size;
  Along along;
  bool has_step;
  double step; /* mm, s of time; where it is not known 1, or 1 µm beside known lengths */
};

/* What a file holds, its axes from the fastest. */
struct FileAxes {
  const opencl::NumberInfo *number;
  bool complex;
  bool has_lengths;  /* of any axis of space; else a voxel is 1 along each, of no unit */
  guint first_depth; /* bin of the first voxel */
  std::vector<FileAxis> axes;
};

FileAxes axes_of (const opencl::FrameFormat &format, bool growing, guint64 frames,
    const Spacing &spacing);

/* Of the same length whatever the number of frames. */
bool make_nrrd_header (const FileAxes &axes, std::string &header, GError **error);
bool make_nifti_header (const FileAxes &axes, std::string &header, GError **error);
} // namespace oct
