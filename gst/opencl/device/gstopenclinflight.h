/* Limits the number of frames in flight on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GstOpenCLInFlight:
 *
 * Frames that an element has enqueued and the device has not finished, oldest first.
 * Waits for them count as throttled. Use it from one thread at a time.
 */
typedef struct _GstOpenCLInFlight GstOpenCLInFlight;

GST_OPENCL_API GstOpenCLInFlight *gst_opencl_in_flight_new (void);
GST_OPENCL_API void gst_opencl_in_flight_free (GstOpenCLInFlight *in_flight);

/**
 * gst_opencl_in_flight_admit:
 * @depth: maximum number of frames in flight, 1 or more
 * @error: set if a frame failed on the device
 *
 * Waits until one more frame may be enqueued.
 *
 * Returns: whether all frames that finished did so without error
 */
GST_OPENCL_API gboolean gst_opencl_in_flight_admit (
    GstOpenCLInFlight *in_flight, guint depth, GError **error);

/**
 * gst_opencl_in_flight_add:
 * @event: (transfer none): an event that completes with the frame, on a queue that was
 *   flushed
 */
GST_OPENCL_API void gst_opencl_in_flight_add (
    GstOpenCLInFlight *in_flight, cl_event event);

/**
 * gst_opencl_in_flight_drain:
 *
 * Waits for every frame.
 *
 * Returns: whether all finished without error
 */
GST_OPENCL_API gboolean gst_opencl_in_flight_drain (
    GstOpenCLInFlight *in_flight, GError **error);

/* For ElementCore only. */
gboolean gst_opencl_in_flight_is_empty (const GstOpenCLInFlight *in_flight);

/**
 * gst_opencl_wait:
 * @event: (transfer none): an event of a queue that was flushed
 * @is_over: (out) (optional): whether the command is certainly over; if not, memory that
 *   it uses must be kept
 * @error: set if the command failed, or did not end within GST_OPENCL_TIMEOUT
 *
 * Blocks until a command is over.
 *
 * Returns: whether it ended without error
 */
GST_OPENCL_API gboolean gst_opencl_wait (
    cl_event event, gboolean *is_over, GError **error);

G_END_DECLS
