/* Frames of depths to push into elements, and their outputs as numbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../harness.hpp"

namespace depths {
using check::Bytes;
using check::Harness;
using check::Owned;
using Complex = std::complex<double>;
using Values = std::vector<double>;
using Pairs = std::vector<Complex>;

const gsize n_depths = 37, n_lines = 21; /* not a multiple of any vector or work-group */
const GstClockTime each = GST_SECOND / 50;

inline std::string
frame_caps (const std::string &format, gsize lines = n_lines, gsize depths = n_depths,
    const std::string &rate = "50/1", const std::string &quantity = "")
{
  if (format[0] == 'G')
    return check::text ("video/x-raw(memory:OpenCLMemory),format=%s,width=%zu,height=%zu,"
                        "framerate=%s",
        format.c_str (), lines, depths, rate.c_str ());
  return check::text ("application/x-oct(memory:OpenCLMemory),domain=depth,format=%s,"
                      "samples=%zu,lines=%zu,framerate=%s",
             format.c_str (), depths, lines, rate.c_str ())
         + (quantity.empty () ? "" : ",quantity=" + quantity);
}

template <typename Number, typename List>
Bytes
bytes_of (const List &values)
{
  std::vector<Number> numbers (values.begin (), values.end ());
  Bytes bytes (numbers.size () * sizeof (Number));
  memcpy (bytes.data (), numbers.data (), bytes.size ());
  return bytes;
}

template <typename Number>
Values
numbers_in (const Bytes &bytes)
{
  std::vector<Number> numbers (bytes.size () / sizeof (Number));
  memcpy (numbers.data (), bytes.data (), numbers.size () * sizeof (Number));
  return Values (numbers.begin (), numbers.end ());
}

inline Pairs
pairs_in (const Bytes &bytes)
{
  Values parts = numbers_in<float> (bytes);
  Pairs pairs;
  for (gsize n = 0; n + 1 < parts.size (); n += 2)
    pairs.emplace_back (parts[n], parts[n + 1]);
  return pairs;
}

/* Random depths that are exact in float32 */
inline Pairs
speckle (guint seed, gsize n = n_depths * n_lines)
{
  std::mt19937 random (seed);
  std::normal_distribution<float> normal (0, 100);
  Pairs pairs (n);
  for (Complex &value : pairs) {
    const float real = normal (random), imaginary = normal (random);
    value = Complex (real, imaginary);
  }
  return pairs;
}

inline Pairs
as_float (Pairs pairs)
{
  for (Complex &value : pairs)
    value = Complex (float (value.real ()), float (value.imag ()));
  return pairs;
}

inline Values
real_of (const Pairs &pairs)
{
  Values values;
  for (const Complex &value : pairs)
    values.push_back (value.real ());
  return values;
}

inline Values
amplitudes (const Pairs &pairs)
{
  Values values;
  for (const Complex &value : pairs)
    values.push_back (std::abs (value));
  return values;
}

inline GstBuffer *
timed (const Bytes &bytes, guint frame, guint flags = 0)
{
  GstBuffer *buffer = check::buffer_of (bytes);
  GST_BUFFER_PTS (buffer) = frame * each;
  GST_BUFFER_DURATION (buffer) = each;
  GST_BUFFER_FLAG_SET (buffer, flags);
  return buffer;
}

inline GstBuffer *
complex_frame (const Pairs &pairs, guint frame, guint flags = 0)
{
  Values parts;
  for (const Complex &value : pairs) {
    parts.push_back (value.real ());
    parts.push_back (value.imag ());
  }
  return timed (bytes_of<float> (parts), frame, flags);
}

/* Numbers of the next output buffer */
inline Values
pull_numbers (Harness &harness)
{
  return numbers_in<float> (check::read_buffer (harness.pull ()));
}

/* Pixels of an image, without the padding of rows to 4 bytes */
inline Values
pixels_in (
    const Bytes &picture, gsize bytes, gsize lines = n_lines, gsize depths = n_depths)
{
  const gsize pitch = (lines * bytes + 3) / 4 * 4;
  Bytes pixels;
  for (gsize row = 0; row < depths; row++)
    pixels.insert (pixels.end (), picture.begin () + gssize (row * pitch),
        picture.begin () + gssize (row * pitch + lines * bytes));
  return bytes == 1 ? numbers_in<guint8> (pixels) : numbers_in<guint16> (pixels);
}

/* Plays a source into an element and a display, and returns all pictures. Expects the same
 * pictures on one queue and between queues, beside another branch. */
inline Bytes
pictures_on_any_queue (const std::string &source, const std::string &element,
    const std::string &display, guint n_frames)
{
  Bytes pictures[2];
  for (int n = 0; n < 2; n++) {
    check::Pipeline pipeline (source + (n ? " ! tee name=t ! queue ! identity ! " : " ! ")
                              + element + (n ? " ! queue ! " : " ! ") + display
                              + " ! opencldownload ! appsink name=out sync=false"
                              + (n ? " t. ! queue ! fakesink async=false" : ""));
    pipeline.start ();
    guint frames = 0;
    while (Owned<GstSample> sample = pipeline.pull ()) {
      const Bytes picture = check::read_buffer (gst_sample_get_buffer (sample));
      pictures[n].insert (pictures[n].end (), picture.begin (), picture.end ());
      frames++;
    }
    expect_equal (frames, n_frames);
    fail_unless (pipeline.messages ().is_clean ());
  }
  check::assert_same (pictures[1], pictures[0], "queues");
  return pictures[0];
}

inline guint
waiting (Harness &harness)
{
  return gst_harness_buffers_in_queue (harness);
}
} // namespace depths
