/* Outputs of a network as metas of the frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tensormeta.hpp"

#ifdef HAVE_TENSOR_META
#include <gst/analytics/analytics.h>
#endif

#include <algorithm>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclmemory.h>

namespace inference {
namespace {
#ifdef HAVE_TENSOR_META
#if GST_CHECK_VERSION(1, 28, 0)
#define BOOLEAN GST_TENSOR_DATA_TYPE_BOOL
#else
#define BOOLEAN GST_TENSOR_DATA_TYPE_UINT8
#endif

/* In the order of ElementType */
const GstTensorDataType data_types[] = {GST_TENSOR_DATA_TYPE_FLOAT32,
    GST_TENSOR_DATA_TYPE_FLOAT64, GST_TENSOR_DATA_TYPE_FLOAT16, GST_TENSOR_DATA_TYPE_INT8,
    GST_TENSOR_DATA_TYPE_INT16, GST_TENSOR_DATA_TYPE_INT32, GST_TENSOR_DATA_TYPE_INT64,
    GST_TENSOR_DATA_TYPE_UINT8, GST_TENSOR_DATA_TYPE_UINT16, GST_TENSOR_DATA_TYPE_UINT32,
    GST_TENSOR_DATA_TYPE_UINT64, BOOLEAN};

GstTensor *
tensor_of (const Plan::Port &port, const TensorInfo &info, GstBuffer *buffer)
{
  std::vector<gsize> lengths (port.tensor.shape.begin (), port.tensor.shape.end ());
  if (lengths.empty ())
    lengths.push_back (1);
  return gst_tensor_new_simple (g_quark_from_string (info.id.c_str ()),
      data_types[int (port.type)], buffer,
      info.order == "col-major" ? GST_TENSOR_DIM_ORDER_COL_MAJOR
                                : GST_TENSOR_DIM_ORDER_ROW_MAJOR,
      lengths.size (), lengths.data ());
}

#if GST_CHECK_VERSION(1, 28, 0)
/* A length that the model leaves open is 0, as from onnxinference. */
GstCaps *
tensor_caps (const Port &port, const TensorInfo &info)
{
  GValue lengths = G_VALUE_INIT, value = G_VALUE_INIT;
  gst_value_array_init (&lengths, guint (port.shape.size ()));
  g_value_init (&value, G_TYPE_INT);
  for (const gint64 length : port.shape) {
    g_value_set_int (&value, gint (std::max<gint64> (length, 0)));
    gst_value_array_append_value (&lengths, &value);
  }
  GstStructure *tensor =
      gst_structure_new ("tensor/strided", "tensor-id", G_TYPE_STRING, info.id.c_str (),
          "dims-order", G_TYPE_STRING, info.order.c_str (), "type", G_TYPE_STRING,
          gst_tensor_data_type_get_name (data_types[int (port.type)]), nullptr);
  gst_structure_take_value (tensor, "dims", &lengths);
  return gst_caps_new_full (tensor, nullptr);
}
#endif
#endif

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
} // namespace

#ifdef HAVE_TENSOR_META
void
add_tensor_group (GstStructure *frame, const Model &model, const NetworkOptions &options)
{
#if GST_CHECK_VERSION(1, 28, 0)
  GValue tensors = G_VALUE_INIT;
  GstStructure *groups = nullptr;
  if (options.info.group.empty ())
    return;
  g_value_init (&tensors, GST_TYPE_UNIQUE_LIST);
  for (const Port &port : model.outputs) {
    GValue caps = G_VALUE_INIT;
    if (options.is_state_output (port.name))
      continue;
    g_value_init (&caps, GST_TYPE_CAPS);
    g_value_take_boxed (&caps, tensor_caps (port, options.info.named (port.name)));
    gst_value_unique_list_append_and_take_value (&tensors, &caps);
  }
  /* Another inference may be before this one. */
  if (!gst_structure_get (frame, "tensors", GST_TYPE_STRUCTURE, &groups, nullptr))
    groups = gst_structure_new_empty ("tensorgroups");
  gst_structure_take_value (groups, options.info.group.c_str (), &tensors);
  gst_structure_set (frame, "tensors", GST_TYPE_STRUCTURE, groups, nullptr);
  gst_structure_free (groups);
#endif
}
#endif

std::unique_ptr<TensorMeta>
TensorMeta::create (GstOpenCLContext *context, const std::vector<Plan::Port> &outputs,
    const ModelInfo &info, OutputsFormat format, GError **error)
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
    meta->outputs.push_back ({port, info.named (port.name), pool, nullptr});
    format.outputs.push_back ({port.name, port.type, port.tensor.shape});
  }
  meta->format = std::make_shared<OutputsFormat> (std::move (format));
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

NetworkRun
TensorMeta::taken ()
{
  NetworkRun run = {format, {}, {}};
  for (const Output &output : outputs)
    run.buffers.emplace_back (gst_buffer_ref (output.buffer), gst_buffer_unref);
  return run;
}

void
TensorMeta::attach (GstBuffer *frame)
{
  attach_outputs (frame, {false, {taken ()}});
#ifdef HAVE_TENSOR_META
  GstTensor **tensors = g_new0 (GstTensor *, outputs.size ());
  for (gsize n = 0; n < outputs.size (); n++)
    tensors[n] = tensor_of (
        outputs[n].port, outputs[n].info, std::exchange (outputs[n].buffer, nullptr));
  gst_tensor_meta_set (
      gst_buffer_add_tensor_meta (frame), guint (outputs.size ()), tensors);
#endif
  release ();
}
} // namespace inference
