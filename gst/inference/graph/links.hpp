/* Producers and readers of the values of a graph, for passes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "graph.hpp"

#include <algorithm>

namespace inference {
class Links {
public:
  explicit Links (const Graph &graph)
      : uses (graph.count_uses ()), producer (graph.values.size (), -1),
        reader (graph.values.size (), -1)
  {
    for (gsize n = 0; n < graph.operations.size (); n++) {
      for (const ValueId id : graph.operations[n].outputs)
        producer[gsize (id)] = gint32 (n);
      for (const ValueId id : graph.operations[n].inputs)
        if (id != no_value)
          reader[gsize (id)] = gint32 (n);
    }
  }

  bool is_read_once (ValueId id) const { return uses[gsize (id)] == 1; }
  std::vector<guint> uses;
  std::vector<gint32> producer; /* index of an operation, or -1 */
  std::vector<gint32> reader;   /* the last one */
};

template <typename Kind>
Kind *
as (Operation &operation)
{
  return std::get_if<Kind> (&operation.what);
}

/* The only operation that reads the output of another. (nullable) */
inline Operation *
only_reader (Graph &graph, const Links &links, const Operation &operation)
{
  const ValueId id = operation.outputs.empty () ? no_value : operation.outputs[0];
  if (id == no_value || !links.is_read_once (id) || links.reader[gsize (id)] < 0)
    return nullptr;
  return &graph.operations[gsize (links.reader[gsize (id)])];
}

/* Operations without an output are dead. */
inline void
remove_marked (Graph &graph)
{
  auto &all = graph.operations;
  all.erase (std::remove_if (all.begin (), all.end (),
                 [] (const Operation &operation) { return operation.outputs.empty (); }),
      all.end ());
}

/* --- passes of transformers.cpp --- */

void move_views (Graph &graph);
void fuse_attention (Graph &graph);

/* --- pass of quantization.cpp --- */

void fuse_quantization (Graph &graph);
} // namespace inference
