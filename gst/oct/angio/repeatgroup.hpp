/* The repeated B-scans of one position: kept on the device, aligned, with their mean power
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../depth/depthfilter.hpp"
#include "alignment.hpp"
#include "repeats.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <functional>

namespace oct {
/* Keeps all repeats but the last one. Up to 32 are held, more are copied. A rolling group
 * copies each frame to the place of the oldest one. */
class RepeatGroup {
public:
  static constexpr guint least_repeats = 2, most_repeats = 64;
  static constexpr guint most_axial_shift = 32, most_lateral_shift = 16;

  /* Computes the output from the repeats, and writes their mean power. */
  using Computation =
      std::function<bool (const Repeats &repeats, const GstOpenCLFrame &powers)>;

  /* Allocates memory for frames like `input`. Builds the kernels of the alignment if
   * `builds`, which the first call must set. */
  bool prepare (GstOpenCLFilter *element, guint repeats, const DepthLayout &input,
      const Alignment::Limits &shifts, bool builds, bool rolling, GError **error);
  void forget ()
  {
    held.clear ();
    seen = 0;
  }
  bool keep (const GstOpenCLFrame *frame, guint position, cl_command_queue queue,
      GError **error);

  /* Whether the next frame completes a rolling group */
  bool is_full () const { return seen + 1 >= repeats; }
  /* Keeps a frame of a rolling group, after its output. */
  bool roll (const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
  {
    return keep (frame, guint (seen++ % repeats), queue, error);
  }

  /* Attaches a buffer to the output, for the mean power that compute() needs. */
  void attach_structure (GstBuffer *output, gsize depths, gsize lines);
  /* `last` is the last repeat of the group. */
  bool compute (const GstOpenCLFrame *last, const Computation &computation,
      cl_command_queue queue, GError **error);

private:
  /* Whether input frames are held instead of copied */
  bool holds () const { return !rolling && Repeats::are_listed (repeats); }
  Repeats repeats_with (const GstOpenCLFrame *last) const;

  guint repeats = 0;
  bool rolling = false;
  guint64 seen = 0; /* frames of a rolling group */
  DepthLayout input;
  Alignment::Limits shifts;
  Alignment alignment;
  HeldFrames held;
  opencl::WorkBuffer kept;        /* all repeats but the last, if they are not held */
  FramePool pool;                 /* for the structure beside outputs */
  GstBuffer *structure = nullptr; /* of the present output, which owns it */
};

/* DepthFilterOf an element whose Values have `repeats`, and whose State has a RepeatGroup
 * `group` */
template <typename Values, typename State>
class RepeatFilterOf : public DepthFilterOf<Values, State> {
public:
  using DepthFilterOf<Values, State>::DepthFilterOf;

  void forget () override { this->group.forget (); }
  bool keep (const GstOpenCLFrame *frame, guint position, cl_command_queue queue,
      GError **error) override
  {
    return this->group.keep (frame, position, queue, error);
  }
  void describe (GstBuffer *buffer, guint) override
  {
    this->group.attach_structure (buffer, this->output.depths, this->output.lines);
  }

protected:
  bool breaks (const Values &wanted) const override
  {
    return wanted.repeats != this->in_force.repeats;
  }
};

/* Properties of an element whose Values have `repeats` and `shifts` */
template <typename Values>
opencl::PropertyTable<Values>
repeat_group_properties (guint most_repeats = RepeatGroup::most_repeats)
{
  return {
      {"repeats", "Repeats", "Number of B-scans at each position", &Values::repeats,
          {RepeatGroup::least_repeats, most_repeats}, opencl::playing},
      {"axial-shift", "Axial shift",
          "Maximum axial shift in depth bins by which a repeat is aligned with the first "
          "one (0 = no alignment)",
          opencl::nested (&Values::shifts, &Alignment::Limits::axial),
          {0, RepeatGroup::most_axial_shift}, opencl::playing},
      {"lateral-shift", "Lateral shift",
          "Maximum shift in A-lines by which a repeat is aligned with the first one (0 = "
          "no alignment)",
          opencl::nested (&Values::shifts, &Alignment::Limits::lateral),
          {0, RepeatGroup::most_lateral_shift}, opencl::playing},
  };
}
} // namespace oct
