/* flowkey: extends the key over areas of even colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "flowrule.clh"
#include "masks.clh"
#include "tiles.clh"

/* Packs the planes of a frame, one byte of each per work-item. Global size: 4 * words,
 * height */
__kernel void
pack_flow (FRAME (const, input), uint width, uint height, RULE, __global uchar *keyed,
    __global uchar *right, __global uchar *down, __global uchar *open, uint words)
{
  uint byte = get_global_id (0);
  uint y = get_global_id (1);
  uint x = 8 * byte;
  if (byte >= 4 * words || y >= height)
    return;
  uint k = 0, r = 0, d = 0, o = 0;
  if (x < width) {
    Rule rule = THE_RULE;
    Pixel8 pixels = load_pixels (LINE (input, y), x, width);
    Pixel8 below = load_pixels (LINE (input, min (y + 1, height - 1)), x, width);
    k = keyed_of (pixels, x, width);
    r = same_as_right (LINE (input, y), pixels, rule, x, width);
    d = y + 1 < height ? same_as_below (pixels, below, rule, x, width) : 0;
    o = limit > 0 ? open_of (pixels, rule, k, x, width) : 0;
  }
  ulong at = BYTE_INDEX ((ulong)y * 4 * words + byte);
  keyed[at] = k;
  right[at] = r;
  down[at] = d;
  open[at] = o;
}

__kernel void
limit_flow (__global const uint *open, __global uint *right, __global uint *down,
    uint words, uint height)
{
  uint word = get_global_id (0);
  uint y = get_global_id (1);
  if (word >= words || y >= height)
    return;
  ulong at = (ulong)y * words + word;
  uint next = word + 1 < words ? open[at + 1] : 0;
  uint below = y + 1 < height ? open[at + words] : 0;
  right[at] &= open[at] & (open[at] >> 1 | next << 31);
  down[at] &= open[at] & below;
}

/* Runs `iterations` iterations. After a launch that changed nothing, later launches
 * return at once, and both planes have the result. */
__kernel void
flow_planes (__global const uint *from, __global uint *to, __global const uint *right,
    __global const uint *down, uint width, uint height, uint iterations,
    volatile __global uint *changed, uint launch)
{
  __local uint first[TILE_ARRAY];
  __local uint second[TILE_ARRAY];
  __local uint tile_right[TILE_ARRAY];
  __local uint tile_down[TILE_ARRAY];
  if (launch > 0 && changed[launch - 1] == 0)
    return;
  int words = (width + 31) / 32;
  int margin = iterations;
  int word0 = (int)get_group_id (0) * (TILE_WORDS - 2) - 1;
  int y0 = (int)get_group_id (1) * (TILE_ROWS - 2 * margin) - margin;

  clear_margin (first);
  clear_margin (second);
  clear_margin (tile_right);
  clear_margin (tile_down);
  FOR_EACH_OF_GROUP (n, TILE_SIZE)
  {
    int word = word0 + n % TILE_WORDS;
    int y = y0 + n / TILE_WORDS;
    bool there = word >= 0 && word < words && y >= 0 && y < (int)height;
    ulong at = there ? (ulong)y * words + word : 0;
    first[n + TILE_WORDS] = there ? from[at] : 0;
    tile_right[n + TILE_WORDS] = there ? right[at] : 0;
    tile_down[n + TILE_WORDS] = there ? down[at] : 0;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  Connections connections = {tile_right, tile_down, tile_right, false};
  __local uint *keyed = flow (first, second, connections, iterations);

  FOR_EACH_OF_GROUP (n, TILE_SIZE)
  {
    int column = n % TILE_WORDS;
    int row = n / TILE_WORDS;
    int word = word0 + column;
    int y = y0 + row;
    if (column < 1 || column >= TILE_WORDS - 1 || row < margin
        || row >= TILE_ROWS - margin || word >= words || y >= (int)height)
      continue;
    ulong at = (ulong)y * words + word;
    to[at] = keyed[n + TILE_WORDS];
    if (to[at] != from[at])
      changed[launch] = 1;
  }
}

/* Flow until nothing changes. It reaches the whole connected region of a keyed pixel.
 * Union-find finds the regions in a fixed number of launches. A region is a tree. Its
 * nodes are the runs of connected pixels within a word, numbered by their first pixel. A
 * node's parent has a smaller number or, for the root, is the node itself. Bit 31 of a
 * root is set if its region is keyed. */
#define NODE 0x7fffffffu
#define KEYED 0x80000000u

/* Returns the bits of a word at which a run starts. */
uint
starts_of (uint right)
{
  return ~(right << 1);
}

uint
start_at (uint right, uint bit)
{
  uint starts = starts_of (right) & (bit == 31 ? ~0u : (2u << bit) - 1);
  return 31 - clz (starts);
}

/* Returns the connections to the word above that no neighbour makes as well. */
uint
needed_above (uint down, uint right_above, uint right)
{
  return down & ~(down << 1 & right_above << 1 & right << 1);
}

/* Other work-items may change a parent that is read. The older one is an ancestor as
 * well. */
#define DEFINE_UNION(space, name)                                                        \
  uint find_root_##name (volatile space const uint *parent, uint node)                   \
  {                                                                                      \
    for (;;) {                                                                           \
      uint next = parent[node] & NODE;                                                   \
      if (next == node)                                                                  \
        return node;                                                                     \
      node = next;                                                                       \
    }                                                                                    \
  }                                                                                      \
                                                                                         \
  /* Lock-free: if a root has gained a parent meanwhile, continue with that parent. */   \
  void unite_##name (volatile space uint *parent, uint a, uint b)                        \
  {                                                                                      \
    for (;;) {                                                                           \
      a = find_root_##name (parent, a);                                                  \
      b = find_root_##name (parent, b);                                                  \
      if (a == b)                                                                        \
        return;                                                                          \
      uint larger = max (a, b);                                                          \
      uint smaller = min (a, b);                                                         \
      uint before = atomic_min (&parent[larger], smaller);                               \
      if (before == larger)                                                              \
        return;                                                                          \
      a = before;                                                                        \
      b = smaller;                                                                       \
    }                                                                                    \
  }

DEFINE_UNION (__local, local)
DEFINE_UNION (__global, global)

#define REGION_SIZE (REGION_WORDS * REGION_ROWS)

/* Finds the regions within a tile of REGION_WORDS x REGION_ROWS words. */
__kernel void
find_regions (__global const uint *right, __global const uint *down, uint words,
    uint height, __global uint *parent)
{
  __local uint tree[32 * REGION_SIZE];
  uint word0 = get_group_id (0) * REGION_WORDS;
  uint y0 = get_group_id (1) * REGION_ROWS;

  FOR_EACH_OF_GROUP (n, 32 * REGION_SIZE)
  tree[n] = n;
  barrier (CLK_LOCAL_MEM_FENCE);

  FOR_EACH_OF_GROUP (n, REGION_SIZE)
  {
    uint column = n % REGION_WORDS;
    uint row = n / REGION_WORDS;
    if (word0 + column >= words || y0 + row >= height)
      continue;
    ulong at = (ulong)(y0 + row) * words + word0 + column;
    uint here = right[at];
    if (column > 0 && right[at - 1] >> 31)
      unite_local (tree, 32 * n, 32 * (n - 1) + start_at (right[at - 1], 31));
    if (row == 0)
      continue;
    uint above = right[at - words];
    uint links = needed_above (down[at - words], above, here);
    while (links) {
      uint bit = 31 - clz (links);
      links ^= 1u << bit;
      unite_local (tree, 32 * n + start_at (here, bit),
          32 * (n - REGION_WORDS) + start_at (above, bit));
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  FOR_EACH_OF_GROUP (n, REGION_SIZE)
  {
    uint column = n % REGION_WORDS;
    uint row = n / REGION_WORDS;
    if (word0 + column >= words || y0 + row >= height)
      continue;
    uint at = (y0 + row) * words + word0 + column;
    uint starts = starts_of (right[at]);
    while (starts) {
      uint bit = 31 - clz (starts);
      starts ^= 1u << bit;
      uint root = find_root_local (tree, 32 * n + bit);
      uint root_word = root / 32;
      parent[32 * at + bit] = 32
                                  * ((y0 + root_word / REGION_WORDS) * words + word0
                                      + root_word % REGION_WORDS)
                              + root % 32;
    }
  }
}

/* Joins the regions of neighbouring tiles. Global size: words, height */
__kernel void
join_regions (__global const uint *right, __global const uint *down, uint words,
    uint height, volatile __global uint *parent)
{
  uint word = get_global_id (0);
  uint y = get_global_id (1);
  if (word >= words || y >= height)
    return;
  uint at = y * words + word;
  uint here = right[at];
  if (word > 0 && word % REGION_WORDS == 0 && right[at - 1] >> 31)
    unite_global (parent, 32 * at, 32 * (at - 1) + start_at (right[at - 1], 31));
  if (y == 0 || y % REGION_ROWS != 0)
    return;
  uint above = right[at - words];
  uint links = needed_above (down[at - words], above, here);
  while (links) {
    uint bit = 31 - clz (links);
    links ^= 1u << bit;
    unite_global (parent, 32 * at + start_at (here, bit),
        32 * (at - words) + start_at (above, bit));
  }
}

/* Returns the pixels of the run that starts at `start`. */
uint
run_from (uint right, uint start)
{
  uint later = start == 31 ? 0 : starts_of (right) & ~((2u << start) - 1);
  uint before_next = later ? (later & -later) - 1 : ~0u;
  return before_next & ~((1u << start) - 1);
}

/* Marks the regions of keyed pixels as keyed. */
__kernel void
key_regions (__global const uint *keyed, __global const uint *right, uint words,
    uint height, volatile __global uint *parent)
{
  uint word = get_global_id (0);
  uint y = get_global_id (1);
  if (word >= words || y >= height)
    return;
  uint at = y * words + word;
  uint starts = starts_of (right[at]);
  while (keyed[at] && starts) {
    uint bit = 31 - clz (starts);
    starts ^= 1u << bit;
    if ((keyed[at] & run_from (right[at], bit)) == 0)
      continue;
    uint root = find_root_global (parent, 32 * at + bit);
    if ((parent[root] & KEYED) == 0)
      atomic_or (&parent[root], KEYED);
  }
}

__kernel void
collect_regions (__global const uint *right, uint words, uint height,
    volatile __global const uint *parent, __global uint *keyed)
{
  uint word = get_global_id (0);
  uint y = get_global_id (1);
  if (word >= words || y >= height)
    return;
  uint at = y * words + word;
  uint starts = starts_of (right[at]);
  uint result = 0;
  while (starts) {
    uint bit = 31 - clz (starts);
    starts ^= 1u << bit;
    if (parent[find_root_global (parent, 32 * at + bit)] & KEYED)
      result |= run_from (right[at], bit);
  }
  keyed[at] = result;
}
