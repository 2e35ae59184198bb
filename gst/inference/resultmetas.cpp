/* Metas of what a network found in a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "resultmetas.hpp"

#include <gst/opencl/elements/filterelement.hpp>
#ifdef HAVE_TENSOR_META
#include <gst/analytics/analytics.h>
#endif

#include <algorithm>
#include <cmath>
#include <tuple>

namespace inference {
std::string
ResultNames::label_of (gint kind) const
{
  return gsize (kind) < labels.size () ? labels[gsize (kind)]
         : method == Method::text      ? "text"
                                       : std::to_string (kind);
}

/* --- structures --- */

void
set_numbers (
    GstStructure *structure, const char *name, const std::vector<gfloat> &numbers)
{
  GValue list = G_VALUE_INIT;
  g_value_init (&list, GST_TYPE_ARRAY);
  opencl::write_value (std::vector<double> (numbers.begin (), numbers.end ()), &list);
  gst_structure_take_value (structure, name, &list);
}

static void
set_turned (GstStructure *structure, const TurnedBox &box)
{
  gst_structure_set (structure, "center-x", G_TYPE_DOUBLE, box.x, "center-y",
      G_TYPE_DOUBLE, box.y, "turned-width", G_TYPE_DOUBLE, box.width, "turned-height",
      G_TYPE_DOUBLE, box.height, "angle", G_TYPE_DOUBLE, box.angle, nullptr);
}

/* The edges of the box, rounded, and at least a pixel between them */
static GstVideoRectangle
place_of (const DetectedObject &object, const ResultNames &names)
{
  const gint left = gint (std::lround (object.left)),
             top = gint (std::lround (object.top)),
             right = gint (std::lround (object.left + object.width)),
             bottom = gint (std::lround (object.top + object.height));
  return {std::min (left, names.frame_width - 1), std::min (top, names.frame_height - 1),
      std::max (right - left, 1), std::max (bottom - top, 1)};
}

/* (transfer full) */
static GstStructure *
new_structure (const ResultNames &names, const DetectedObject &object,
    const GstVideoRectangle &place, guint identity)
{
  GstStructure *structure = gst_structure_new (
      names.method == Method::classification ? "classification" : "detection", "label",
      G_TYPE_STRING, names.label_of (object.kind).c_str (), "score", G_TYPE_DOUBLE,
      gdouble (object.score), "class-id", G_TYPE_INT, object.kind, "x", G_TYPE_INT,
      place.x, "y", G_TYPE_INT, place.y, "width", G_TYPE_INT, place.w, "height",
      G_TYPE_INT, place.h, nullptr);
  if (identity > 0)
    gst_structure_set (structure, "id", G_TYPE_UINT, identity, nullptr);
  if (object.turned)
    set_turned (structure, *object.turned);
  if (!object.points.empty ())
    set_numbers (structure, "points", object.points);
  return structure;
}

#ifdef HAVE_TENSOR_META
static void
attach_analytics (GstBuffer *frame,
    const std::vector<GstVideoRegionOfInterestMeta> &regions,
    const std::vector<gfloat> &scores, const std::vector<Tracker::Identity> &identities,
    bool classes)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (frame);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta (frame);
  std::vector<gfloat> levels = scores;
  std::vector<GQuark> labels;
  for (gsize n = 0; n < regions.size (); n++) {
    GstAnalyticsODMtd object;
    GstAnalyticsTrackingMtd track;
    labels.push_back (regions[n].roi_type);
    if (!classes
        && gst_analytics_relation_meta_add_od_mtd (relations, regions[n].roi_type,
            gint (regions[n].x), gint (regions[n].y), gint (regions[n].w),
            gint (regions[n].h), scores[n], &object)
        && !identities.empty ()
        && gst_analytics_relation_meta_add_tracking_mtd (
            relations, identities[n].number, identities[n].began, &track))
      gst_analytics_relation_meta_set_relation (
          relations, GST_ANALYTICS_REL_TYPE_RELATE_TO, object.id, track.id);
  }
  if (classes && !regions.empty ())
    gst_analytics_relation_meta_add_cls_mtd (
        relations, regions.size (), levels.data (), labels.data (), nullptr);
}
#endif

#ifdef HAVE_TENSOR_META
/* Adds the class of a region to its object. */
static void
relate_class (GstBuffer *frame, const GstVideoRegionOfInterestMeta &region,
    const GstStructure &result)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (frame);
  GstAnalyticsODMtd object;
  GstAnalyticsClsMtd kind;
  gpointer state = nullptr;
  gdouble score = 0;
  const gchar *label = gst_structure_get_string (&result, "label");
  if (!relations || !label || !gst_structure_get_double (&result, "score", &score))
    return;
  while (gst_analytics_relation_meta_iterate (
      relations, &state, gst_analytics_od_mtd_get_mtd_type (), &object)) {
    gint x, y, width, height;
    if (!gst_analytics_od_mtd_get_location (&object, &x, &y, &width, &height, nullptr)
        || x != gint (region.x) || y != gint (region.y) || width != gint (region.w)
        || height != gint (region.h))
      continue;
    if (gst_analytics_relation_meta_add_one_cls_mtd (
            relations, gfloat (score), g_quark_from_string (label), &kind))
      gst_analytics_relation_meta_set_relation (
          relations, GST_ANALYTICS_REL_TYPE_RELATE_TO, object.id, kind.id);
    return;
  }
}
#endif

/* Takes ownership of the structure. */
static void
append (GValue *list, GstStructure *structure)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, structure);
  gst_value_array_append_and_take_value (list, &value);
}

void
attach_objects (GstBuffer *frame, const ResultNames &names,
    const std::vector<DetectedObject> &objects,
    const std::vector<Tracker::Identity> &identities, gint parent, GValue *list)
{
  std::vector<GstVideoRegionOfInterestMeta> regions;
  std::vector<gfloat> scores;
  for (gsize n = 0; n < objects.size (); n++) {
    const GstVideoRectangle place = place_of (objects[n], names);
    GstStructure *structure = new_structure (
        names, objects[n], place, identities.empty () ? 0 : identities[n].number);
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta (
        frame, gst_structure_get_string (structure, "label"), guint (place.x),
        guint (place.y), guint (place.w), guint (place.h));
    meta->parent_id = parent;
    gst_video_region_of_interest_meta_add_param (meta, gst_structure_copy (structure));
    regions.push_back (*meta);
    scores.push_back (objects[n].score);
    append (list, structure);
  }
#ifdef HAVE_TENSOR_META
  attach_analytics (
      frame, regions, scores, identities, names.method == Method::classification);
#endif
}

void
attach_result (GstBuffer *frame, GstVideoRegionOfInterestMeta *region,
    GstStructure *result, GValue *list)
{
  const GstStructure *found =
      gst_video_region_of_interest_meta_get_param (region, "detection");
  const gchar *label = g_quark_to_string (region->roi_type);
  GstStructure *object =
      found ? gst_structure_copy (found)
            : gst_structure_new ("detection", "label", G_TYPE_STRING, label ? label : "",
                "x", G_TYPE_INT, gint (region->x), "y", G_TYPE_INT, gint (region->y),
                "width", G_TYPE_INT, gint (region->w), "height", G_TYPE_INT,
                gint (region->h), nullptr);
  gst_structure_set (
      object, gst_structure_get_name (result), GST_TYPE_STRUCTURE, result, nullptr);
  append (list, object);
#ifdef HAVE_TENSOR_META
  relate_class (frame, *region, *result);
#endif
  gst_video_region_of_interest_meta_add_param (region, result);
}

/* --- regions --- */

void
move_to_frame (DetectedObject &object, const Region &region, gint width, gint height)
{
  TurnedBox box = object.turned.value_or (TurnedBox{object.left + object.width / 2.0,
      object.top + object.height / 2.0, object.width, object.height, 0});
  const double radians = region.angle * G_PI / 180, c = std::cos (radians),
               s = std::sin (radians);
  const auto moved = [&] (double at_x, double at_y) -> std::array<double, 2> {
    const double x = at_x - region.width / 2, y = at_y - region.height / 2;
    return {region.x + c * x - s * y, region.y + s * x + c * y};
  };
  std::tie (box.x, box.y) = std::tuple_cat (moved (box.x, box.y));
  const bool is_turned = object.turned || region.angle != 0;
  box.angle += region.angle;
  object.place (box, width, height);
  if (!is_turned)
    object.turned.reset ();
  for (gsize n = 0; n < object.points.size (); n += 3) {
    const auto point = moved (object.points[n], object.points[n + 1]);
    object.points[n] = gfloat (point[0]);
    object.points[n + 1] = gfloat (point[1]);
  }
}

gint
ensure_number (GstBuffer *frame, GstVideoRegionOfInterestMeta *region)
{
  gint most = 0;
  for (const auto *other : region_metas_of (frame))
    most = std::max (most, other->id);
  if (region->id <= 0)
    region->id = most + 1;
  return region->id;
}

void
turn_region (
    GstVideoRegionOfInterestMeta *meta, const Region &region, const GstStructure *result)
{
  const double angle =
      g_ascii_strtod (gst_structure_get_string (result, "label"), nullptr);
  GstStructure *found = gst_video_region_of_interest_meta_get_param (meta, "detection");
  if (!found || angle == 0)
    return;
  const bool is_across = std::fabs (std::remainder (angle, 180)) > 45;
  set_turned (found, {region.x, region.y, is_across ? region.height : region.width,
                         is_across ? region.width : region.height, region.angle + angle});
}

} // namespace inference
