/* octtestsrc: spectra of a three-dimensional phantom of tissue, and of a flat surface
 *
 * Speckle is white noise on a grid of nodes across the beam, and of one cell per depth
 * bin, seen through the lateral resolution. A node's column of tissue comes from the host
 * (oct::TissueModel). Each B-scan lies between three rows of nodes.
 *
 * A cell has a static and a flowing part, of blood or of moving cells of the tissue. The
 * static part is the same in each frame. The field of the flowing part turns with the
 * velocity along the beam, and is replaced by new noise in the time in which blood crosses
 * the resolution.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testsamples.clh"

/* Streams of random numbers besides those of testspectra.cl */
#define STILL_STREAM 3u
#define FLOW_STREAM 4u

#define LAYERS 15
#define CHORDS 4
#define BLOCK 64 /* cells whose fringes are summed up at once */

/* Part of a column inside a vessel, depths in depth bins. x, y: its ends. z: noise cycles
 * per second. w: turns of the phase per second. Unused ones have no length. */
typedef float4 Chord;

typedef struct {
  float layers[LAYERS]; /* attenuation per depth bin */
  float blood;          /* the same, in addition */
  float gain;           /* intensity of the light that is scattered back in total */
  float shares[LAYERS]; /* of moving cells in the intensity */
  float rates[LAYERS];  /* noise cycles of these per second */
} Tissue;

/* Optical depth between the surface and a depth */
float
optical_depth (__global const float *boundaries, __global const Chord *chords,
    const Tissue *tissue, float bin)
{
  float sum = 0.0f;
  for (int i = 0; i < LAYERS; i++) {
    const float ends = i + 1 < LAYERS ? min (bin, boundaries[i + 1]) : bin;
    sum += tissue->layers[i] * max (0.0f, ends - boundaries[i]);
  }
  for (int i = 0; i < CHORDS; i++)
    sum += tissue->blood * max (0.0f, min (bin, chords[i].y) - chords[i].x);
  return sum;
}

/* Flow of blood, or else movement of cells, at a depth. x: part of the intensity. y: noise
 * cycles per second. z: turns per second. */
float4
flow_at (__global const float *boundaries, __global const Chord *chords,
    const Tissue *tissue, float bin)
{
  float4 flow = 0.0f;
  for (int i = 0; i < CHORDS; i++) {
    const Chord chord = chords[i];
    const float inside = min (bin + 0.5f, chord.y) - max (bin - 0.5f, chord.x);
    if (inside <= flow.x)
      continue;
    const float away = (2.0f * bin - chord.x - chord.y) / (chord.y - chord.x);
    const float profile = max (0.0f, 1.0f - away * away);
    flow = (float4)(inside, profile * chord.z, profile * chord.w, 0.0f);
  }
  for (int i = 0; i < LAYERS && flow.x == 0.0f; i++) {
    if (bin >= boundaries[i] && (i + 1 == LAYERS || bin < boundaries[i + 1]))
      return (float4)(tissue->shares[i], tissue->rates[i], 0.0f, 0.0f);
  }
  return flow;
}

/* Adds up the bytes of random words: nearly a normal distribution, of variance 1/2 */
float2
noise_of_words (uint real, uint imaginary)
{
  const uint2 words = (uint2)(real, imaginary);
  const uint2 pairs = (words & 0x00ff00ffu) + ((words >> 8) & 0x00ff00ffu);
  const uint2 sums = (pairs & 0xffffu) + (pairs >> 16);
  return (convert_float2 (sums) - 510.0f) * 0.0047842f;
}

/* Displacement along the beam. x, y: whole depth bins, and 2^-32. z: phase of the light. */
typedef uint4 Displacement;

/* Where a B-scan lies among the nodes. Lengths are in distances of nodes. */
typedef struct {
  float4 weights;     /* of the three rows */
  Displacement moved; /* of all A-lines */
  float shift;        /* of the B-scan along its A-lines */
  int first, row;     /* first node of the three rows */
  uint nodes;         /* of a row */
  uint columns;       /* index of the first node in tables of columns */
  uint cells;         /* of an A-line: half of its samples */
  uint pitch;         /* distance between A-lines in memory, a multiple of BLOCK */
  uint lines;
  uint displacements; /* index of the first A-line in the table of displacements */
  uint seed;
} Place;

/* Returns the range of cells of a node that flow or move. */
float2
flowing_cells (__global const Chord *chords, const Tissue *tissue)
{
  float2 cells = (float2)(MAXFLOAT, 0.0f);
  for (int i = 0; i < CHORDS; i++) {
    if (chords[i].x < chords[i].y)
      cells =
          (float2)(min (cells.x, chords[i].x - 1.0f), max (cells.y, chords[i].y + 1.0f));
  }
  for (int i = 0; i < LAYERS; i++)
    cells = tissue->shares[i] > 0.0f ? (float2)(0.0f, MAXFLOAT) : cells;
  return cells;
}

/* Computes the cells of the three rows of nodes of a B-scan. A work-item computes two
 * cells of a node. The intensity of a cell is the light that its depth takes away: the
 * integral of mu exp (-2 mu z) over it. */
__kernel void
tissue_nodes (__global const float *boundaries, __global const Chord *chords,
    Tissue tissue, Place place, __global float4 *still, __global float4 *flow,
    __global float2 *flowing)
{
  const uint pair = get_global_id (0);
  const uint node = get_global_id (1);
  if (2 * pair >= place.pitch || node >= 3 * place.nodes)
    return;

  boundaries += (size_t)(place.columns + node) * LAYERS;
  chords += (size_t)(place.columns + node) * CHORDS;
  if (pair == 0)
    flowing[node] = flowing_cells (chords, &tissue);
  uint bits[4] = {pair, as_uint (place.first) + node % place.nodes,
      as_uint (place.row) + node / place.nodes, 0};
  philox (bits, (uint2)(place.seed, STILL_STREAM));
  float2 fields[2];
  const size_t to = (size_t)node * (place.pitch / 2) + pair;

  float above = optical_depth (boundaries, chords, &tissue, 2.0f * pair - 0.5f);
  for (uint i = 0; i < 2; i++) {
    const float bin = 2 * pair + i;
    const float below = optical_depth (boundaries, chords, &tissue, bin + 0.5f);
    const float lost = 2.0f * (below - above);
    const float intensity =
        bin < place.cells ? tissue.gain * exp (-2.0f * above) * -expm1 (-lost) : 0.0f;
    above = below;
    float4 moving = flow_at (boundaries, chords, &tissue, bin);
    fields[i] = sqrt (intensity * max (0.0f, 1.0f - moving.x))
                * noise_of_words (bits[2 * i], bits[2 * i + 1]);
    moving.x = sqrt (intensity * moving.x);
    flow[2 * to + i] = moving;
  }
  still[to] = (float4)(fields[0], fields[1]);
}

/* Weights of three neighbouring nodes, whose squares add up to 1. The amplitude of the
 * resolution is a squared cosine, 1.5 nodes wide at half maximum. */
float4
weights_at (float away)
{
  const float4 nodes = (float4)(-1.0f, 0.0f, 1.0f, 1.5f + away);
  const float4 cosine = cospi ((away - nodes) * (1.0f / 3.0f));
  return cosine * cosine * 0.942809042f;
}

/* The nine nodes around an A-line */
typedef struct {
  uint left;        /* first column of each row */
  float weights[9]; /* row by row */
} Nodes;

Nodes
nodes_of_line (Place place, float lateral)
{
  const float at = lateral + place.shift;
  const float centre = rint (at);
  const float4 across = weights_at (at - centre);
  const float columns[3] = {across.x, across.y, across.z};
  const float rows[3] = {place.weights.x, place.weights.y, place.weights.z};
  Nodes nodes;
  nodes.left = convert_int (centre) - 1 - place.first;
  for (uint i = 0; i < 9; i++)
    nodes.weights[i] = rows[i / 3] * columns[i % 3];
  return nodes;
}

/* Time in units of 2^-32 s */
typedef struct {
  ulong frame, line;
  uint reversed; /* A-lines are acquired from the last to the first */
} Clock;

/* Multiplies a rate per second by a time. Returns cycles in units of 2^-52, which wrap
 * around after 4096 cycles. */
ulong
cycles_in_time (float rate, ulong time)
{
  return as_ulong (convert_long (rate * 0x1p20f)) * time;
}

/* Returns the field of a flowing cell of amplitude 1. The noise fades into new noise. */
float2
flowing_field (uint cell, uint column, uint row, float4 flow, ulong time, uint seed)
{
  const ulong cycles = cycles_in_time (flow.y, time);
  const uint number = cycles >> 52;
  const float between = (uint)(cycles >> 20) * 0x1p-32f;
  uint old[4] = {cell, column, row, number};
  uint new[4] = {cell, column, row, (number + 1) & 0xfff};
  philox (old, (uint2)(seed, FLOW_STREAM));
  philox (new, (uint2)(seed, FLOW_STREAM));
  const float2 field = cospi (0.5f * between) * noise_of_words (old[0], old[1])
                       + sinpi (0.5f * between) * noise_of_words (new[0], new[1]);
  if (flow.z == 0.0f)
    return field;
  const int turns = as_int ((uint)(cycles_in_time (flow.z, time) >> 20));
  const float half_turns = turns * 0x1p-31f;
  const float x = cospi (half_turns);
  const float y = sinpi (half_turns);
  return (float2)(field.x * x - field.y * y, field.x * y + field.y * x);
}

/* Returns the blocks of an A-line in which one of its nodes has flowing cells. */
uint2
flowing_blocks (__global const float2 *flowing, Place place, Nodes nodes)
{
  float2 cells = (float2)(MAXFLOAT, 0.0f);
  for (uint i = 0; i < 9; i++) {
    const float2 node = flowing[i / 3 * place.nodes + nodes.left + i % 3];
    cells = (float2)(min (cells.x, node.x), max (cells.y, node.y));
  }
  cells = clamp (cells, 0.0f, (float)(place.pitch - 1));
  return convert_uint2 (cells) / BLOCK + (uint2)(0, cells.x < cells.y ? 1 : 0);
}

/* Computes the flowing cells of A-lines, and the static ones if they are `fresh`.
 * `laterals` are the positions of the A-lines. */
__kernel void
tissue_cells (__global const float2 *still, __global const float4 *flow,
    __global const float2 *flowing, __global const float *laterals, Place place,
    Clock clock, uint fresh, __global float2 *still_cells, __global float2 *flow_cells)
{
  const uint cell = get_global_id (0);
  const uint line = get_global_id (1);
  if (cell >= place.pitch || line >= place.lines)
    return;

  const Nodes nodes = nodes_of_line (place, laterals[line]);
  const uint2 blocks = flowing_blocks (flowing, place, nodes);
  const bool flows = cell >= blocks.x * BLOCK && cell < blocks.y * BLOCK;
  const uint number = clock.reversed ? place.lines - 1 - line : line;
  const ulong time = clock.frame + number * clock.line;
  float2 resting = 0.0f, moved = 0.0f;
  for (uint i = 0; i < 9 && cell < place.cells && (flows || fresh); i++) {
    const uint node = i / 3 * place.nodes + nodes.left + i % 3;
    const size_t from = (size_t)node * place.pitch + cell;
    const float4 moving = flow[from];
    resting += nodes.weights[i] * still[from];
    if (moving.x > 0.0f)
      moved += nodes.weights[i] * moving.x
               * flowing_field (cell, as_uint (place.first) + nodes.left + i % 3,
                   as_uint (place.row) + i / 3, moving, time, place.seed);
  }
  const size_t to = (size_t)line * place.pitch + cell;
  if (fresh)
    still_cells[to] = resting;
  if (flows)
    flow_cells[to] = moved;
}

/* Returns the sum of a_b w^b over the cells of a block, by Horner's rule for the even and
 * the odd powers. */
Field
sum_of_block (__global const float2 *cells, Field w, Field square)
{
  Field even = {0.0f, 0.0f};
  Field odd = {0.0f, 0.0f};
  for (int i = BLOCK - 2; i >= 0; i -= 2) {
    const float2 a = cells[i];
    const float2 b = cells[i + 1];
    const float8 x = even.x * square.x - even.y * square.y + a.x;
    const float8 u = odd.x * square.x - odd.y * square.y + b.x;
    even.y = even.x * square.y + even.y * square.x + a.y;
    odd.y = odd.x * square.y + odd.y * square.x + b.y;
    even.x = x;
    odd.x = u;
  }
  even.x += odd.x * w.x - odd.y * w.y;
  even.y += odd.x * w.y + odd.y * w.x;
  return even;
}

/* Returns the field of some blocks of an A-line at the samples of a group: the sum of
 * a_b exp (2 pi i b m / N). Each block begins with an exact phase. */
Field
field_of_cells (__global const float2 *cells, uint2 blocks, uint8 at)
{
  const Field w = phase_factor (at);
  const Field square = phase_factor (2 * at);
  Field sum = {0.0f, 0.0f};
  for (uint block = blocks.x; block < blocks.y; block++) {
    const Field part = sum_of_block (cells + block * BLOCK, w, square);
    const Field turn = phase_factor (block * BLOCK * at);
    sum.x += part.x * turn.x - part.y * turn.y;
    sum.y += part.x * turn.y + part.y * turn.x;
  }
  return sum;
}

/* Pattern of tissue: raw = level S (1 + fringes of all cells) + noise. The displacement
 * of an A-line and that of all of them turn the phase of its field. `fields` keeps the
 * field of the static cells, which is computed if they are `fresh`. */
__kernel void
tissue_spectra (__global const Samples *table, __global const float2 *still_cells,
    __global const float2 *flow_cells, __global const float2 *flowing,
    __global const float *laterals, __global const Displacement *displacements,
    Place place, uint fresh, uint groups, __global Field *fields, Output out,
    __global ushort *data)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= out.samples || line >= out.lines)
    return;

  const uint column = spatial_line (line, out);
  const Displacement displaced = displacements[place.displacements + column];
  const uint fraction = displaced.y + place.moved.y;
  const uint carry = fraction < displaced.y ? 1 : 0;
  const uint2 depth = (uint2)(displaced.x + place.moved.x + carry, fraction);
  const uint2 blocks =
      flowing_blocks (flowing, place, nodes_of_line (place, laterals[column]));
  still_cells += (size_t)column * place.pitch;
  flow_cells += (size_t)column * place.pitch;
  fields += (size_t)column * groups + first_group;
  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++) {
    const Samples at = table[first_group + i];
    if (fresh)
      fields[i] =
          field_of_cells (still_cells, (uint2)(0, place.pitch / BLOCK), at.position);
    const Field flow = field_of_cells (flow_cells, blocks, at.position);
    const float8 x = fields[i].x + flow.x;
    const float8 y = fields[i].y + flow.y;
    const Field turn = phase_factor (turns_of_depth (depth, at.position) + displaced.z
                                     + place.moved.z + at.dispersion);
    values[i] = out.level * at.envelope * (1.0f + x * turn.x - y * turn.y);
  }
  finish (values, first_group, line, out, data);
}

/* Pattern of a flat surface: raw = S (level + fringe) + noise. The displacements, of
 * which the first is `first`, include the depth of the surface. */
__kernel void
flat_surface (__global const Samples *table, __global const Displacement *displacements,
    uint first, float amplitude, Output out, __global ushort *data)
{
  const uint first_group = get_global_id (0) * GROUPS;
  const uint line = get_global_id (1);
  if (first_group * GROUP_SAMPLES >= out.samples || line >= out.lines)
    return;

  const Displacement displaced = displacements[first + spatial_line (line, out)];
  float8 values[GROUPS];
  for (uint i = 0; i < GROUPS; i++) {
    const Samples at = table[first_group + i];
    const uint8 turns =
        turns_of_depth (displaced.xy, at.position) + displaced.z + at.dispersion;
    values[i] = at.envelope * (out.level + amplitude * cosine_of_turns (turns));
  }
  finish (values, first_group, line, out, data);
}
