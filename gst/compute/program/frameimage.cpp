/* Images that a kernel reads or writes in place of frames, and samplers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frameimage.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <algorithm>
#include <map>
#include <sstream>

/* OpenCL 2.0, and cl_khr_image2d_from_buffer */
#ifndef CL_ABGR
#define CL_ABGR 0x10C3
#endif
#ifndef CL_DEVICE_IMAGE_PITCH_ALIGNMENT
#define CL_DEVICE_IMAGE_PITCH_ALIGNMENT 0x104A
#define CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT 0x104B
#endif

namespace compute {
namespace {
/* --- formats --- */

/* The padding of RGBx and its like is the image's alpha. */
constexpr struct {
  GstVideoFormat format;
  cl_channel_order order;
} orders[] = {{GST_VIDEO_FORMAT_GRAY8, CL_R}, {GST_VIDEO_FORMAT_GRAY16_LE, CL_R},
    {GST_VIDEO_FORMAT_RGBA, CL_RGBA}, {GST_VIDEO_FORMAT_RGBx, CL_RGBA},
    {GST_VIDEO_FORMAT_BGRA, CL_BGRA}, {GST_VIDEO_FORMAT_BGRx, CL_BGRA},
    {GST_VIDEO_FORMAT_ARGB, CL_ARGB}, {GST_VIDEO_FORMAT_xRGB, CL_ARGB},
    {GST_VIDEO_FORMAT_ABGR, CL_ABGR}, {GST_VIDEO_FORMAT_xBGR, CL_ABGR},
    {GST_VIDEO_FORMAT_RGBA64_LE, CL_RGBA}, {GST_VIDEO_FORMAT_BGRA64_LE, CL_BGRA},
    {GST_VIDEO_FORMAT_ARGB64_LE, CL_ARGB}, {GST_VIDEO_FORMAT_ABGR64_LE, CL_ABGR}};

/* Returns 0 for a type that no image has. */
cl_channel_type
channel_type (opencl::NumberType type, bool as_integers)
{
  /* In the order of the enumeration */
  static constexpr cl_channel_type types[] = {CL_SIGNED_INT8, CL_UNORM_INT8,
      CL_SIGNED_INT16, CL_UNORM_INT16, CL_SIGNED_INT32, CL_UNSIGNED_INT32, 0, 0,
      CL_HALF_FLOAT, CL_FLOAT, 0};
  if (as_integers && type == opencl::NumberType::u8)
    return CL_UNSIGNED_INT8;
  if (as_integers && type == opencl::NumberType::u16)
    return CL_UNSIGNED_INT16;
  return types[int (type)];
}

cl_image_format
format_of_video (GstVideoFormat format, opencl::NumberType type, bool as_integers)
{
  for (const auto &known : orders) {
    if (known.format == format)
      return {known.order, channel_type (type, as_integers)};
  }
  return {0, 0};
}

cl_channel_order
order_of_channels (gsize channels)
{
  return channels == 1 ? CL_R : channels == 2 ? CL_RG : channels == 4 ? CL_RGBA : 0;
}

bool
find_formats_of_device (GstOpenCLContext *context, cl_mem_flags access,
    std::vector<cl_image_format> &formats, GError **error)
{
  const cl_context handle = gst_opencl_context_get_handle (context);
  cl_uint count = 0;
  cl_int code = clGetSupportedImageFormats (
      handle, access, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count);

  formats.resize (count);
  if (code == CL_SUCCESS)
    code = clGetSupportedImageFormats (
        handle, access, CL_MEM_OBJECT_IMAGE2D, count, formats.data (), nullptr);
  return gst_opencl_check (code, "clGetSupportedImageFormats", error);
}

bool
contains (const std::vector<cl_image_format> &formats, const cl_image_format &wanted)
{
  return std::any_of (formats.begin (), formats.end (), [&] (const cl_image_format &has) {
    return has.image_channel_order == wanted.image_channel_order
           && has.image_channel_data_type == wanted.image_channel_data_type;
  });
}

/* "GRAY8, RGBA, …" */
std::string
video_formats_of (const std::vector<cl_image_format> &formats, bool as_integers)
{
  std::string text;
  for (const auto &known : orders) {
    const GstVideoFormatInfo *info = gst_video_format_get_info (known.format);
    const auto type = GST_VIDEO_FORMAT_INFO_DEPTH (info, 0) > 8 ? opencl::NumberType::u16
                                                                : opencl::NumberType::u8;
    if (contains (formats, {known.order, channel_type (type, as_integers)}))
      text += (text.empty () ? "" : ", ") + std::string (info->name);
  }
  return text.empty () ? "(none)" : text;
}
} // namespace

std::unique_ptr<FrameImage>
FrameImage::make (GstOpenCLContext *context, const Stream &stream,
    const Parameter &parameter, bool as_integers, bool is_filled, GError **error)
{
  auto image = std::make_unique<FrameImage> ();
  image->context = context;
  image->is_video = stream.is_video;
  image->is_read = parameter.is_read || is_filled;
  image->is_written = parameter.is_written ();
  if (parameter.type != "image2d_t") {
    fail (error, "The argument \"" + parameter.text ()
                     + "\" has an unsupported type, expected image2d_t or a pointer");
    return nullptr;
  }
  if (!image->find_format (stream, parameter, as_integers, error)
      || !image->check_size (stream, error))
    return nullptr;
  return image;
}

bool
FrameImage::find_format (
    const Stream &stream, const Parameter &parameter, bool as_integers, GError **error)
{
  const opencl::ArrayFormat &array = stream.array;
  const cl_mem_flags access = !parameter.is_written () ? CL_MEM_READ_ONLY
                              : parameter.is_read      ? CL_MEM_READ_WRITE
                                                       : CL_MEM_WRITE_ONLY;
  std::vector<cl_image_format> formats;
  const gsize rank = array.shape.size () > 2 ? 3 : 2;
  const gsize channels = rank == 3 ? array.length (0) : 1;
  const gsize pixel = channels * opencl::info_of (array.type).size;

  if (!find_formats_of_device (context, access, formats, error))
    return false;
  width = array.length (rank - 2);
  height = array.length (rank - 1);
  line = width * pixel;
  pitch = pixel * opencl::device_info<cl_uint> (context, CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
  alignment = pixel
              * std::max (1u, opencl::device_info<cl_uint> (
                                  context, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT));
  format = stream.is_video ? format_of_video (stream.format, array.type, as_integers)
                           : cl_image_format{order_of_channels (channels),
                               channel_type (array.type, as_integers)};
  if (contains (formats, format) && line * height == array.bytes ())
    return true;
  const std::string what = "The argument \"" + parameter.text () + "\" is an image, but ";
  if (stream.is_video)
    return fail (error, what + "the device has none of format "
                            + gst_video_format_to_string (stream.format)
                            + ", expected one of "
                            + video_formats_of (formats, as_integers));
  return fail (
      error, what + "the device has none of " + opencl::info_of (array.type).name
                 + " with dimensions " + opencl::dimensions_text (array.shape)
                 + ", expected W:H, 1:W:H or 4:W:H of float32, float16 or integers of "
                   "up to 32 bits");
}

bool
FrameImage::check_size (const Stream &stream, GError **error) const
{
  const gsize widest = opencl::device_info<gsize> (context, CL_DEVICE_IMAGE2D_MAX_WIDTH);
  const gsize highest =
      opencl::device_info<gsize> (context, CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  if (width <= widest && height <= highest)
    return true;
  return fail (error, "\"" + stream.name + "\" is an image of " + std::to_string (width)
                          + "x" + std::to_string (height)
                          + " pixels, but the device has images of up to "
                          + std::to_string (widest) + "x" + std::to_string (highest)
                          + ": let the kernel take a pointer");
}

/* --- frames --- */

gsize
FrameImage::row_stride (gsize stride) const
{
  if (pitch == 0)
    return line;
  return stride % pitch == 0 ? stride : (line + pitch - 1) / pitch * pitch;
}

/* Drivers need not check the alignment of memory that the application allocated. */
bool
FrameImage::may_share (cl_mem buffer, gsize stride) const
{
  void *pointer = nullptr;
  gsize offset = 0;
  clGetMemObjectInfo (buffer, CL_MEM_HOST_PTR, sizeof pointer, &pointer, nullptr);
  clGetMemObjectInfo (buffer, CL_MEM_OFFSET, sizeof offset, &offset, nullptr);
  return pitch > 0 && stride % pitch == 0 && offset % alignment == 0
         && reinterpret_cast<guintptr> (pointer) % alignment == 0;
}

/* An image of `buffer`, or with memory of its own if `buffer` is null */
cl::Memory
FrameImage::create (cl_mem buffer, gsize stride, cl_int *code) const
{
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = width;
  description.image_height = height;
  description.image_row_pitch = buffer ? stride : 0;
  description.buffer = buffer;
  return cl::Memory (
      clCreateImage (gst_opencl_context_get_handle (context),
          buffer ? 0 : CL_MEM_READ_WRITE, &format, &description, nullptr, code),
      false);
}

/* A copy between buffer and image takes no row stride. */
bool
FrameImage::copy (
    cl_command_queue queue, cl_mem buffer, gsize stride, bool to_image, GError **error)
{
  const gsize rows = stride == line ? height : 1;
  cl_int code = CL_SUCCESS;
  for (gsize y = 0; y < height && code == CL_SUCCESS; y += rows) {
    const gsize origin[] = {0, y, 0}, region[] = {width, rows, 1};
    code =
        to_image
            ? clEnqueueCopyBufferToImage (queue, buffer, copied (), y * stride, origin,
                region, 0, nullptr, opencl::Profiled (queue, opencl::command::copy))
            : clEnqueueCopyImageToBuffer (queue, copied (), buffer, origin, region,
                y * stride, 0, nullptr, opencl::Profiled (queue, opencl::command::copy));
  }
  return gst_opencl_check (code,
      to_image ? "clEnqueueCopyBufferToImage" : "clEnqueueCopyImageToBuffer", error);
}

bool
FrameImage::begin (cl_command_queue queue, cl_mem buffer, gsize stride, GError **error)
{
  cl_int code = CL_SUCCESS;

  stride = is_video ? stride : line;
  shared = may_share (buffer, stride) ? create (buffer, stride, &code) : cl::Memory ();
  if (shared ())
    return true;
  if (!copied ())
    copied = create (nullptr, 0, &code);
  if (!copied ())
    return opencl::check_bytes (code, "clCreateImage", context, line * height, error);
  return !is_read || copy (queue, buffer, stride, true, error);
}

bool
FrameImage::end (cl_command_queue queue, cl_mem buffer, gsize stride, GError **error)
{
  const bool is_shared = shared () != nullptr;
  shared = cl::Memory ();
  return is_shared || !is_written
         || copy (queue, buffer, is_video ? stride : line, false, error);
}

/* --- samplers --- */

bool
make_sampler (GstOpenCLContext *context, const Parameter &parameter, const GValue *value,
    cl::Sampler &sampler, GError **error)
{
  static const std::map<std::string, cl_uint> words = {{"nearest", CL_FILTER_NEAREST},
      {"linear", CL_FILTER_LINEAR}, {"clamp", CL_ADDRESS_CLAMP},
      {"clamp-to-edge", CL_ADDRESS_CLAMP_TO_EDGE}, {"repeat", CL_ADDRESS_REPEAT},
      {"mirrored-repeat", CL_ADDRESS_MIRRORED_REPEAT}, {"normalized", CL_TRUE}};
  cl_uint addressing = CL_ADDRESS_CLAMP_TO_EDGE, filter = CL_FILTER_NEAREST;
  cl_bool normalized = CL_FALSE;
  cl_int code = CL_SUCCESS;
  std::istringstream parts (
      value && G_VALUE_HOLDS_STRING (value) ? g_value_get_string (value) : "?");

  for (std::string part; std::getline (parts, part, '+');) {
    const auto found = words.find (part);
    if (found == words.end ())
      return fail (
          error, "The argument \"" + parameter.text ()
                     + "\" needs words such as linear+clamp-to-edge in `arguments` "
                       "(nearest, linear, clamp, clamp-to-edge, repeat, mirrored-repeat, "
                       "normalized); or declare a constant sampler_t in the program");
    const bool is_filter = part == "nearest" || part == "linear";
    (is_filter ? filter : part == "normalized" ? normalized : addressing) = found->second;
  }
  sampler = cl::Sampler (clCreateSampler (
      gst_opencl_context_get_handle (context), normalized, addressing, filter, &code));
  return gst_opencl_check (code, "clCreateSampler", error);
}
} // namespace compute
