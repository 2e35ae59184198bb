/* opencl-bench: cases of neural networks
 *
 * Each case runs every model of the command line, or MediaPipe's selfie segmentation if
 * tools/fetch-selfie-model.py has fetched it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclcontext.h>
#include "keyingchain.hpp"

#include <gst/inference/network.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>

namespace bench {
namespace {
/* A model with frames of a certain size. `info` describes the frames. */
struct Subject {
  std::string file, name;
  std::shared_ptr<const inference::Model> model;
  inference::NetworkOptions options;
  inference::NetworkInput input;
  GstVideoInfo info;

  inference::NetworkSource source () const { return {&info, nullptr}; }
};

std::vector<std::string>
models_of (const Options &options)
{
  if (!options.models.empty ())
    return options.models;
  gchar *selfie = g_build_filename (g_get_user_cache_dir (), "gst-opencl", "models",
      "mediapipe", "selfie_segmentation.onnx", nullptr);
  std::vector<std::string> files = {selfie};
  g_free (selfie);
  return files;
}

/* "resnet50" of resnet50.onnx, or of resnet50/model.onnx as run-networks has it */
std::string
name_of (const std::string &file)
{
  gchar *folder = g_path_get_dirname (file.c_str ());
  gchar *name = g_path_get_basename (
      g_str_has_suffix (file.c_str (), "/model.onnx") ? folder : file.c_str ());
  std::string text = name;
  g_free (name);
  g_free (folder);
  const gsize end = text.rfind (".onnx");
  return end == std::string::npos ? text : text.substr (0, end);
}

/* Lengths that the model leaves open are those of --size, or 256. */
bool
load (const Session &session, const std::string &file, gint64 batch, Subject &subject,
    GError **error)
{
  const Options &given = session.options;
  subject.file = file;
  subject.name = name_of (file);
  subject.model = inference::Model::load (file, error);
  if (!subject.model)
    return false;
  subject.options.batch = batch;
  gst_video_info_set_format (&subject.info, GST_VIDEO_FORMAT_RGBA,
      given.width ? given.width : 256, given.height ? given.height : 256);
  inference::NetworkInputs inputs;
  if (!inference::choose_inputs (
          *subject.model, subject.options, subject.source (), inputs, error))
    return false;
  subject.input = inputs.main;
  /* Frames have the size of the network's input, so that they are not scaled. */
  gst_video_info_set_format (&subject.info, GST_VIDEO_FORMAT_RGBA,
      guint (subject.input.width ()), guint (subject.input.height ()));
  return true;
}

std::vector<double>
times (std::vector<double> rates, double factor)
{
  for (double &rate : rates)
    rate *= factor;
  return rates;
}

using Measure =
    std::function<void (Session &, Subject &, Result &result, GError **error)>;

void
run_subject (Session &session, const std::string &what, const std::string &file,
    gint64 batch, const Measure &measure)
{
  Subject subject;
  GError *error = nullptr;
  Result result = session.result (
      what + "/" + name_of (file), {{"batch", guint (batch)}}, "frames/s");
  if (batch > 1)
    result.what += "-batch" + std::to_string (batch);
  if (load (session, file, batch, subject, &error)) {
    result.sizes.emplace_back ("width", subject.input.width ());
    result.sizes.emplace_back ("height", subject.input.height ());
    measure (session, subject, result, &error);
  }
  if (error)
    result.error = error->message;
  g_clear_error (&error);
  session.print (result);
}

std::function<void (Session &, const std::string &)>
each_model (const Measure &measure)
{
  return [measure] (Session &session, const std::string &what) {
    for (const std::string &file : models_of (session.options)) {
      run_subject (session, what, file, 1, measure);
      if (session.options.batch > 1)
        run_subject (session, what, file, session.options.batch, measure);
    }
  };
}

/* --- the element, from frames on the device to outputs on the device --- */

Measure
element (const char *precision)
{
  return [precision] (Session &session, Subject &subject, Result &result, GError **) {
    Feed feed = green_screen (guint (subject.info.width), guint (subject.info.height));
    Line line;
    if (!hold_frame (
            "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
            {{"source", feed}}, feed, result.error))
      return;
    line.text = "benchmarksource name=source ! openclinference model-file=\""
                + subject.file + "\" precision=" + precision
                + " batch-size=" + std::to_string (subject.options.batch) + " ! " + sink;
    line.feeds = {{"source", feed}};
    line.amount = double (subject.options.batch);
    bench::measure (line, session.options.timing, result);
  };
}

/* --- NV12 frames of a camera, keyed by a network that finds a person --- */

Measure
camera (const char *precision)
{
  return [precision] (Session &session, Subject &subject, Result &result, GError **) {
    const Options &given = session.options;
    const guint width = given.width ? given.width : 1920;
    const guint height = given.height ? given.height : 1080;
    result.sizes = {{"width", width}, {"height", height}};
    const std::string keyer = std::string ("openclinference output=alpha precision=")
                              + precision + " model-file=\"" + subject.file
                              + "\" ! matterefine";
    Line line;
    if (camera_line (keyer, width, height, line, result.error))
      bench::measure (line, given.timing, result);
  };
}

/* --- the network alone: the host waits for each run --- */

Measure
executor (inference::Precision precision)
{
  return
      [precision] (Session &session, Subject &subject, Result &result, GError **error) {
        cl_command_queue queue =
            gst_opencl_context_get_queue (session.context, GST_OPENCL_QUEUE_COMPUTE);
        subject.options.precision = precision;
        auto network = inference::Network::create (
            session.context, *subject.model, subject.options, subject.source (), error);
        if (!network || !network->make_own_outputs (error))
          return;
        const auto step = [&] {
          return network->run (queue, {}, {}, error)
                 && gst_opencl_check (clFinish (queue), "clFinish", error);
        };
        result.rates =
            times (repeat (session.options.timing, step), double (subject.options.batch));
      };
}

/* --- baselines --- */

Measure
python (const char *library)
{
  return [library] (Session &session, Subject &subject, Result &result, GError **) {
    result.device = "CPU";
    measure_python ("/bench/baseline-network.py",
        {library, subject.file, inference::text_of (subject.input.shape)},
        session.options.timing, result);
    result.rates = times (result.rates, double (subject.options.batch));
  };
}
} // namespace

const std::vector<Case> inference_cases = {
    {"element", "openclinference, RGBA frames on the device",
        each_model (element ("float"))},
    {"baseline-onnxruntime", "onnxruntime on two threads",
        each_model (python ("onnxruntime"))},
    {"baseline-torch", "PyTorch on two threads, by onnx2torch",
        each_model (python ("torch"))},
    {"executor", "the network alone, waiting for each run",
        each_model (executor (inference::Precision::single))},
    {"element-half", "openclinference with precision=half",
        each_model (element ("half"))},
    {"executor-half", "the network alone in half precision",
        each_model (executor (inference::Precision::half))},
    {"camera", "NV12 1920x1080, matte, matterefine, background, NV12, host to host",
        each_model (camera ("float"))},
    {"camera-half", "the same with precision=half", each_model (camera ("half"))},
};
} // namespace bench
