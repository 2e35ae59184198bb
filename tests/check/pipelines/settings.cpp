/* Tests of property changes while a pipeline plays, for every element with its own
 * properties
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

using namespace check;

namespace {
#define DEVICE_MEMORY "(memory:OpenCLMemory)"
#define SPECTRA "video/x-raw,format=GRAY16_LE,width=256,height=24,framerate=25/1"
#define PICTURE "video/x-raw,format=RGBA,width=97,height=45,framerate=25/1"
#define GRAY "video/x-raw,format=GRAY8,width=64,height=30,framerate=25/1"

/* A chain around the element under test, which is named "knobs". With `caps` the test
 * pushes the same frame repeatedly; otherwise `before` starts with a source of identical
 * frames. */
struct Chain {
  const char *caps;
  const char *before; /* the element */
  const char *after;
  const char *pad = nullptr; /* of the element, if the properties are the pad's */
};

const Chain test_source = {nullptr,
    "octtestsrc noise=0 pattern=mirrors depths=<20> amplitudes=<800> name=knobs ",
    "! video/x-raw" DEVICE_MEMORY ",width=128,height=24 ! octwindowinterp ! octfft"};

const Chain interp = {SPECTRA, "octwindowinterp name=knobs ", ""};
const Chain interp_fused = {SPECTRA, "octwindowinterp name=knobs ", "! octfft"};
const Chain interp_real = {SPECTRA, "octwindowinterp name=knobs ",
    "! application/x-oct" DEVICE_MEMORY ",format=F32LE ! octfft"};
const Chain fft = {SPECTRA, "octwindowinterp ! octfft name=knobs ", ""};
const Chain fft_of_64 = {SPECTRA, "octwindowinterp ! octfft depth-start=64 name=knobs ",
    "! video/x-raw" DEVICE_MEMORY ",height=64"};
const Chain average = {
    SPECTRA, "octwindowinterp ! octfft ! octaverage frames=1 name=knobs ", ""};
const Chain flow_of_lines = {
    SPECTRA, "octwindowinterp ! octfft ! octdoppler name=knobs ", ""};
const Chain convert_gray = {
    GRAY, "openclconvert name=knobs ", "! video/x-raw" DEVICE_MEMORY ",format=GRAY8"};
const Chain convert = {GRAY, "openclconvert name=knobs ",
    "! video/x-raw" DEVICE_MEMORY ",width=32,height=47"};
const Chain key = {PICTURE, "chromakey name=knobs ", ""};
const Chain key_run = {PICTURE, "chromakey name=knobs ", "! noisereduce ! flowkey"};
const Chain reduce = {PICTURE, "chromakey tolerance=0.4 ! noisereduce name=knobs ", ""};
const Chain flow = {PICTURE, "chromakey tolerance=0.4 ! flowkey name=knobs ", ""};
const Chain compositor = {PICTURE, "openclcompositor name=knobs ",
    "! video/x-raw" DEVICE_MEMORY ",width=120,height=80"};
const Chain compositor_pad = {PICTURE, "openclcompositor name=knobs background=black ",
    "! video/x-raw" DEVICE_MEMORY ",width=120,height=80", "sink_0"};
const Chain fill = {PICTURE, "chromakey tolerance=0.4 ! keyfill name=knobs ", ""};

/* A playing chain */
class Session : public Pipeline {
public:
  Session (const Chain &chain, const std::string &properties)
      : Pipeline ((chain.caps ? text (
                       "appsrc name=in format=time caps=%s ! openclupload ! ", chain.caps)
                              : "")
                  + chain.before + chain.after
                  + " ! opencldownload ! appsink name=out sync=false max-buffers=1"),
        chain (chain)
  {
    GstElement *element = (*this)["knobs"];
    knobs =
        GST_OBJECT (chain.pad ? gpointer (gst_element_get_static_pad (element, chain.pad))
                              : gst_object_ref (element));
    set_together (knobs, properties);
    start ();
  }

  /* Returns a frame made with the current properties, and its caps. */
  std::string frame ()
  {
    if (chain.caps)
      push ();
    else
      for (int ahead = 0; ahead < 4; ahead++)
        pull_frame ();
    return pull_frame ();
  }

  Owned<GstObject> knobs;

private:
  void push ()
  {
    Owned<GstCaps> caps = gst_caps_from_string (chain.caps);
    GstVideoInfo info;
    gst_video_info_from_caps (&info, caps);
    Bytes bytes = pattern (GST_VIDEO_INFO_SIZE (&info), 3);
    for (guint8 &byte : bytes) /* below full scale, which would cause a warning */
      byte = std::min<guint8> (byte, 254);
    GstBuffer *buffer = buffer_of (bytes);
    GST_BUFFER_PTS (buffer) = pushed++ * GST_SECOND / 25;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 25;
    gst_app_src_push_buffer (GST_APP_SRC ((*this)["in"]), buffer);
  }

  std::string pull_frame ()
  {
    Owned<GstSample> sample = pull ();
    if (!sample) {
      expect_warnings (bus, "no frame arrived", {});
      ck_abort_msg ("no frame arrived");
    }
    Owned<gchar> caps = gst_caps_to_string (gst_sample_get_caps (sample));
    const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
    return std::string (caps) + std::string (bytes.begin (), bytes.end ());
  }

  const Chain &chain;
  guint pushed = 0;
};

/* Returns a frame of the chain started with these properties. */
std::string
frame_with (const Chain &chain, const std::string &properties)
{
  Session session (chain, properties);
  std::string frame = session.frame ();
  expect_warnings (session.bus, properties, {});
  return frame;
}

struct Turn {
  const char *set;
  const char *warning;  /* beginning of the message, or nullptr */
  const char *in_force; /* properties that are then in effect */
};

struct Row {
  const Chain &chain;
  std::vector<Turn> turns;
};

const Row rows[] = {
    {test_source,
        {{"depths=<30,40>", "amplitudes: 1 values, expected 2", ""},
            {"amplitudes=<900,300>", nullptr, "depths=<30,40> amplitudes=<900,300>"},
            {"depths=<30,70>", "depths: 70, expected 0 to 64",
                "depths=<30,40> amplitudes=<900,300>"},
            {"depths=<30,50> level=15000", nullptr,
                "depths=<30,50> amplitudes=<900,300> level=15000"},
            {"wavelength-min=1433", "wavelength-min 1433 and wavelength-max 1433: exp",
                "depths=<30,50> amplitudes=<900,300> level=15000"},
            {"wavelength-max=1187", nullptr,
                "depths=<30,50> amplitudes=<900,300> level=15000 wavelength-min=1433 "
                "wavelength-max=1187"}}},
    {interp_fused,
        {{"wavelengths=/no/such", "wavelengths file /no/such cannot be opened", ""},
            {"wavelengths= background=file", "background-file is not set, expected", ""},
            {"background=frame dispersion-a2=0.001", nullptr,
                "background=frame dispersion-a2=0.001"},
            {"dispersion-phase=/no/such",
                "dispersion-phase /no/such is set together with dispersion-a2 0.001",
                "background=frame dispersion-a2=0.001"},
            {"dispersion-phase= dispersion-a2=0", nullptr, "background=frame"}}},
    {interp_real,
        {{"dispersion-a2=0.001", "downstream does not accept application/x-oct", ""},
            {"window=blackman", nullptr, ""},
            {"dispersion-a2=0", nullptr, "window=blackman"}}},
    {fft_of_64,
        {{"depth-count=32", "downstream does not accept", ""},
            {"depth-count=64 depth-start=20", nullptr, "depth-start=20 depth-count=64"},
            {"depth-start=65", "depth-start is 65 and depth-count is 64",
                "depth-start=20 depth-count=64"}}},
    {average, {{"lines=2", nullptr, "lines=2"},
                  {"mean=complex", "the input is not complex", "lines=2"},
                  {"mean=values rolling=true lines=5", nullptr, "rolling=true lines=5"}}},
    {flow_of_lines, {{"threshold=20 angle=40", nullptr, "threshold=20 angle=40"},
                        {"quantity=phase invert=true", nullptr,
                            "quantity=phase invert=true threshold=20 angle=40"}}},
    {convert_gray, {{"colormap=viridis", "downstream does not accept video/x-raw", ""},
                       {"colormap=none", nullptr, ""}}},
    {convert,
        {{"colormap=viridis", nullptr, "colormap=viridis"},
            {"scale-method=nearest", nullptr, "colormap=viridis scale-method=nearest"},
            {"colormap=none", nullptr, "scale-method=nearest"}}},
};

/* Two sets of properties; a mixture of both gives neither's frame. */
struct Pair {
  const Chain &chain;
  const char *first, *second;
};

const Pair pairs[] = {
    {test_source, "wavelength-min=800 wavelength-max=900 depths=<10> level=10000",
        "wavelength-min=900 wavelength-max=800 depths=<20> level=20000"},
    {interp_fused, "wavelength-min=800 wavelength-max=900 window=hann bit-shift=2",
        "wavelength-min=900 wavelength-max=1000 window=flattop bit-shift=0"},
    {interp, "dispersion-a2=0.001 window=hann", "dispersion-a2=0 window=tukey"},
    {fft, "db-min=0 db-max=60 depth-start=0 depth-count=0",
        "db-min=60 db-max=120 depth-start=30 depth-count=70"},
    {convert, "colormap=viridis scale-method=bilinear",
        "colormap=inferno scale-method=nearest"},
    {compositor, "background=black", "background=checker"},
    {compositor_pad, "xpos=3 ypos=5 width=40 height=30 alpha=1 operator=over",
        "xpos=50 ypos=33 width=60 height=20 alpha=0.5 operator=source"},
    {key, "key-color=0xff00ff00 tolerance=0.4 opacity=1 invert=false",
        "key-color=0xffff0000 tolerance=0.2 opacity=0.5 invert=true"},
    {key_run, "key-color=0xff00ff00 tolerance=0.4 opacity=1",
        "key-color=0xffff0000 tolerance=0.2 opacity=0.5"},
    {key, "method=chroma similarity=0.1 smoothness=0.2 spill=1",
        "method=difference similarity=0.3 smoothness=0.5 spill=0"},
    {reduce, "iterations=5 fill-iterations=0", "iterations=0 fill-iterations=2"},
    {flow, "iterations=3 tolerance=0.2 channel=all limit=0",
        "iterations=9 tolerance=0.1 channel=green limit=0.3"},
    {fill, "color=0xff0000ff method=paint", "color=0x80ff0000 method=composite"},
};

struct Turning {
  GstObject *knobs;
  const Pair &pair;
};

gpointer
turn_quickly (gpointer data)
{
  auto *turning = static_cast<Turning *> (data);
  for (guint n = 0; n < 10000; n++) {
    set_together (turning->knobs, n % 2 ? turning->pair.second : turning->pair.first);
    if (n % 64 == 0)
      g_usleep (500);
  }
  return nullptr;
}
} // namespace

/* A source of any size generates frames of the required size. */
TEST (test_settings_choose_the_size_where_the_source_leaves_it_open)
{
  Pipeline pipeline ("octtestsrc num-buffers=1 ! octscan lines=600 flyback=8 ! "
                     "fakesink name=sink");
  pipeline.play_to_eos ();
  gint lines = 0;
  Owned<GstCaps> caps =
      gst_pad_get_current_caps (pipeline.pad ("sink", "sink").operator->());
  gst_structure_get_int (gst_caps_get_structure (caps, 0), "height", &lines);
  expect_equal (lines, 600);
}

TEST_ROWS (test_knobs_turned_one_by_one_keep_the_last_valid_set, rows)
{
  Session session (row.chain, "");
  session.frame ();
  for (const Turn &turn : row.turns) {
    std::string expected = frame_with (row.chain, turn.in_force);
    set_together (session.knobs, turn.set);
    for (int n = 0; n < 2; n++)
      fail_unless (session.frame () == expected,
          "%s: not as with \"%s\": %.200s, expected %.200s", turn.set, turn.in_force,
          session.frame ().c_str (), expected.c_str ());
    expect_warnings (session.bus, turn.set,
        turn.warning ? std::vector<std::string>{turn.warning}
                     : std::vector<std::string> ());
  }
}

TEST_ROWS (test_knobs_turned_ten_thousand_times_give_one_of_the_sets, pairs)
{
  std::string first = frame_with (row.chain, row.first);
  std::string second = frame_with (row.chain, row.second);
  fail_unless (first != second);

  Session session (row.chain, row.first);
  Turning turning = {session.knobs, row};
  GThread *thread = g_thread_new ("turn", turn_quickly, &turning);
  for (int n = 0; n < 60; n++) {
    std::string frame = session.frame ();
    fail_unless (frame == first || frame == second, "frame %d: neither", n);
  }
  g_thread_join (thread);
  fail_unless (session.frame () == second);
  expect_warnings (session.bus, row.second, {});
}
