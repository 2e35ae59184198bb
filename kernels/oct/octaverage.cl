/* octaverage: mean of adjacent A-lines and of consecutive B-scans
 *
 * Built for one combination of
 *   STORED: type of output values, and of input values unless INPUT is defined
 *   INPUT: type of input values
 *   VALUE: type in which values are added
 *   LINEAR or DECIBELS: average the amplitudes or the levels of complex input
 *   FULL: largest pixel value, for images
 *   ELEMENT: type of the numbers that mean_of_frames reads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef INPUT
#define INPUT STORED
#endif

#define LEAST_POWER 1e-12f

VALUE
value_of (INPUT stored)
{
#if defined(LINEAR)
  return sqrt (stored.x * stored.x + stored.y * stored.y);
#elif defined(DECIBELS)
  return 10.0f * log10 (fmax (stored.x * stored.x + stored.y * stored.y, LEAST_POWER));
#elif defined(FULL)
  return (float)stored;
#else
  return stored;
#endif
}

STORED
stored_of (VALUE value)
{
#ifdef FULL
  return (STORED)rint (clamp (value, 0.0f, FULL));
#else
  return value;
#endif
}

/* Returns the mean of `count` A-lines, `line_step` values apart. */
VALUE
mean_of_lines (global const INPUT *input, uint count, uint line_step)
{
  VALUE sum = value_of (input[0]);
  for (uint n = 1; n < count; n++)
    sum += value_of (input[n * (size_t)line_step]);
  return count > 1 ? sum / (float)count : sum;
}

/* Returns the first A-line and the number of A-lines whose mean is output A-line `line`.
 * A rolling mean uses the A-lines around `line`, as far as they exist. */
uint2
lines_of (uint line, uint lines, uint every, uint rolling)
{
  const uint before = (every - 1) / 2;
  const uint from = rolling ? max (line, before) - before : line * every;
  const uint end = rolling ? min (line + every - before, lines) : from + every;
  return (uint2)(from, end - from);
}

/* Adds a frame to the mean. With `outputs`, also outputs the mean.
 *
 * image: an A-line is a column, else a row
 * kept: planes of `plane` VALUEs each. With `keeps_sum`, one plane: the sum of the `next`
 *   earlier frames. Else a ring of one plane per frame: `next` is this frame's plane, and
 *   the mean is that of the first `frames` planes */
kernel void
average (global const uchar *restrict input_bytes, ulong input_offset, ulong input_pitch,
    global uchar *restrict output_bytes, ulong output_offset, ulong output_pitch,
    uint columns, uint rows, uint image, uint lines, uint every, uint rolling,
    global VALUE *restrict kept, ulong plane, uint next, uint frames, uint keeps_sum,
    uint outputs)
{
  const uint column = get_global_id (0), row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;

  const uint2 of = lines_of (image ? column : row, lines, every, rolling);
  const uint input_column = image ? of.x : column;
  const uint input_row = image ? row : of.x;
  global const INPUT *input =
      (global const INPUT *)(input_bytes + input_offset + input_row * input_pitch)
      + input_column;
  const uint step = image ? 1 : (uint)(input_pitch / sizeof (INPUT));
  VALUE value = mean_of_lines (input, of.y, step);

  global VALUE *own = kept + row * (size_t)columns + column;
  if (keeps_sum) {
    if (next > 0)
      value += own[0];
    if (!outputs)
      own[0] = value;
  } else {
    own[next * plane] = value;
    value = own[0];
    for (uint n = 1; n < frames; n++)
      value += own[n * plane];
  }
  if (outputs) {
    global STORED *output =
        (global STORED *)(output_bytes + output_offset + row * output_pitch) + column;
    *output = stored_of (frames > 1 ? value / (float)frames : value);
  }
}

#ifdef ELEMENT
/* Computes the mean of up to eight whole frames. A work-item processes WIDE numbers of
 * type ELEMENT in a row. A complex value is two numbers. `offsets` and `pitches` are in
 * bytes. */
#define WIDE 16
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)

kernel void
mean_of_frames (global const uchar *restrict held0, global const uchar *restrict held1,
    global const uchar *restrict held2, global const uchar *restrict held3,
    global const uchar *restrict held4, global const uchar *restrict held5,
    global const uchar *restrict held6, global const uchar *restrict held7,
    ulong8 offsets, uint8 pitches, uint columns, uint rows, uint frames,
    global uchar *restrict output, ulong output_offset, ulong output_pitch)
{
  const uint column = get_global_id (0) * WIDE, row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;

  global const uchar *all[8] = {held0, held1, held2, held3, held4, held5, held6, held7};
  const ulong offset[8] = {offsets.s0, offsets.s1, offsets.s2, offsets.s3, offsets.s4,
      offsets.s5, offsets.s6, offsets.s7};
  const uint pitch[8] = {pitches.s0, pitches.s1, pitches.s2, pitches.s3, pitches.s4,
      pitches.s5, pitches.s6, pitches.s7};
  global ELEMENT *to =
      (global ELEMENT *)(output + output_offset + row * output_pitch) + column;
  const bool whole = column + WIDE <= columns;
  ELEMENT rest[WIDE] = {0};
  float16 sum = 0.0f;
  for (uint n = 0; n < frames; n++) {
    global const ELEMENT *from =
        (global const ELEMENT *)(all[n] + offset[n] + row * (size_t)pitch[n]) + column;
    for (uint at = 0; !whole && column + at < columns; at++)
      rest[at] = from[at];
    sum +=
        whole ? convert_float16 (vload16 (0, from)) : convert_float16 (vload16 (0, rest));
  }
  sum /= (float)frames;
#ifdef FULL
  const JOIN (ELEMENT, 16) mean = JOIN (convert_, JOIN (ELEMENT, 16)) (rint (sum));
#else
  const float16 mean = sum;
#endif
  if (whole) {
    vstore16 (mean, 0, to);
    return;
  }
  vstore16 (mean, 0, rest);
  for (uint at = 0; column + at < columns; at++)
    to[at] = rest[at];
}
#endif
