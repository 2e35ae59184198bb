/* opencl-bench: convolution cases
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvecases.hpp"

#include "baselines.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/common/npyfile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclkernel.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <utility>

#include <unistd.h>

namespace bench {
namespace {
/* Square images and kernels: a layer or, with 0 filters, a grey image */
struct Size {
  const char *name;
  unsigned side, channels, filters, taps, stride, groups;
  bool product = false; /* separable: a column times a row */
};

constexpr Size sizes[] = {
    {"3x3-64", 56, 64, 64, 3, 1, 1},
    {"3x3-128", 28, 128, 128, 3, 1, 1},
    {"3x3-256", 14, 256, 256, 3, 1, 1},
    {"3x3-512", 7, 512, 512, 3, 1, 1},
    {"1x1-64-256", 56, 64, 256, 1, 1, 1},
    {"1x1-256-64", 56, 256, 64, 1, 1, 1},
    {"7x7-3-64", 224, 3, 64, 7, 2, 1},
    {"depthwise-128", 28, 128, 128, 3, 1, 128},
    {"picture-3x3", 512, 1, 0, 3, 1, 1},
    {"picture-5x5", 512, 1, 0, 5, 1, 1},
    {"picture-15x15", 512, 1, 0, 15, 1, 1},
    {"picture-31x31", 512, 1, 0, 31, 1, 1},
    {"picture-63x63", 512, 1, 0, 63, 1, 1},
    {"product-3x3", 512, 1, 0, 3, 1, 1, true},
    {"product-7x7", 512, 1, 0, 7, 1, 1, true},
    {"product-15x15", 512, 1, 0, 15, 1, 1, true},
};

/* More sizes for which method=auto has to decide */
constexpr Size sizes_of_choice[] = {
    {"3x3-16", 56, 16, 16, 3, 1, 1},
    {"3x3-64-8", 56, 64, 8, 3, 1, 1},
    {"3x3-512-2", 14, 512, 512, 3, 2, 1},
    {"5x5-32", 28, 32, 32, 5, 1, 1},
    {"1x1-512-2048", 7, 512, 2048, 1, 1, 1},
    {"depthwise-7x7", 28, 96, 96, 7, 1, 96},
};

bool
is_layer (const Size &size)
{
  return size.filters > 0;
}

/* Name of a case, and properties of the element */
struct Method {
  const char *name, *properties, *blurb;
};

constexpr Method methods[] = {
    {"auto", "method=auto", "the method that auto chooses"},
    {"direct", "method=direct", "direct sum"},
    {"separable", "method=separable", "rows, then columns"},
    {"winograd", "method=winograd", "Winograd algorithm"},
    {"fft", "method=fft", "Fourier transform"},
};

bool
is_chosen_from (const Method &method)
{
  return method.name != std::string ("auto");
}

bool
does (const std::string &method, const Size &size)
{
  if (method == "separable")
    return size.product;
  if (method == "winograd")
    return is_layer (size) && size.groups == 1 && size.taps == 3 && size.stride == 1;
  return method != "fft" || !is_layer (size) || size.groups > 1;
}

/* Returns the multiplications and additions of a direct convolution of an image. */
double
operations_of (const Size &size)
{
  const double side = size.side / size.stride,
               filters = is_layer (size) ? size.filters : 1;
  return 2 * side * side * filters * size.taps * size.taps * size.channels / size.groups;
}

/* Returns the size of the case or, for grey images, --size. */
Size
asked (const Session &session, Size size)
{
  if (!is_layer (size) && session.options.width)
    size.side = session.options.width;
  return size;
}

unsigned
images_of (const Session &session, const Size &size)
{
  return !is_layer (size) || opencl::is_cpu (session.context) ? 1 : 32;
}

/* Temporary file of weights, removed by the destructor */
class TapsFile {
public:
  explicit TapsFile (const Size &size)
  {
    const gsize n = size.taps;
    const std::vector<gsize> shape = is_layer (size) ? std::vector<gsize>{size.filters,
                                         size.channels / size.groups, n, n}
                                                     : std::vector<gsize>{n, n};
    gsize count = 1;
    for (gsize length : shape)
      count *= length;
    std::vector<float> taps = random_numbers (count);
    if (size.product)
      for (gsize at = n; at < count; at++)
        taps[at] = taps[at % n] * (at / n + 1);
    const int descriptor = g_file_open_tmp ("taps-XXXXXX.npy", &path, nullptr);
    if (descriptor < 0)
      return;
    close (descriptor);
    std::ofstream (path, std::ios::binary)
        << opencl::npy_make_header (opencl::NumberType::f32, false, shape)
        << std::string (
               reinterpret_cast<const char *> (taps.data ()), count * sizeof (float));
  }
  ~TapsFile ()
  {
    if (path)
      unlink (path);
    g_free (path);
  }
  TapsFile (const TapsFile &) = delete;

  std::string name () const { return path ? path : ""; }

private:
  gchar *path = nullptr;
};

/* Sets `feed` to an image, or a batch of images, on the device. */
bool
hold_input (const Size &size, unsigned images, Feed &feed, std::string &error)
{
  const std::string side = std::to_string (size.side);
  const gsize count = gsize (images) * size.side * size.side * size.channels;
  const std::vector<float> numbers = random_numbers (count);
  std::string caps;
  GstBuffer *buffer;

  if (is_layer (size)) {
    caps = "other/tensors,format=static,num_tensors=1,types=float32,framerate=30/1,"
           "dimensions=(string)"
           + std::to_string (size.channels) + ":" + side + ":" + side + ":"
           + std::to_string (images);
    buffer = gst_buffer_new_memdup (numbers.data (), count * sizeof (float));
  } else {
    std::vector<guint8> bytes (count);
    for (gsize n = 0; n < count; n++)
      bytes[n] = guint8 ((numbers[n] + 0.5f) * 255);
    caps = "video/x-raw,format=GRAY8,framerate=30/1,width=" + side + ",height=" + side;
    buffer = gst_buffer_new_memdup (bytes.data (), count);
  }
  feed.caps = hold (gst_caps_from_string (caps.c_str ()));
  feed.frames = {hold (buffer)};
  return hold_frame (
      "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
      {{"source", feed}}, feed, error);
}

/* --- peak of the device --- */

const char *const peak_source =
    "kernel void multiply (global float *out, float a, float b) {"
    "  VECTOR s[8]; for (int n = 0; n < 8; n++) s[n] = get_global_id (0) + n;"
    "  for (int k = 0; k < 4096; k++) {\n"
    "#pragma unroll\n"
    "    for (int n = 0; n < 8; n++) s[n] = s[n] * a + b; }"
    "  VECTOR t = 0; for (int n = 0; n < 8; n++) t += s[n];"
    "  VSTORE (t, get_global_id (0), out); }";

double
measure_peak (GstOpenCLContext *context)
{
  const bool cpu = opencl::is_cpu (context);
  const gsize lanes = cpu ? 16 : 2;
  const gsize items = cpu ? 4096 : opencl::compute_units (context) * gsize (16384);
  const std::string width = std::to_string (lanes);
  const std::string options =
      "-cl-mad-enable -DVECTOR=float" + width + " -DVSTORE=vstore" + width;
  GstOpenCLKernel *kernel =
      gst_opencl_kernel_new (context, peak_source, "multiply", options.c_str (), nullptr);
  cl::Buffer out =
      opencl::make_buffer (context, items * lanes * sizeof (cl_float), nullptr);
  cl_command_queue queue =
      gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  const cl_float a = 0.999f, b = 0.5f;
  double best = 0;

  if (!kernel || !out ())
    return 0;
  gst_opencl_kernel_set_buffer (kernel, 0, out (), nullptr);
  gst_opencl_kernel_set_value (kernel, 1, sizeof a, &a, nullptr);
  gst_opencl_kernel_set_value (kernel, 2, sizeof b, &b, nullptr);
  for (int n = 0; n < 10; n++) {
    const double start = now ();
    gst_opencl_kernel_launch (kernel, queue, items, 1, nullptr);
    clFinish (queue);
    best = std::max (best, 2.0 * 8 * 4096 * double (lanes * items) / (now () - start));
  }
  gst_opencl_kernel_unref (kernel);
  return best;
}

/* --- cases --- */

Result
result_of (
    const Session &session, const std::string &what, const Size &size, unsigned images)
{
  Result result = session.result (what,
      {{"images", images}, {"side", size.side}, {"channels", size.channels},
          {"filters", is_layer (size) ? size.filters : 1}, {"taps", size.taps},
          {"stride", size.stride}},
      is_layer (size) ? "FLOP/s" : "frames/s");
  return result;
}

/* Returns a line with openclconvolve and its properties. */
Line
line_of (const Size &size, unsigned images, const TapsFile &taps, const Feed &feed,
    const std::string &properties)
{
  Line line;
  line.text = "benchmarksource name=source ! openclconvolve kernel=" + taps.name ()
              + " kernel-layout=oihw " + properties
              + " stride=" + std::to_string (size.stride)
              + " groups=" + std::to_string (size.groups) + " ! " + sink;
  line.feeds = {{"source", feed}};
  line.amount = is_layer (size) ? images * operations_of (size) : 1;
  return line;
}

std::function<void (Session &, const std::string &)>
convolve (const Size &meant, const std::string &properties)
{
  return [=] (Session &session, const std::string &what) {
    const Size size = asked (session, meant);
    const unsigned images = images_of (session, size);
    Result result = result_of (session, what, size, images);
    const TapsFile taps (size);
    Feed feed;
    if (is_layer (size))
      result.limit = peak_of (session);
    if (hold_input (size, images, feed, result.error))
      measure (
          line_of (size, images, taps, feed, properties), session.options.timing, result);
    session.print (result);
  };
}

/* --- the choice of method=auto --- */

void
keep_choice (GstDebugCategory *, GstDebugLevel, const gchar *, const gchar *, gint,
    GObject *, GstDebugMessage *message, gpointer choice)
{
  const char *const begins = "method=auto uses ", *text = gst_debug_message_get (message);
  if (g_str_has_prefix (text, begins))
    *static_cast<std::string *> (choice) = text + strlen (begins);
}

/* Reads the method from the element's log message. */
std::string
choice_of (const Line &line)
{
  std::string choice;
  Result result;
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (keep_choice, &choice, nullptr);
  gst_debug_set_threshold_for_name ("openclconvolve", GST_LEVEL_INFO);
  measure (line, {0, 0.001, 1}, result);
  gst_debug_unset_threshold_for_name ("openclconvolve");
  gst_debug_remove_log_function (keep_choice);
  gst_debug_add_log_function (gst_debug_log_default, nullptr, nullptr);
  return choice;
}

/* Measures each method in turn, in each window, so that other load of the machine slows
 * all of them. On a CPU only the CPU time of this process counts. The rate is that of the
 * method that `auto` chooses. */
std::function<void (Session &, const std::string &)>
choose (const Size &meant)
{
  return [=] (Session &session, const std::string &what) {
    const Size size = asked (session, meant);
    const unsigned images = images_of (session, size);
    Timing timing = session.options.timing;
    const unsigned rounds = std::exchange (timing.windows, 1);
    timing.warm_up /= 4;
    if (opencl::is_cpu (session.context))
      timing.clock = processor_time;
    Result result = result_of (session, what, size, images);
    const TapsFile taps (size);
    Feed feed;
    std::map<std::string, std::vector<double>> rates;
    if (hold_input (size, images, feed, result.error))
      result.choice = choice_of (line_of (size, images, taps, feed, "method=auto"));
    for (unsigned n = 0; n < rounds && result.error.empty (); n++)
      for (const Method &method : methods) {
        Result one;
        if (!is_chosen_from (method) || !does (method.name, size))
          continue;
        measure (line_of (size, images, taps, feed, method.properties), timing, one);
        result.error = one.error;
        rates[method.name].insert (
            rates[method.name].end (), one.rates.begin (), one.rates.end ());
      }
    double fastest = 0;
    for (const auto &of_method : rates) {
      result.more.push_back ({of_method.first, median (of_method.second)});
      fastest = std::max (fastest, median (of_method.second));
    }
    result.rates = rates[result.choice];
    result.more.push_back ({"of_fastest", median (result.rates) / fastest});
    session.print (result);
  };
}

/* onnxruntime for layers, scipy for pictures */
std::function<void (Session &, const std::string &)>
baseline (const Size &meant)
{
  return [=] (Session &session, const std::string &what) {
    const Size size = asked (session, meant);
    Result result = result_of (session, what, size, 1);
    const std::vector<std::string> words = {is_layer (size) ? "onnxruntime" : "scipy",
        std::to_string (size.side), std::to_string (size.channels),
        std::to_string (size.filters), std::to_string (size.taps),
        std::to_string (size.stride), std::to_string (size.groups)};
    result.device = "CPU";
    measure_python ("/bench/baseline-convolve.py", words, session.options.timing, result);
    if (is_layer (size))
      for (double &rate : result.rates)
        rate *= operations_of (size);
    session.print (result);
  };
}

/* Times only CLBlast's product of the matrices of a layer, without unfolding the
 * input. */
std::function<void (Session &, const std::string &)>
product_alone (const Size &size)
{
  return [=] (Session &session, const std::string &what) {
    const unsigned images = images_of (session, size);
    const gsize side = size.side / size.stride;
    Result result = result_of (session, what, size, images);
    result.limit = peak_of (session);
    measure_clblast (session.context,
        {images * side * side, gsize (size.taps) * size.taps * size.channels,
            size.filters},
        session.options.timing, result);
    session.print (result);
  };
}

/* Names live as long as the program. */
const char *
kept_name (const std::string &name)
{
  return g_intern_string (name.c_str ());
}
} // namespace

std::vector<float>
random_numbers (gsize count)
{
  std::minstd_rand random (1);
  std::uniform_real_distribution<float> between (-0.5f, 0.5f);
  std::vector<float> numbers (count);
  for (float &number : numbers)
    number = between (random);
  return numbers;
}

double
peak_of (const Session &session)
{
  static const double peak = measure_peak (session.context);
  return peak;
}

std::vector<Case>
convolutions_of_compute ()
{
  std::vector<Case> cases;
  for (const Size &size : sizes) {
    const std::string name = std::string ("convolve-") + size.name;
    const bool layer = is_layer (size);
    cases.push_back ({kept_name (name),
        layer ? "openclconvolve, a layer" : "openclconvolve, a gray image",
        convolve (size, "method=auto")});
    cases.push_back ({kept_name ("baseline-" + name),
        layer ? "onnxruntime on two threads" : "scipy's fftconvolve on two threads",
        baseline (size)});
  }
  return cases;
}

static std::vector<Case>
all_methods ()
{
  std::vector<Case> cases;
  for (const Size &size : sizes)
    for (const Method &method : methods) {
      const std::string name = size.name;
      if (!does (method.name, size))
        continue;
      cases.push_back ({kept_name (name + "-" + method.name), method.blurb,
          convolve (size, method.properties)});
      if (method.name == std::string ("direct") && is_layer (size) && size.groups == 1)
        cases.push_back ({kept_name ("baseline-clblast-" + name),
            "CLBlast's product of the same matrices", product_alone (size)});
    }
  return cases;
}

static std::vector<Case>
with_choices (std::vector<Case> cases)
{
  auto add = [&] (const Size &size) {
    cases.push_back ({kept_name (std::string ("choice-") + size.name),
        "the method that auto chooses, and each method", choose (size)});
  };
  for (const Size &size : sizes)
    add (size);
  for (const Size &size : sizes_of_choice)
    add (size);
  return cases;
}

const std::vector<Case> convolve_cases = with_choices (all_methods ());
} // namespace bench
