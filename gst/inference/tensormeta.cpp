/* Outputs of a network as GstTensorMeta of the frame (GStreamer 1.26)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tensormeta.hpp"

#include <gst/analytics/analytics.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclmemory.h>

namespace inference {
namespace {
GstTensorDataType
data_type_of (ElementType type)
{
  switch (type) {
  case ElementType::f64:
    return GST_TENSOR_DATA_TYPE_FLOAT64;
  case ElementType::f16:
    return GST_TENSOR_DATA_TYPE_FLOAT16;
  case ElementType::i8:
    return GST_TENSOR_DATA_TYPE_INT8;
  case ElementType::i16:
    return GST_TENSOR_DATA_TYPE_INT16;
  case ElementType::i32:
    return GST_TENSOR_DATA_TYPE_INT32;
  case ElementType::i64:
    return GST_TENSOR_DATA_TYPE_INT64;
  case ElementType::boolean: /* a byte, 0 or 1 */
  case ElementType::u8:
    return GST_TENSOR_DATA_TYPE_UINT8;
  case ElementType::u16:
    return GST_TENSOR_DATA_TYPE_UINT16;
  case ElementType::u32:
    return GST_TENSOR_DATA_TYPE_UINT32;
  case ElementType::u64:
    return GST_TENSOR_DATA_TYPE_UINT64;
  default:
    return GST_TENSOR_DATA_TYPE_FLOAT32;
  }
}

GstBufferPool *
make_pool (GstOpenCLContext *context, gsize size)
{
  GstBufferPool *pool = gst_opencl_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, nullptr, guint (size), 0, 0);
  if (!gst_buffer_pool_set_config (pool, config)
      || !gst_buffer_pool_set_active (pool, TRUE))
    gst_clear_object (&pool);
  return pool;
}

GstTensor *
tensor_of (const Plan::Port &port, GstBuffer *buffer)
{
  std::vector<gsize> lengths (port.tensor.shape.begin (), port.tensor.shape.end ());
  if (lengths.empty ())
    lengths.push_back (1);
  return gst_tensor_new_simple (g_quark_from_string (port.name.c_str ()),
      data_type_of (port.type), buffer, GST_TENSOR_DIM_ORDER_ROW_MAJOR, lengths.size (),
      lengths.data ());
}
} // namespace

std::unique_ptr<TensorMeta>
TensorMeta::create (
    GstOpenCLContext *context, const std::vector<Plan::Port> &outputs, GError **error)
{
  auto meta = std::make_unique<TensorMeta> ();
  for (const Plan::Port &port : outputs) {
    const gint64 size = port.tensor.count () * gint64 (port.tensor.element_size ());
    GstBufferPool *pool =
        size > 0 && size <= G_MAXUINT32 ? make_pool (context, gsize (size)) : nullptr;
    if (!pool) {
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
          "output=meta: no buffers of %" G_GINT64_FORMAT " bytes for output \"%s\"", size,
          port.name.c_str ());
      return nullptr;
    }
    meta->outputs.push_back ({port, pool, nullptr});
  }
  return meta;
}

TensorMeta::~TensorMeta ()
{
  release ();
  for (Output &output : outputs) {
    gst_buffer_pool_set_active (output.pool, FALSE);
    gst_object_unref (output.pool);
  }
}

void
TensorMeta::release ()
{
  for (Output &output : outputs)
    gst_clear_buffer (&output.buffer);
}

bool
TensorMeta::acquire (GError **error)
{
  release ();
  for (Output &output : outputs) {
    if (gst_buffer_pool_acquire_buffer (output.pool, &output.buffer, nullptr)
        == GST_FLOW_OK)
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "output=meta: no buffer for output \"%s\"", output.port.name.c_str ());
    return false;
  }
  return true;
}

bool
TensorMeta::run (Network &network, cl_command_queue queue, GError **error)
{
  std::vector<Memory> memories;
  cl_event event = nullptr;
  gsize begun = 0;
  bool done = acquire (error);
  for (; done && begun < outputs.size (); begun += done) {
    GstMemory *memory = gst_buffer_peek_memory (outputs[begun].buffer, 0);
    done = gst_opencl_memory_begin (memory, queue, GST_MAP_WRITE, error);
    memories.push_back ({gst_opencl_memory_get_handle (memory),
        gint64 (gst_opencl_memory_get_offset (memory))});
  }
  done = done && network.run (queue, {}, memories, error)
         && opencl::enqueue_end (queue, &event, error);
  if (!event && begun > 0) /* after a failure */
    opencl::enqueue_end (queue, &event);
  for (gsize n = 0; n < begun; n++)
    gst_opencl_memory_end (
        gst_buffer_peek_memory (outputs[n].buffer, 0), queue, GST_MAP_WRITE, event);
  if (event)
    clReleaseEvent (event);
  return done;
}

void
TensorMeta::attach (GstBuffer *frame)
{
  GstTensor **tensors = g_new0 (GstTensor *, outputs.size ());
  for (gsize n = 0; n < outputs.size (); n++)
    tensors[n] = tensor_of (outputs[n].port, std::exchange (outputs[n].buffer, nullptr));
  gst_tensor_meta_set (
      gst_buffer_add_tensor_meta (frame), guint (outputs.size ()), tensors);
}
} // namespace inference
