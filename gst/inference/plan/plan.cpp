/* A network that is ready to run on a device for certain input shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "plan.hpp"

#include "../graph/graph.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/devicebuffer.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace inference {
namespace {
/* Request for a step, and its name */
struct Task {
  StepRequest request;
  std::string name;
  bool copies = false;
  Array *weights = nullptr; /* (nullable): not needed when the step is made */
};

/* The time to place values grows with the square of it. Networks have some hundreds. */
const gsize most_steps = 16384;

/* Counts the copies of a ConcatOp. */
bool
check_steps (const Graph &graph, GError **error)
{
  gsize count = 0;
  for (const Operation &operation : graph.operations)
    count +=
        std::holds_alternative<ConcatOp> (operation.what) ? operation.inputs.size () : 1;
  if (count > most_steps)
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "the network takes %" G_GSIZE_FORMAT " steps, expected at most %" G_GSIZE_FORMAT,
        count, most_steps);
  return count <= most_steps;
}

/* Bytes of the elements that are read or written, each once */
double
bytes_of (const std::vector<Tensor> &tensors)
{
  double sum = 0;
  for (const Tensor &tensor : tensors) {
    double bytes = tensor.memory == no_memory ? 0 : double (tensor.element_size ());
    for (gsize n = 0; n < tensor.rank (); n++)
      bytes *= tensor.strides[n] == 0 ? 1.0 : double (tensor.shape[n]);
    sum += bytes;
  }
  return sum;
}

/* Two operations for each product that is added up, by the definition of the operation;
 * 0 for operations that are not sums of products */
double
flop_of (const StepRequest &request)
{
  const What &what = request.operation->what;
  const std::vector<Tensor> &inputs = request.inputs;
  const double results = double (request.outputs[0].count ());
  if (auto *convolution = std::get_if<ConvolutionOp> (&what))
    return 2 * results * double (convolution->weights.count ())
           / double (convolution->weights.shape[0]);
  if (std::holds_alternative<ProductOp> (what))
    return 2 * results * double (inputs[0].shape.back ());
  if (std::holds_alternative<AttentionOp> (what))
    return 2 * (results + double (inputs[0].count ())) * double (inputs[1].shape.back ());
  return 0;
}

double
weight_bytes (const What &what)
{
  auto *convolution = std::get_if<ConvolutionOp> (&what);
  return convolution ? double (convolution->weights.count () * sizeof (float)) : 0;
}

StepPointer
make_step_of (const Task &task, GError **error)
{
  const double flop = task.copies ? 0 : flop_of (task.request);
  const double weights = task.copies ? 0 : weight_bytes (task.request.operation->what);
  StepPointer step = task.copies ? make_copy_step (task.request, error)
                                 : make_step (task.request, error);
  if (task.weights)
    *task.weights = Array ();
  if (step) {
    step->name = task.name;
    step->flop = flop;
    step->bytes =
        weights + bytes_of (task.request.inputs) + bytes_of (task.request.outputs);
  } else if (error && *error)
    g_prefix_error (error, "%s: ", task.name.c_str ());
  return step;
}

/* Makes steps in several threads, since each may compile a kernel. */
class StepMaker {
public:
  explicit StepMaker (const std::vector<Task> &tasks)
      : tasks (tasks), steps (tasks.size ()),
        statistics (gst_opencl_statistics_enter (nullptr))
  {
    gst_opencl_statistics_leave (statistics);
  }
  ~StepMaker () { g_clear_error (&failure); }

  bool run (std::vector<StepPointer> &made, GError **error)
  {
    std::vector<GThread *> threads;
    const guint count = guint (std::min (gsize (g_get_num_processors ()), tasks.size ()));
    for (guint n = 1; n < count; n++)
      if (GThread *thread = g_thread_try_new ("inference-plan", work, this, nullptr))
        threads.push_back (thread);
    work (this);
    for (GThread *thread : threads)
      g_thread_join (thread);
    if (failure) {
      g_propagate_error (error, std::exchange (failure, nullptr));
      return false;
    }
    made = std::move (steps);
    return true;
  }

private:
  static gpointer work (gpointer data)
  {
    auto *self = static_cast<StepMaker *> (data);
    GstOpenCLStatistics *before = gst_opencl_statistics_enter (self->statistics);
    for (gsize n; (n = self->next++) < self->tasks.size ();) {
      GError *error = nullptr;
      self->steps[n] = make_step_of (self->tasks[n], &error);
      if (self->steps[n])
        continue;
      std::lock_guard<std::mutex> guard (self->lock);
      if (self->failure)
        g_clear_error (&error);
      else
        self->failure = error;
      self->next = self->tasks.size ();
    }
    gst_opencl_statistics_leave (before);
    return nullptr;
  }

  const std::vector<Task> &tasks;
  std::vector<StepPointer> steps;
  GstOpenCLStatistics *statistics; /* of the element that makes the plan */
  std::atomic<gsize> next{0};
  std::mutex lock;
  GError *failure = nullptr;
};

/* Copies the parts of a ConcatOp that do not lie in its result yet. */
void
add_concat_tasks (const ConcatOp &what, const Operation &operation,
    const std::vector<Tensor> &tensors, GstOpenCLContext *context,
    std::vector<Task> &tasks)
{
  const Tensor &whole = tensors[gsize (operation.outputs[0])];
  const gsize axis = gsize (what.axis);
  gint64 begin = 0;
  for (const ValueId id : operation.inputs) {
    const Tensor &part = tensors[gsize (id)];
    Tensor place = whole;
    place.shape = part.shape;
    place.offset += begin * whole.strides[axis];
    begin += part.shape[axis];
    if (part.memory == place.memory && part.offset == place.offset
        && part.strides == place.strides)
      continue;
    tasks.push_back (
        {{context, &operation, {part}, {place}, nullptr}, operation.name, true});
  }
}

bool
is_empty (const Task &task)
{
  for (const Tensor &output : task.request.outputs)
    if (output.count () > 0)
      return false;
  return true;
}
} // namespace

StepPointer
make_step (const StepRequest &request, GError **error)
{
  const What &what = request.operation->what;
  if (auto *elementwise = std::get_if<ElementwiseOp> (&what))
    return make_elementwise_step (request, elementwise->program, error);
  if (auto *convolution = std::get_if<ConvolutionOp> (&what))
    return make_convolution_step (request, *convolution, error);
  if (auto *window = std::get_if<WindowOp> (&what))
    return make_window_step (request, *window, error);
  if (auto *reduce = std::get_if<ReduceOp> (&what))
    return make_reduce_step (request, *reduce, error);
  if (auto *softmax = std::get_if<SoftmaxOp> (&what))
    return make_softmax_step (request, *softmax, error);
  if (auto *resample = std::get_if<ResampleOp> (&what))
    return make_resample_step (request, *resample, error);
  if (auto *attention = std::get_if<AttentionOp> (&what))
    return make_attention_step (request, *attention, error);
  if (auto *normalize = std::get_if<NormalizeOp> (&what))
    return make_normalize_step (request, *normalize, error);
  if (auto *index = std::get_if<IndexOp> (&what))
    return make_index_step (request, *index, error);
  if (auto *top = std::get_if<TopOp> (&what))
    return make_top_step (request, *top, error);
  if (auto *scan = std::get_if<ScanOp> (&what))
    return make_scan_step (request, *scan, error);
  if (auto *grid = std::get_if<GridOp> (&what))
    return make_grid_step (request, *grid, error);
  if (auto *region = std::get_if<RegionOp> (&what))
    return make_region_step (request, *region, error);
  if (auto *suppress = std::get_if<SuppressOp> (&what))
    return make_suppress_step (request, *suppress, error);
  if (auto *recurrent = std::get_if<RecurrentOp> (&what))
    return make_recurrent_step (request, *recurrent, error);
  if (auto *excite = std::get_if<ExciteOp> (&what))
    return make_excite_step (request, *excite, error);
  if (std::holds_alternative<ProductOp> (what))
    return make_product_step (request, error);
  g_return_val_if_reached (nullptr);
}

bool
Plan::upload_constants (GstOpenCLContext *context, const Graph &graph, GError **error)
{
  for (const ValueId id : placements.constants) {
    const Array &array = *graph[id].constant;
    const Tensor &placed = placements.tensors[gsize (id)];
    Array stored = array;
    if (placed.type == opencl::NumberType::f16 && array.type != ElementType::f16) {
      stored = Array (ElementType::f16, array.shape);
      for (gsize n = 0; n < array.count (); n++)
        stored.set_number (n, array.number (n));
    }
    guint8 few[8] = {}; /* a buffer cannot be empty */
    const bool is_small = stored.size () < sizeof few;
    if (is_small)
      std::copy_n (stored.bytes (), stored.size (), few);
    constants.push_back (opencl::share_table (context, is_small ? few : stored.bytes (),
        is_small ? sizeof few : stored.size (), error));
    if (!constants.back () ())
      return false;
    memories[gsize (placed.memory)].buffer = constants.back () ();
  }
  return true;
}

bool
Plan::make_steps (GstOpenCLContext *context, Graph &graph, GError **error)
{
  std::vector<Task> tasks;
  workspace = std::make_shared<compute::Workspace> ();
  for (gsize n = 0; n < graph.operations.size (); n++) {
    Operation &operation = graph.operations[n];
    const bool is_view = std::holds_alternative<ViewOp> (operation.what);
    if (const auto *concat = std::get_if<ConcatOp> (&operation.what)) {
      add_concat_tasks (*concat, operation, placements.tensors, context, tasks);
      continue;
    }
    if (is_view && !placements.copies[n])
      continue;
    Task task = {{context, &operation, {}, {}, workspace}, operation.name, is_view};
    for (const ValueId id : operation.inputs)
      task.request.inputs.push_back (
          id == no_value ? Tensor () : placements.tensors[gsize (id)]);
    for (const ValueId id : operation.outputs)
      task.request.outputs.push_back (placements.tensors[gsize (id)]);
    if (auto *convolution = std::get_if<ConvolutionOp> (&operation.what))
      task.weights = &convolution->weights;
    if (is_view)
      task.request.outputs[0] =
          copy_target (task.request.outputs[0], task.request.inputs[0].shape);
    tasks.push_back (task);
  }
  for (const auto &copied : placements.copied_outputs)
    tasks.push_back ({{context, nullptr, {placements.tensors[gsize (copied.second)]},
                          {placements.outputs[copied.first]}, nullptr},
        "output " + std::to_string (copied.first), true});
  tasks.erase (std::remove_if (tasks.begin (), tasks.end (), is_empty), tasks.end ());
  return StepMaker (tasks).run (steps, error) && workspace->allocate (context, error);
}

std::unique_ptr<Plan>
Plan::create (GstOpenCLContext *context, const Model &model, const PlanOptions &options,
    GError **error)
{
  std::unique_ptr<Graph> graph = Lowering::run (model, options.inputs, error);
  if (!graph)
    return nullptr;
  run_passes (*graph);
  if (!compute::convolves_on_cpu (context))
    fuse_excitation (*graph);
  if (!check_steps (*graph, error))
    return nullptr;
  if (options.precision == Precision::half)
    add_conversions (*graph, options.input_layouts);
  auto plan = std::make_unique<Plan> ();
  plan->placements = place_values (*graph, options.precision, options.input_layouts);
  plan->memories.resize (gsize (plan->placements.n_memories));
  if (plan->placements.arena_size > 0) {
    plan->arena = opencl::make_buffer (context, plan->placements.arena_size, error);
    if (!plan->arena ())
      return nullptr;
    plan->memories[arena_memory].buffer = plan->arena ();
  }
  for (gsize n = 0; n < graph->inputs.size (); n++) {
    const Value &value = (*graph)[graph->inputs[n]];
    plan->input_ports.push_back ({value.name, value.type, plan->placements.inputs[n]});
  }
  for (gsize n = 0; n < graph->outputs.size (); n++) {
    const Value &value = (*graph)[graph->outputs[n]];
    plan->output_ports.push_back (
        {model.outputs[n].name, value.type, plan->placements.outputs[n]});
  }
  if (!plan->upload_constants (context, *graph, error)
      || !plan->make_steps (context, *graph, error))
    return nullptr;
  return plan;
}

bool
Plan::enqueue_steps (cl_command_queue queue, const std::vector<Memory> &inputs,
    const std::vector<Memory> &outputs, GError **error)
{
  for (gsize n = 0; n < inputs.size (); n++)
    memories[gsize (input_ports[n].tensor.memory)] = inputs[n];
  for (gsize n = 0; n < outputs.size (); n++)
    memories[gsize (output_ports[n].tensor.memory)] = outputs[n];
  for (const StepPointer &step : steps) {
    const opencl::ProfileLayer layer (step->name.c_str ());
    gst_opencl_profile_add_work (step->name.c_str (), step->flop, step->bytes);
    if (!step->enqueue (queue, memories, error)) {
      g_prefix_error (error, "%s: ", step->name.c_str ());
      return false;
    }
  }
  return true;
}
} // namespace inference
