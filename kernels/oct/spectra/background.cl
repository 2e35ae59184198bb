/* Background spectrum: mean of the A-lines of one frame or of several frames
 *
 * Built for one combination of
 *   LOAD_U8, LOAD_U16LE, LOAD_U16BE or LOAD_F32LE: sample format
 *   ALIGNED: 1 if every sample is aligned to its size, 2 if every A-line is aligned to
 *   WIDE samples, else 0
 *   WIDE: adjacent samples per vector, 4 or 16
 *   MEAN_GROUP: work-group size of find_background
 *   COLUMNS: samples per work-group of find_background
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)
#define VLOAD JOIN (vload, WIDE)
#if ALIGNED == 2
#define LOAD_VECTOR(type, bytes) (*(global const JOIN (type, WIDE) *)(bytes))
#else
#define LOAD_VECTOR(type, bytes) VLOAD (0, (global const type *)(bytes))
#endif
#define VSTORE JOIN (vstore, WIDE)
#define WORDS JOIN (uint, WIDE)
#define FLOATS JOIN (float, WIDE)

#if defined(LOAD_F32LE)
#define SAMPLE_BYTES 4
#elif defined(LOAD_U8)
#define SAMPLE_BYTES 1
#else
#define SAMPLE_BYTES 2
#endif

/* Integer sums are exact: blocks are small enough for 32-bit sums. */
#ifdef LOAD_F32LE
#define SUM float
#define SUMS FLOATS
#else
#define SUM uint
#define SUMS WORDS
#endif

/* Samples */

SUM
assemble_sample (global const uchar *bytes, uint shift)
{
#if defined(LOAD_U8)
  return (uint)bytes[0] >> shift;
#elif defined(LOAD_U16LE)
  return (bytes[0] | (uint)bytes[1] << 8) >> shift;
#elif defined(LOAD_U16BE)
  return (bytes[1] | (uint)bytes[0] << 8) >> shift;
#else
  return as_float (
      bytes[0] | (uint)bytes[1] << 8 | (uint)bytes[2] << 16 | (uint)bytes[3] << 24);
#endif
}

#if ALIGNED && defined(__ENDIAN_LITTLE__)
SUMS
load_samples (global const uchar *bytes, uint shift)
{
#if defined(LOAD_U8)
  return JOIN (convert_, WORDS) (LOAD_VECTOR (uchar, bytes)) >> shift;
#elif defined(LOAD_F32LE)
  return LOAD_VECTOR (float, bytes);
#else
  WORDS words = JOIN (convert_, WORDS) (LOAD_VECTOR (ushort, bytes));
#ifdef LOAD_U16BE
  words = (words & 0xff) << 8 | words >> 8;
#endif
  return words >> shift;
#endif
}
#else
SUMS
load_samples (global const uchar *bytes, uint shift)
{
  SUM samples[WIDE];
  for (uint n = 0; n < WIDE; n++)
    samples[n] = assemble_sample (bytes + n * SAMPLE_BYTES, shift);
  return VLOAD (0, samples);
}
#endif

/* A block stores a row of sums. Non-finite floats are left out of both the sum and the
 * divisor of the mean. Compensated summation keeps the rounding error of a sum and adds it
 * back, so that the mean of many lines is as accurate as that of a few. A block of floats
 * stores three rows: the sums, their errors, and the number of non-finite samples. */
#ifdef LOAD_F32LE
#define ROWS_OF_BLOCK 3
#else
#define ROWS_OF_BLOCK 1
#endif

/* Sums up blocks of `block` lines. Dimension 0: WIDE samples, dimension 1: blocks. The last
 * work-item of a line begins earlier, and repeats samples of the one before. */
kernel void
sum_blocks (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint samples, uint lines, uint shift, uint block, global SUM *restrict sums)
{
  const uint number = get_global_id (1), begin = number * block;
  if (get_global_id (0) * WIDE >= samples || begin >= lines)
    return;
  const uint first = min ((uint)get_global_id (0) * WIDE, samples - WIDE);
  const uint count = min (block, lines - begin);
  global const uchar *from =
      input + input_offset + begin * input_stride + first * SAMPLE_BYTES;
  global SUM *row = sums + (size_t)number * ROWS_OF_BLOCK * samples + first;
  SUMS sum = 0;
#ifdef LOAD_F32LE
  SUMS lost = 0.0f;
  WORDS missing = 0;
  for (uint line = 0; line < count; line++) {
    const SUMS values = load_samples (from + line * input_stride, shift);
    const SUMS finite = fabs (values) <= FLT_MAX ? values : (SUMS)0.0f;
    const SUMS wanted = finite - lost, after = sum + wanted;
    missing += fabs (values) <= FLT_MAX ? (WORDS)0 : (WORDS)1;
    lost = (after - sum) - wanted;
    sum = after;
  }
  VSTORE (lost, 0, row + samples);
  VSTORE (missing, 0, (global uint *)row + 2 * samples);
#else
#pragma unroll 8
  for (uint line = 0; line < count; line++)
    sum += load_samples (from + line * input_stride, shift);
#endif
  VSTORE (sum, 0, row);
}

/* Means */

void
add (float *sum, float *lost, float value)
{
  float wanted = value - *lost;
  float next = *sum + wanted;
  *lost = (next - *sum) - wanted;
  *sum = next;
}

/* Returns the sum of every `parts`-th block from `part` on. Adds the number of their
 * non-finite samples to `missing`. */
float
sum_of_blocks (global const SUM *sums, uint samples, uint blocks, uint part, uint parts,
    uint *missing)
{
#ifdef LOAD_F32LE
  float sum = 0.0f, lost = 0.0f;
  for (uint n = part; n < blocks; n += parts) {
    global const float *of = sums + (size_t)n * ROWS_OF_BLOCK * samples;
    add (&sum, &lost, of[0]);
    lost += of[samples];
    *missing += ((global const uint *)of)[2 * samples];
  }
  return sum - lost;
#else
  ulong sum = 0;
  for (uint n = part; n < blocks; n += parts)
    sum += sums[(size_t)n * samples];
  return (float)sum;
#endif
}

/* Computes the background: the mean of the `past` preceding frames, or of the frame
 * itself if there are none. `means` has `rows` rows, one per frame. Stores the frame's
 * own mean in row `next`, if that row exists. */
kernel __attribute__ ((reqd_work_group_size (MEAN_GROUP, 1, 1))) void
find_background (global const SUM *restrict sums, uint samples, uint blocks, uint lines,
    global float *restrict means, uint past, uint rows, uint next,
    global float *restrict background)
{
  const uint parts = MEAN_GROUP / COLUMNS, part = get_local_id (0) / COLUMNS;
  const uint column = get_local_id (0) % COLUMNS;
  const uint sample = get_group_id (0) * COLUMNS + column;
  local float of_blocks[MEAN_GROUP], of_past[MEAN_GROUP];
  local uint missing_of[MEAN_GROUP];
  float sum = 0.0f, past_sum = 0.0f, lost = 0.0f;
  uint missing = 0;

  if (sample < samples) {
    sum = sum_of_blocks (sums + sample, samples, blocks, part, parts, &missing);
    for (uint n = part; n < past; n += parts)
      add (&past_sum, &lost, means[n * samples + sample]);
  }
  of_blocks[get_local_id (0)] = sum;
  of_past[get_local_id (0)] = past_sum;
  missing_of[get_local_id (0)] = missing;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (part > 0 || sample >= samples)
    return;

  for (uint n = 1; n < parts; n++) {
    sum += of_blocks[n * COLUMNS + column];
    past_sum += of_past[n * COLUMNS + column];
    missing += missing_of[n * COLUMNS + column];
  }
  const float mean = missing < lines ? sum / (lines - missing) : 0.0f;
  background[sample] = past > 0 ? past_sum / past : mean;
  if (next < rows)
    means[next * samples + sample] = mean;
}
