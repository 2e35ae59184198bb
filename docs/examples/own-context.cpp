/* own-context: an application's cl_mem through the OCT chain, and back to its own queue
 *
 * The application has a cl_context, a buffer of raw spectra in it and a queue. The chain
 * works in that context; what it makes, depth by depth in dB, is used by a kernel of the
 * application's own on its own queue. Nothing is copied, and no thread of the pipeline
 * waits for the device: events order the queues there.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/opencl/opencl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
const cl_uint samples = 1024, lines = 64, depths = samples / 2, mirror = 100;

const char *const source = R"(
kernel void
brightest (global const float *decibels, ulong first, uint depths, global uint *bins)
{
  uint line = get_global_id (0), best = 4; /* before them stands the light itself */
  decibels += first + line * depths;
  for (uint bin = best; bin < depths; bin++)
    if (decibels[bin] > decibels[best])
      best = bin;
  bins[line] = best;
})";

void
check (cl_int code, const char *call)
{
  if (code == CL_SUCCESS)
    return;
  std::fprintf (stderr, "%s: error %d of OpenCL\n", call, code);
  std::exit (1);
}

/* OpenCL objects that an application already has */
struct Application {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_kernel brightest;
  cl_mem spectra, bins;

  Application ()
  {
    cl_platform_id platform;
    cl_int code;
    check (clGetPlatformIDs (1, &platform, nullptr), "clGetPlatformIDs");
    check (clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr),
        "clGetDeviceIDs");
    context = clCreateContext (nullptr, 1, &device, nullptr, nullptr, &code);
    check (code, "clCreateContext");
    queue = clCreateCommandQueue (context, device, 0, &code);
    check (code, "clCreateCommandQueue");
    create_kernel ();
    create_buffers ();
  }

  ~Application ()
  {
    clReleaseMemObject (bins);
    clReleaseMemObject (spectra);
    clReleaseKernel (brightest);
    clReleaseCommandQueue (queue);
    clReleaseContext (context);
  }

  void create_kernel ()
  {
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource (context, 1, &text, nullptr, &code);
    check (code, "clCreateProgramWithSource");
    check (clBuildProgram (program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    brightest = clCreateKernel (program, "brightest", &code);
    check (code, "clCreateKernel");
    clReleaseProgram (program);
  }

  /* A mirror: fringes of one frequency, already even in wavenumber */
  void create_buffers ()
  {
    std::vector<cl_ushort> values;
    for (cl_uint line = 0; line < lines; line++)
      for (cl_uint n = 0; n < samples; n++)
        values.push_back (
            cl_ushort (30000 + 9000 * std::cos (2 * M_PI * mirror * n / samples)));
    cl_int code;
    spectra = clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
        values.size () * sizeof values[0], values.data (), &code);
    check (code, "clCreateBuffer");
    bins = clCreateBuffer (
        context, CL_MEM_READ_WRITE, lines * sizeof (cl_uint), nullptr, &code);
    check (code, "clCreateBuffer");
  }
};

/* The chain's result is read where it is, after what wrote it, before it is used again. */
void
find_brightest (Application &application, GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  const cl_mem decibels = gst_opencl_memory_get_handle (memory);
  const cl_ulong first = gst_opencl_memory_get_offset (memory) / sizeof (cl_float);
  const size_t items = lines;
  cl_event done;

  clSetKernelArg (application.brightest, 0, sizeof decibels, &decibels);
  clSetKernelArg (application.brightest, 1, sizeof first, &first);
  clSetKernelArg (application.brightest, 2, sizeof depths, &depths);
  clSetKernelArg (application.brightest, 3, sizeof application.bins, &application.bins);
  if (!gst_opencl_memory_begin (memory, application.queue, GST_MAP_READ, nullptr))
    std::exit (1);
  check (clEnqueueNDRangeKernel (application.queue, application.brightest, 1, nullptr,
             &items, nullptr, 0, nullptr, &done),
      "clEnqueueNDRangeKernel");
  gst_opencl_memory_end (memory, application.queue, GST_MAP_READ, done);
  clFlush (application.queue);
  clReleaseEvent (done);
}

void
process (
    Application &application, GstOpenCLContext *context, GstAppSrc *in, GstAppSink *out)
{
  GstBuffer *spectra = gst_buffer_new ();
  gst_buffer_append_memory (
      spectra, gst_opencl_memory_new_wrapped (context, application.spectra,
                   samples * lines * sizeof (cl_ushort), nullptr, nullptr));
  gst_app_src_push_buffer (in, spectra);

  GstSample *sample = gst_app_sink_pull_sample (out);
  if (!sample) {
    std::fprintf (stderr, "no sample came; GST_DEBUG=3 says why\n");
    std::exit (1);
  }
  find_brightest (application, gst_sample_get_buffer (sample));
  gst_sample_unref (sample);
}
} // namespace

int
main (int argc, char *argv[])
{
  gst_init (&argc, &argv);
  Application application;
  GError *error = nullptr;

  GstOpenCLContext *context = gst_opencl_context_new_wrapped (
      application.context, application.device, nullptr, &error);
  GstElement *pipeline =
      context ? gst_parse_launch (
          "appsrc name=in format=time ! octwindowinterp name=resample ! "
          "octfft name=transform ! application/x-oct(memory:OpenCLMemory),"
          "domain=depth,format=F32LE ! appsink name=out sync=false",
          &error)
              : nullptr;
  if (!pipeline) {
    std::fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  GstContext *shared = gst_opencl_context_to_gst_context (context);
  gst_element_set_context (pipeline, shared);
  gst_context_unref (shared);

  GstElement *in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  GstElement *out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  GstCaps *caps = gst_caps_from_string (
      "application/x-oct(memory:OpenCLMemory),domain=wavelength,format=U16LE,"
      "samples=1024,lines=64,framerate=0/1");
  gst_app_src_set_caps (GST_APP_SRC (in), caps);
  gst_caps_unref (caps);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);

  for (int frame = 0; frame < 10; frame++)
    process (application, context, GST_APP_SRC (in), GST_APP_SINK (out));
  gst_app_src_end_of_stream (GST_APP_SRC (in));

  std::vector<cl_uint> bins (lines);
  check (clEnqueueReadBuffer (application.queue, application.bins, CL_TRUE, 0,
             lines * sizeof bins[0], bins.data (), 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
  std::printf ("the mirror is at depth bin %u\n", bins[0]);

  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (in);
  gst_object_unref (out);
  gst_object_unref (pipeline);
  gst_object_unref (context);
  gst_deinit ();
}
