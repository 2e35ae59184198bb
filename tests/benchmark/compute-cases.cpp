/* opencl-bench: cases of user kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "convolvecases.hpp"
#include "keyingchain.hpp"
#include "session.hpp"

#include <gst/opencl/core/deviceinfo.hpp>

namespace bench {
namespace {
/* Size of the work of a case: its own, or --size */
struct Side {
  unsigned width, height;
};

Side
size_of (const Session &session, unsigned width, unsigned height)
{
  if (session.options.width)
    return {session.options.width, session.options.height};
  return {width, height};
}

/* Returns a program of pipelines/programs as the property `source` of a launch line. */
std::string
source_of (const std::string &name)
{
  std::string quoted;
  for (char letter : resource_text (("/bench/" + name).c_str ())) {
    if (letter == '"' || letter == '\\')
      quoted += '\\';
    quoted += letter;
  }
  return "source=\"" + quoted + "\" ";
}

/* Lanes per work-item: wide vectors on a CPU. On a GPU more lanes only make work-items
 * longer. */
std::string
lanes_of (const Session &session, unsigned on_cpu)
{
  return std::to_string (opencl::is_cpu (session.context) ? on_cpu : 2);
}

/* --- over frames --- */

const char *const invert =
    "source=\"kernel void invert (global const uchar4 *input, global uchar4 *output, int "
    "stride, int width) { size_t x = get_global_id (0), y = get_global_id (1); "
    "output[y * (stride / 4) + x] = (uchar4) (255) - input[y * (stride / 4) + x]; }\"";

/* The same with vectors of four pixels */
const char *const invert_fours =
    "global-size=width/4,height source=\"kernel void invert (global const uchar16 "
    "*input, "
    "global uchar16 *output, int stride) { size_t at = get_global_id (1) * (stride / 16) "
    "+ "
    "get_global_id (0); output[at] = (uchar16) (255) - input[at]; }\"";

std::function<void (Session &, const std::string &)>
over_frames (const std::string &properties)
{
  return [properties] (Session &session, const std::string &what) {
    const Side side = size_of (session, 3840, 2160);
    Result result =
        session.result (what, picture_size (side.width, side.height), "frames/s");
    Feed feed = green_screen (side.width, side.height);
    Line line;
    feed.kind = Feed::HELD;
    result.limit = session.ceilings.memory_limit (8.0 * side.width * side.height);
    if (hold_frame (
            "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
            {{"source", feed}}, feed, result.error)) {
      line.text =
          "benchmarksource name=source ! openclkernel " + properties + " ! " + sink;
      line.feeds = {{"source", feed}};
      measure (line, session.options.timing, result);
    }
    session.print (result);
  };
}

/* --- made on the device --- */

void
run_source (Session &session, const std::string &what, const Side &side, gsize bytes,
    const std::string &properties)
{
  Result result =
      session.result (what, picture_size (side.width, side.height), "frames/s");
  Line line;
  result.limit = session.ceilings.memory_limit (double (bytes));
  line.text = "openclkernelsrc " + properties + " ! " + sink;
  measure (line, session.options.timing, result);
  session.print (result);
}

void
run_mesh (Session &session, const std::string &what)
{
  const Side whole = size_of (session, 1000, 1000);
  const Side side = {whole.width / 8 * 8, whole.height};
  const std::string lanes = lanes_of (session, 4);
  run_source (session, what, side, 8 * gsize (side.width) * side.height,
      source_of ("distance.cl") + "options=\"-DREAL=double -DLANES=" + lanes
          + "\" global-size=shape0/" + lanes
          + ",shape1 "
            "arguments=a,south=29,north=31,west=99,east=101,latitude=30,longitude=101 "
            "output-caps=other/tensors,types=float64,dimensions=(string)"
          + std::to_string (side.width) + ":" + std::to_string (side.height));
}

std::function<void (Session &, const std::string &)>
mandelbrot (unsigned iterations)
{
  return [iterations] (Session &session, const std::string &what) {
    const Side side = size_of (session, 1536, 1024);
    const std::string lanes = lanes_of (session, 8);
    run_source (session, what, side, gsize (side.width) * side.height,
        source_of ("mandelbrot.cl") + "options=\"-DREAL=double -DLANES=" + lanes
            + "\" global-size=width/" + lanes
            + ",height arguments=\"a,centre=<-0.5,0.0>,span=3.0,zoom=0.0,iterations="
            + std::to_string (iterations)
            + "\" output-caps=video/x-raw,format=GRAY8,width="
            + std::to_string (side.width) + ",height=" + std::to_string (side.height));
  };
}

void
run_black_scholes (Session &session, const std::string &what)
{
  const gsize n = session.options.width
                      ? gsize (session.options.width) * session.options.height / 16 * 16
                      : 4000000;
  const std::string lanes = lanes_of (session, 16), length = std::to_string (n);
  Result result = session.result (what, {{"options", unsigned (n)}}, "frames/s");
  Feed feed;
  Line line;
  result.limit = session.ceilings.memory_limit (20.0 * double (n));
  if (hold_frame ("openclkernelsrc num-buffers=1 " + source_of ("drawn.cl")
                      + "kernel=options arguments=a,seed=1 global-size=shape0 "
                        "output-caps=other/tensors,types=float32,dimensions=(string)"
                      + length + ":3 ! appsink name=sink sync=false",
          {}, feed, result.error)) {
    line.text = "benchmarksource name=source ! openclkernel "
                + source_of ("blackscholes.cl") + "options=-DLANES=" + lanes
                + " global-size=shape0/" + lanes
                + " arguments=a,rate=0.02,volatility=0.3 "
                  "output-caps=other/tensors,dimensions=(string)"
                + length + ":2 ! " + sink;
    line.feeds = {{"source", feed}};
    measure (line, session.options.timing, result);
  }
  session.print (result);
}

/* --- the product of matrices --- */

/* Square matrices or, with --size WxH, H x H times H x W. Work-groups are 16 x 16. */
Product
product_of (const Session &session)
{
  const unsigned length = opencl::is_cpu (session.context) ? 512 : 4096;
  const Side side = size_of (session, length, length);
  return {side.height / 16 * 16, side.height / 16 * 16, side.width / 16 * 16};
}

Result
result_of (const Session &session, const std::string &what, const Product &product)
{
  Result result = session.result (what,
      {{"rows", unsigned (product.rows)}, {"depth", unsigned (product.depth)},
          {"width", unsigned (product.width)}},
      "FLOP/s");
  result.limit = peak_of (session);
  return result;
}

/* Sets `feed` to a matrix of normally distributed numbers on the device. */
bool
hold_matrix (gsize rows, gsize columns, Feed &feed, std::string &error)
{
  return hold_frame ("openclkernelsrc num-buffers=1 " + source_of ("drawn.cl")
                         + "kernel=normal_numbers arguments=a,seed=1 "
                           "output-caps=other/tensors,types=float32,dimensions=(string)"
                         + std::to_string (columns) + ":" + std::to_string (rows)
                         + " ! appsink name=sink sync=false",
      {}, feed, error);
}

void
measure_product (Session &session, const std::string &what, const std::string &program)
{
  const Product product = product_of (session);
  const std::string shape =
      std::to_string (product.width) + ":" + std::to_string (product.rows);
  Result result = result_of (session, what, product);
  Feed a, b;
  Line line;
  if (hold_matrix (product.rows, product.depth, a, result.error)
      && hold_matrix (product.depth, product.width, b, result.error)) {
    line.text = "openclkernelmixer name=both " + program
                + " output-caps=other/tensors,dimensions=(string)" + shape + " ! " + sink
                + " benchmarksource name=a ! both.a benchmarksource name=b ! both.b";
    line.feeds = {{"a", a}, {"b", b}};
    line.amount = product.operations ();
    measure (line, session.options.timing, result);
  }
  session.print (result);
}

void
run_product (Session &session, const std::string &what)
{
  measure_product (session, what, "expression=\"a @ b\"");
}

void
run_tiled_product (Session &session, const std::string &what)
{
  const Product product = product_of (session);
  measure_product (session, what,
      source_of ("matrixproduct.cl") + "global-size=" + std::to_string (product.width)
          + "," + std::to_string (product.rows));
}

/* --- reductions and transforms --- */

/* Frames of normally distributed numbers on the device */
std::function<void (Session &, const std::string &)>
over_numbers (unsigned side, const std::string &element)
{
  return [side, element] (Session &session, const std::string &what) {
    const Side size = size_of (session, side, side);
    Result result =
        session.result (what, picture_size (size.width, size.height), "frames/s");
    Feed feed;
    Line line;
    result.limit = session.ceilings.memory_limit (4.0 * size.width * size.height);
    if (hold_matrix (size.height, size.width, feed, result.error)) {
      line.text = "benchmarksource name=source ! " + element + " ! " + sink;
      line.feeds = {{"source", feed}};
      measure (line, session.options.timing, result);
    }
    session.print (result);
  };
}

/* --- baselines --- */

void
run_clblast (Session &session, const std::string &what)
{
  const Product product = product_of (session);
  Result result = result_of (session, what, product);
  measure_clblast (session.context, product, session.options.timing, result);
  session.print (result);
}

std::function<void (Session &, const std::string &)>
python (const char *script, const char *name, unsigned width, unsigned height)
{
  return [=] (Session &session, const std::string &what) {
    const unsigned side = session.options.width;
    Result result = session.result (
        what, picture_size (side ? side : width, side ? side : height), "frames/s");
    result.device = "CPU";
    measure_python (
        script, {name, std::to_string (side)}, session.options.timing, result);
    session.print (result);
  };
}

std::function<void (Session &, const std::string &)>
numba (const char *name, unsigned width, unsigned height)
{
  return python ("/bench/baseline-numba.py", name, width, height);
}

std::function<void (Session &, const std::string &)>
numpy (const char *name, unsigned side)
{
  return python ("/bench/baseline-numpy.py", name, side, side);
}
} // namespace

static std::vector<Case>
with_convolutions (std::vector<Case> cases)
{
  for (const Case &one : convolutions_of_compute ())
    cases.push_back (one);
  return cases;
}

const std::vector<Case> compute_cases = with_convolutions ({
    {"expression", "an expression over RGBA frames, device to device",
        over_frames ("expression=\"0.1 + 0.8 * x\"")},
    {"kernel", "a kernel over pixels", over_frames (invert)},
    {"kernel-fours", "a kernel over vectors of four pixels", over_frames (invert_fours)},
    {"mesh", "distances of a mesh, double precision", run_mesh},
    {"mandelbrot-20", "the Mandelbrot set, double precision, 20 iterations",
        mandelbrot (20)},
    {"mandelbrot-1000", "the same, 1000 iterations", mandelbrot (1000)},
    {"blackscholes", "call and put prices of options, on the device, single precision",
        run_black_scholes},
    {"product", "matrix product by an expression, single precision", run_product},
    {"matrixproduct", "the same by a kernel in tiles", run_tiled_product},
    {"reduce", "sum of an array of float32", over_numbers (4096, "openclreduce")},
    {"reduce-rows", "sum of each row of it", over_numbers (4096, "openclreduce axes=1")},
    {"reduce-columns", "sum of each column of it",
        over_numbers (4096, "openclreduce axes=0")},
    {"scan", "cumulative sums of each row of it",
        over_numbers (4096, "openclreduce operation=cumulative-sum axes=1")},
    {"fft", "half spectra of rows of float32",
        over_numbers (1024, "openclfft half-spectrum=true")},
    {"fft-two", "half spectra of images of float32",
        over_numbers (1024, "openclfft half-spectrum=true axes=0,1")},
    {"baseline-numpy-reduce", "NumPy", numpy ("reduce", 4096)},
    {"baseline-numpy-reduce-rows", "NumPy", numpy ("reduce-rows", 4096)},
    {"baseline-numpy-reduce-columns", "NumPy", numpy ("reduce-columns", 4096)},
    {"baseline-numpy-scan", "NumPy", numpy ("scan", 4096)},
    {"baseline-numpy-fft", "NumPy", numpy ("fft", 1024)},
    {"baseline-numpy-fft-two", "NumPy", numpy ("fft-two", 1024)},
    {"baseline-clblast-matrixproduct", "matrix product by CLBlast", run_clblast},
    {"baseline-numba-mesh", "numba, parallel and fastmath", numba ("mesh", 1000, 1000)},
    {"baseline-numba-mandelbrot-20", "numba, parallel and fastmath",
        numba ("mandelbrot-20", 1536, 1024)},
    {"baseline-numba-mandelbrot-1000", "numba, parallel and fastmath",
        numba ("mandelbrot-1000", 1536, 1024)},
    {"baseline-numba-blackscholes", "numba, parallel and fastmath",
        numba ("blackscholes", 2000, 2000)},
});
} // namespace bench
