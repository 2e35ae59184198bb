/* Tests of openclinference output=meta, which needs GStreamer 1.26
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"

#include <gst/analytics/analytics.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

using namespace check;

static const char *const frames =
    "video/x-raw(memory:OpenCLMemory),format=RGBA,width=8,height=8,framerate=25/1";

static Bytes
frame_of (guint8 level)
{
  Bytes frame;
  for (int n = 0; n < 64; n++)
    frame.insert (frame.end (), {guint8 (level + n), 7, 9, 255});
  return frame;
}

/* The frame keeps its memory, and its tensor is the red channel in device memory. */
TEST (test_inference_attaches_tensors)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", red_matte_model ().bytes ());
  Harness net ("openclinference output=meta model-file=" + file, frames);

  for (const int level : {10, 90}) {
    GstBuffer *input = buffer_of (frame_of (guint8 (level)));
    GstMemory *memory = gst_buffer_peek_memory (input, 0);
    const Owned<GstBuffer> output = net.pass (input);
    fail_unless (gst_buffer_peek_memory (output, 0) == memory);
    GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);
    fail_unless (meta && meta->num_tensors == 1);
    const GstTensor *tensor = meta->tensors[0];
    fail_unless_equals_string (g_quark_to_string (tensor->id), "matte");
    fail_unless_equals_int (tensor->data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
    fail_unless_equals_int (tensor->num_dims, 4);
    fail_unless (tensor->dims[2] == 8 && tensor->dims[3] == 8);
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (tensor->data, 0)));
    GstMapInfo map;
    fail_unless (gst_buffer_map (tensor->data, &map, GST_MAP_READ));
    fail_unless_equals_int (map.size, 64 * sizeof (float));
    for (int n = 0; n < 64; n++) {
      float value;
      memcpy (&value, map.data + n * sizeof value, sizeof value);
      fail_unless (std::fabs (value * 255 - float (level + n)) < 1e-3f);
    }
    gst_buffer_unmap (tensor->data, &map);
  }
}
