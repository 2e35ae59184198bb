/* Runs networks with the executor and compares their outputs
 *
 * run-networks [--half] [--tolerance T] [--time N [--steps]] FOLDER…
 * run-networks --operators
 *
 * Each folder has model.onnx and test_data_set_*, with input_*.pb and output_*.pb, as the tests
 * of ONNX have them. Prints "ok NAME: …", "wrong NAME: …" or "failed NAME: …" for each folder.
 * --operators prints the operators of ONNX that are supported, as docs/inference.md lists them.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/inference/plan/plan.hpp>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

using inference::Array;
using inference::Plan;

namespace {
struct Options {
  inference::Precision precision = inference::Precision::single;
  double tolerance = 1e-4;
  int frames = 0;     /* that are timed */
  bool steps = false; /* prints the time of each step, which the host waits for */
};

struct Sample {
  std::vector<std::pair<std::string, Array>> inputs, outputs;
};

bool
load_arrays (const std::string &folder, const char *kind,
    std::vector<std::pair<std::string, Array>> &arrays, GError **error)
{
  for (int n = 0;; n++) {
    const std::string file =
        folder + "/test_data_set_0/" + kind + "_" + std::to_string (n) + ".pb";
    if (!g_file_test (file.c_str (), G_FILE_TEST_EXISTS))
      return true;
    std::string name;
    Array array;
    if (!inference::load_tensor (file, name, array, error))
      return false;
    arrays.emplace_back (name, array);
  }
}

enum class Data { all, first, none };

/* Inputs that are not data become constants, so that they can decide shapes. */
inference::InputChoice
choice_of (const inference::Model &model, const Sample &sample, Data data)
{
  inference::InputChoice choice;
  for (gsize n = 0; n < model.inputs.size () && n < sample.inputs.size (); n++) {
    const Array &array = sample.inputs[n].second;
    if (data != Data::none
        && (n == 0 || (data == Data::all && inference::is_float (array.type))))
      choice.shapes[model.inputs[n].name] = array.shape;
    else
      choice.constants[model.inputs[n].name] = array;
  }
  return choice;
}

/* onnx's tests have bfloat16 as uint16. */
void
widen (const std::vector<inference::Port> &ports, const inference::Model &model,
    std::vector<std::pair<std::string, Array>> &arrays)
{
  for (gsize n = 0; n < ports.size () && n < arrays.size (); n++)
    if (model.bfloat16.count (ports[n].name)
        && arrays[n].second.type == inference::ElementType::u16)
      arrays[n].second = Array::of_bfloat16 (arrays[n].second);
}

double
largest_difference (const Array &got, const Array &expected)
{
  double difference = 0, largest = 0;
  for (gsize n = 0; n < expected.count (); n++) {
    const double a = got.number (n), b = expected.number (n);
    if (std::isfinite (b))
      largest = std::max (largest, std::fabs (b));
    if (a == b || (std::isnan (a) && std::isnan (b)))
      continue;
    difference = std::isfinite (a) && std::isfinite (b)
                     ? std::max (difference, std::fabs (a - b))
                     : INFINITY;
  }
  return largest > 0 ? difference / largest : difference;
}

class Run {
public:
  Run (GstOpenCLContext *context, const Options &options)
      : context (context), options (options),
        queue (gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE))
  {
  }
  bool run (const std::string &folder, std::string &result, GError **error);

  bool right = false;

private:
  bool upload (const Plan &plan, const Sample &sample, GError **error);
  bool compare (
      const Plan &plan, const Sample &sample, std::string &result, GError **error);
  bool measure (Plan &plan, std::string &result, GError **error);
  bool measure_steps (Plan &plan, GError **error);

  GstOpenCLContext *context;
  const Options &options;
  cl_command_queue queue;
  std::vector<cl::Buffer> buffers;
  std::vector<inference::Memory> inputs, outputs;
};

bool
Run::upload (const Plan &plan, const Sample &sample, GError **error)
{
  for (const Plan::Port &port : plan.inputs ()) {
    const Array *array = nullptr;
    for (const auto &input : sample.inputs)
      if (input.first == port.name)
        array = &input.second;
    if (!array && sample.inputs.size () > inputs.size ())
      array = &sample.inputs[inputs.size ()].second;
    if (!array) {
      g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_FAILED,
          "no data for input %s", port.name.c_str ());
      return false;
    }
    buffers.push_back (opencl::make_filled_buffer (
        context, array->bytes (), std::max (array->size (), gsize (1)), error));
    if (!buffers.back () ())
      return false;
    inputs.push_back ({buffers.back () (), 0});
  }
  for (const Plan::Port &port : plan.outputs ()) {
    const gsize size =
        std::max (gsize (port.tensor.count ()) * port.tensor.element_size (), gsize (1));
    buffers.push_back (opencl::make_buffer (context, size, error));
    if (!buffers.back () ())
      return false;
    outputs.push_back ({buffers.back () (), 0});
  }
  return true;
}

bool
Run::compare (const Plan &plan, const Sample &sample, std::string &result, GError **error)
{
  double worst = 0;
  for (gsize n = 0; n < plan.outputs ().size () && n < sample.outputs.size (); n++) {
    const Plan::Port &port = plan.outputs ()[n];
    const Array &expected = sample.outputs[n].second;
    Array got (port.type, port.tensor.shape);
    if (got.shape != expected.shape || got.type != expected.type) {
      result = "output " + port.name + " is " + inference::info_of (got.type).name + " "
               + inference::text_of (got.shape) + ", expected "
               + inference::info_of (expected.type).name + " "
               + inference::text_of (expected.shape);
      return true;
    }
    if (got.size () > 0
        && !gst_opencl_check (clEnqueueReadBuffer (queue, outputs[n].buffer, CL_TRUE, 0,
                                  got.size (), got.writable (), 0, nullptr, nullptr),
            "clEnqueueReadBuffer", error))
      return false;
    worst = std::max (worst, largest_difference (got, expected));
  }
  gchar *text = g_strdup_printf ("difference %.3g of the largest value", worst);
  result = text;
  g_free (text);
  right = worst <= options.tolerance;
  return true;
}

bool
Run::measure (Plan &plan, std::string &result, GError **error)
{
  std::vector<double> times;
  std::clock_t spent = 0;
  for (int n = 0; n < options.frames + 2; n++) {
    const gint64 begin = g_get_monotonic_time ();
    if (n == 2)
      spent = std::clock ();
    if (!plan.enqueue_steps (queue, inputs, outputs, error))
      return false;
    clFinish (queue);
    if (n >= 2)
      times.push_back (double (g_get_monotonic_time () - begin) / 1000);
  }
  std::sort (times.begin (), times.end ());
  gchar *text = g_strdup_printf (
      " (%.3f ms median, %.3f ms best, %.3f ms of CPU time, arena %.1f MB, %u steps)",
      times[times.size () / 2], times[0],
      1000.0 * double (std::clock () - spent) / CLOCKS_PER_SEC / options.frames,
      double (plan.arena_size ()) / 1e6, guint (plan.all_steps ().size ()));
  result += text;
  g_free (text);
  return true;
}

bool
Run::measure_steps (Plan &plan, GError **error)
{
  const auto &steps = plan.all_steps ();
  std::vector<std::pair<gint64, gsize>> best (steps.size ());
  for (int n = 0; n < options.frames; n++) {
    for (gsize s = 0; s < steps.size (); s++) {
      clFinish (queue);
      const gint64 begin = g_get_monotonic_time ();
      if (!steps[s]->enqueue (queue, plan.all_memories (), error))
        return false;
      clFinish (queue);
      const gint64 time = g_get_monotonic_time () - begin;
      if (n == 0 || time < best[s].first)
        best[s] = {time, s};
    }
  }
  std::sort (best.rbegin (), best.rend ());
  for (gsize n = 0; n < best.size () && n < 200; n++)
    printf ("%8.3f ms  %s\n", double (best[n].first) / 1000,
        steps[best[n].second]->name.c_str ());
  return true;
}

bool
Run::run (const std::string &folder, std::string &result, GError **error)
{
  Sample sample;
  std::shared_ptr<const inference::Model> model =
      inference::Model::load (folder + "/model.onnx", error);
  if (!model || !load_arrays (folder, "input", sample.inputs, error)
      || !load_arrays (folder, "output", sample.outputs, error))
    return false;
  widen (model->inputs, *model, sample.inputs);
  widen (model->outputs, *model, sample.outputs);
  inference::PlanOptions plan_options;
  plan_options.precision = options.precision;
  GError *first = nullptr;
  std::unique_ptr<Plan> plan;
  /* Inputs that only data can be stay inputs. */
  for (const Data data : {Data::all, Data::first, Data::none}) {
    plan_options.inputs = choice_of (*model, sample, data);
    plan = Plan::create (
        context, *model, plan_options, data == Data::all ? &first : nullptr);
    if (plan)
      break;
  }
  if (!plan)
    g_propagate_error (error, std::exchange (first, nullptr));
  g_clear_error (&first);
  if (!plan || !upload (*plan, sample, error)
      || !plan->enqueue_steps (queue, inputs, outputs, error)
      || !compare (*plan, sample, result, error))
    return false;
  if (options.steps && !measure_steps (*plan, error))
    return false;
  return options.frames == 0 || measure (*plan, result, error);
}
void
print_operators ()
{
  gsize column = 0;
  for (const std::string &name : inference::operator_names ()) {
    if (column + name.size () > 96) {
      printf (",\n");
      column = 0;
    }
    printf ("%s%s", column ? ", " : "", name.c_str ());
    column += name.size () + 2;
  }
  printf ("\n");
}
} // namespace

int
main (int argc, char **argv)
{
  Options options;
  std::vector<std::string> folders;
  int failed = 0;

  gst_init (&argc, &argv);
  for (int n = 1; n < argc; n++) {
    const std::string word = argv[n];
    if (word == "--operators") {
      print_operators ();
      return 0;
    }
    if (word == "--half")
      options.precision = inference::Precision::half;
    else if (word == "--steps")
      options.steps = true;
    else if (word == "--tolerance" && n + 1 < argc)
      options.tolerance = g_ascii_strtod (argv[++n], nullptr);
    else if (word == "--time" && n + 1 < argc)
      options.frames = atoi (argv[++n]);
    else
      folders.push_back (word);
  }
  GError *error = nullptr;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, &error);
  if (!context) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  for (const std::string &folder : folders) {
    std::string result;
    gchar *name = g_path_get_basename (folder.c_str ());
    GError *reason = nullptr;
    Run network (context, options);
    const bool ran = network.run (folder, result, &reason);
    if (!ran)
      printf ("failed %s: %s\n", name, reason ? reason->message : "no reason");
    else
      printf ("%s %s: %s\n", network.right ? "ok" : "wrong", name, result.c_str ());
    failed += !ran || !network.right;
    g_clear_error (&reason);
    g_free (name);
    fflush (stdout);
  }
  gst_object_unref (context);
  return failed > 0;
}
