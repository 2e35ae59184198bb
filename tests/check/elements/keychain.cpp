/* Tests of several keying elements fused into one launch, against the elements' rules one
 * after another, computed one pixel at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/gstopenclframe.h>
#include "tests/check/opencl-counting.hpp"

#include "keyingreference.hpp"

#include "gst/keying/keychain.hpp"
#include "gst/keying/input/pixelformats.hpp"

using namespace check;
using namespace keying_reference;
using keying::KeyChain;
using keying::KeyChainKernel;
using keying_frames::Format;

namespace {
/* Steps of a run, for the kernels and for the reference */
struct Element {
  enum Kind { NOISE, FLOW } kind;
  int fills, iterations;
};

struct Chain {
  bool keys = true;
  Pixel key = {10, 250, 25, 255};
  double tolerance = 0.03;
  Channel channel = ALL;
  bool inverted = false;
  double opacity = 1;
  FlowRule rule;
  std::vector<Element> elements;
};

guint
argb_of (const Pixel &pixel)
{
  return 0xff000000u | guint (pixel.red) << 16 | guint (pixel.green) << 8 | pixel.blue;
}

KeyChain
run_of (const Chain &chain, const GstVideoInfo *info)
{
  keying::DistanceKey key;
  keying::FlowRule rule;
  if (chain.keys) {
    key.color = argb_of (chain.key);
    key.mask = keying::component_mask (info, keying::Channel (chain.channel));
    key.threshold = keying::difference_threshold (
        chain.tolerance, keying::Channel (chain.channel), info);
    key.inverted = chain.inverted ? -1 : 0;
    key.opacity = cl_uint (std::lround (chain.opacity * 65536));
  }
  rule.mask = keying::component_mask (info, keying::Channel (chain.rule.channel));
  rule.threshold = keying::difference_threshold (
      chain.rule.tolerance, keying::Channel (chain.rule.channel), info);
  rule.key_cb =
      -21 * chain.rule.key.red - 43 * chain.rule.key.green + 64 * chain.rule.key.blue;
  rule.key_cr =
      64 * chain.rule.key.red - 54 * chain.rule.key.green - 10 * chain.rule.key.blue;
  rule.limit = cl_uint (std::pow (chain.rule.limit * 255 * 128, 2));

  KeyChain run (key);
  for (const Element &element : chain.elements) {
    bool added = element.kind == Element::FLOW
                     ? run.add_flow (rule, element.iterations)
                     : run.add_noise_reduction (element.fills, element.iterations);
    fail_unless (added);
  }
  return run;
}

/* Each element gets the output of the previous one, and also the frame before the first
 * element. */
Picture
expected (const Picture &original, const Chain &chain)
{
  Picture picture = original;
  double opacity = chain.keys ? chain.opacity : 1;
  for (Pixel &pixel : picture.pixels) {
    bool near = distance_below (pixel, chain.key, chain.tolerance, chain.channel);
    if (chain.keys)
      pixel.alpha = near != chain.inverted ? 0 : times_opacity (pixel.alpha, opacity);
  }
  for (const Element &element : chain.elements) {
    Mask mask =
        element.kind == Element::FLOW
            ? flow (picture, element.iterations, chain.rule)
            : reduce (fill (mask_of (picture), element.fills), element.iterations);
    /* iterations of 0 mean no limit in flow() */
    if (element.kind != Element::FLOW || element.iterations > 0)
      picture = with_mask (picture, mask, original, opacity);
  }
  return picture;
}

class Runs {
public:
  Runs () : frames ("identity") {}

  Picture run (const Picture &picture, const Chain &chain, KeyChainKernel::Form form,
      const Format &format, Layout layout)
  {
    GstOpenCLContext *context = frames.get_context ();
    cl_command_queue queue = queue_of (context);
    GstVideoInfo info;
    gst_video_info_set_format (
        &info, gst_video_format_from_string (format.name), picture.width, picture.height);
    Owned<GstBuffer> from = frames.make_buffer (picture, format, layout);
    Owned<GstBuffer> to = frames.make_buffer (
        Picture (picture.width, picture.height, {1, 2, 3, 4}), format, layout);
    GstOpenCLFrame input, output;
    OwnedCL<cl_event> event;

    fail_unless (
        gst_opencl_frame_map (&input, &info, 0, from, queue, GST_MAP_READ, nullptr)
        && gst_opencl_frame_map (&output, &info, 0, to, queue, GST_MAP_WRITE, nullptr));
    GError *error = nullptr;
    KeyChainKernel runner (context, {info, info}, form);
    fail_unless (
        runner.enqueue_chain (queue, run_of (chain, &info), &input, &output, &error),
        "%s", error ? error->message : "");
    clEnqueueMarkerWithWaitList (queue, 0, nullptr, event.out ());
    gst_opencl_frame_unmap (&input, event);
    gst_opencl_frame_unmap (&output, event);
    Picture result = frames.read_buffer (to, picture, format);
    assert_rest_untouched (to, picture, layout);
    from = nullptr;
    to = nullptr;
    return result;
  }

  void check (const Picture &picture, const Chain &chain,
      const Format &format = keying_frames::formats[0], Layout layout = {0, 0})
  {
    Picture right = expected (picture, chain);
    for (KeyChainKernel::Form form :
        {KeyChainKernel::Form::gpu, KeyChainKernel::Form::cpu})
      assert_same (run (picture, chain, form, format, layout), right,
          describe (chain, form, format, layout).c_str ());
  }

private:
  /* Fails if guard bytes that make_buffer() put around the frame have changed. */
  void assert_rest_untouched (GstBuffer *buffer, const Picture &picture, Layout layout)
  {
    gsize line = 4 * picture.width, stride = line + layout.padding;
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    for (gsize n = 0; n < map.size; n++) {
      bool inside = n >= layout.offset && (n - layout.offset) % stride < line;
      fail_unless (inside || map.data[n] == 0xa5, "byte %d is written", int (n));
    }
    gst_buffer_unmap (buffer, &map);
  }

  static std::string describe (
      const Chain &chain, KeyChainKernel::Form form, const Format &format, Layout layout)
  {
    std::string text = form == KeyChainKernel::Form::gpu ? "gpu" : "cpu";
    text += std::string (", ") + format.name + ", offset "
            + std::to_string (layout.offset) + ", padding "
            + std::to_string (layout.padding) + ", keys " + std::to_string (chain.keys)
            + ", limit " + std::to_string (chain.rule.limit) + ":";
    for (const Element &element : chain.elements)
      text += element.kind == Element::FLOW
                  ? " flow " + std::to_string (element.iterations)
                  : " noise " + std::to_string (element.fills) + "+"
                        + std::to_string (element.iterations);
    return text;
  }

  keying_frames::ElementUnderTest frames; /* creates and reads buffers */
};

Chain
chain_of (std::vector<Element> elements)
{
  Chain chain;
  chain.elements = std::move (elements);
  return chain;
}

const Element whole_run[] = {
    {Element::NOISE, 0, 5}, {Element::FLOW, 0, 3}, {Element::NOISE, 0, 5}};

Chain
the_whole_run ()
{
  return chain_of ({std::begin (whole_run), std::end (whole_run)});
}

Chain
random_chain (Random &random)
{
  Chain chain;
  chain.keys = random.below (4) > 0;
  chain.tolerance = random.below (60) / 765.;
  chain.channel = Channel (random.below (4));
  chain.inverted = random.below (4) == 0;
  chain.opacity = random.below (3) ? 1 : random.below (1000) / 999.;
  chain.rule.tolerance = random.below (40) / 765.;
  chain.rule.channel = Channel (random.below (4));
  chain.rule.limit = random.below (3) ? 0 : random.below (100) / 150.;
  guint left = KeyChain::deepest;
  for (guint n = 1 + random.below (3); n > 0; n--) {
    int first = random.below (std::min (left, 6u) + 1);
    left -= first;
    int second = random.below (std::min (left, 9u) + 1);
    left -= second;
    if (random.below (2))
      chain.elements.push_back ({Element::NOISE, random.below (2) ? first : 0, second});
    else
      chain.elements.push_back ({Element::FLOW, 0, first});
  }
  return chain;
}
} // namespace

TEST (test_keychain_is_the_elements_one_after_another_at_every_size)
{
  Runs runs;
  for (const auto &size : sizes) {
    runs.check (noise (size[0], size[1], 1, 5), the_whole_run ());
    runs.check (noise (size[0], size[1], 2, 5), chain_of ({{Element::FLOW, 0, 32}}));
    runs.check (noise (size[0], size[1], 3, 5), chain_of ({{Element::NOISE, 16, 16}}));
  }
}

/* With 13 iterations a tile writes 224 by 102 pixels on a GPU, and is 480 pixels wide on
 * a CPU. */
TEST (test_keychain_is_right_where_tiles_meet)
{
  Runs runs;
  for (int width : {224, 225, 449, 480, 481, 961}) {
    for (int height : {102, 103})
      runs.check (noise (width, height, width + height, 5), the_whole_run ());
  }
  for (int height : {204, 205, 229, 230, 231, 461})
    runs.check (noise (90, height, height, 5), the_whole_run ());
}

TEST (test_keychain_is_right_in_the_narrow_tiles_of_little_local_memory)
{
  const cl_ulong size = 16384;
  counting::override_device_info (CL_DEVICE_LOCAL_MEM_SIZE, &size, sizeof size);
  Runs runs;
  Chain limited = the_whole_run ();
  limited.rule.limit = 0.3;
  for (int width : {1, 95, 96, 97, 193})
    runs.check (noise (width, 103, width, 5), limited);
  counting::restore_device_info ();
}

TEST (test_keychain_is_right_in_every_format_and_layout)
{
  Runs runs;
  Chain limited = the_whole_run ();
  limited.rule.limit = 0.3;
  for (const Format &format : keying_frames::formats) {
    for (const Layout &layout : keying_frames::layouts) {
      runs.check (noise (77, 41, 3, 5), the_whole_run (), format, layout);
      runs.check (noise (531, 43, 4, 5), limited, format, layout);
    }
  }
}

TEST (test_keychain_is_right_for_random_settings)
{
  Runs runs;
  Random random (11);
  for (int n = 0; n < 40; n++) {
    Picture picture = noise (
        1 + random.below (600), 1 + random.below (160), n, random.below (2) ? 3 : 60);
    runs.check (picture, random_chain (random), keying_frames::formats[n % 4],
        keying_frames::layouts[random.below (6)]);
  }
}

/* Pixels keyed by flow, by fills or by the key itself, and then made opaque again. A
 * pixel whose alpha was 0 at the input has no alpha to restore. */
TEST (test_keychain_restores_alpha)
{
  Runs runs;
  Picture picture (40, 30, {90, 90, 90, 128});
  picture.at (20, 15).alpha = 0;
  Chain chain = chain_of ({{Element::FLOW, 0, 1}, {Element::NOISE, 0, 4}});
  chain.keys = false;
  runs.check (picture, chain);
  expect_equal (expected (picture, chain).at (21, 15).alpha, 128);
  expect_equal (expected (picture, chain).at (20, 15).alpha, 255);

  picture.at (21, 16).alpha = 0;
  chain = chain_of ({{Element::NOISE, 1, 4}});
  chain.keys = false;
  runs.check (picture, chain);
  expect_equal (expected (picture, chain).at (21, 15).alpha, 128);

  chain.keys = true;
  chain.opacity = 0.5;
  picture.at (5, 5) = {10, 250, 25, 200};
  runs.check (picture, chain);
  expect_equal (expected (picture, chain).at (5, 5).alpha, 100);
  expect_equal (expected (picture, chain).at (6, 5).alpha, 64);
}

TEST (test_keychain_has_an_end)
{
  keying::FlowRule rule, other;
  other.threshold = 1;
  KeyChain run;
  fail_unless (run.add_noise_reduction (10, 20));
  fail_unless (!run.add_flow (rule, 3));
  expect_equal (run.depth (), 30);
  fail_unless (!run.flows ());
  fail_unless (run.add_flow (rule, 2));
  fail_unless (!run.add_noise_reduction (0, G_MAXINT));
  fail_unless (!run.add_noise_reduction (G_MAXINT, G_MAXINT));

  KeyChain two_rules;
  fail_unless (two_rules.add_flow (rule, 1));
  fail_unless (!two_rules.add_flow (other, 1));
  fail_unless (two_rules.add_flow (rule, 1));

  KeyChain many;
  int added = 0;
  while (many.add_noise_reduction (1, 1))
    added++;
  expect_equal (added, 4); /* fill and reduce, in eight steps */
}
