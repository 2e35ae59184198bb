/* Tests of metas of gst-analytics, which needs GStreamer 1.26: openclinference output=meta,
 * its decoders (GStreamer 1.28), and detections in converted frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"

#include <gst/analytics/analytics.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

using namespace check;

static const char *const frames =
    "video/x-raw(memory:OpenCLMemory),format=RGBA,width=8,height=8,framerate=25/1";

static Bytes
frame_of (guint8 level)
{
  Bytes frame;
  for (int n = 0; n < 64; n++)
    frame.insert (frame.end (), {guint8 (level + n), 7, 9, 255});
  return frame;
}

/* The frame keeps its memory, and its tensor is the red channel in device memory. */
TEST (test_inference_attaches_tensors)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", red_matte_model ().bytes ());
  Harness net ("openclinference output=meta model-file=" + file, frames);

  for (const int level : {10, 90}) {
    GstBuffer *input = buffer_of (frame_of (guint8 (level)));
    GstMemory *memory = gst_buffer_peek_memory (input, 0);
    const Owned<GstBuffer> output = net.pass (input);
    fail_unless (gst_buffer_peek_memory (output, 0) == memory);
    GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);
    fail_unless (meta && meta->num_tensors == 1);
    const GstTensor *tensor = meta->tensors[0];
    fail_unless_equals_string (g_quark_to_string (tensor->id), "matte");
    fail_unless_equals_int (tensor->data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
    fail_unless_equals_int (tensor->num_dims, 4);
    fail_unless (tensor->dims[2] == 8 && tensor->dims[3] == 8);
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (tensor->data, 0)));
    GstMapInfo map;
    fail_unless (gst_buffer_map (tensor->data, &map, GST_MAP_READ));
    fail_unless_equals_int (map.size, 64 * sizeof (float));
    for (int n = 0; n < 64; n++) {
      float value;
      memcpy (&value, map.data + n * sizeof value, sizeof value);
      fail_unless (std::fabs (value * 255 - float (level + n)) < 1e-3f);
    }
    gst_buffer_unmap (tensor->data, &map);
  }
}

/* A frame's largest red, green and blue level, 0 to 1, as scores of three classes */
static OnnxModel
color_model ()
{
  OnnxModel model;
  model.input ("frame", {1, 3, 8, 8}).output ("colors", {1, 3});
  model.node ("GlobalMaxPool", {"frame"}, {"largest"});
  model.node ("Flatten", {"largest"}, {"colors"});
  return model;
}

/* Two boxes, left, top, right, bottom as parts of the frame, and their scores. A level below
 * white makes both smaller. */
static OnnxModel
face_model ()
{
  OnnxModel model;
  model.input ("frame", {1, 3, 8, 8});
  model.output ("scores", {1, 2, 2}).output ("boxes", {1, 2, 4});
  model.constant ("places", {1, 2, 4}, {0.25f, 0.5f, 0.75f, 1, 0, 0, 0.25f, 0.25f});
  model.constant ("certainties", {1, 2, 2}, {0, 1, 0, 0.75f});
  model.constant ("flat", std::vector<int64_t>{1, 1, -1});
  model.node ("Reshape", {"frame", "flat"}, {"pixels"});
  model.node ("ReduceMax", {"pixels"}, {"level"}, {{"axes", std::vector<int64_t>{2}}});
  model.node ("Mul", {"places", "level"}, {"boxes"});
  model.node ("Mul", {"certainties", "level"}, {"scores"});
  return model;
}

/* The same boxes as top, left, bottom, right, in outputs whose number of boxes is open */
static OnnxModel
object_model ()
{
  OnnxModel model;
  model.input ("frame", {1, 3, 8, 8});
  model.output ("boxes", {1, -1, 4}).output ("scores", {1, -1}).output ("count", {1});
  model.output ("classes", {1, -1});
  model.constant ("places", {1, 2, 4}, {0.5f, 0.25f, 1, 0.75f, 0, 0, 0.25f, 0.25f});
  model.constant ("certainties", {1, 2}, {1, 0.75f});
  model.constant ("number", {1}, {2});
  model.constant ("flat", std::vector<int64_t>{-1});
  model.node ("Reshape", {"frame", "flat"}, {"pixels"});
  model.node ("ReduceMax", {"pixels"}, {"level"}, {{"axes", std::vector<int64_t>{0}}});
  model.node ("Mul", {"places", "level"}, {"boxes"});
  model.node ("Mul", {"certainties", "level"}, {"scores"});
  model.node ("Mul", {"certainties", "level"}, {"classes"});
  model.node ("Mul", {"number", "level"}, {"count"});
  return model;
}

TEST (test_inference_names_tensors_by_modelinfo)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", face_model ().bytes ());
  folder.write ("net.onnx.modelinfo",
      "[modelinfo]\ngroup-id=faces\n[boxes]\nid=places\ndir=output\n"
      "dims-order=col-major\n");
  Harness net ("openclinference output=meta model-file=" + file, frames);
  const Owned<GstBuffer> output = net.pass (buffer_of (frame_of (10)));
  GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);
  auto tensor_of = [meta] (const char *id) -> const GstTensor * {
    for (gsize n = 0; n < meta->num_tensors; n++)
      if (gst_tensor_meta_get (meta, n)->id == g_quark_from_string (id))
        return gst_tensor_meta_get (meta, n);
    return nullptr;
  };
  const GstTensor *boxes = tensor_of ("places"), *scores = tensor_of ("scores");
  fail_unless (boxes && boxes->dims_order == GST_TENSOR_DIM_ORDER_COL_MAJOR);
  fail_unless (scores && scores->dims_order == GST_TENSOR_DIM_ORDER_ROW_MAJOR);
}

/* Plays `colors` through a network and a decoder of GStreamer. Returns its output, or nothing
 * where GStreamer has no such decoders. */
static Owned<GstSample>
decoded (const Folder &folder, const OnnxModel &model, const std::string &info,
    const std::string &decoder, const char *color)
{
  if (!GST_CHECK_VERSION (1, 28, 0)) {
    report_skip ("no GStreamer 1.28");
    return {};
  }
  const std::string file = folder.write ("net.onnx", model.bytes ());
  folder.write ("net.onnx.modelinfo", info);
  Pipeline pipeline (
      std::string ("videotestsrc num-buffers=1 pattern=solid-color foreground-color=")
      + color
      + " ! video/x-raw,format=RGBA,width=80,height=40 ! openclupload ! openclinference "
        "output=meta model-file="
      + file + " ! opencldownload ! " + decoder + " ! appsink name=out sync=false");
  pipeline.start ();
  Owned<GstSample> sample = pipeline.pull ();
  fail_unless (sample, "%s", pipeline.messages ().line ().c_str ());
  return sample;
}

/* Two networks one behind the other: caps list the tensors of both. */
TEST (test_inference_keeps_tensors_of_another)
{
  if (!GST_CHECK_VERSION (1, 28, 0))
    return report_skip ("no GStreamer 1.28");
  Folder folder;
  const std::string first = folder.write ("faces.onnx", face_model ().bytes ());
  const std::string second = folder.write ("colors.onnx", color_model ().bytes ());
  folder.write ("faces.onnx.modelinfo", "[modelinfo]\ngroup-id=faces\n");
  folder.write ("colors.onnx.modelinfo", "[modelinfo]\ngroup-id=colors\n");
  Harness nets ("openclinference output=meta model-file=" + first
                    + " ! openclinference output=meta model-file=" + second,
      frames);
  nets.pass (buffer_of (frame_of (10)));
  const Owned<gchar> caps = gst_caps_to_string (nets.caps ());
  for (const char *id : {"faces=", "colors=", "tensor-id\\=\\(string\\)boxes",
           "tensor-id\\=\\(string\\)scores", "tensor-id\\=\\(string\\)colors"})
    fail_unless (strstr (caps, id), "no %s in %s", id, static_cast<gchar *> (caps));
}

struct Classes {
  const char *label; /* the decoder */
  const char *id;
  float level; /* of class 1, green, which has the largest score */
};

/* A group without softmax gets e^0.8 / (e^0.2 + e^0.8 + e^0.4) from the decoder.
 * tensordecodebin finds the decoder by the field "tensors" of the caps. */
TEST_ROWS (test_inference_classes_are_decoded,
    (std::vector<Classes>{
        {"classifiertensordecoder", "classification-generic-out", 0.4506f},
        {"classifiertensordecoder", "classification-generic-softmaxed-out", 0.8f},
        {"tensordecodebin", "classification-generic-out", 0.4506f},
        {"tensordecodebin", "classification-generic-softmaxed-out", 0.8f},
    }))
{
  Folder folder;
  const std::string id = row.id;
  const Owned<GstSample> sample = decoded (folder, color_model (),
      "[modelinfo]\nversion=1.0\ngroup-id=" + id + "\n[colors]\ndir=output\nid=" + id
          + "\n",
      row.label, "0xff33cc66");
  if (!sample)
    return;
  GstAnalyticsRelationMeta *relations =
      gst_buffer_get_analytics_relation_meta (gst_sample_get_buffer (sample));
  GstAnalyticsMtd classes;
  gpointer state = nullptr;
  fail_unless (relations
               && gst_analytics_relation_meta_iterate (
                   relations, &state, gst_analytics_cls_mtd_get_mtd_type (), &classes));
  fail_unless_equals_string (
      g_quark_to_string (gst_analytics_cls_mtd_get_quark (&classes, 0)), "1");
  fail_unless (
      std::fabs (gst_analytics_cls_mtd_get_level (&classes, 0) - row.level) < 1e-3f);
}

struct Boxes {
  const char *label; /* the decoder */
  OnnxModel (*model) ();
  const char *info;
};

/* The boxes in a frame of 80 x 40 pixels, by hand */
TEST_ROWS (test_inference_boxes_are_decoded,
    (std::vector<Boxes>{
        {"ultralightfacedetectortensordec score-threshold=0.5", face_model,
            "[modelinfo]\nversion=1.0\n"
            "group-id=ultra-lightweight-face-detection-rfb-320-v1-variant-1-out\n"
            "[boxes]\ndir=output\nid=ssd-mobilenet-v1-variant-1-out-boxes\n"
            "[scores]\ndir=output\ndims-order=row-major\n"
            "id=ultra-lightweight-face-detection-rfb-320-v1-variant-1-out-scores\n"},
        {"ssdtensordec", object_model,
            "[modelinfo]\nversion=1.0\ngroup-id=ssd-mobilenet-v1-variant-1-out\n"
            "[boxes]\ndir=output\nid=ssd-mobilenet-v1-variant-1-out-boxes\n"
            "[scores]\ndir=output\nid=ssd-mobilenet-v1-variant-1-out-scores\n"
            "[classes]\ndir=output\nid=ssd-mobilenet-v1-variant-1-out-classes\n"
            "[count]\ndir=output\nid=generic-variant-1-out-count\n"},
    }))
{
  Folder folder;
  const Owned<GstSample> sample =
      decoded (folder, row.model (), row.info, row.label, "0xffffffff");
  if (!sample)
    return;
  GstAnalyticsRelationMeta *relations =
      gst_buffer_get_analytics_relation_meta (gst_sample_get_buffer (sample));
  const gint expected[2][4] = {{20, 20, 40, 20}, {0, 0, 20, 10}};
  gpointer state = nullptr;
  for (const gint (&box)[4] : expected) {
    GstAnalyticsMtd found;
    gint x, y, w, h;
    fail_unless (relations
                 && gst_analytics_relation_meta_iterate (
                     relations, &state, gst_analytics_od_mtd_get_mtd_type (), &found));
    fail_unless (gst_analytics_od_mtd_get_location (&found, &x, &y, &w, &h, nullptr));
    fail_unless (x == box[0] && y == box[1] && w == box[2] && h == box[3],
        "%d,%d %dx%d, expected %d,%d %dx%d", x, y, w, h, box[0], box[1], box[2], box[3]);
  }
}

/* --- regions --- */

template <typename Mtd>
static bool
related (const Owned<GstBuffer> &frame, GstAnalyticsMtdType type, Mtd &found)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (frame);
  GstAnalyticsMtd object;
  gpointer state = nullptr;
  return relations
         && gst_analytics_relation_meta_iterate (
             relations, &state, gst_analytics_od_mtd_get_mtd_type (), &object)
         && gst_analytics_relation_meta_get_direct_related (relations, object.id,
             GST_ANALYTICS_REL_TYPE_RELATE_TO, type, nullptr, &found);
}

/* An object that only analytics have is a region, and its class is related to it. */
TEST (test_inference_takes_objects_of_analytics)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", color_model ().bytes ());
  Harness net ("openclinference output=meta regions=objects model-file=" + file
                   + " ! opencltensordecoder method=classification activation=none",
      frames);
  GstBuffer *input = buffer_of (frame_of (90));
  gst_analytics_relation_meta_add_od_mtd (gst_buffer_add_analytics_relation_meta (input),
      g_quark_from_static_string ("cat"), 2, 0, 4, 8, 0.5f, nullptr);
  const Owned<GstBuffer> output = net.pass (input);
  GstAnalyticsClsMtd kind;
  fail_unless (related (output, gst_analytics_cls_mtd_get_mtd_type (), kind));
  fail_unless_equals_string (
      g_quark_to_string (gst_analytics_cls_mtd_get_quark (&kind, 0)), "0");
  gpointer state = nullptr;
  auto *region =
      reinterpret_cast<GstVideoRegionOfInterestMeta *> (gst_buffer_iterate_meta_filtered (
          output, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless (region && region->x == 2 && region->w == 4 && region->h == 8);
  fail_unless (gst_video_region_of_interest_meta_get_param (region, "classification"));
}

/* A tracked object has a track that began with its first frame. */
TEST (test_decoder_attaches_tracks)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", object_model ().bytes ());
  Harness net ("openclinference output=meta model-file=" + file
                   + " ! opencltensordecoder method=ssd track-frames=5",
      frames);
  for (const GstClockTime time : {GST_SECOND, 2 * GST_SECOND}) {
    GstBuffer *input = buffer_of (frame_of (190));
    GST_BUFFER_PTS (input) = time;
    const Owned<GstBuffer> output = net.pass (input);
    GstAnalyticsTrackingMtd track;
    guint64 number = 0;
    GstClockTime first = 0, last = 0;
    gboolean lost = TRUE;
    fail_unless (related (output, gst_analytics_tracking_mtd_get_mtd_type (), track));
    fail_unless (
        gst_analytics_tracking_mtd_get_info (&track, &number, &first, &last, &lost));
    fail_unless (number == 1 && first == GST_SECOND && !lost);
  }
}

/* --- detections in frames that are scaled, turned and letterboxed --- */

struct Moved {
  const char *label;  /* the element */
  gint width, height; /* of the output */
  gint x, y, w, h;    /* of an object at 8,4 of 16x8 in 64x32, by hand */
};

/* A frame of 64x32 in 64x64 has 16 rows of border above it. */
TEST_ROWS (test_convert_moves_detections_with_the_frame,
    (std::vector<Moved>{
        {"openclconvert", 32, 16, 4, 2, 8, 4},
        {"openclconvert video-direction=90r", 32, 64, 20, 8, 8, 16},
        {"openclconvert video-direction=180", 64, 32, 40, 20, 16, 8},
        {"openclconvert video-direction=90l", 32, 64, 4, 40, 8, 16},
        {"openclconvert video-direction=horiz", 64, 32, 40, 4, 16, 8},
        {"openclconvert video-direction=vert", 64, 32, 8, 20, 16, 8},
        {"openclconvert video-direction=ul-lr", 32, 64, 4, 8, 8, 16},
        {"openclconvert video-direction=ur-ll", 32, 64, 20, 40, 8, 16},
        {"openclconvert add-borders=true", 64, 64, 8, 20, 16, 8},
        {"openclconvert video-direction=90r add-borders=true", 64, 32, 34, 4, 4, 8},
    }))
{
  if (std::string (row.label) != "openclconvert" && !GST_CHECK_VERSION (1, 28, 0))
    return report_skip ("no GStreamer 1.28");
  const std::string caps = "video/x-raw(memory:OpenCLMemory),format=RGBA,"
                           "pixel-aspect-ratio=1/1,framerate=25/1,";
  Harness convert (row.label);
  gst_harness_set_caps_str (convert, (caps + "width=64,height=32").c_str (),
      (caps + text ("width=%d,height=%d", row.width, row.height)).c_str ());
  GstBuffer *input = gst_buffer_new_allocate (nullptr, 64 * 32 * 4, nullptr);
  gst_analytics_relation_meta_add_od_mtd (gst_buffer_add_analytics_relation_meta (input),
      g_quark_from_static_string ("cat"), 8, 4, 16, 8, 0.5f, nullptr);
  const Owned<GstBuffer> output = convert.pass (input);
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (output);
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  gint x, y, w, h;
  fail_unless (relations
               && gst_analytics_relation_meta_iterate (
                   relations, &state, gst_analytics_od_mtd_get_mtd_type (), &found));
  fail_unless (gst_analytics_od_mtd_get_location (&found, &x, &y, &w, &h, nullptr));
  fail_unless (x == row.x && y == row.y && w == row.w && h == row.h,
      "%d,%d %dx%d, expected %d,%d %dx%d", x, y, w, h, row.x, row.y, row.w, row.h);
}
