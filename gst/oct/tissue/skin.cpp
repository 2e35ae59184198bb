/* Simulated skin of octtestsrc, pattern=layers: layers of moving tissue with a vessel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testpattern.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace oct {
namespace {
/* Depths are fractions of the depth range. See Layer in the kernel source. */
struct SkinLayer {
  double begins, undulation, cycles, start;
  double backscatter, attenuation;
  double reflection, reach;
};

/* A bright surface, a dark layer, and below a wavy junction brighter tissue, which fades
 * with depth and has one bright band */
const SkinLayer skin_layers[] = {
    {0.150, -0.050, 0.5, 0.0, 0.80, 3.0, 1.0, 0.003},
    {0.025, 0.003, 3.0, 0.1, 0.22, 2.0, 0.0, 0.001},
    {0.085, 0.007, 5.3, 0.3, 0.90, 4.0, 0.8, 0.004},
    {0.270, 0.012, 1.7, 0.6, 0.40, 4.0, 0.0, 0.001},
    {0.390, 0.010, 1.2, 0.2, 1.60, 3.0, 0.5, 0.004},
    {0.430, 0.014, 1.5, 0.7, 0.50, 9.0, 0.0, 0.001},
};
constexpr double thickness = 0.66;
constexpr double gain = 0.02; /* mean fringe amplitude of a grain / level */

/* Blood vessel: middle in widths of the frame and depth below the surface, then radii */
constexpr double vessel[] = {0.66, 0.185, 0.085, 0.050};

/* Denser than the axial resolution, so that the speckle is fully developed. */
constexpr double bins_per_cell = 2.5;
constexpr double grains_per_frame = 160.0;
constexpr double deepest_range = 1024.0; /* maximum depth range, in depth bins */

constexpr double two_pi = 6.283185307179586476925;
constexpr double breaths_per_second = 0.3;
constexpr double breath_depth = 0.002;
constexpr double flow_turns_per_second = 0.8; /* for the slowest blood */

class SkinPattern : public TestPattern {
  /* The kernels' structures of these names */
  struct Skin {
    cl_float4 vessel;
    cl_float cell, grains, gain;
    cl_uint n_layers, cells, lines;
  };
  struct Motion {
    cl_ulong start = 0, step = 0;
    cl_uint2 displacement = {};
    cl_uint displacement_phase = 0, flow = 0;
    cl_uint start_phase = 0, step_phase = 0;
    cl_uint advances = 0, reversed = 0;
  };

  bool create_kernels (GError **error) override
  {
    return create ("testspectra.cl",
        {{scatterers_kernel, "skin_scatterers"}, {still_kernel, "skin_still"},
            {spectra_kernel, "skin_spectra"}},
        error);
  }

  bool make_tables (GError **error) override
  {
    depth_range = std::min (samples / 2.0, deepest_range);
    const double cells = std::round (thickness * depth_range / bins_per_cell);
    cell = thickness * depth_range / cells;
    skin = {{{cl_float (vessel[0]), cl_float (vessel[1] * depth_range),
                cl_float (vessel[2]), cl_float (vessel[3] * depth_range)}},
        cl_float (cell), cl_float (std::min (1.0, grains_per_frame / lines)),
        cl_float (gain), G_N_ELEMENTS (skin_layers), cl_uint (cells), lines};
    made.reset ();
    const gsize all_cells = gsize (lines) * skin.cells;
    return upload (layers, scaled_layers (), error)
           && upload (places_table, places, error)
           && allocate (scatterers, all_cells * sizeof (cl_uint4), error)
           && allocate (still, lines * groups * 2 * sizeof (cl_float8), error);
  }

  std::vector<cl_float8> scaled_layers () const
  {
    std::vector<cl_float8> table;
    for (const SkinLayer &layer : skin_layers)
      table.push_back ({{cl_float (layer.begins * depth_range),
          cl_float (layer.undulation * depth_range), cl_float (layer.cycles),
          cl_float (layer.start), cl_float (layer.backscatter),
          cl_float (layer.attenuation / depth_range), cl_float (layer.reflection),
          cl_float (layer.reach * depth_range)}});
    return table;
  }

  Motion motion_at (const OctTestMoment &moment) const
  {
    const double breath = std::sin (two_pi * breaths_per_second * moment.seconds);
    const double displacement = breath_depth * depth_range * breath;
    Motion motion;
    motion.displacement = fixed_depth (displacement);
    motion.displacement_phase = fixed_turns (displacement * turns_per_bin);
    motion.reversed = reversed;
    if (settings.velocity == 0) {
      motion.flow = fixed_turns (flow_turns_per_second * moment.seconds);
      return motion;
    }

    /* mm/s are 1e6 nm/s */
    const double bins_per_second = settings.velocity * 1e6 / bin_step;
    const double start = bins_per_second * moment.seconds;
    const double step = bins_per_second * moment.line_seconds;
    motion.advances = 1;
    motion.start = fixed_number (start / cell);
    motion.step = fixed_number (step / cell);
    motion.start_phase = fixed_turns (start * turns_per_bin);
    motion.step_phase = fixed_turns (step * turns_per_bin);
    return motion;
  }

  bool enqueue_scatterers (const Motion &motion, bool blood, GError **error)
  {
    return scatterers_kernel.launch (queue, skin.cells, lines, error, layers (),
        places_table (), skin, motion, settings.seed, cl_uint (blood), scatterers ());
  }

  /* Static scatterers are summed up once. */
  bool enqueue_still (bool advances, GError **error)
  {
    const std::pair<guint, bool> wanted = {settings.seed, advances};
    if (made == wanted)
      return true;
    Motion motion;
    motion.advances = advances;
    if (!enqueue_scatterers (motion, false, error)
        || !still_kernel.launch (queue, groups, lines, error, spectrometer (),
            scatterers (), skin, cl_uint (groups), still ()))
      return false;
    made = wanted;
    return true;
  }

  bool enqueue_frame (const OctTestMoment &moment, GError **error) override
  {
    const Motion motion = motion_at (moment);
    return enqueue_still (motion.advances, error)
           && enqueue_scatterers (motion, true, error)
           && fill (spectra_kernel, error, places_table (), skin, motion, still (),
               cl_uint (groups), scatterers ());
  }

  opencl::Kernel scatterers_kernel, still_kernel, spectra_kernel;
  double depth_range = 0; /* range that the layers scale with, in depth bins */
  double cell = 0;        /* depth of a cell, in depth bins */
  Skin skin = {};
  cl::Buffer layers, places_table;
  cl::Buffer scatterers;                      /* of each cell of each A-line */
  cl::Buffer still;                           /* field of the static scatterers */
  std::optional<std::pair<guint, bool>> made; /* seed and `advances` of this field */
};
} // namespace

std::unique_ptr<TestPattern>
make_skin ()
{
  return std::make_unique<SkinPattern> ();
}
} // namespace oct
