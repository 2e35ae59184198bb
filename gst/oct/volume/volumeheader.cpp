/* File headers of NRRD and NIfTI-1
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumeheader.hpp"

#include "../shared/errors.hpp"

#include <algorithm>
#include <cstring>

namespace oct {
namespace {
using opencl::NumberType;

/* Type names and codes of a number type; null or 0 if a file format lacks the type. */
struct FileType {
  NumberType type;
  const char *nrrd;
  gint16 nifti, nifti_complex;
};

const FileType file_types[] = {
    {NumberType::i8, "int8", 256, 0},
    {NumberType::u8, "uint8", 2, 0},
    {NumberType::i16, "int16", 4, 0},
    {NumberType::u16, "uint16", 512, 0},
    {NumberType::i32, "int32", 8, 0},
    {NumberType::u32, "uint32", 768, 0},
    {NumberType::i64, "int64", 1024, 0},
    {NumberType::u64, "uint64", 1280, 0},
    {NumberType::f16, nullptr, 0, 0},
    {NumberType::f32, "float", 16, 32},
    {NumberType::f64, "double", 64, 1792},
};

const FileType &
file_type_of (const FileAxes &file)
{
  for (const FileType &type : file_types) {
    if (type.type == file.number->type)
      return type;
  }
  return file_types[0];
}

bool
fail (GError **error, const char *format, const char *name)
{
  return REFUSE_FORMAT (error, "%s does not support type %s", format, name);
}

bool
is_little_endian ()
{
  return G_BYTE_ORDER == G_LITTLE_ENDIAN;
}

std::string
number_text (double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return number == 0 ? "0" : g_ascii_formatd (text, sizeof text, "%.12g", number);
}

bool
is_in_space (const FileAxis &axis)
{
  return axis.along < Along::time;
}

/* Returns the unit vector of an axis as left, posterior and superior. Depth goes down and
 * A-lines go from left to right, so a viewer's coronal plane is the B-scan as octfft
 * shows it. A-lines, B-scans and depth are right-handed, like fast axis, slow axis and
 * beam. */
std::array<double, 3>
direction_of (Along along)
{
  switch (along) {
  case Along::depth:
    return {0, 0, -1};
  case Along::lines:
    return {1, 0, 0};
  default:
    return {0, -1, 0};
  }
}

/* Returns the step along the axis `n` in the space of NRRD. ITK requires that the space
 * has as many axes as the file. Spaces of three axes, and of four with time, have names.
 * In other spaces each axis of the file is an axis of the space. */
std::vector<double>
vector_in_space (const FileAxes &file, gsize n, double length)
{
  const gsize dimension = file.axes.size ();
  std::vector<double> vector (dimension);
  if ((dimension == 3 || dimension == 4) && n < 3) {
    const std::array<double, 3> direction = direction_of (file.axes[n].along);
    for (gsize i = 0; i < 3; i++)
      vector[i] = direction[i] * length;
  } else {
    vector[n] = length;
  }
  return vector;
}

std::string
vector_text (const std::vector<double> &vector)
{
  std::string text;
  for (double part : vector)
    text += (text.empty () ? "(" : ",") + number_text (part);
  return text + ")";
}

std::string
name_of_space (gsize dimension)
{
  return dimension == 3   ? "space: left-posterior-superior"
         : dimension == 4 ? "space: left-posterior-superior-time"
                          : "space dimension: " + std::to_string (dimension);
}

/* Returns nothing if no length is known. */
std::string
units_of (const FileAxes &file)
{
  std::string units;
  bool known = false;
  for (const FileAxis &axis : file.axes) {
    const bool is_known = is_in_space (axis) ? file.has_lengths : axis.has_step;
    known = known || is_known;
    units += !is_known ? " \"\"" : is_in_space (axis) ? " \"mm\"" : " \"s\"";
  }
  return known ? "\nspace units:" + units : "";
}
} // namespace

FileAxes
axes_of (const opencl::FrameFormat &format, bool growing, guint64 frames,
    const Spacing &spacing)
{
  FileAxes made = {&opencl::info_of (format.type), format.complex, false, false, 0, {}};
  std::vector<guint64> sizes (format.shape.rbegin (), format.shape.rend ());
  gsize known = 0, spatial = 0;

  if (growing)
    sizes.push_back (frames);
  for (gsize n = 0; n < sizes.size (); n++) {
    const gsize turned = spacing.image && n < 2 ? 1 - n : n;
    const Along along = Along (std::min (turned, gsize (Along::none)));
    const double step = turned < 3             ? spacing.micrometres[turned] / 1000
                        : along == Along::time ? spacing.seconds
                                               : 0;
    made.axes.push_back ({sizes[n], along, step > 0, step > 0 ? step : 1});
    spatial += turned < 3;
    known += turned < 3 && step > 0;
  }
  made.has_lengths = known > 0 && known == spatial;
  made.lacks_some = known > 0 && known < spatial;
  made.first_depth = spacing.first_depth;
  return made;
}

namespace {
/* Fields with the step of each axis, or NaN. NRRD's directions in space, which are better,
 * need all lengths. */
std::string
spacings_of (const FileAxes &file)
{
  std::string spacings, mins, units;
  for (const FileAxis &axis : file.axes) {
    const bool is_depth = axis.has_step && axis.along == Along::depth;
    spacings += " " + (axis.has_step ? number_text (axis.step) : "nan");
    mins += " " + (is_depth ? number_text (axis.step * file.first_depth) : "nan");
    units += !axis.has_step ? " \"\"" : is_in_space (axis) ? " \"mm\"" : " \"s\"";
  }
  const std::string real = file.complex ? " nan" : "", none = file.complex ? " \"\"" : "";
  return "\nspacings:" + real + spacings + "\naxis mins:" + real + mins
         + "\nunits:" + none + units;
}

/* Fields with the direction of each axis, and the place of the first voxel */
std::string
directions_of (const FileAxes &file)
{
  const gsize dimension = file.axes.size ();
  std::string directions = file.complex ? " none" : "";
  std::vector<double> origin (dimension);
  for (gsize n = 0; n < dimension; n++) {
    const FileAxis &axis = file.axes[n];
    directions += " " + vector_text (vector_in_space (file, n, axis.step));
    if (axis.along == Along::depth)
      origin = vector_in_space (file, n, axis.step * file.first_depth);
  }
  return "\n" + name_of_space (dimension) + "\nspace directions:" + directions
         + "\nspace origin: " + vector_text (origin) + units_of (file);
}
} // namespace

namespace {
/* Removes the time axis of a single volume. Readers of three axes refuse a fourth one. */
FileAxes
without_single_time (FileAxes file)
{
  if (!file.axes.empty () && file.axes.back ().along == Along::time
      && file.axes.back ().size == 1)
    file.axes.pop_back ();
  return file;
}

/* Fields of the header. `of_sizes`: number of digits of all sizes */
std::string
nrrd_fields (const FileAxes &file, const char *type, gsize &of_sizes)
{
  const gsize dimension = file.axes.size () + file.complex;
  std::string sizes = file.complex ? " 2" : "", kinds = file.complex ? " complex" : "";
  of_sizes = 0;
  for (const FileAxis &axis : file.axes) {
    sizes += " " + std::to_string (axis.size);
    kinds += axis.along == Along::time ? " time" : " domain";
    of_sizes += std::to_string (axis.size).size ();
  }
  return std::string ("NRRD0004\n# An OCT volume: depth, A-lines, B-scans\ntype: ") + type
         + "\ndimension: " + std::to_string (dimension) + "\nsizes:" + sizes
         + (file.lacks_some ? spacings_of (file) : directions_of (file)) + "\nkinds:"
         + kinds + (is_little_endian () ? "\nendian: little" : "\nendian: big")
         + "\nencoding: raw\n#";
}
} // namespace

bool
make_nrrd_header (const FileAxes &file, std::string &header, GError **error)
{
  const char *const type = file_type_of (file).nrrd;
  const gsize most_digits = 20; /* of a size */
  gsize of_sizes = 0, of_shown = 0;

  if (!type)
    return fail (error, "NRRD", file.number->name);
  const gsize length = nrrd_fields (file, type, of_sizes).size ();
  header = nrrd_fields (without_single_time (file), type, of_shown);
  header.append (
      length + file.axes.size () * most_digits - of_sizes - header.size (), ' ');
  header += "\n\n";
  return true;
}

namespace {
/* Header as defined by nifti1.h. Unused fields stay zero. */
struct NiftiHeader {
  gint32 sizeof_hdr;
  char unused[35];
  char dim_info;
  gint16 dim[8];
  float intent_p[3];
  gint16 intent_code;
  gint16 datatype;
  gint16 bitpix;
  gint16 slice_start;
  float pixdim[8];
  float vox_offset;
  float scl_slope;
  float scl_inter;
  gint16 slice_end;
  char slice_code;
  char xyzt_units;
  float cal_max, cal_min;
  float slice_duration;
  float toffset;
  gint32 glmax, glmin;
  char descrip[80];
  char aux_file[24];
  gint16 qform_code;
  gint16 sform_code;
  float quatern[3];
  float qoffset[3];
  float srow[3][4];
  char intent_name[16];
  char magic[4];
};
static_assert (sizeof (NiftiHeader) == 348, "as in nifti1.h");

const gsize most_nifti_axes = 7;
const char nifti_millimetres = 2, nifti_seconds = 8;
const gint16 nifti_aligned = 2; /* NIFTI_XFORM_ALIGNED_ANAT */

/* Sets the sform matrix. NIfTI's axes go right, anterior and superior. A file of fewer
 * than three axes keeps this orientation. */
void
set_orientation (const FileAxes &file, NiftiHeader &nifti)
{
  const double signs[] = {-1, -1, 1};
  for (gsize n = 0; n < 3; n++) {
    const double step = n < file.axes.size () ? file.axes[n].step : 1;
    std::array<double, 3> direction = {0, 0, 0};
    if (file.axes.size () < 3)
      direction[n] = signs[n];
    else
      direction = direction_of (file.axes[n].along);
    for (gsize row = 0; row < 3; row++) {
      const double part = direction[row] == 0 ? 0 : signs[row] * direction[row] * step;
      nifti.srow[row][n] = float (part);
      if (n < file.axes.size () && file.axes[n].along == Along::depth)
        nifti.srow[row][3] += float (part * file.first_depth);
    }
  }
}
} // namespace

bool
make_nifti_header (const FileAxes &all, std::string &header, GError **error)
{
  const FileAxes file = without_single_time (all);
  const FileType &type = file_type_of (file);
  const gsize values_at = sizeof (NiftiHeader) + 4; /* no extensions */
  NiftiHeader nifti = {};

  nifti.datatype = file.complex ? type.nifti_complex : type.nifti;
  if (nifti.datatype == 0)
    return fail (error, "NIfTI", file.number->name);
  if (file.axes.size () > most_nifti_axes) {
    return REFUSE_FORMAT (error,
        "NIfTI supports at most %" G_GSIZE_FORMAT " axes, not %" G_GSIZE_FORMAT,
        most_nifti_axes, file.axes.size ());
  }
  nifti.sizeof_hdr = sizeof nifti;
  nifti.dim[0] = gint16 (file.axes.size ());
  nifti.bitpix = gint16 (file.number->size * 8 * (file.complex ? 2 : 1));
  nifti.xyzt_units = file.has_lengths ? nifti_millimetres : 0;
  for (gsize n = 0; n < most_nifti_axes; n++) {
    const FileAxis axis =
        n < file.axes.size () ? file.axes[n] : FileAxis{1, Along::none, false, 1};
    if (axis.size > G_MAXINT16) {
      return REFUSE_FORMAT (error,
          "NIfTI supports at most %d voxels along an axis, not %" G_GUINT64_FORMAT,
          G_MAXINT16, axis.size);
    }
    nifti.dim[n + 1] = gint16 (axis.size);
    nifti.pixdim[n + 1] = float (axis.step);
    if (axis.along == Along::time && axis.has_step)
      nifti.xyzt_units |= nifti_seconds;
  }
  nifti.pixdim[0] = 1;
  nifti.vox_offset = float (values_at);
  nifti.scl_slope = 1;
  strcpy (nifti.descrip, "OCT: depth, A-lines, B-scans");
  nifti.sform_code = nifti_aligned;
  set_orientation (file, nifti);
  strcpy (nifti.magic, "n+1");
  header.assign (values_at, '\0');
  memcpy (header.data (), &nifti, sizeof nifti);
  return true;
}
} // namespace oct
