/* Fuzzing: the fields of application/x-oct, and frames that need not be as they say
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstreamer.hpp"

#include <gst/check/gstharness.h>

using fuzz::promise;

namespace {
const char *const elements[] = {"octwindowinterp", "octfft", "openclupload",
    "opencldownload", "openclconvert", "chromakey", "octsignal"};
const char *const fields[] = {"domain", "format", "samples", "lines", "framerate",
    "width", "height", "depth-step", "other"};
const char *const texts[] = {"wavelength", "wavenumber", "depth", "U16LE", "F32LE",
    "CF32LE", "GRAY8", "GRAY16_LE", "", "\xff\xfe"};
/* Few that an element takes: it builds kernels for each. */
const gint numbers[] = {
    0, 1, 2, 3, 64, 100, 63, 16384, 16385, -1, G_MAXINT, G_MININT, 1 << 20, 0x4000001};

gint
number (fuzz::Input &input)
{
  return numbers[input.choose (G_N_ELEMENTS (numbers))];
}

void
set_field (GstStructure *structure, const char *name, fuzz::Input &input)
{
  const gint a = number (input), b = number (input);

  switch (input.choose (7)) {
  case 0:
  case 1:
    gst_structure_set (structure, name, G_TYPE_INT, a, nullptr);
    break;
  case 2:
    gst_structure_set (structure, name, G_TYPE_STRING,
        texts[input.choose (G_N_ELEMENTS (texts))], nullptr);
    break;
  case 3: /* no fraction is made of G_MININT, whose negative is no int */
    gst_structure_set (structure, name, GST_TYPE_FRACTION, std::max (a, -G_MAXINT),
        b != 0 ? std::max (b, -G_MAXINT) : 1, nullptr);
    break;
  case 4:
    if (a < b)
      gst_structure_set (structure, name, GST_TYPE_INT_RANGE, a, b, nullptr);
    break;
  case 5:
    gst_structure_set (structure, name, G_TYPE_DOUBLE, input.take<gdouble> (), nullptr);
    break;
  default:
    gst_structure_remove_field (structure, name);
  }
}

/* Caps that are right, but for some fields. */
GstCaps *
make_caps (fuzz::Input &input)
{
  const char *const begin[] = {
      "application/x-oct,domain=wavelength,format=U16LE,samples=64,lines=2,framerate=30/"
      "1",
      "application/x-oct,domain=wavenumber,format=F32LE,samples=64,lines=2,framerate=30/"
      "1",
      "application/x-oct,domain=depth,format=F32LE,samples=32,lines=2,framerate=30/1",
      "video/x-raw,format=GRAY16_LE,width=64,height=2,framerate=30/1",
      "video/x-raw,format=RGBA,width=64,height=2,framerate=30/1"};
  GstCaps *caps = gst_caps_from_string (begin[input.choose (G_N_ELEMENTS (begin))]);

  for (guint n = input.choose (4); n > 0; n--) {
    const char *name = fields[input.choose (G_N_ELEMENTS (fields))];
    set_field (gst_caps_get_structure (caps, 0), name, input);
  }
  if (input.choose (2))
    gst_caps_set_features (
        caps, 0, gst_caps_features_new ("memory:OpenCLMemory", nullptr));
  return caps;
}

/* As large as the frame that was described first would be, or not. */
void
push_frame (GstHarness *harness, fuzz::Input &input)
{
  const gsize sizes[] = {256, 512, 1024, 0, 1, input.take<guint16> ()};
  GstBuffer *buffer = gst_buffer_new_allocate (
      nullptr, sizes[input.choose (G_N_ELEMENTS (sizes))], nullptr);

  gst_buffer_memset (buffer, 0, input.take<guint8> (), gsize (-1));
  gst_harness_push (harness, buffer);
}
} // namespace

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);

  fuzz::start_gstreamer ();
  GstHarness *harness =
      gst_harness_new (elements[input.choose (G_N_ELEMENTS (elements))]);
  GstPad *sink = gst_element_get_static_pad (harness->element, "sink");
  for (guint round = 0; round < 3 && input.remaining () > 0; round++) {
    GstCaps *caps = make_caps (input);
    gst_caps_unref (gst_pad_query_caps (sink, caps));
    if (gst_caps_is_fixed (caps)) {
      gst_pad_query_accept_caps (sink, caps);
      gst_harness_set_src_caps (harness, gst_caps_ref (caps));
      push_frame (harness, input);
    }
    gst_caps_unref (caps);
    while (GstBuffer *buffer = gst_harness_try_pull (harness))
      gst_buffer_unref (buffer);
  }
  gst_object_unref (sink);
  gst_harness_teardown (harness);
  return 0;
}
