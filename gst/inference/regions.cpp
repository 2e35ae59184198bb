/* Runs a network on the regions of interest of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "regions.hpp"

#ifdef HAVE_TENSOR_META
#include <gst/analytics/analytics.h>
#endif

#include <gst/common/text.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace inference {
namespace {
constexpr guint64 kept_frames = 1000; /* an identity without a region is forgotten */
constexpr gint64 widest = 8192;       /* pixels of an input whose width is open */
constexpr double most_pixels = 1e6;   /* of a side of a region */

/* A region of a structure `detection` may be turned. */
Region
region_of (const GstVideoRegionOfInterestMeta &meta, gsize number)
{
  Region region = {number, meta.roi_type, 0, meta.x + meta.w / 2.0, meta.y + meta.h / 2.0,
      double (meta.w), double (meta.h), 0, {}};
  const GstStructure *found = gst_video_region_of_interest_meta_get_param (
      const_cast<GstVideoRegionOfInterestMeta *> (&meta), "detection");
  if (found)
    gst_structure_get_uint (found, "id", &region.identity);
  if (found && gst_structure_has_field (found, "angle"))
    gst_structure_get (found, "center-x", G_TYPE_DOUBLE, &region.x, "center-y",
        G_TYPE_DOUBLE, &region.y, "turned-width", G_TYPE_DOUBLE, &region.width,
        "turned-height", G_TYPE_DOUBLE, &region.height, "angle", G_TYPE_DOUBLE,
        &region.angle, nullptr);
  return region;
}

#ifdef HAVE_TENSOR_META
struct Detected {
  GQuark type;
  gint x, y, width, height;
  gfloat score;
};

/* Objects of analytics that no region of interest has */
std::vector<Detected>
detected_in (GstBuffer *frame)
{
  std::vector<Detected> all;
  gpointer state = nullptr;
  GstAnalyticsODMtd mtd;
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (frame);
  const auto metas = region_metas_of (frame);
  while (relations
         && gst_analytics_relation_meta_iterate (
             relations, &state, gst_analytics_od_mtd_get_mtd_type (), &mtd)) {
    Detected one = {gst_analytics_od_mtd_get_obj_type (&mtd), 0, 0, 0, 0, 0};
    const bool is_new =
        gst_analytics_od_mtd_get_location (
            &mtd, &one.x, &one.y, &one.width, &one.height, &one.score)
        && std::none_of (metas.begin (), metas.end (), [&] (const auto *meta) {
             return gint (meta->x) == one.x && gint (meta->y) == one.y
                    && gint (meta->w) == one.width && gint (meta->h) == one.height;
           });
    if (is_new && one.width > 0 && one.height > 0)
      all.push_back (one);
  }
  return all;
}
#endif
} // namespace

std::vector<Region>
regions_of (GstBuffer *frame)
{
  std::vector<Region> regions;
  for (const auto *meta : region_metas_of (frame))
    regions.push_back (region_of (*meta, regions.size ()));
#ifdef HAVE_TENSOR_META
  for (const Detected &one : detected_in (frame))
    regions.push_back ({regions.size (), one.type, 0, one.x + one.width / 2.0,
        one.y + one.height / 2.0, double (one.width), double (one.height), 0, {}});
#endif
  return regions;
}

void
add_analytics_regions ([[maybe_unused]] GstBuffer *frame)
{
#ifdef HAVE_TENSOR_META
  for (const Detected &one : detected_in (frame)) {
    const gchar *label = g_quark_to_string (one.type);
    gst_video_region_of_interest_meta_add_param (
        gst_buffer_add_video_region_of_interest_meta_id (frame, one.type,
            guint (std::max (one.x, 0)), guint (std::max (one.y, 0)), guint (one.width),
            guint (one.height)),
        gst_structure_new ("detection", "label", G_TYPE_STRING, label ? label : "",
            "score", G_TYPE_DOUBLE, double (one.score), "x", G_TYPE_INT, one.x, "y",
            G_TYPE_INT, one.y, "width", G_TYPE_INT, one.width, "height", G_TYPE_INT,
            one.height, nullptr));
  }
#endif
}

/* --- the networks --- */

std::unique_ptr<RegionNetworks>
RegionNetworks::create (GstOpenCLContext *context, std::shared_ptr<const Model> model,
    const NetworkOptions &options, const GstVideoInfo &video, const RegionChoice &choice,
    GError **error)
{
  auto all = std::make_unique<RegionNetworks> ();
  all->context = context;
  all->is_open = options.open.widens && options.mapping.fit == Fit::line
                 && has_open_width (*model, options);
  all->model = std::move (model);
  all->options = options;
  all->video = video;
  all->choice = choice;
  if (options.open.width == 0)
    all->options.open.width = all->options.open.height = options.open.least;
  all->least_width = all->is_open ? all->options.open.width : 0;
  const Sized *first = all->sized_for (all->least_width, error);
  if (!first)
    return nullptr;
  all->height = first->network->input ().height ();
  return all;
}

RegionNetworks::Sized *
RegionNetworks::sized_for (gint64 width, GError **error)
{
  for (Sized &one : networks)
    if (one.width == width)
      return &one;
  Sized made = {width, nullptr, nullptr};
  NetworkSource source;
  source.video = &video;
  if (width > 0)
    options.open.width = width;
  made.network = Network::create (context, *model, options, source, error);
  if (!made.network)
    return nullptr;
  const NetworkInput &input = made.network->input ();
  OutputsFormat format = {{}, input.width (), input.height (), video.width, video.height,
      {}, options.batch, model->property ("character")};
  made.meta = TensorMeta::create (
      context, made.network->outputs (), options.info, std::move (format), error);
  if (!made.meta)
    return nullptr;
  networks.push_back (std::move (made));
  return &networks.back ();
}

/* --- regions of a frame --- */

/* Has the object no result yet, or one that is old? */
bool
RegionNetworks::is_due (guint identity)
{
  const bool is_turn = choice.interval < 2 || (frames - 1) % choice.interval == 0;
  if (identity == 0)
    return is_turn;
  Identity &known = identities[identity];
  const bool due =
      known.done == 0 || (choice.interval > 0 && frames - known.done >= choice.interval);
  known.seen = frames;
  return due;
}

std::vector<Region>
RegionNetworks::chosen_regions (GstBuffer *frame)
{
  std::vector<Region> chosen;
  const std::string labels = "," + choice.labels + ",";
  frames++;
  for (const Region &region : regions_of (frame)) {
    const gchar *label = g_quark_to_string (region.label);
    const bool is_named =
        choice.labels.empty ()
        || (label && labels.find (opencl::text_of (",%s,", label)) != std::string::npos);
    const bool is_place =
        std::isfinite (region.x + region.y + region.width + region.height + region.angle)
        && std::min (region.width, region.height) >= std::max (choice.least, 1u)
        && std::max (region.width, region.height) < most_pixels;
    if (!is_named || !is_place || !is_due (region.identity)
        || chosen.size () >= choice.most)
      continue;
    if (region.identity > 0)
      identities[region.identity].done = frames;
    chosen.push_back (region);
  }
  for (auto one = identities.begin (); one != identities.end ();)
    one = frames - one->second.seen > kept_frames ? identities.erase (one) : ++one;
  return chosen;
}

/* Few widths, as each has a network of its own */
gint64
RegionNetworks::width_for (const Region &region) const
{
  gint64 width = least_width;
  while (is_open && width < widest
         && double (width) < double (height) * region.width / region.height)
    width *= 2;
  return width;
}

/* --- frames --- */

static CutRegion
cut_of (const Region &region)
{
  const double radians = region.angle * G_PI / 180, c = std::cos (radians),
               s = std::sin (radians);
  const double x = region.width / region.fitted.width,
               y = region.height / region.fitted.height;
  /* From the middle of the region to the input's point (0, 0) */
  const double u = -region.width / 2 - region.fitted.left * x,
               v = -region.height / 2 - region.fitted.top * y;
  return {region.fitted, {region.x + c * u - s * v, region.y + s * u + c * v},
      {c * x, s * x}, {-s * y, c * y}};
}

/* `regions` are at most as many as a run takes. Places that are left keep earlier images. */
bool
RegionNetworks::run_batch (cl_command_queue queue, const GstOpenCLFrame *frame,
    std::vector<Region> regions, gint64 width, GError **error)
{
  Sized *sized = sized_for (width, error);
  if (!sized)
    return false;
  const NetworkInput &input = sized->network->input ();
  for (gsize n = 0; n < regions.size (); n++) {
    regions[n].fitted = fit_frame (options.mapping.fit, regions[n].width,
        regions[n].height, input.width (), input.height ());
    if (!sized->network->put_region (
            queue, frame, gint64 (n), cut_of (regions[n]), error))
      return false;
  }
  if (!sized->meta->run (*sized->network, queue, error))
    return false;
  outputs.runs.push_back (sized->meta->taken ());
  outputs.runs.back ().regions = std::move (regions);
  return true;
}

bool
RegionNetworks::run (
    cl_command_queue queue, GstBuffer *input, const GstOpenCLFrame *frame, GError **error)
{
  std::map<gint64, std::vector<Region>> by_width;
  outputs = {true, {}};
  for (const Region &region : chosen_regions (input))
    by_width[width_for (region)].push_back (region);
  for (const auto &[width, regions] : by_width)
    for (gsize n = 0; n < regions.size (); n += gsize (options.batch)) {
      const auto begin = regions.begin () + gssize (n);
      const auto end = begin + std::min<gssize> (options.batch, regions.end () - begin);
      if (!run_batch (queue, frame, {begin, end}, width, error))
        return false;
    }
  return true;
}

void
RegionNetworks::attach (GstBuffer *frame)
{
  add_analytics_regions (frame);
  attach_outputs (frame, std::exchange (outputs, {}));
}
} // namespace inference
