/* Tests that a pipeline in steady state creates nothing: no memory, kernel or queue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/fft-libraries.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/harness.hpp"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include <algorithm>
#include <functional>
#include <malloc.h>

using namespace check;

/* Memory that an earlier test freed would hide a leak. */
static const bool alone = fork_each_test ();

namespace {
struct Case {
  const char *label;
  const char *line; /* without its sink */
  /* Allocations of pools that grow later because threads drift further apart. `queue`
   * elements limit that, and so does the pool, which skips 8 buffers that another thread
   * reads. */
  unsigned late_allocations;
};

#define SPECTRA "video/x-raw,format=GRAY16_LE,width=256,height=8"

const Case pipelines[] = {
    {"upload and download", "videotestsrc ! " SPECTRA " ! openclupload ! opencldownload",
        0},
    {"frames of no fixed size",
        "audiotestsrc samplesperbuffer=500 ! openclupload ! opencldownload", 0},
    {"upload and download in threads of their own",
        "videotestsrc ! " SPECTRA " ! queue max-size-buffers=3 ! openclupload ! queue "
        "max-size-buffers=3 ! opencldownload ! "
        "queue max-size-buffers=3",
        24},
    {"the OCT chain",
        "videotestsrc ! " SPECTRA " ! openclupload ! octwindowinterp "
        "wavelength-min=1187 wavelength-max=1433 background=rolling ! octfft "
        "! opencldownload",
        0},
    {"means of B-scans",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft ! octaverage frames=2 mean=complex ! "
        "octaverage rolling=true mean=linear ! opencldownload",
        0},
    {"angiograms",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft ! octangio repeats=2 method=complex-variance "
        "axial-shift=2 bands=2 ! "
        "opencldownload",
        0},
    {"B-scans that come back",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octscan reverse=odd delay=1 ! octwindowinterp ! octfft ! opencldownload",
        0},
    {"pictures that find their range",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft db-auto=true ! opencldownload",
        0},
    {"velocities",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft ! octdoppler between=frames ! opencldownload",
        0},
    {"plots of A-scans",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft ! application/x-oct(ANY) ! octsignal interval=0 ! "
        "video/x-raw(ANY),width=96,height=64 ! opencldownload",
        /* Two buffers for each measurement on its way to the host, of which there are up
         * to four at a time */
        2},
    {"flat depths and their attenuation",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp ! octfft ! octflatten coefficients=<0,0,0,5> ! octattenuation "
        "depth-step=3 noise-depths=20 window-lines=3 ! opencldownload",
        0},
    {"fixed patterns of gridded spectra, shown",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp interpolation=nufft wavelength-min=1187 wavelength-max=1433 ! "
        "octfft ! octbackground segment-lines=4 ! octdisplay ! opencldownload",
        0},
    {"a clock's fringes beside the sample's",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=8 ! "
        "octwindowinterp k-clock=behind background=rolling ! octfft ! opencldownload",
        0},
    {"packed samples",
        "fakesrc sizetype=fixed sizemax=3072 filltype=pattern format=time ! "
        "application/x-oct,domain=wavelength,format=MONO12P,samples=256,lines=8,"
        "framerate=25/1 ! openclupload ! octscan reverse=odd ! octwindowinterp ! "
        "octfft ! opencldownload",
        0},
    {"a source on the device",
        "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,"
        "height=8 ! octwindowinterp ! octfft ! opencldownload",
        0},
    {"a green screen",
        "videotestsrc ! video/x-raw,format=I420,width=64,height=32 ! openclupload ! "
        "openclconvert ! chromakey tolerance=0.3 ! noisereduce ! flowkey ! noisereduce ! "
        "openclcompositor ! opencldownload",
        8},
    {"a soft green screen",
        "videotestsrc ! video/x-raw,format=I420,width=64,height=32 ! openclupload ! "
        "openclconvert ! chromakey method=chroma spill=1 ! flowkey iterations=0 ! "
        "splashkey ! matterefine ! keyfill ! opencldownload",
        0},
    /* Last, because not every build has clFFT. */
    {"the OCT chain with clFFT, complex",
        "videotestsrc ! " SPECTRA " ! openclupload ! octwindowinterp dispersion-a2=1e-4 "
        "background=frame ! octfft fft-library=clfft ! opencldownload",
        0},
};

std::vector<Case>
cases_of_this_build ()
{
  return {std::begin (pipelines), std::end (pipelines) - (has_clfft () ? 0 : 1)};
}

/* Counts frames, and records memory and allocating calls at some of them. */
struct Watch {
  std::vector<guint> at; /* frame numbers, ascending */
  gint frames = 0;
  std::vector<gsize> resident; /* KiB, at each */
  std::vector<unsigned> calls; /* number of calls that allocate, at each */
  /* Set once memory grows by less than this from one of them to the next */
  gsize bound_kib = 0;
  gint is_flat = FALSE;
};

GstPadProbeReturn
count_frame (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  auto *watch = static_cast<Watch *> (user_data);
  size_t done = watch->resident.size ();

  guint frame = g_atomic_int_add (&watch->frames, 1) + 1;
  if (done < watch->at.size () && frame == watch->at[done]) {
    watch->resident.push_back (resident_kib ());
    watch->calls.push_back (counting::allocations ());
    const std::vector<gsize> &kib = watch->resident;
    if (watch->bound_kib && done > 0 && kib[done] <= kib[done - 1] + watch->bound_kib)
      g_atomic_int_set (&watch->is_flat, TRUE);
  }
  return GST_PAD_PROBE_OK;
}

/* Plays `line` until all values of `watch` are recorded, or memory is flat. */
void
run_until_noted (
    const std::string &line, Watch &watch,
    const std::function<void (Pipeline &)> &prepare = [] (Pipeline &) {})
{
  Pipeline pipeline (line + " ! fakesink name=out");
  prepare (pipeline);
  gst_pad_add_probe (pipeline.pad ("out", "sink"), GST_PAD_PROBE_TYPE_BUFFER, count_frame,
      &watch, nullptr);
  pipeline.start ();
  Owned<GstMessage> error;
  while (guint (g_atomic_int_get (&watch.frames)) <= watch.at.back ()
         && !g_atomic_int_get (&watch.is_flat) && !error)
    error =
        gst_bus_timed_pop_filtered (pipeline.bus, 20 * GST_MSECOND, GST_MESSAGE_ERROR);
  fail_if (error, "%s", line.c_str ());
}
} // namespace

TEST_ROWS (
    test_nothing_is_made_on_the_device_after_the_first_frames, cases_of_this_build ())
{
  Watch watch{{1, 50, 1050, 2050}};
  run_until_noted (row.line, watch);
  /* The counter works. */
  fail_unless (watch.calls[0] > 0);
  /* A pool may allocate its last buffer late, once, on a busy machine. */
  const unsigned early = watch.calls[2] - watch.calls[1];
  const unsigned late = watch.calls[3] - watch.calls[2];
  fail_unless (std::min (early, late) <= row.late_allocations,
      "%u and %u calls that allocate, each in 1000 frames", early, late);
}

/* Lets a property of a pad swing between two values, each time in so many seconds. */
static void
animate (GstPad *pad, const char *property, double from, double to, guint seconds)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, nullptr);
  for (guint n = 0; n * seconds < 60; n++)
    gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source),
        n * seconds * GST_SECOND, n % 2 ? to : from);
  fail_unless (gst_object_add_control_binding (GST_OBJECT (pad),
      gst_direct_control_binding_new_absolute (GST_OBJECT (pad), property, source)));
  gst_object_unref (source);
}

/* On a CPU, opaque layers are scaled before they are blended. */
TEST_ROWS (test_animated_layers_allocate_nothing, {"RGBA", "I420"})
{
  const std::string frames =
      " videotestsrc ! video/x-raw,width=48,height=32,framerate=25/1,"
      "format="
      + std::string (row) + " ! openclupload ! mix.";
  Watch watch{{25, 525, 1025}};
  run_until_noted (frames + "sink_0" + frames
                       + "sink_1 openclcompositor name=mix ! "
                         "video/x-raw(memory:OpenCLMemory),width=64,height=48",
      watch, [] (Pipeline &pipeline) {
        Owned<GstPad> pad = pipeline.pad ("mix", "sink_1");
        animate (pad, "xpos", -20, 40, 3);
        animate (pad, "ypos", -10, 30, 7);
        animate (pad, "width", 10, 60, 2);
        animate (pad, "height", 8, 40, 25);
        animate (pad, "alpha", 0.2, 0.9, 5);
      });
  /* A pool may allocate its last buffers late, on a busy machine. */
  const unsigned early = watch.calls[1] - watch.calls[0];
  const unsigned late = watch.calls[2] - watch.calls[1];
  fail_unless (std::min (early, late) == 0 && std::max (early, late) <= 8,
      "%u and %u calls that allocate, each in 500 frames", early, late);
}

/* A leak of 100 bytes per frame would be 900 KiB in each interval. On a busy machine an
 * allocator may take more in one interval, but not in both. */
TEST_ROWS (test_memory_of_the_process_is_flat_over_9000_frames, cases_of_this_build ())
{
  Watch watch{{1000, 10000, 19000}};
  watch.bound_kib = 600;
  run_until_noted (row.line, watch);
  const std::vector<gsize> &kib = watch.resident;
  fail_unless (watch.is_flat,
      "%zu KiB after 1000 frames, %zu after 10000, %zu after 19000", kib[0], kib[1],
      kib[2]);
}

/* Short-lived threads eventually use several malloc arenas of several MiB each. */
static void
use_one_arena ()
{
#ifdef __GLIBC__
  mallopt (M_ARENA_MAX, 1);
#endif
}

/* Starting and stopping keeps no memory. */
TEST (test_memory_of_the_process_is_flat_over_many_starts)
{
  Pipeline pipeline (
      "videotestsrc num-buffers=3 ! " SPECTRA " ! openclupload ! octwindowinterp ! "
      "octfft ! opencldownload ! fakesink");
  gsize early = 0;

  use_one_arena ();
  for (guint i = 0; i < 160; i++) {
    pipeline.play_to_eos ();
    gst_element_set_state (pipeline, GST_STATE_NULL);
    if (i == 60)
      early = resident_kib ();
  }
  fail_unless (resident_kib () <= early + 3 * 1024,
      "%zu KiB after 60 starts, %zu after 160", early, resident_kib ());
}
