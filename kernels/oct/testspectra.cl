/* octtestsrc: spectra as the camera of a Fourier-domain OCT would see them
 *
 * A phase is counted in 2^-32 of a turn, in integers that wrap around where a turn does:
 * however many turns a deep scatterer makes, its phase is as exact as a shallow one's.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* The samples of an A-line that a work-item makes; the tables are padded to it. */
#define SAMPLES_PER_ITEM 8

/* Streams of random numbers that have nothing to do with each other. */
#define NOISE_STREAM 1u
#define TISSUE_STREAM 2u

/* One of the fringes that add up to a spectrum, as the host lays it out:
 * x whole depth bins, y the rest of the depth in 2^-32, z phase at sample 0, w amplitude
 * (the bits of a float). */
typedef uint4 Scatterer;

/* A layer of the tissue, depths in depth bins: s0 where it begins below the surface (of
 * layer 0: the surface below the zero delay), s1 s2 s3 amplitude, cycles a frame and
 * start in turns of its undulation, s4 backscatter, s5 attenuation a bin, s6 extra
 * reflection where it begins, s7 how far down that reaches. */
typedef float8 Layer;

/* Philox4x32-10: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011). */
uint4
philox (uint4 counter, uint2 key)
{
  for (int round = 0; round < 10; round++) {
    const uint2 factors = (uint2)(0xD2511F53u, 0xCD9E8D57u);
    const uint2 high = mul_hi (counter.xz, factors);
    const uint2 low = counter.xz * factors;
    counter =
        (uint4)(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

/* cos (2 pi turns) = sin (2 pi x) with x within a quarter turn of 0; a minimax
 * polynomial, 3.4e-9 off at most, so that no device's idea of a fast cosine matters. */
float8
cosine_of_turns (uint8 turns)
{
  const float8 x = 0.25f - fabs (convert_float8 (as_int8 (turns)) * 0x1p-32f);
  const float8 y = x * x;
  float8 sum = 39.53669948f;
  sum = sum * y - 76.54978145f;
  sum = sum * y + 81.60100404f;
  sum = sum * y - 41.34165503f;
  sum = sum * y + 6.28318516f;
  return sum * x;
}

/* Uniform in (0, 1]. */
float4
uniform_of_bits (uint4 bits)
{
  return (convert_float4 (bits) + 0.5f) * 0x1p-32f;
}

/* Eight normal numbers (Box and Muller) for eight samples of one A-line of one frame. */
float8
normal_noise (uint item, uint line, uint2 frame, uint seed)
{
  const uint2 key = (uint2)(seed, NOISE_STREAM);
  const uint4 a = philox ((uint4)(2 * item, line, frame), key);
  const uint4 b = philox ((uint4)(2 * item + 1, line, frame), key);
  const float4 radius = sqrt (-2.0f * log (uniform_of_bits ((uint4)(a.xz, b.xz))));
  const uint4 angle = (uint4)(a.yw, b.yw);
  return (float8)(radius, radius) * cosine_of_turns ((uint8)(angle, angle - 0x40000000u));
}

/* raw = level S + S sum of a cos (2 pi b m / N + dispersion + phase) + noise, rounded and
 * clamped to 16 bits.  Drexler and Fujimoto, Optical Coherence Tomography: Technology and
 * Applications, chapter 2, without the terms of scatterers among themselves. */
__kernel void
spectra (__global const uint *position, __global const uint *dispersion,
    __global const float *envelope, __global const Scatterer *scatterers, uint count,
    uint pitch, float level, float noise, uint seed, uint2 frame, uint samples,
    uint lines, __global ushort *output, uint offset, uint stride)
{
  const uint item = get_global_id (0);
  const uint line = get_global_id (1);
  const uint first = item * SAMPLES_PER_ITEM;
  if (first >= samples || line >= lines)
    return;

  const uint8 at = vload8 (item, position);
  const uint8 bent = vload8 (item, dispersion);
  __global const Scatterer *line_scatterers = scatterers + (size_t)line * pitch;
  float8 fringes = 0.0f;
  for (uint i = 0; i < count; i++) {
    const Scatterer scatterer = line_scatterers[i];
    const uint8 turns =
        scatterer.x * at + mul_hi ((uint8)scatterer.y, at) + bent + scatterer.z;
    fringes += as_float (scatterer.w) * cosine_of_turns (turns);
  }

  float8 value = (level + fringes) * vload8 (item, envelope);
  if (noise > 0.0f)
    value += noise * normal_noise (item, line, frame, seed);
  const ushort8 raw = convert_ushort8 (clamp (rint (value), 0.0f, 65535.0f));

  __global ushort *out = output + offset + (size_t)line * stride + first;
  if (first + SAMPLES_PER_ITEM <= samples) {
    vstore8 (raw, 0, out);
    return;
  }
  ushort rest[SAMPLES_PER_ITEM];
  vstore8 (raw, 0, rest);
  for (uint i = 0; first + i < samples; i++)
    out[i] = rest[i];
}

float
layer_begins (Layer layer, float across)
{
  return layer.s0 + layer.s1 * sinpi (2.0f * (layer.s2 * across + layer.s3));
}

/* The field that comes back from below the surface, having passed the layers above. */
float
backscatter_at (__global const Layer *layers, uint n_layers, float below, float across)
{
  float backscatter = 0.0f;
  float attenuation = 0.0f;
  for (uint i = 0; i < n_layers; i++) {
    const Layer layer = layers[i];
    const float begins = i == 0 ? 0.0f : layer_begins (layer, across);
    if (below < begins)
      break;
    const float ends = i + 1 < n_layers ? layer_begins (layers[i + 1], across) : below;
    const float inside = min (below, ends) - begins;
    attenuation += layer.s5 * inside;
    backscatter = layer.s4 + layer.s6 * exp (-inside / layer.s7);
  }
  return backscatter * exp (-attenuation);
}

/* How deep inside the vessel, 1 at its middle, 0 at its wall and outside. vessel: middle
 * across the frame and below the surface, and both radii. */
float
inside_vessel (float4 vessel, float below, float across)
{
  const float2 away = ((float2)(across, below) - vessel.xy) / vessel.zw;
  return max (0.0f, 1.0f - dot (away, away));
}

/* A grain of the tissue: a random phasor, and a random place within its depth cell (z).
 * The blood carries its phase along, by whole multiples of `flow`, so that it wraps
 * exactly. */
float3
grain (uint4 bits, float speed, uint flow)
{
  const uint turns = bits.x + convert_uint_rtz (speed * (1.0f + (bits.w >> 29))) * flow;
  const float4 random = uniform_of_bits (bits);
  const float angle = 2.0f * uniform_of_bits ((uint4)turns).x;
  const float radius = sqrt (-log (random.y));
  return (float3)(radius * cospi (angle), radius * sinpi (angle), random.z);
}

/* The scatterers of every A-line for the frame to come. Neighbouring A-lines look at the
 * same grains, with weights that keep the mean intensity: that is what speckle is. */
__kernel void
tissue (__global const Layer *layers, uint n_layers, uint cells, float cell, float grains,
    float4 vessel, uint flow, float displacement, uint displacement_phase, float gain,
    uint seed, uint lines, __global Scatterer *scatterers)
{
  const uint index = get_global_id (0);
  const uint line = get_global_id (1);
  if (index >= cells || line >= lines)
    return;

  const float across = (line + 0.5f) / lines;
  const float place = line * grains;
  const uint left = convert_uint_rtz (place);
  const float between = place - left;
  const uint2 key = (uint2)(seed, TISSUE_STREAM);
  const float speed = 8.0f * inside_vessel (vessel, (index + 0.5f) * cell, across);
  const float3 a = grain (philox ((uint4)(index, left, 0, 0), key), speed, flow);
  const float3 b = grain (philox ((uint4)(index, left + 1, 0, 0), key), speed, flow);
  const float2 field = cospi (0.5f * between) * a.xy + sinpi (0.5f * between) * b.xy;

  const float below = (index + 0.25f + 0.5f * mix (a.z, b.z, between)) * cell;
  const float depth = max (layer_begins (layers[0], across) + displacement + below, 0.0f);
  const float blood = speed > 0.0f ? 0.25f : 1.0f;
  const float amplitude =
      gain * blood * backscatter_at (layers, n_layers, below, across) * length (field);
  const int phase = convert_int_sat (atan2pi (field.y, field.x) * 0x1p31f);
  const float whole = floor (depth);
  scatterers[line * cells + index] =
      (Scatterer)(convert_uint (whole), convert_uint_sat ((depth - whole) * 0x1p32f),
          as_uint (phase) + displacement_phase, as_uint (amplitude));
}
