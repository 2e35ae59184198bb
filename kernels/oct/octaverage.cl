/* The mean of A-lines beside each other and of B-scans after each other
 *
 * A program is built for one kind of values: STORED is their type in the input and the
 * output, or where these differ INPUT that of the input; VALUE is the type that is added,
 * and LINEAR or DECIBELS says that of a complex input its amplitude or level is.
 *
 * Values lie in rows of `columns`; the A-lines of a mean are `line_step` values apart.
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

/* Of the A-lines from `first` up to `end` that make a mean. */
VALUE
mean_of_lines (global const INPUT *input, uint count, uint line_step)
{
  VALUE sum = value_of (input[0]);
  for (uint n = 1; n < count; n++)
    sum += value_of (input[n * (size_t)line_step]);
  return count > 1 ? sum / (float)count : sum;
}

/* Which A-lines make line `line` of the output: those beginning there or, of a rolling
 * mean, those around it that there are. */
uint2
lines_of (uint line, uint lines, uint every, uint rolling)
{
  const uint before = (every - 1) / 2;
  const uint from = rolling ? max (line, before) - before : line * every;
  const uint end = rolling ? min (line + every - before, lines) : from + every;
  return (uint2) (from, end - from);
}

/* A plane of `kept` holds VALUEs as the output lies, `plane` of them. With `sums` there is
 * one, the sum of the `next` frames before; else one for each frame, of which `next` is
 * this one's, and the first `frames` make the mean. With `gives` the mean is put out. */
kernel void
average (global const uchar *restrict input_bytes, ulong input_offset, ulong input_pitch,
    global uchar *restrict output_bytes, ulong output_offset, ulong output_pitch,
    uint columns, uint rows, uint picture, uint lines, uint every, uint rolling,
    global VALUE *restrict kept, ulong plane, uint next, uint frames, uint sums,
    uint gives)
{
  const uint column = get_global_id (0), row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;

  const uint2 of = lines_of (picture ? column : row, lines, every, rolling);
  const uint input_column = picture ? of.x : column;
  const uint input_row = picture ? row : of.x;
  global const INPUT *input = (global const INPUT *)(input_bytes + input_offset
                                                     + input_row * input_pitch)
                              + input_column;
  const uint step = picture ? 1 : (uint)(input_pitch / sizeof (INPUT));
  VALUE value = mean_of_lines (input, of.y, step);

  global VALUE *own = kept + row * (size_t)columns + column;
  if (sums) {
    if (next > 0)
      value += own[0];
    if (!gives)
      own[0] = value;
  } else {
    own[next * plane] = value;
    value = own[0];
    for (uint n = 1; n < frames; n++)
      value += own[n * plane];
  }
  if (gives) {
    global STORED *output =
        (global STORED *)(output_bytes + output_offset + row * output_pitch) + column;
    *output = stored_of (frames > 1 ? value / (float)frames : value);
  }
}
