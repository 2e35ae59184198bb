/* Headers of files that other programs open: NRRD and NIfTI-1
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumeheader.hpp"

#include <cstring>

namespace oct {
namespace {
using opencl::NumberType;

/* By the size and kind of a number; null and 0 where a format has none. */
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
file_type_of (const FileAxes &axes)
{
  for (const FileType &type : file_types) {
    if (type.type == axes.number->type)
      return type;
  }
  return file_types[0];
}

bool
fail (GError **error, const char *format, const char *name)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "a file of %s has no numbers of type %s", format, name);
  return false;
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
  return number > 0 ? g_ascii_dtostr (text, sizeof text, number) : "nan";
}
} // namespace

FileAxes
axes_of (const opencl::FrameFormat &format, bool growing, guint64 frames,
    const Spacing &spacing)
{
  FileAxes axes = {&opencl::info_of (format.type), format.complex, {}, {}, {}};
  const auto &um = spacing.micrometres;
  const std::array<double, 3> steps =
      spacing.picture ? std::array<double, 3>{um[1], um[0], um[2]} : um;

  axes.sizes.assign (format.shape.rbegin (), format.shape.rend ());
  if (growing)
    axes.sizes.push_back (frames);
  for (gsize n = 0; n < axes.sizes.size (); n++) {
    axes.is_time.push_back (n == 3);
    axes.steps.push_back (n < 3 ? steps[n] : n == 3 ? spacing.seconds : 0);
  }
  return axes;
}

bool
make_nrrd_header (const FileAxes &axes, std::string &header, GError **error)
{
  const FileType &type = file_type_of (axes);
  const gsize digits = 20; /* that a size can have */
  std::string sizes, steps, units, kinds;
  gsize of_sizes = 0;
  bool known = false;

  if (!type.nrrd)
    return fail (error, "NRRD", axes.number->name);
  if (axes.complex) {
    sizes = " 2";
    steps = " nan";
    units = " \"\"";
    kinds = " complex";
  }
  for (gsize n = 0; n < axes.sizes.size (); n++) {
    sizes += " " + std::to_string (axes.sizes[n]);
    steps += " " + number_text (axes.steps[n]);
    units += axes.steps[n] > 0 ? axes.is_time[n] ? " \"s\"" : " \"um\"" : " \"\"";
    kinds += axes.is_time[n] ? " time" : " domain";
    of_sizes += std::to_string (axes.sizes[n]).size ();
    known = known || axes.steps[n] > 0;
  }
  header = "NRRD0004\n# An OCT volume: depth, A-lines, B-scans\ntype: ";
  header += type.nrrd;
  header += "\ndimension: " + std::to_string (axes.sizes.size () + axes.complex);
  header += "\nsizes:" + sizes;
  if (known)
    header += "\nspacings:" + steps + "\nunits:" + units;
  header += "\nkinds:" + kinds;
  header += is_little_endian () ? "\nendian: little" : "\nendian: big";
  header += "\nencoding: raw\n#";
  header.append (axes.sizes.size () * digits - of_sizes, ' ');
  header += "\n\n";
  return true;
}

namespace {
/* As nifti1.h has it; what is not named here stays zero. */
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
static_assert (sizeof (NiftiHeader) == 348, "as nifti1.h has it");

const gsize most_nifti_axes = 7;
const char nifti_micrometres = 3, nifti_seconds = 8;
const gint16 nifti_aligned = 2; /* to what else is of the sample */
} // namespace

bool
make_nifti_header (const FileAxes &axes, std::string &header, GError **error)
{
  const FileType &type = file_type_of (axes);
  const gsize values_at = sizeof (NiftiHeader) + 4; /* no extensions */
  NiftiHeader nifti = {};

  nifti.datatype = axes.complex ? type.nifti_complex : type.nifti;
  if (nifti.datatype == 0)
    return fail (error, "NIfTI", axes.number->name);
  if (axes.sizes.size () > most_nifti_axes) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "a file of NIfTI has %" G_GSIZE_FORMAT " axes at most", most_nifti_axes);
    return false;
  }
  nifti.sizeof_hdr = sizeof nifti;
  nifti.dim[0] = gint16 (axes.sizes.size ());
  nifti.bitpix = gint16 (axes.number->size * 8 * (axes.complex ? 2 : 1));
  for (gsize n = 0; n < most_nifti_axes; n++) {
    const guint64 size = n < axes.sizes.size () ? axes.sizes[n] : 1;
    const double step = n < axes.steps.size () ? axes.steps[n] : 0;
    if (size > G_MAXINT16) {
      g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
          "a file of NIfTI has %d along an axis at most, not %" G_GUINT64_FORMAT,
          G_MAXINT16, size);
      return false;
    }
    nifti.dim[n + 1] = gint16 (size);
    nifti.pixdim[n + 1] = step > 0 ? float (step) : 1;
    if (step > 0)
      nifti.xyzt_units |= n < 3 ? nifti_micrometres : nifti_seconds;
  }
  nifti.pixdim[0] = 1;
  nifti.vox_offset = float (values_at);
  nifti.scl_slope = 1;
  strcpy (nifti.descrip, "OCT: depth, A-lines, B-scans");
  nifti.sform_code = nifti_aligned;
  for (gsize n = 0; n < 3; n++)
    nifti.srow[n][n] = nifti.pixdim[n + 1];
  strcpy (nifti.magic, "n+1");
  header.assign (values_at, '\0');
  memcpy (header.data (), &nifti, sizeof nifti);
  return true;
}
} // namespace oct
