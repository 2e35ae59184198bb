/* octscan: rearranges A-lines from acquisition order to spatial order
 *
 * Built for one combination of
 *   STORED: type of a value
 *   SWAPPED: values are big-endian 16-bit integers
 *   WHOLE: values are other integers
 *   LINEAR: interpolate between two A-lines, else use the nearer one
 *   COLUMNS: an A-line is a column, else a row
 *   REVERSED: every second A-line has its values in reverse order: odd ones if 1, even
 *   ones if 0
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef LINEAR
#ifdef SWAPPED
#define NUMBER(stored) (float)rotate (stored, (STORED)8)
#define BETWEEN(value) rotate ((STORED)rint (value), (STORED)8)
#elif defined(WHOLE)
#define NUMBER(stored) (float)(stored)
#define BETWEEN(value) (STORED) rint (value)
#else
#define NUMBER(stored) (stored)
#define BETWEEN(value) (value)
#endif
#endif

STORED
value_of (global const STORED *input, uint pitch, uint line, uint value, uint values)
{
#ifdef REVERSED
  value = line % 2 == REVERSED ? values - 1 - value : value;
#endif
#ifdef COLUMNS
  return input[value * (size_t)pitch + line];
#else
  return input[line * (size_t)pitch + value];
#endif
}

/* places: for each output A-line, the A-line of the B-scan and, as the bits of a float,
 *   the fraction of the way to the next one
 * first: A-line of the input at which the B-scan begins
 * input_pitch, output_pitch: values from row to row */
kernel void
arrange (global const uchar *restrict input_bytes, ulong input_offset, uint input_pitch,
    uint first, global const uint2 *restrict places, uint values, uint lines,
    global uchar *restrict output_bytes, ulong output_offset, uint output_pitch)
{
#ifdef COLUMNS
  const uint line = get_global_id (0), value = get_global_id (1);
#else
  const uint value = get_global_id (0), line = get_global_id (1);
#endif
  if (value >= values || line >= lines)
    return;

  global const STORED *input = (global const STORED *)(input_bytes + input_offset);
  global STORED *output = (global STORED *)(output_bytes + output_offset);
  const uint from = first + places[line].x;
  STORED result = value_of (input, input_pitch, from, value, values);
#ifdef LINEAR
  const float part = as_float (places[line].y);
  if (part > 0.0f)
    result = BETWEEN (
        NUMBER (result) * (1.0f - part)
        + NUMBER (value_of (input, input_pitch, from + 1, value, values)) * part);
#endif
#ifdef COLUMNS
  output[value * (size_t)output_pitch + line] = result;
#else
  output[line * (size_t)output_pitch + value] = result;
#endif
}
