/* Steps of keying elements in a chain, and the kernel that runs them in one launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "input/inputformat.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <mutex>

namespace keying {
/* Map from a pixel's colour to its alpha, in the integers of the kernels. The default
 * keys nothing and keeps every alpha. */
struct DistanceKey {
  cl_uint color = 0; /* 0xAARRGGBB */
  cl_uint mask = 0;
  cl_uint threshold = 0;
  cl_int inverted = 0;     /* all ones: key pixels that differ */
  cl_uint opacity = 65536; /* of pixels that are not keyed, in 1/65536 */

  /* Returns the minimum alpha whose product with `opacity` is not 0. */
  cl_uint least_alpha () const;
};

/* Rule by which the key flows to neighbours, in the integers of the kernels */
struct FlowRule {
  cl_uint mask = 0;
  cl_uint threshold = 0;
  cl_int key_cb = 0, key_cr = 0;
  cl_uint limit = 0;

  bool operator== (const FlowRule &other) const;
};

/* A key and the iterations after it. Each iteration reads neighbours one pixel further
 * away. Each element appends its steps. Pixels that are keyed after the last step have
 * alpha 0. The others have the alpha that unkeyed.clh computes, even if they were keyed
 * between the steps. */
class KeyChain {
public:
  /* Maximum distance in pixels that a chain reads */
  static const guint deepest = 32;

  KeyChain () = default;
  explicit KeyChain (const DistanceKey &key) : key_ (key) {}

  /* Return false and change nothing if the chain becomes too deep, or if it already flows
   * by another rule. */
  bool add_noise_reduction (guint fills, guint reductions);
  bool add_flow (const FlowRule &rule, guint iterations);

  const DistanceKey &key () const { return key_; }
  const FlowRule &rule () const { return rule_; }
  bool flows () const { return flows_; }
  guint depth () const { return depth_; }
  /* One byte per step, see keysteps.clh */
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

/* Runs chains on frames of one size and format. Thread-safe if all calls use one
 * queue. */
class KeyChainKernel {
public:
  /* gpu: tiles in local memory, many work-items per tile. cpu: wide vectors, one
   * work-item per tile */
  enum class Form { gpu, cpu };

  KeyChainKernel (GstOpenCLContext *context, const InputFormat &format);
  KeyChainKernel (GstOpenCLContext *context, const InputFormat &format, Form form);
  ~KeyChainKernel ();
  KeyChainKernel (const KeyChainKernel &) = delete;
  KeyChainKernel &operator= (const KeyChainKernel &) = delete;

  const InputFormat &format () const { return format_; }

  /* Builds its kernels when they are first needed. */
  bool enqueue_chain (cl_command_queue queue, const KeyChain &chain,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error);

private:
  bool makes_pixels () const { return format_.is_of_camera () && !read.is_of_camera (); }
  template <typename... Rest>
  bool launch (const opencl::Groups &groups, cl_command_queue queue,
      const KeyChain &chain, const GstOpenCLFrame *input, const GstOpenCLFrame *output,
      GError **error, Rest... rest);
  bool enqueue_gpu (cl_command_queue queue, const KeyChain &chain,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error);
  bool enqueue_cpu (cl_command_queue queue, const KeyChain &chain,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error);

  GstOpenCLContext *const context;
  const InputFormat format_;
  const Form form;
  const InputFormat read; /* input of the kernel: format_, or RGBA converted from it */
  gsize items = 1;        /* per work-group */
  gsize tile_words = 0;   /* per row of a tile (gpu) */
  std::mutex launching;   /* protects the kernel arguments until the launch */
  opencl::FrameKernel kernel;
  FormatConverter pixels;
};
} // namespace keying
