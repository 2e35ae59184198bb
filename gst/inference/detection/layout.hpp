/* Finds boxes, scores and classes in the outputs of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../outputsmeta.hpp"

namespace inference {
enum class Method {
  automatic,
  classification,
  yolo_v5,
  yolo_v8,
  yolo_v10,
  yolo_x,
  yolo_pose,
  ssd,
  anchors,
  detr,
  segmentation,
  text,
  ctc,
  embedding
};
enum class ScoreActivation { automatic, none, sigmoid, softmax };
/* Centre and size, corners, or corners with y before x */
enum class BoxForm { centre, corners, corners_yx };

struct DetectionSettings {
  Method method = Method::automatic;
  ScoreActivation activation = ScoreActivation::automatic;
  gint background = -2; /* class that is no object; -1: none, -2: by the method */
  guint points = 0;     /* key points of an object; 0: as many as the shapes say */
};

/* Numbers of candidate n: element `offset` + n × `step` + k × `column` of an output */
struct Field {
  gint output = -1; /* -1: there is no such field */
  gint64 offset = 0, step = 0, column = 1;

  explicit operator bool () const { return output >= 0; }
};

/* Centre + x, y, and size × `scale`, both in pixels of the network's input */
struct Anchor {
  cl_float x, y, scale, unused;
};

struct OutputLayout {
  DetectionSettings is; /* nothing in it is automatic but the softmax of classes */
  BoxForm form = BoxForm::centre;
  bool relative = false; /* boxes are parts of the input, not pixels */
  gint64 count = 0;      /* of candidates: boxes, classes or pixels */
  gint64 classes = 1;
  gint64 columns = 0; /* of a map of text */
  Field boxes, scores, certainty, ids;
  /* Key points, in the output of boxes: x, y, and the score if they have three numbers */
  Field points;
  gint64 point_count = 0, point_size = 2;
  std::vector<Anchor> anchors;
};

/* "yolo-v8 of 80 classes"; the outputs with their shapes */
std::string text_of (const OutputLayout &layout);
std::string shapes_of (const OutputsFormat &format);

/* Takes the only layout that fits the shapes, and of several the one with as many classes as
 * there are labels. Returns FALSE with an error that has the shapes if there is none. */
bool find_layout (const OutputsFormat &format, const DetectionSettings &settings,
    gsize labels, OutputLayout &layout, GError **error);
} // namespace inference
