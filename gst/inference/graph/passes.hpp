/* Passes that make a graph smaller and faster without changing its results
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "graph.hpp"

namespace inference {
struct Pass {
  const char *name;
  void (*run) (Graph &graph);
};

/* In the order in which they run */
extern const std::vector<Pass> passes;

void run_passes (Graph &graph);
} // namespace inference
