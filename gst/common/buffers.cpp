/* Buffers: invalid ones, and pools of downstream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "buffers.hpp"

#include <algorithm>

namespace opencl {
namespace {
/* (transfer full) (nullable) */
GstBufferPool *
configured_pool (GstQuery *query, GstCaps *caps, gsize bytes)
{
  GstBufferPool *pool = nullptr;
  guint size = 0, least = 0, most = 0;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  if (!pool)
    return nullptr;
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (
      config, caps, std::max (size, guint (bytes)), least, most);
  if (!gst_buffer_pool_set_config (pool, config)
      || !gst_buffer_pool_set_active (pool, TRUE))
    gst_clear_object (&pool);
  return pool;
}
} // namespace

GError *
drop_invalid_frame (GstElement *element, guint &n_in_a_row, GError *error)
{
  if (++n_in_a_row >= 10)
    return error;
  GST_ELEMENT_WARNING (
      element, STREAM, FORMAT, ("%s; dropping this frame", error->message), (nullptr));
  g_error_free (error);
  return nullptr;
}

GstBufferPool *
find_downstream_pool (GstPad *pad, GstCaps *caps, gsize bytes)
{
  GstBufferPool *pool = nullptr;
  GstQuery *query = gst_query_new_allocation (caps, TRUE);

  if (bytes <= G_MAXUINT && gst_pad_peer_query (pad, query))
    pool = configured_pool (query, caps, bytes);
  gst_query_unref (query);
  return pool;
}

void
release_pool (GstBufferPool **pool)
{
  if (*pool)
    gst_buffer_pool_set_active (*pool, FALSE);
  gst_clear_object (pool);
}

GstFlowReturn
acquire_buffer (GstBufferPool *pool, gsize bytes, GstBuffer **buffer)
{
  if (pool) {
    const GstFlowReturn flow = gst_buffer_pool_acquire_buffer (pool, buffer, nullptr);
    if (flow == GST_FLOW_OK)
      gst_buffer_set_size (*buffer, gssize (bytes));
    return flow;
  }
  *buffer = gst_buffer_new_allocate (nullptr, bytes, nullptr);
  return *buffer ? GST_FLOW_OK : GST_FLOW_ERROR;
}
} // namespace opencl
