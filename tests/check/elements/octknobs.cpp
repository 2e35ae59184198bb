/* Tests of every property of an OCT element that may change while playing, at every
 * position in a group of frames. A change must not shift groups, directions or rows of
 * volumes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scripts.hpp"

#include <set>

using namespace check;

namespace {
/* Each row compiles kernels. */
const bool may_take_long = set_test_timeout (60);

const guint n_frames = 44, group = 4;
const GstClockTime each = GST_SECOND / 10;

/* Numbers of the frames before which the property changes to the other value or back:
 * after 1, 2 and 3 frames of a group, and between two groups */
const std::vector<guint> changes = {5, 14, 23, 32, 38};

struct Knob {
  std::string element, name;
  /* Both settings; several properties if one is meaningless alone */
  std::string was, becomes;
  /* Number of frames after a change whose results may differ from a run with the new setting,
   * since the element keeps earlier frames. */
  guint remembers = 0;
  std::string chain; /* if not the element's usual one */
  std::string label;
};

const guint all_frames = n_frames;

/* Chain between source and sink for the element under test. Elements before the last one
 * share no frames; the last one forms groups of 4. */
const std::string spectra = "octscan name=octscan b-scans=40 ! octwindowinterp "
                            "name=octwindowinterp ! octfft name=octfft ! ";
const std::string measured =
    "octscan name=octscan b-scans=40 ! octwindowinterp wavelength-min=1187 "
    "wavelength-max=1433 wavelength-unit=nm ! octfft name=octfft line-step=5 ! ";
const std::map<std::string, std::string> chains = {
    {"angiogram", spectra + "octbackground name=octbackground ! octangio name=octangio"},
    {"dynamics", spectra + "octdynamic name=octdynamic repeats=4"},
    {"coloured dynamics",
        measured + "octdynamic name=octdynamic repeats=4 ! video/x-raw(ANY)"},
    {"mean", spectra + "octaverage name=octaverage frames=4"},
    {"flow",
        spectra + "octdoppler name=octdoppler ! octaverage name=octaverage frames=4"},
    {"attenuation", measured
                        + "application/x-oct(ANY),format=CF32LE ! octattenuation "
                          "name=octattenuation ! octaverage name=octaverage frames=4"},
    {"flat", spectra
                 + "application/x-oct(ANY),format=CF32LE ! octflatten name=octflatten ! "
                   "octangio name=octangio"},
    {"picture",
        spectra + "video/x-raw(ANY) ! octaverage name=octaverage frames=4 lines=2"},
    {"display", spectra
                    + "application/x-oct(ANY),format=CF32LE ! octdisplay name=octdisplay "
                      "! octaverage name=octaverage frames=4"},
    {"clocked", spectra + "octangio name=octangio"}, /* with longer A-lines */
    {"measured", measured + "octangio name=octangio"},
    {"measured picture",
        measured + "video/x-raw(ANY) ! octaverage name=octaverage frames=4"},
    {"measured display", measured
                             + "application/x-oct(ANY),format=CF32LE ! octdisplay "
                               "name=octdisplay ! octaverage name=octaverage frames=4"},
    {"measured en face",
        "octscan name=octscan b-scans=4 b-scan-step=9 line-step=4 ! "
        "octwindowinterp name=octwindowinterp ! octfft name=octfft ! "
        "application/x-oct(ANY),format=F32LE ! octvolume name=octvolume ! "
        "video/x-raw(ANY)"},
    {"calibrated en face",
        "octscan b-scans=4 ! octwindowinterp wavelength-min=1187 wavelength-max=1433 "
        "wavelength-unit=nm ! octfft ! application/x-oct(ANY),format=F32LE ! "
        "octvolume name=octvolume ! video/x-raw(ANY)"},
    {"shown flow", spectra
                       + "octdoppler quantity=phase ! octdisplay name=octdisplay ! "
                         "octaverage frames=4"},
    {"flow en face", "octscan b-scans=4 ! octwindowinterp ! octfft ! octdoppler "
                     "quantity=phase ! octvolume name=octvolume ! video/x-raw(ANY)"},
    {"volume", "octscan name=octscan b-scans=4 ! octwindowinterp name=octwindowinterp ! "
               "octfft name=octfft ! octvolume name=octvolume ! "
               "other/tensors(ANY),num_tensors=1"},
    {"counted volume",
        "octwindowinterp name=octwindowinterp ! octfft name=octfft ! "
        "octvolume name=octvolume b-scans=4 ! other/tensors(ANY),num_tensors=1"},
    {"en face", "octscan name=octscan b-scans=4 ! octwindowinterp name=octwindowinterp ! "
                "octfft name=octfft ! application/x-oct(ANY),format=CF32LE ! "
                "octvolume name=octvolume ! video/x-raw(ANY)"},
    {"surface", spectra
                    + "application/x-oct(ANY),format=F32LE ! octaverage frames=4 ! "
                      "octsurface name=octsurface"},
    {"registered", "octscan name=octscan b-scans=2 ! octwindowinterp "
                   "name=octwindowinterp ! octfft name=octfft ! "
                   "application/x-oct(ANY),format=F32LE ! octvolume ! "
                   "octregister name=octregister volumes=2"},
    {"rendered", "octscan name=octscan b-scans=4 ! octwindowinterp "
                 "name=octwindowinterp ! octfft name=octfft ! "
                 "application/x-oct(ANY),format=F32LE ! octvolume ! "
                 "octrender name=octrender ! "
                 "video/x-raw(ANY),width=24,height=16"},
};

const std::map<std::string, std::string> usual_chains = {{"octtestsrc", "angiogram"},
    {"octscan", "angiogram"}, {"octwindowinterp", "angiogram"}, {"octfft", "angiogram"},
    {"octattenuation", "attenuation"}, {"octflatten", "flat"},
    {"octbackground", "angiogram"}, {"octangio", "angiogram"}, {"octaverage", "mean"},
    {"octdoppler", "flow"}, {"octdynamic", "dynamics"}, {"octdisplay", "display"},
    {"octvolume", "en face"}, {"octregister", "registered"}, {"octrender", "rendered"},
    {"octsurface", "surface"}};

/* Files of 64 numbers */
std::map<std::string, std::string>
contents ()
{
  std::map<std::string, std::string> files;
  for (const auto &[name, first, step] : {std::tuple ("wavelengths", 800.0, 1.5),
           {"map", 0.4, 0.98}, {"numbers", 100.0, -1.0}})
    for (guint n = 0; n < 64; n++)
      files[name] += text ("%.9g\n", first + step * n);
  return files;
}

std::vector<Knob>
make_knobs ()
{
  const std::string calibrated = "wavelength-min=1187 wavelength-max=1433";

  std::vector<Knob> knobs = {
      {"octangio", "repeats", "repeats=4", "repeats=2"},
      {"octangio", "method", "method=speckle-variance", "method=decorrelation"},
      {"octangio", "axial-shift", "axial-shift=0", "axial-shift=2"},
      {"octangio", "lateral-shift", "lateral-shift=0", "lateral-shift=2"},
      {"octangio", "bands", "bands=1", "bands=2"},
      {"octangio", "threshold-snr", "threshold-snr=0", "threshold-snr=10"},
      {"octangio", "threshold", "threshold=-1000", "threshold=20"},
      {"octattenuation", "depth-step", "depth-step=0", "depth-step=5"},
      {"octattenuation", "noise-floor", "noise-floor=-1000", "noise-floor=10"},
      {"octattenuation", "noise-depths", "noise-depths=0", "noise-depths=4"},
      {"octattenuation", "min-snr", "noise-depths=4 min-snr=0", "min-snr=200"},
      {"octattenuation", "roll-off", "roll-off=0", "roll-off=50"},
      {"octattenuation", "roll-off-file", "roll-off-file=", "roll-off-file=@wavelengths"},
      {"octattenuation", "focus-depth", "rayleigh-range=20 focus-depth=0",
          "focus-depth=50"},
      {"octattenuation", "rayleigh-range", "rayleigh-range=0", "rayleigh-range=20"},
      {"octattenuation", "end-depths", "end-attenuation=10 end-depths=4", "end-depths=8"},
      {"octattenuation", "end-attenuation", "end-depths=8 end-attenuation=0",
          "end-attenuation=10"},
      {"octattenuation", "window-depths", "window-depths=1", "window-depths=3"},
      {"octattenuation", "window-lines", "window-lines=1", "window-lines=3"},
      {"octflatten", "coefficients", "coefficients=<0,0,0,3>", "coefficients=<0,2>"},
      {"octaverage", "frames", "frames=4", "frames=6"},
      {"octaverage", "lines", "lines=1", "lines=2"},
      {"octaverage", "rolling", "rolling=false", "rolling=true", 3},
      {"octaverage", "mean", "mean=complex", "mean=log"},
      {"octbackground", "method", "method=none", "method=mean"},
      {"octbackground", "location", "method=none location=nowhere.npy",
          "location=elsewhere.npy"},
      {"octbackground", "segment-lines", "segment-lines=32", "segment-lines=5"},
      {"octbackground", "weight", "weight=1", "weight=0.4"},
      {"octbackground", "dc-depths", "dc-depths=0", "dc-depths=5"},
      {"octdisplay", "scale", "scale=log", "scale=linear"},
      {"octdisplay", "db-min", "db-min=0", "db-min=20"},
      {"octdisplay", "db-max", "db-max=80", "db-max=60"},
      {"octdisplay", "db-auto", "db-auto=false", "db-auto=true", all_frames},
      {"octdisplay", "min", "min=-3 max=3", "min=-1", 0, "shown flow"},
      {"octdisplay", "max", "min=-3 max=3", "max=1", 0, "shown flow"},
      {"octdisplay", "true-scale", "true-scale=false", "true-scale=true", 0,
          "measured display"},
      {"octdisplay", "flip", "flip=false", "flip=true"},

      {"octdoppler", "between", "between=lines quantity=phase", "between=frames", 1},
      {"octdoppler", "quantity", "quantity=velocity", "quantity=phase"},
      {"octdoppler", "window-depths", "window-depths=3", "window-depths=1"},
      {"octdoppler", "window-lines", "window-lines=3", "window-lines=9"},
      {"octdoppler", "wavelength", "wavelength=1310", "wavelength=840"},
      {"octdoppler", "refractive-index", "refractive-index=1", "refractive-index=1.4"},
      {"octdoppler", "angle", "angle=0", "angle=45"},
      {"octdoppler", "line-rate", "line-rate=0", "line-rate=50000"},
      {"octdoppler", "threshold", "threshold=-1000", "threshold=20"},
      {"octdoppler", "invert", "invert=false", "invert=true"},
      {"octdynamic", "repeats", "repeats=4", "repeats=2"},
      {"octdynamic", "quantity", "quantity=liv", "quantity=ocds-early"},
      {"octdynamic", "axial-shift", "axial-shift=0", "axial-shift=2"},
      {"octdynamic", "lateral-shift", "lateral-shift=0", "lateral-shift=2"},
      {"octdynamic", "frame-rate", "quantity=mean-frequency frame-rate=0",
          "frame-rate=50"},
      {"octdynamic", "average-curve", "repeats=8 quantity=aliv average-curve=false",
          "average-curve=true"},
      {"octdynamic", "colormap", "colormap=hue", "colormap=blue-yellow", 0,
          "coloured dynamics"},
      {"octdynamic", "low-end", "quantity=bands low-end=0", "low-end=4"},
      {"octdynamic", "middle-end", "quantity=bands middle-end=0", "middle-end=5", 0,
          "coloured dynamics"},
      {"octdynamic", "db-min", "db-min=0", "db-min=20", 0, "coloured dynamics"},
      {"octdynamic", "db-max", "db-max=60", "db-max=40", 0, "coloured dynamics"},
      {"octdynamic", "min", "min=-3 max=30", "min=-1", 0, "coloured dynamics"},
      {"octdynamic", "max", "min=-3 max=30", "max=5", 0, "coloured dynamics"},
      {"octdynamic", "true-scale", "true-scale=false", "true-scale=true", 0,
          "coloured dynamics"},
      {"octfft", "scale", "scale=log", "scale=linear", 0, "picture"},
      {"octfft", "db-min", "db-min=0", "db-min=20", 0, "picture"},
      {"octfft", "db-max", "db-max=80", "db-max=60", 0, "picture"},
      {"octfft", "db-auto", "db-auto=false", "db-auto=true", all_frames, "picture"},
      {"octfft", "flip", "flip=false", "flip=true", 0, "picture"},
      {"octfft", "true-scale", "true-scale=false line-step=5", "true-scale=true", 0,
          "measured picture"},
      {"octfft", "depth-start", "depth-start=0", "depth-start=7"},
      {"octfft", "depth-count", "depth-count=0", "depth-count=20"},
      {"octfft", "refractive-index", "refractive-index=1", "refractive-index=1.4", 0,
          "measured"},
      {"octfft", "depth-step", "depth-step=0", "depth-step=5", 0, "measured"},
      {"octfft", "line-step", "line-step=0", "line-step=5"},
      {"octscan", "b-scans-per-buffer", "b-scans-per-buffer=1", "b-scans-per-buffer=2"},
      {"octscan", "flyback", "flyback=0", "flyback=2"},
      {"octscan", "delay", "reverse=odd delay=0", "delay=1"},
      {"octscan", "first-line", "first-line=0", "first-line=3"},
      {"octscan", "lines", "reverse=odd lines=0", "lines=20"},
      {"octscan", "reverse", "reverse=none", "reverse=odd"},
      {"octscan", "reverse-samples", "reverse-samples=none", "reverse-samples=odd"},
      {"octscan", "sinusoidal", "sinusoidal=0", "sinusoidal=0.9"},
      {"octscan", "interpolation", "delay=0.5 interpolation=nearest",
          "interpolation=linear"},
      {"octscan", "repeats", "repeats=1", "repeats=2"},
      {"octscan", "b-scans", "b-scans=40", "b-scans=8"},
      {"octscan", "line-step", "line-step=0", "line-step=5"},
      {"octscan", "b-scan-step", "b-scan-step=0", "b-scan-step=5"},
      {"octtestsrc", "pattern", "depths=<8,20,25> pattern=mirrors", "pattern=layers"},
      {"octtestsrc", "dispersion-a2", "dispersion-a2=0", "dispersion-a2=0.01"},
      {"octtestsrc", "dispersion-a3", "dispersion-a3=0", "dispersion-a3=0.0001"},
      {"octtestsrc", "level", "level=200", "level=100"},
      {"octtestsrc", "noise", "noise=0", "noise=20"},
      {"octtestsrc", "seed", "pattern=layers seed=1", "seed=2"},
      {"octtestsrc", "velocity", "velocity=0", "velocity=1"},
      {"octtestsrc", "line-rate", "velocity=1 line-rate=0", "line-rate=1000"},
      {"octtestsrc", "sinusoidal", "pattern=layers sinusoidal=0", "sinusoidal=0.5"},
      {"octtestsrc", "bidirectional", "pattern=layers bidirectional=false",
          "bidirectional=true"},
      {"octtestsrc", "repeats", "pattern=tissue b-scans=8 repeats=1", "repeats=2"},
      {"octtestsrc", "flow-velocity", "pattern=tissue flow-velocity=20",
          "flow-velocity=1"},
      {"octtestsrc", "cell-rate", "pattern=tissue cell-rate=0", "cell-rate=5"},
      {"octtestsrc", "motion", "pattern=tissue motion=0", "motion=10"},
      {"octvolume", "b-scans", "b-scans=4", "b-scans=8", 0, "counted volume"},
      {"octvolume", "emit", "emit=row", "emit=volume", 3},
      {"octvolume", "live", "live=false", "live=true", 3, "volume"},
      {"octvolume", "live", "live=false", "live=true", 3, "counted volume"},
      {"octvolume", "projection", "projection=mean", "projection=maximum"},
      {"octvolume", "slab-start", "slab-start=0", "slab-start=5"},
      {"octvolume", "slab-depths", "slab-depths=0", "slab-depths=6"},
      {"octvolume", "surface",
          "slab-depths=6 surface-from=3 surface-level=8 surface=false", "surface=true"},
      {"octvolume", "surface-level",
          "slab-depths=6 surface-from=3 surface=true "
          "surface-level=5",
          "surface-level=9"},
      {"octvolume", "surface-smooth",
          "slab-depths=6 surface-from=3 surface=true "
          "surface-level=15 surface-smooth=1",
          "surface-smooth=5"},
      {"octvolume", "surface-from", "slab-depths=6 surface=true surface-from=0",
          "surface-from=4"},
      {"octvolume", "true-scale", "true-scale=false", "true-scale=true", 0,
          "measured en face"},
      {"octvolume", "scale", "scale=log", "scale=linear"},
      {"octvolume", "db-min", "db-min=0", "db-min=20"},
      {"octvolume", "db-max", "db-max=80", "db-max=60"},
      {"octvolume", "min", "min=-3 max=3", "min=-1", 0, "flow en face"},
      {"octvolume", "max", "min=-3 max=3", "max=1", 0, "flow en face"},
      {"octvolume", "slab-unit", "slab-start=20 slab-depths=30 slab-unit=bins",
          "slab-unit=um", 0, "calibrated en face"},
      {"octregister", "volumes", "volumes=2", "volumes=1"},
      {"octregister", "axial-shift", "axial-shift=0", "axial-shift=4"},
      {"octregister", "lateral-shift", "lateral-shift=0", "lateral-shift=3"},
      {"octregister", "b-scan-shift", "b-scan-shift=0", "b-scan-shift=1"},
      {"octregister", "min-correlation", "min-correlation=-1", "min-correlation=1"},
      {"octsurface", "level", "depth-smooth=1 level=-1000", "level=1000"},
      {"octsurface", "depth-smooth", "depth-smooth=1", "depth-smooth=3"},
      {"octsurface", "line-smooth", "depth-smooth=1 line-smooth=1", "line-smooth=5"},
      {"octsurface", "depth-from", "depth-smooth=1 depth-from=0", "depth-from=16"},
      {"octsurface", "surfaces", "depth-smooth=1 surfaces=1", "surfaces=3"},
      {"octsurface", "max-slope", "depth-smooth=1 max-slope=0", "max-slope=4"},
      {"octrender", "mode", "max=100 mode=maximum", "mode=alpha"},
      {"octrender", "azimuth", "azimuth=0", "azimuth=30"},
      {"octrender", "elevation", "elevation=0", "elevation=30"},
      {"octrender", "turn", "turn=0", "turn=10", all_frames},
      {"octrender", "zoom", "zoom=1", "zoom=2"},
      {"octrender", "opacity", "mode=alpha opacity=0.1", "opacity=0.5"},
      {"octrender", "min", "min=0", "min=10"},
      {"octrender", "max", "max=90", "max=50"},
      {"octrender", "step", "step=4", "step=2"},
      {"octrender", "depth-step", "max=100 depth-step=1 line-step=1 b-scan-step=1",
          "depth-step=5"},
      {"octrender", "line-step", "max=100 depth-step=1 line-step=1 b-scan-step=1",
          "line-step=5"},
      {"octrender", "b-scan-step", "max=100 depth-step=1 line-step=1 b-scan-step=1",
          "b-scan-step=5"},
      {"octrender", "frames", "frames=1", "frames=2"},
      {"octwindowinterp", "wavelengths", calibrated + " wavelengths=",
          "wavelength-min=0 wavelength-max=0 wavelengths=@wavelengths"},
      {"octwindowinterp", "depth-step", calibrated + " depth-step=0", "depth-step=3"},
      {"octwindowinterp", "wavelength-min", calibrated, "wavelength-min=1100"},
      {"octwindowinterp", "wavelength-max", calibrated, "wavelength-max=1500"},
      {"octwindowinterp", "wavelength-unit", calibrated + " wavelength-unit=none",
          "wavelength-unit=nm"},
      {"octwindowinterp", "resample-map", "resample-map=", "resample-map=@map"},
      {"octwindowinterp", "interpolation", calibrated + " interpolation=linear",
          "interpolation=nufft"},
      {"octwindowinterp", "window", "window=hann", "window=hamming"},
      {"octwindowinterp", "window-file", "window=file window-file=@numbers",
          "window-file=@map"},
      {"octwindowinterp", "window-centre", "window-width=0.5 window-centre=0.5",
          "window-centre=0.4"},
      {"octwindowinterp", "window-width", "window-width=1", "window-width=0.5"},
      {"octwindowinterp", "first-sample", "samples=40 first-sample=0", "first-sample=8"},
      {"octwindowinterp", "samples", "samples=0", "samples=40"},
      {"octwindowinterp", "padded-samples", "padded-samples=0", "padded-samples=128"},
      {"octwindowinterp", "dispersion-a2", "dispersion-a2=0", "dispersion-a2=0.01"},
      {"octwindowinterp", "dispersion-a3", "dispersion-a3=0", "dispersion-a3=0.0001"},
      {"octwindowinterp", "dispersion-phase",
          "dispersion-phase=", "dispersion-phase=@numbers"},
      {"octwindowinterp", "background", "background=none", "background=frame"},
      {"octwindowinterp", "background", "background=none", "background=rolling",
          all_frames},
      {"octwindowinterp", "background-file", "background=file background-file=@numbers",
          "background-file=@map"},
      {"octwindowinterp", "background-frames", "background=rolling background-frames=2",
          "background-frames=4", all_frames},
      {"octwindowinterp", "k-clock", "k-clock=none", "k-clock=behind", 0, "clocked"},
      {"octwindowinterp", "bit-shift", "bit-shift=0", "bit-shift=4"},
  };
  std::map<std::string, guint> seen;
  for (Knob &knob : knobs) {
    knob.label = knob.element + " " + knob.name;
    if (const guint before = seen[knob.label]++)
      knob.label += " " + std::to_string (before + 1);
  }
  return knobs;
}

/* Properties that trigger an action or name its files do not change frames. */
const std::set<std::string> actions = {"octwindowinterp settings", "octflatten settings",
    "octscan settings", "octwindowinterp full-scale"};

/* These affect only tissue that is brighter than that of these chains; angioflow.cpp
 * changes them within a group. */
const std::set<std::string> need_bright_tissue = {
    "octangio projection-resolved", "octangio projection-ratio"};

/* This needs straight lines above tissue; octsurface.py has them. */
const std::set<std::string> need_straight_lines = {"octsurface ignore"};

/* These need more repeats than the groups here have, or fill a window before the first
 * output; octdynamic.py sets them. */
const std::set<std::string> need_many_repeats = {
    "octdynamic early-delay", "octdynamic late-delay", "octdynamic rolling"};

struct Output {
  GstClockTime from, to;
  std::string caps, scan;
  Bytes bytes;
  bool is_break, is_incomplete;
};

bool
is_en_face (const std::string &chain)
{
  return chain.find ("en face") != std::string::npos;
}

/* Returns true if an en face image contains the last row of a volume. */
bool
is_complete (const std::string &chain, GstClockTime end)
{
  return !is_en_face (chain) || (end + each / 2) / each % group == 0;
}

/* Runs the chain with `first`. With `toggles`, sets `other` and `first` in turn. */
std::vector<Output>
run_with (const Knob &knob, const std::string &chain, const std::string &first,
    const std::string &other)
{
  const NamedFiles files (contents ());
  const std::string &between = chains.at (chain);
  /* A surface needs tissue above the noise. */
  Pipeline pipeline (text ("octtestsrc name=octtestsrc num-buffers=%u level=200%s ! "
                           "video/x-raw(memory:OpenCLMemory),width=%u,height=24,"
                           "framerate=10/1 ! ",
                         n_frames, chain == "surface" ? " noise=1" : "",
                         chain == "clocked"   ? 256
                         : chain == "surface" ? 128
                                              : 64)
                     + between + " ! opencldownload ! appsink name=out sync=false");
  set_together (pipeline[knob.element], files.put_into (knob.was));
  set_together (pipeline[knob.element], files.put_into (first));
  /* The source creates a frame before it pushes the previous one. */
  const guint early = knob.element == "octtestsrc" ? 1 : 0;
  guint frame = 0;
  Owned<GstPad> pad = pipeline.pad ("octtestsrc", "src");
  watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
    for (gsize n = 0; n < changes.size () && !other.empty (); n++) {
      if (frame + early == changes[n])
        set_together (pipeline[knob.element], files.put_into (n % 2 ? first : other));
    }
    frame++;
    return GST_PAD_PROBE_OK;
  });
  pipeline.start ();
  std::vector<Output> outputs;
  while (Owned<GstSample> sample = pipeline.pull ()) {
    GstBuffer *buffer = gst_sample_get_buffer (sample);
    const GstClockTime from = GST_BUFFER_PTS (buffer);
    Output output = {from, from + GST_BUFFER_DURATION (buffer), "", scan_text (buffer),
        read_buffer (buffer),
        bool (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT)),
        bool (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_CORRUPTED))};
    gchar *caps = gst_caps_to_string (gst_sample_get_caps (sample));
    output.caps = caps;
    g_free (caps);
    if (is_en_face (chain))
      output.from = output.to - group * each;
    if (is_complete (chain, output.to))
      outputs.push_back (output);
  }
  const Outcome messages = pipeline.messages ();
  fail_unless (messages.is_clean (), "%s: %s %s", knob.label.c_str (),
      messages.line ().c_str (),
      messages.warnings.empty () ? "" : messages.warnings[0].c_str ());
  return outputs;
}

std::string
name_of (const Output &output)
{
  return text (
      "frames %.1f to %.1f", double (output.from) / each, double (output.to) / each);
}

/* Frames with the same settings */
struct Stretch {
  guint from, to;
  bool is_new;
};

/* An image of a volume is complete when its last B-scan has arrived. */
std::vector<Stretch>
stretches_of (const std::string &chain)
{
  const guint unit = chain == "rendered" ? group : 1;
  std::vector<Stretch> all = {{0, 0, false}};
  for (gsize n = 0; n < changes.size (); n++) {
    const guint at = changes[n] / unit * unit;
    all.back ().to = at;
    all.push_back ({at, n_frames, n % 2 == 0});
  }
  return all;
}

/* Returns true if the output contains only frames of the stretch. Times are rounded to
 * nanoseconds. */
bool
lies_in (const Output &output, const Stretch &stretch)
{
  const GstClockTime tolerance = 10;
  return output.from + tolerance >= stretch.from * each
         && output.to <= stretch.to * each + tolerance;
}

void
expect_same (const Output &got, const Output &expected, const std::string &what)
{
  expect_equal (got.caps, expected.caps, what);
  expect_equal (got.scan, expected.scan, what);
  expect_equal (got.to - got.from, expected.to - expected.from, what);
}
} // namespace

TEST_ROWS (test_oct_knobs_move_no_group, make_knobs ())
{
  const std::string chain =
      row.chain.empty () ? usual_chains.at (row.element) : row.chain;
  std::vector<Output> got = run_with (row, chain, row.was, row.becomes);
  const std::vector<Output> olds = run_with (row, chain, row.was, ""),
                            news = run_with (row, chain, row.becomes, "");
  gsize differences = 0;
  std::set<GstClockTime> whole;
  for (const Stretch &stretch : stretches_of (chain)) {
    for (const Output &expected : stretch.is_new ? news : olds) {
      if (!lies_in (expected, stretch))
        continue;
      const std::string what = row.label + ": " + name_of (expected);
      const auto found = std::find_if (got.begin (), got.end (),
          [&] (const Output &one) { return one.from == expected.from; });
      fail_unless (found != got.end (), "%s: missing", what.c_str ());
      whole.insert (found->from);
      expect_same (*found, expected, what);
      if (expected.from >= (stretch.from + row.remembers) * each)
        assert_same (found->bytes, expected.bytes, what);
    }
  }
  /* All other outputs contain frames of both settings, or follow a reported loss. */
  GstClockTime end = 0;
  for (const Output &output : got) {
    bool is_mixed = output.is_incomplete;
    for (guint change : changes)
      is_mixed = is_mixed || (output.from < change * each && output.to > change * each);
    fail_unless (is_mixed || whole.count (output.from), "%s: unexpected output %s",
        row.label.c_str (), name_of (output).c_str ());
    fail_unless (output.from <= end + 10 || output.is_break || is_en_face (chain),
        "%s: no DISCONT on %s after a gap", row.label.c_str (),
        name_of (output).c_str ());
    end = output.to;
  }
  for (gsize n = 0; n < std::min (olds.size (), news.size ()); n++)
    differences += olds[n].bytes != news[n].bytes || olds[n].caps != news[n].caps
                   || olds[n].scan != news[n].scan;
  const bool names_a_file = row.name == "location";
  fail_unless (differences > 0 || names_a_file || olds.size () != news.size (),
      "%s has no effect, so the test is not valid", row.label.c_str ());
}

namespace {
/* Settings for all depths and for those from bin 6 on: the same if they count from zero
 * delay, and 6 less if they count from the first depth. */
struct Place {
  std::string chain, whole, cropped, both = "";
  enum Axis { depths, picture, none } axis = depths;
  gsize margin = 0; /* depths at both ends that depend on others */
};

const std::string en_face = "slab-depths=7 db-min=-30 db-max=30 ! video/x-raw(ANY)",
                  surface = "F32LE ! octsurface depth-smooth=1",
                  slab =
                      "F32LE ! octvolume surface=true surface-level=15 surface-smooth=1";

const gsize place_start = 6, place_depths = 64, place_lines = 21, place_row = 24;

/* Frames that a chain outputs, as numbers, with -1 for NAN */
std::vector<depths::Values>
frames_of (const Place &place, guint start, const std::string &setting)
{
  Pipeline pipeline (
      text ("octtestsrc num-buffers=4 level=200%s ! video/x-raw(ANY),width=128,"
            "height=21,framerate=10/1 ! octscan b-scans=4 ! octwindowinterp "
            "wavelength-min=1187 wavelength-max=1433 ! octfft depth-step=2 "
            "depth-start=%u ! application/x-oct(ANY),format=",
          place.chain == surface ? " noise=1" : "", start)
      + place.chain + " " + setting + " " + place.both
      + " ! opencldownload ! appsink name=out sync=false");
  std::vector<depths::Values> frames;
  pipeline.start ();
  while (Owned<GstSample> sample = pipeline.pull ()) {
    const GstCaps *caps = gst_sample_get_caps (sample);
    const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
    const bool video =
        gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
    frames.push_back (
        video ? depths::numbers_in<guint8> (bytes) : depths::numbers_in<float> (bytes));
    std::replace_if (
        frames.back ().begin (), frames.back ().end (),
        [] (double value) { return std::isnan (value); }, -1);
  }
  fail_unless (pipeline.messages ().is_clean (), "%s", place.chain.c_str ());
  return frames;
}

/* The part of a frame of depths from bin `start` on that does not depend on others */
depths::Values
common_part (const Place &place, const depths::Values &frame, gsize start)
{
  depths::Values part;
  const gsize depths = place_depths - start,
              parts = frame.size () / (depths * place_lines);
  for (gsize bin = place_start + place.margin; bin < place_depths - place.margin; bin++) {
    for (gsize n = 0; n < place_lines * parts; n++)
      part.push_back (
          place.axis == Place::picture
              ? frame[(bin - start) * place_row + n]
              : frame[(n / parts * depths + bin - start) * parts + n % parts]);
  }
  return place.axis == Place::none ? frame : part;
}

} // namespace

TEST_ROWS (test_oct_places_in_cropped_depths,
    std::vector<Place>{
        {"CF32LE ! octdisplay", "", "", "db-max=90", Place::picture},
        {"CF32LE ! octbackground method=none", "dc-depths=9", "dc-depths=9"},
        {"CF32LE ! octbackground method=none", "dc-depths=3", "dc-depths=3"},
        {"CF32LE ! octflatten", "", "", "coefficients=\"<-3.3,2>\"", Place::depths, 15},
        {"CF32LE ! octattenuation end-depths=0", "", "",
            "focus-depth=40 rayleigh-range=20 roll-off=50"},
        {"CF32LE ! octattenuation end-depths=0", "", "", "window-depths=5", Place::depths,
            3},
        {"CF32LE ! octdoppler quantity=phase", "", "", "window-depths=5", Place::depths,
            3},
        {"CF32LE ! octdynamic repeats=4", "", ""},
        {surface, "depth-from=12", "depth-from=12", "line-smooth=3", Place::none},
        {"F32LE ! octvolume", "slab-start=16", "slab-start=10", en_face, Place::none},
        {"F32LE ! octvolume slab-unit=um", "slab-start=32", "slab-start=20", en_face,
            Place::none},
        {slab, "surface-from=12", "surface-from=12", en_face, Place::none},
        {slab, "surface-from=6", "surface-from=2", en_face, Place::none},
    })
{
  const auto whole = frames_of (row, 0, row.whole),
             cropped = frames_of (row, place_start, row.cropped);
  fail_unless (!whole.empty () && whole.size () == cropped.size ());
  for (gsize n = 0; n < whole.size (); n++) {
    const auto got = common_part (row, cropped[n], place_start);
    expect_near (got, common_part (row, whole[n], 0), 1e-3, row.chain + " " + row.whole);
    fail_unless (std::set<double> (got.begin (), got.end ()).size () > 1,
        "%s: one value, so the test is not valid", row.chain.c_str ());
  }
}

namespace {
/* A frame of `height` rows of `width` bytes, with other bytes before and between them */
GstBuffer *
padded_buffer (const Bytes &bytes, const std::string &format, gsize columns, gsize width)
{
  const gsize offset = 24, height = bytes.size () / width, stride = width + 20;
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {gint (stride)};
  Bytes spread (offset + stride * height, 0x5a);
  for (gsize y = 0; y < height; y++)
    std::copy_n (&bytes[y * width], width, &spread[offset + y * stride]);
  GstBuffer *buffer = buffer_of (spread);
  if (format[0] == 'G')
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        gst_video_format_from_string (format.c_str ()), guint (columns), guint (height),
        1, offsets, strides);
  else
    gst_buffer_resize (buffer, offset, gssize (width));
  return buffer;
}

/* Outputs for four frames of 24 columns and 40 rows, or of 24 A-lines of 40 depths */
std::vector<Bytes>
outputs_of (const std::string &chain, const std::string &format, bool is_padded)
{
  const gsize columns = 24, rows = 40;
  const gsize width = format == "GRAY8" ? columns
                      : format == "GRAY16_LE"
                          ? 2 * columns
                          : columns * rows * (format == "F32LE" ? 4 : 8);
  Harness harness (chain, depths::frame_caps (format, columns, rows, "10/1"));
  std::vector<Bytes> outputs;
  for (guint n = 0; n < 4; n++) {
    Bytes bytes = pattern (width * (format[0] == 'G' ? rows : 1), n);
    for (gsize k = 0; format[0] != 'G' && k < width; k += 4)
      GST_WRITE_FLOAT_LE (&bytes[k], float (bytes[k]) - 128);
    GstBuffer *buffer =
        is_padded ? padded_buffer (bytes, format, columns, width) : buffer_of (bytes);
    GST_BUFFER_PTS (buffer) = n * each;
    GST_BUFFER_DURATION (buffer) = each;
    harness.push (buffer);
  }
  while (gst_harness_buffers_in_queue (harness) > 0)
    outputs.push_back (read_buffer (harness.pull ()));
  fail_unless (
      !outputs.empty () && harness.messages ().errors.empty (), "%s", chain.c_str ());
  return outputs;
}
} // namespace

TEST_ROWS (test_oct_strides_and_offsets,
    std::vector<std::pair<std::string, std::vector<std::string>>>{
        {"octscan flyback=2 delay=1 first-line=3 lines=9", {"GRAY8", "GRAY16_LE"}},
        {"octscan columns=true flyback=2 first-line=3 lines=8", {"GRAY8", "GRAY16_LE"}},
        {"octaverage lines=2 frames=2", {"GRAY8", "GRAY16_LE", "CF32LE", "F32LE"}},
        {"octvolume b-scans=2 slab-start=5 slab-depths=9", {"GRAY8", "CF32LE", "F32LE"}},
        {"octvolume b-scans=2 ! capsfilter caps=other/tensors(ANY)",
            {"GRAY8", "GRAY16_LE", "CF32LE"}},
        {"octsurface depth-from=4", {"GRAY8", "GRAY16_LE", "CF32LE", "F32LE"}},
        {"octdisplay", {"CF32LE", "F32LE"}},
        {"octangio repeats=2", {"CF32LE"}},
        {"octdoppler quantity=phase window-depths=3", {"CF32LE"}},
        {"octdynamic repeats=2", {"CF32LE"}},
        {"octattenuation depth-step=2", {"CF32LE", "F32LE"}},
        {"octflatten coefficients=\"<-3.3,2>\"", {"CF32LE"}},
        {"octbackground dc-depths=3", {"CF32LE"}},
    })
{
  for (const std::string &format : row.second) {
    const auto expected = outputs_of (row.first, format, false),
               got = outputs_of (row.first, format, true);
    expect_equal (got.size (), expected.size (), row.first);
    for (gsize n = 0; n < got.size (); n++)
      assert_same (got[n], expected[n], row.first + ", " + format);
  }
}

/* Frames from a file have no timestamps: they are counted, and a change is not a loss. */
TEST (test_oct_knobs_move_no_group_without_time)
{
  auto run = [] (const char *first, guint change, const char *then) {
    Pipeline pipeline (
        "octtestsrc name=octtestsrc num-buffers=16 ! "
        "video/x-raw(memory:OpenCLMemory),width=64,height=24,framerate=10/1 ! "
        "octwindowinterp ! octfft name=octfft ! video/x-raw(ANY) ! octaverage frames=4 ! "
        "opencldownload ! appsink name=out sync=false");
    set_together (pipeline["octfft"], first);
    guint frame = 0;
    Owned<GstPad> pad = pipeline.pad ("octtestsrc", "src");
    watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *info) {
      GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)) = GST_CLOCK_TIME_NONE;
      if (frame++ == change)
        set_together (pipeline["octfft"], then);
      return GST_PAD_PROBE_OK;
    });
    pipeline.start ();
    std::vector<Bytes> pictures;
    while (Owned<GstSample> sample = pipeline.pull ())
      pictures.push_back (read_buffer (gst_sample_get_buffer (sample)));
    return pictures;
  };
  for (guint change : {5, 6, 7}) {
    const std::vector<Bytes> olds = run ("flip=false", 99, ""),
                             news = run ("flip=true", 99, ""),
                             got = run ("flip=false", change, "flip=true");
    expect_equal (got.size (), gsize (4));
    assert_same (got[0], olds[0], "before");
    for (guint n : {2, 3})
      assert_same (got[n], news[n], text ("picture %u", n));
  }
}

/* Fails until a new property is added above. */
TEST (test_oct_knobs_are_all_tested)
{
  std::set<std::string> known = actions;
  known.insert (need_bright_tissue.begin (), need_bright_tissue.end ());
  known.insert (need_straight_lines.begin (), need_straight_lines.end ());
  known.insert (need_many_repeats.begin (), need_many_repeats.end ());
  for (const Knob &knob : make_knobs ())
    known.insert (knob.element + " " + knob.name);
  for (const std::string &name : element_names ()) {
    /* octsignal outputs plots, and has no groups. */
    if (name.compare (0, 3, "oct") != 0 || name == "octsignal")
      continue;
    Owned<GstElement> element = gst_element_factory_make (name.c_str (), nullptr);
    gst_object_ref_sink (element.operator->());
    guint n = 0;
    GParamSpec **specs =
        g_object_class_list_properties (G_OBJECT_GET_CLASS (element.operator->()), &n);
    for (guint i = 0; i < n; i++) {
      if ((specs[i]->flags & GST_PARAM_MUTABLE_PLAYING)
          && specs[i]->owner_type == G_OBJECT_TYPE (element.operator->()))
        fail_unless (known.count (name + " " + specs[i]->name), "%s %s is not tested",
            name.c_str (), specs[i]->name);
    }
    g_free (specs);
  }
}
