/* Unpacks samples in formats that other kernels do not read, and counts saturated samples
 *
 * Built for one combination of
 *   UNPACK_S8, UNPACK_S16LE, UNPACK_S16BE, UNPACK_S32LE, UNPACK_U32LE: to float32
 *   UNPACK_10P, UNPACK_12P, UNPACK_12PACKED: to uint16, or to float32 with TO_FLOAT
 *   UNPACK_U8, UNPACK_U16LE, UNPACK_U16BE, UNPACK_F32LE: to float32
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#if !defined(TO_FLOAT)                                                                   \
    && (defined(UNPACK_10P) || defined(UNPACK_12P) || defined(UNPACK_12PACKED))
#define SAMPLE ushort
#else
#define SAMPLE float
#endif

uint
assemble_16 (global const uchar *bytes)
{
  return bytes[0] | (uint)bytes[1] << 8;
}

uint
assemble_32 (global const uchar *bytes)
{
  return assemble_16 (bytes) | assemble_16 (bytes + 2) << 16;
}

/* Returns a sample from a contiguous bit stream, lowest bit first. */
uint
bits_at (global const uchar *line, uint sample, uint bits)
{
  const uint first = sample * bits;
  return assemble_16 (line + first / 8) >> first % 8 & ((1u << bits) - 1);
}

/* Right shifts of negative samples keep the sign. */
SAMPLE
sample_at (global const uchar *line, uint sample, uint shift)
{
#if defined(UNPACK_U8)
  return line[sample] >> shift;
#elif defined(UNPACK_U16LE)
  return assemble_16 (line + 2 * sample) >> shift;
#elif defined(UNPACK_U16BE)
  return (line[2 * sample + 1] | (uint)line[2 * sample] << 8) >> shift;
#elif defined(UNPACK_F32LE)
  return as_float (assemble_32 (line + 4 * sample));
#elif defined(UNPACK_S8)
  return (float)((int)(char)line[sample] >> shift);
#elif defined(UNPACK_S16LE)
  return (float)((int)(short)assemble_16 (line + 2 * sample) >> shift);
#elif defined(UNPACK_S16BE)
  return (
      float)((int)(short)(line[2 * sample + 1] | (uint)line[2 * sample] << 8) >> shift);
#elif defined(UNPACK_S32LE)
  return (float)((int)assemble_32 (line + 4 * sample) >> shift);
#elif defined(UNPACK_U32LE)
  return (float)(assemble_32 (line + 4 * sample) >> shift);
#elif defined(UNPACK_10P)
  return bits_at (line, sample, 10) >> shift;
#elif defined(UNPACK_12P)
  return bits_at (line, sample, 12) >> shift;
#else
  /* Two samples in three bytes: the middle byte holds the lower four bits of both. */
  global const uchar *pair = line + sample / 2 * 3;
  const uint lower = sample % 2 ? pair[1] >> 4 : pair[1] & 15;
  return ((uint)pair[sample % 2 ? 2 : 0] << 4 | lower) >> shift;
#endif
}

/* Unpacks `samples` samples of each A-line from `first` on. A-lines of the output are
 * contiguous. */
kernel void
unpack (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint first, uint samples, uint lines, uint shift, global SAMPLE *restrict output)
{
  const uint sample = get_global_id (0), line = get_global_id (1);
  if (sample >= samples || line >= lines)
    return;
  output[(size_t)line * samples + sample] =
      sample_at (input + input_offset + line * input_stride, first + sample, shift);
}

/* Adds the number of samples to counts[0], and the number of saturated samples to
 * counts[1]. All work-items of dimension 0 share an A-line. */
kernel void
count_saturated (global const uchar *restrict input, ulong input_offset,
    long input_stride, uint first, uint samples, uint lines, uint shift, float full_scale,
    global uint *counts)
{
  const uint item = get_global_id (0), line = get_global_id (1);
  if (line >= lines)
    return;
  global const uchar *from = input + input_offset + line * input_stride;
  uint saturated = 0;
  for (uint n = item; n < samples; n += get_global_size (0)) {
    const float value = sample_at (from, first + n, shift);
    /* The lowest signed sample is one further from zero than the highest. */
    saturated += value >= full_scale || value <= -full_scale - 1;
  }
  if (item == 0)
    atomic_add (counts, samples);
  if (saturated > 0)
    atomic_add (counts + 1, saturated);
}
