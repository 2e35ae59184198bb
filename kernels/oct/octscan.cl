/* From the order in which A-lines were taken to that in which they lie
 *
 * A program is built for one kind of values: STORED is their type, SWAPPED those of 16 bits
 * whose first byte is the higher one. LINEAR: lines between two are made of both, else the
 * nearer one is taken. COLUMNS: an A-line is a column, else a row. TURNED: every second
 * A-line's values, those of odd ones with 1, come in the opposite order.
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
#ifdef TURNED
  value = line % 2 == TURNED ? values - 1 - value : value;
#endif
#ifdef COLUMNS
  return input[value * (size_t)pitch + line];
#else
  return input[line * (size_t)pitch + value];
#endif
}

/* `places`: of each line of the output, the line of its B-scan that it is of, which begins
 * at line `first` of the input, and how far it is to the next one, the bits of a float.
 * Pitches are in values, from row to row. */
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
    result = BETWEEN (NUMBER (result) * (1.0f - part)
                      + NUMBER (value_of (input, input_pitch, from + 1, value, values)) * part);
#endif
#ifdef COLUMNS
  output[value * (size_t)output_pitch + line] = result;
#else
  output[line * (size_t)output_pitch + value] = result;
#endif
}
