/* Steps of a chain of keying elements that run in one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-private.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace keying {
/* Map from a pixel's colour to its alpha, in the integers of the kernels. The default
 * keys nothing and keeps every alpha. */
struct DistanceKey {
  cl_uint color = 0; /* 0xAARRGGBB */
  cl_uint mask = 0;
  cl_uint threshold = 0;
  cl_int inverted = 0;     /* all ones to key what differs */
  cl_uint opacity = 65536; /* of what is not keyed, in 1/65536 */

  /* The least alpha of a pixel that does not become 0 */
  cl_uint least_alpha () const;
};

/* Whither the key flows, in the kernels' integers */
struct FlowRule {
  cl_uint mask = 0;
  cl_uint threshold = 0;
  cl_int key_cb = 0, key_cr = 0;
  cl_uint limit = 0;

  bool operator== (const FlowRule &other) const;
};

/* A key, and iterations after it that each look a pixel further: a plan to which element
 * after element appends its steps. What is keyed in the end has alpha 0, and what is not
 * has what unkeyed.clh says, whatever was keyed between the steps. */
class KeyRun {
public:
  /* The most pixels that a run looks far */
  static const guint deepest = 32;

  KeyRun () = default;
  explicit KeyRun (const DistanceKey &key) : key_ (key) {}

  /* Whether there is room for an element's iterations, else it is the same as before */
  bool add_noise_reduction (guint fills, guint reductions);
  bool add_flow (const FlowRule &rule, guint iterations);

  const DistanceKey &key () const { return key_; }
  const FlowRule &rule () const { return rule_; }
  bool flows () const { return flows_; }
  guint depth () const { return depth_; }
  /* A byte a step, as keysteps.cl has them */
  cl_ulong steps () const { return steps_; }

private:
  enum class Step { reduce, fill, flow };

  bool add (Step step, guint iterations);

  DistanceKey key_;
  FlowRule rule_;
  bool flows_ = false;
  guint depth_ = 0;
  guint count_ = 0;
  cl_ulong steps_ = 0;
};
} // namespace keying
