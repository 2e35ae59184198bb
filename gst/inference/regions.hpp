/* Runs a network on the regions of interest of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "inferencecaps.hpp"
#include "tensormeta.hpp"

namespace inference {
/* Regions of the frame, those of analytics that no GstVideoRegionOfInterestMeta has behind the
 * others. `fitted` is not set. */
std::vector<Region> regions_of (GstBuffer *frame);
/* Makes a GstVideoRegionOfInterestMeta of each region that is of analytics only, so that all
 * have the place in the order of metas that regions_of () gave. */
void add_analytics_regions (GstBuffer *frame);

/* Networks for the widths of regions, and the state between frames */
class RegionNetworks {
public:
  /* `options.mapping.of_regions` is set, and `options.batch` is the number of regions of a run. */
  static std::unique_ptr<RegionNetworks> create (GstOpenCLContext *context,
      std::shared_ptr<const Model> model, const NetworkOptions &options,
      const GstVideoInfo &video, const RegionChoice &choice, GError **error);

  /* Runs the network on the regions that are chosen among those of `input`. The frame may be a
   * copy of it, without metas. */
  bool run (cl_command_queue queue, GstBuffer *input, const GstOpenCLFrame *frame,
      GError **error);
  /* Adds the results of run (). */
  void attach (GstBuffer *frame);
  void forget () { identities.clear (); }

private:
  struct Sized {
    gint64 width; /* of the input, 0: as the model */
    std::unique_ptr<Network> network;
    std::unique_ptr<TensorMeta> meta;
  };
  struct Identity {
    guint64 seen = 0, done = 0; /* number of the frame */
  };

  Sized *sized_for (gint64 width, GError **error);
  std::vector<Region> chosen_regions (GstBuffer *frame);
  bool is_due (guint identity);
  gint64 width_for (const Region &region) const;
  bool run_batch (cl_command_queue queue, const GstOpenCLFrame *frame,
      std::vector<Region> regions, gint64 width, GError **error);

  GstOpenCLContext *context = nullptr;
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  GstVideoInfo video = {};
  RegionChoice choice;
  bool is_open = false;               /* the width follows from the regions */
  gint64 height = 0, least_width = 0; /* of the input */
  std::vector<Sized> networks;
  std::map<guint, Identity> identities;
  guint64 frames = 0;
  AttachedOutputs outputs;
};
} // namespace inference
