/* Makes, lowers and runs networks for tests of the executor
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/inference/graph/graph.hpp>
#include <gst/inference/plan/plan.hpp>
#include <gst/inference/plan/tensor.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <cmath>
#include <random>

/* After the headers of the executor, which have functions called fail() */
#include "harness.hpp"
#include "onnxmodel.hpp"
#include "test.hpp"

namespace check {
using namespace inference;

inline std::shared_ptr<const Model>
parse (const std::string &bytes, GError **error, const std::string &folder = "")
{
  auto kept = std::make_shared<std::string> (bytes);
  return Model::parse (kept, reinterpret_cast<const guint8 *> (kept->data ()),
      kept->size (), folder, error);
}

inline std::shared_ptr<const Model>
parse (const OnnxModel &model)
{
  GError *error = nullptr;
  std::shared_ptr<const Model> parsed = parse (model.bytes (), &error);
  fail_unless (parsed != nullptr, "%s", error ? error->message : "");
  return parsed;
}

inline std::unique_ptr<Graph>
lower (const OnnxModel &model)
{
  GError *error = nullptr;
  std::unique_ptr<Graph> graph = Lowering::run (*parse (model), {}, &error);
  fail_unless (graph != nullptr, "%s", error ? error->message : "");
  return graph;
}

inline GstOpenCLContext *
shared_context ()
{
  GError *error = nullptr;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "");
  return context;
}

inline std::vector<float>
noise (gsize count, guint seed)
{
  std::mt19937 random (seed);
  std::vector<float> values (count);
  for (float &value : values)
    value = float (random () % 2001) / 1000.0f - 1;
  return values;
}

/* Runs a model of float32 inputs; returns its first output. */
inline std::vector<float>
run (const OnnxModel &model, const std::vector<std::vector<float>> &inputs,
    Precision precision = Precision::single, gsize *steps = nullptr)
{
  GstOpenCLContext *context = shared_context ();
  cl_command_queue queue =
      gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  GError *error = nullptr;
  PlanOptions options;
  options.precision = precision;
  std::vector<float> result;
  {
    std::unique_ptr<Plan> plan = Plan::create (context, *parse (model), options, &error);
    fail_unless (plan != nullptr, "%s", error ? error->message : "");
    std::vector<cl::Buffer> buffers;
    std::vector<Memory> from, to;
    for (const std::vector<float> &values : inputs) {
      buffers.push_back (opencl::make_filled_buffer (
          context, values.data (), values.size () * sizeof (float), &error));
      from.push_back ({buffers.back () (), 0});
    }
    for (const Plan::Port &port : plan->outputs ()) {
      buffers.push_back (opencl::make_buffer (
          context, gsize (port.tensor.count ()) * port.tensor.element_size (), &error));
      to.push_back ({buffers.back () (), 0});
    }
    fail_unless (
        plan->enqueue_steps (queue, from, to, &error), "%s", error ? error->message : "");
    result.resize (gsize (plan->outputs ()[0].tensor.count ()));
    fail_unless (clEnqueueReadBuffer (queue, to[0].buffer, CL_TRUE, 0,
                     result.size () * sizeof (float), result.data (), 0, nullptr, nullptr)
                 == CL_SUCCESS);
    if (steps)
      *steps = plan->all_steps ().size ();
  }
  gst_object_unref (context);
  return result;
}

inline void
expect_near (
    const std::vector<float> &got, const std::vector<double> &expected, double tolerance)
{
  double largest = 0;
  fail_unless_equals_int (got.size (), expected.size ());
  for (const double value : expected)
    largest = std::max (largest, std::fabs (value));
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (std::fabs (double (got[n]) - expected[n]) <= tolerance * largest,
        "element %zu is %g, expected %g", n, double (got[n]), expected[n]);
}
} // namespace check
