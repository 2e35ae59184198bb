/* octtestsrc: simulated raw spectra of a Fourier-domain OCT
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testsamples.clh"

/* One of the fringes that add up to a spectrum. x: whole depth bins. y: fraction of a bin
 * in 2^-32. z: phase at sample 0. w: amplitude (the bits of a float). */
typedef uint4 Scatterer;

/* A layer of tissue, depths in depth bins. s0: upper boundary below the surface (layer 0:
 * the surface below zero delay). s1, s2, s3: undulation of the boundary: amplitude,
 * cycles per frame, and phase in turns. s4: backscatter. s5: attenuation per bin. s6:
 * extra reflection at the boundary. s7: decay length of this reflection. */
typedef float8 Layer;

/* Pattern of mirrors: raw = level S + fringes + noise. Mirrors do not move, so their
 * fringes are a table. */
__kernel void
mirrors (
    __global const float8 *envelope, __global const float8 *fringes, float level, OUTPUT)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= samples || line >= lines)
    return;

  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++)
    values[i] = level * envelope[first_group + i] + fringes[first_group + i];
  finish (values, first_group, line, noise, seed, frame, samples, lines, offset, stride,
      output);
}

float
layer_begins (Layer layer, float across)
{
  return layer.s0 + layer.s1 * sinpi (2.0f * (layer.s2 * across + layer.s3));
}

/* Returns the field backscattered at depth `below` under the surface, attenuated by the
 * layers above. */
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

/* Returns the flow profile: 1 at the centre of the vessel, 0 at its wall and outside.
 * vessel: centre across the frame and below the surface, then both radii. */
float
inside_vessel (float4 vessel, float below, float across)
{
  const float2 away = ((float2)(across, below) - vessel.xy) / vessel.zw;
  return max (0.0f, 1.0f - dot (away, away));
}

/* Returns a grain of tissue: a random phasor (x, y) and a random position within its
 * depth cell (z). In blood, its phase moves by whole multiples of `flow`, so that it
 * wraps around exactly. */
float3
grain (uint index, uint column, uint seed, float speed, uint flow)
{
  uint bits[4] = {index, column, 0, 0};
  philox (bits, (uint2)(seed, TISSUE_STREAM));
  const uint turns = bits[0] + convert_uint_rtz (speed * (1.0f + (bits[3] >> 29))) * flow;
  const float4 random = uniform_of_bits ((uint4)(turns, bits[1], bits[2], 0));
  const float angle = 2.0f * random.x;
  const float radius = sqrt (-log (random.y));
  return (float3)(radius * cospi (angle), radius * sinpi (angle), random.z);
}

/* Visible part of the tissue: x is the first depth cell, y the number of depth cells, z
 * the first A-line, w the number of A-lines. */
typedef uint4 Box;

/* Scatterers that contribute fringes (bit mask) */
#define STILL 1u
#define BLOOD 2u

/* Displacement of blood along the beam: in depth cells with 32 fractional bits, and as
 * the phase of the light in turns */
typedef struct {
  ulong cells;
  uint phase;
} Shift;

/* Computes the scatterers of A-lines. `places` are the lateral positions of the A-lines,
 * in lines. With `advances`, all blood moves along the beam, by `flow_step` and
 * `flow_turns` from A-line to A-line, starting at `flow_start` and `flow_phase`. Without
 * it, `flow` advances the phase of blood. `reversed`: A-lines are acquired from the last
 * to the first. Adjacent A-lines see the same grains, with weights that keep the mean
 * intensity, which results in speckle. Scatterers not of `kinds` have amplitude 0. */
__kernel void
tissue (__global const Layer *layers, uint n_layers, float cell, float grains,
    float4 vessel, uint kinds, uint flow, uint2 displacement, uint displacement_phase,
    float gain, uint seed, uint lines, __global const float *places, uint advances,
    ulong flow_start, ulong flow_step, uint flow_phase, uint flow_turns, uint reversed,
    Box box, __global Scatterer *scatterers)
{
  const uint column = get_global_id (0);
  const uint row = get_global_id (1);
  if (column >= box.y || row >= box.w)
    return;

  const uint index = box.x + column;
  const uint line = box.z + row;
  __global Scatterer *scatterer = scatterers + (size_t)row * box.y + column;
  const float lateral = places[line];
  const float across = (lateral + 0.5f) / lines;
  const float speed = 8.0f * inside_vessel (vessel, (index + 0.5f) * cell, across);
  if (!(kinds & (speed > 0.0f ? BLOOD : STILL))) {
    *scatterer = 0;
    return;
  }

  const bool moves = advances && speed > 0.0f;
  const uint time = reversed ? lines - 1 - line : line;
  const Shift shift = {moves ? flow_start + time * flow_step : 0,
      moves ? flow_phase + time * flow_turns : 0};
  const float place = lateral * grains;
  const uint left = convert_uint_rtz (place);
  const float between = place - left;
  /* Index of the grain of blood that has moved to this cell */
  const uint grain_index = index - (uint)(shift.cells >> 32);
  const float3 a = grain (grain_index, left, seed, speed, flow);
  const float3 b = grain (grain_index, left + 1, seed, speed, flow);
  const float2 field = cospi (0.5f * between) * a.xy + sinpi (0.5f * between) * b.xy;

  const float advance = moves ? (uint)shift.cells * 0x1p-32f : 0.0f;
  const float below = (index + 0.25f + 0.5f * mix (a.z, b.z, between) + advance) * cell;
  const float surface = layer_begins (layers[0], across);
  const float depth = surface + below;
  /* Removes the phase of the surface at the middle of the spectrum, so that a sloping
   * surface does not look like flow. */
  const float half_turns = advances ? 0.5f * surface : 0.0f;
  const uint level = convert_uint_sat ((half_turns - floor (half_turns)) * 0x1p32f);
  const float blood = speed > 0.0f ? 0.25f : 1.0f;
  const float amplitude =
      gain * blood * backscatter_at (layers, n_layers, below, across) * length (field);
  const int phase = convert_int_sat (atan2pi (field.y, field.x) * 0x1p31f);
  const float whole = floor (depth);
  const uint rest = convert_uint_sat ((depth - whole) * 0x1p32f);
  const uint moved = rest + displacement.y;
  *scatterer =
      (Scatterer)(convert_uint (whole) + displacement.x + (moved < rest ? 1u : 0u), moved,
          as_uint (phase) + displacement_phase + shift.phase - level,
          as_uint (amplitude));
}

/* Computes the static part of the tissue, which breathing moves as a whole. It is the sum
 * over scatterers of a exp (i phase), as a plane of real and one of imaginary parts. Each
 * work-item computes one group. */
__kernel void
still_tissue (__global const uint8 *position, __global const Scatterer *scatterers,
    Box box, uint groups, __global float8 *real, __global float8 *imaginary)
{
  const uint group = get_global_id (0);
  const uint row = get_global_id (1);
  if (group >= groups || row >= box.w)
    return;

  const uint8 at = position[group];
  float8 x = 0.0f;
  float8 y = 0.0f;
  for (uint i = 0; i < box.y; i++) {
    const Scatterer scatterer = scatterers[(size_t)row * box.y + i];
    const uint8 turns = turns_of_depth (scatterer.xy, at) + scatterer.z;
    const float amplitude = as_float (scatterer.w);
    x += amplitude * cosine_of_turns (turns);
    y += amplitude * cosine_of_turns (turns - 0x40000000u);
  }
  const size_t place = (size_t)(box.z + row) * groups + group;
  real[place] = x;
  imaginary[place] = y;
}

/* Computes the phase factor of breathing and dispersion for each sample, times the
 * spectrum of the light source. Each work-item computes one group. */
__kernel void
phase_factor (__global const uint8 *position, __global const uint8 *dispersion,
    __global const float8 *envelope, uint2 displacement, uint displacement_phase,
    uint groups, __global float8 *real, __global float8 *imaginary)
{
  const uint group = get_global_id (0);
  if (group >= groups)
    return;
  const uint8 turns = turns_of_depth (displacement, position[group]) + dispersion[group]
                      + displacement_phase;
  const float8 light = envelope[group];
  real[group] = light * cosine_of_turns (turns);
  imaginary[group] = light * cosine_of_turns (turns - 0x40000000u);
}

/* Returns the sum of a cos (phase) over the scatterers of an A-line. `dispersion_turns`
 * is the phase of the dispersion. */
float8
sum_of_fringes (
    __global const Scatterer *scatterers, uint count, uint8 at, uint8 dispersion_turns)
{
  float8 sum = 0.0f;
  for (uint i = 0; i < count; i++) {
    const Scatterer scatterer = scatterers[i];
    const uint8 turns =
        turns_of_depth (scatterer.xy, at) + dispersion_turns + scatterer.z;
    sum += as_float (scatterer.w) * cosine_of_turns (turns);
  }
  return sum;
}

/* Pattern of layers: raw = level S (1 + static fringes + moving fringes) + noise. See
 * Drexler and Fujimoto, Optical Coherence Tomography: Technology and Applications,
 * chapter 2. Interference between scatterers is left out. Moving scatterers are in `box`.
 * `reach` is the first cell and the number of cells of each A-line. Without
 * `keeps_still`, all scatterers count as moving. `reversed`: A-lines are acquired from
 * the last to the first. */
__kernel void
layers_of_tissue (__global const uint8 *position, __global const uint8 *dispersion,
    __global const float8 *envelope, __global const float8 *factor_real,
    __global const float8 *factor_imaginary, uint keeps_still,
    __global const float8 *real, __global const float8 *imaginary, uint groups, Box box,
    __global const uint2 *reach, __global const Scatterer *scatterers, uint reversed,
    float level, OUTPUT)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= samples || line >= lines)
    return;

  const uint spatial_line = reversed ? lines - 1 - line : line;
  const uint row = spatial_line - box.z;
  const uint2 moving = row < box.w ? reach[row] : (uint2)(0, 0);
  __global const Scatterer *first = scatterers + (size_t)row * box.y + moving.x;
  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++) {
    const uint group = first_group + i;
    const size_t place = (size_t)spatial_line * groups + group;
    float8 value = envelope[group];
    if (moving.y > 0)
      value +=
          value * sum_of_fringes (first, moving.y, position[group], dispersion[group]);
    if (keeps_still)
      value +=
          factor_real[group] * real[place] - factor_imaginary[group] * imaginary[place];
    values[i] = level * value;
  }
  finish (values, first_group, line, noise, seed, frame, samples, lines, offset, stride,
      output);
}
