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
mirrors (__global const Samples *table, __global const float8 *fringes, Output out,
    __global ushort *data)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= out.samples || line >= out.lines)
    return;

  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++)
    values[i] = out.level * table[first_group + i].envelope + fringes[first_group + i];
  finish (values, first_group, line, out, data);
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

/* Returns the flow profile: 1 at the centre of the vessel, 0 at its wall and outside. */
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

/* Numbers that are the same in all frames. Depths are in depth bins, other lengths in
 * widths of the frame. */
typedef struct {
  float4 vessel; /* its centre across the frame and below the surface, then both radii */
  float cell;    /* depth of a cell, which has one scatterer */
  float grains;  /* per A-line */
  float gain;    /* mean fringe amplitude of a grain */
  uint n_layers, cells, lines;
} Skin;

/* Displacement at the time of a frame. Phases are in turns. With `advances`, all blood
 * moves along the beam, by `step` and `step_phase` from A-line to A-line, beginning with
 * `start` and `start_phase`. `start` and `step` are in depth cells with 32 fractional
 * bits. Without `advances`, `flow` advances the phase of the slowest blood. */
typedef struct {
  ulong start, step;
  uint2 displacement; /* of all tissue, by breathing */
  uint displacement_phase;
  uint flow;
  uint start_phase, step_phase;
  uint advances;
  uint reversed; /* A-lines are acquired from the last to the first */
} Motion;

/* Computes the scatterers of all A-lines, either those in the vessel (`blood`) or the
 * others. The rest have amplitude 0. `places` are the lateral positions of the A-lines,
 * in lines. Adjacent A-lines see the same grains, with weights that keep the mean
 * intensity, which results in speckle. */
__kernel void
skin_scatterers (__global const Layer *layers, __global const float *places, Skin skin,
    Motion motion, uint seed, uint blood, __global Scatterer *scatterers)
{
  const uint index = get_global_id (0);
  const uint line = get_global_id (1);
  if (index >= skin.cells || line >= skin.lines)
    return;

  scatterers += (size_t)line * skin.cells + index;
  const float across = (places[line] + 0.5f) / skin.lines;
  const float speed =
      8.0f * inside_vessel (skin.vessel, (index + 0.5f) * skin.cell, across);
  if (blood != (speed > 0.0f)) {
    *scatterers = 0;
    return;
  }

  const bool moves = motion.advances && blood;
  const uint time = motion.reversed ? skin.lines - 1 - line : line;
  const ulong shift = moves ? motion.start + time * motion.step : 0;
  const uint shift_phase = moves ? motion.start_phase + time * motion.step_phase : 0;
  const float place = places[line] * skin.grains;
  const uint left = convert_uint_rtz (place);
  const float between = place - left;
  /* Index of the grain of blood that has moved to this cell */
  const uint grain_index = index - (uint)(shift >> 32);
  const float3 a = grain (grain_index, left, seed, speed, motion.flow);
  const float3 b = grain (grain_index, left + 1, seed, speed, motion.flow);
  const float2 field = cospi (0.5f * between) * a.xy + sinpi (0.5f * between) * b.xy;

  const float advance = moves ? (uint)shift * 0x1p-32f : 0.0f;
  const float below =
      (index + 0.25f + 0.5f * mix (a.z, b.z, between) + advance) * skin.cell;
  const float surface = layer_begins (layers[0], across);
  const float depth = surface + below;
  /* Removes the phase of the surface at the middle of the spectrum, so that a sloping
   * surface does not look like flow. */
  const float half_turns = motion.advances ? 0.5f * surface : 0.0f;
  const uint level = convert_uint_sat ((half_turns - floor (half_turns)) * 0x1p32f);
  const float amplitude = skin.gain * (blood ? 0.25f : 1.0f)
                          * backscatter_at (layers, skin.n_layers, below, across)
                          * length (field);
  const int phase = convert_int_sat (atan2pi (field.y, field.x) * 0x1p31f);
  const float whole = floor (depth);
  const uint rest = convert_uint_sat ((depth - whole) * 0x1p32f);
  const uint moved = rest + motion.displacement.y;
  const uint carry = moved < rest ? 1 : 0;
  *scatterers = (Scatterer)(convert_uint (whole) + motion.displacement.x + carry, moved,
      as_uint (phase) + motion.displacement_phase + shift_phase - level,
      as_uint (amplitude));
}

/* Computes the static part of the tissue, which breathing moves as a whole: the sum over
 * scatterers of a exp (i phase). */
__kernel void
skin_still (__global const Samples *table, __global const Scatterer *scatterers,
    Skin skin, uint groups, __global Field *still)
{
  const uint group = get_global_id (0);
  const uint line = get_global_id (1);
  if (group >= groups || line >= skin.lines)
    return;

  const uint8 at = table[group].position;
  Field sum = {0.0f, 0.0f};
  for (uint i = 0; i < skin.cells; i++) {
    const Scatterer scatterer = scatterers[(size_t)line * skin.cells + i];
    const Field turn = phase_factor (turns_of_depth (scatterer.xy, at) + scatterer.z);
    const float amplitude = as_float (scatterer.w);
    sum.x += amplitude * turn.x;
    sum.y += amplitude * turn.y;
  }
  still[(size_t)line * groups + group] = sum;
}

/* Returns the first depth cell of an A-line that may have blood, and the cell after the
 * last. Further cells have scatterers of amplitude 0. */
uint2
cells_of_vessel (Skin skin, float across)
{
  const float away = (across - skin.vessel.x) / (1.0001f * skin.vessel.z);
  const float chord = skin.vessel.w * sqrt (max (0.0f, 1.0f - away * away));
  const float2 ends = (float2)(skin.vessel.y - chord, skin.vessel.y + chord) / skin.cell;
  return fabs (away) < 1.0f
             ? min (convert_uint2_sat (ends + (float2)(-1.0f, 2.0f)), skin.cells)
             : 0;
}

/* Pattern of layers: raw = level S (1 + static fringes + moving fringes) + noise. See
 * Drexler and Fujimoto, Optical Coherence Tomography: Technology and Applications,
 * chapter 2. Interference between scatterers is left out. Breathing and dispersion turn
 * the phase of the static fringes. */
__kernel void
skin_spectra (__global const Samples *table, __global const float *places, Skin skin,
    Motion motion, __global const Field *still, uint groups,
    __global const Scatterer *scatterers, Output out, __global ushort *data)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= out.samples || line >= out.lines)
    return;

  const uint place = spatial_line (line, out);
  const uint2 cells = cells_of_vessel (skin, (places[place] + 0.5f) / skin.lines);
  scatterers += (size_t)place * skin.cells;
  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++) {
    const Samples at = table[first_group + i];
    const Field field = still[(size_t)place * groups + first_group + i];
    float8 sum = 0.0f;
    for (uint cell = cells.x; cell < cells.y; cell++) {
      const Scatterer scatterer = scatterers[cell];
      const uint8 turns =
          turns_of_depth (scatterer.xy, at.position) + at.dispersion + scatterer.z;
      sum += as_float (scatterer.w) * cosine_of_turns (turns);
    }
    const Field turn = phase_factor (turns_of_depth (motion.displacement, at.position)
                                     + at.dispersion + motion.displacement_phase);
    const float8 light = at.envelope;
    float8 value = light + light * sum;
    value += (light * turn.x) * field.x - (light * turn.y) * field.y;
    values[i] = out.level * value;
  }
  finish (values, first_group, line, out, data);
}
