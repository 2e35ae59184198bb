/* Settings of openclinference, and the caps that follow from them and from the model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "network.hpp"
#include "pictureoutput.hpp"

#include <gst/opencl/elements/auxiliarystream.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <mutex>

#define DEVICE_MEMORY GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY

namespace inference {
/* Which regions of a frame get a result */
struct RegionChoice {
  std::string labels; /* with commas between them; empty: all */
  guint least = 1;    /* pixels of the shorter side */
  guint most = 100;   /* in a frame, in the order of their metas */
  guint interval =
      1; /* frames between two results of a region, 0: one for each identity */
};

enum class Output { tensors, alpha, video, meta };
enum class Regions { frame, objects };

struct InferenceSettings {
  std::string model_file, state, inputs, layout;
  Precision precision = Precision::single;
  Output output = Output::tensors;
  guint output_index = 0;
  gint channel = 0; /* -1: the number of the one with the highest value */
  guint batch_size = 1, clip_length = 0, clip_step = 0;
  std::string open_size; /* "N" or "WIDTHxHEIGHT" */
  guint open_multiple = 1;
  Regions regions = Regions::frame;
  RegionChoice choice;
  Fit fit = Fit::stretch;
  Colors colors = Colors::by_channels;
  guint letterbox_color = 0xff000000;
  std::string output_layout, output_range;
  std::string mean, deviation; /* a number or an array, as text */
};

/* The model of an element with request pads, which caps are asked for before it starts */
struct LoadedModel {
  explicit LoadedModel (opencl::AuxiliaryStreams *streams) : streams (streams) {}

  opencl::AuxiliaryStreams *const streams;
  std::mutex lock;
  std::string file;
  std::shared_ptr<const Model> model;
  ModelInfo info;
  /* Caps and settings that `outputs` belong to. These are empty if the model does not take the
   * caps. */
  std::string asked;
  std::vector<NetworkOutput> outputs;
  std::map<std::string, Shape> shapes; /* of arrays on request pads */
};

/* Loads the model. */
bool options_of (LoadedModel &loaded, const InferenceSettings &settings,
    std::shared_ptr<const Model> &model, NetworkOptions &options, GError **error);
/* Waits for the caps of the request pads, which decide open lengths of their inputs. */
void wait_for_shapes (LoadedModel &loaded);
bool picture_options_of (
    const InferenceSettings &settings, PictureOptions &options, GError **error);

/* Sets the fields of `other/tensors` that describe the outputs. */
void set_tensor_fields (
    GstStructure *structure, const std::vector<NetworkOutput> &outputs);
/* Fixed caps as what comes in; `info` and `array` must outlive `source`. */
bool source_of_caps (GstCaps *caps, GstVideoInfo &info, opencl::ArrayFormat &array,
    NetworkSource &source, GError **error);

/* (transfer full): caps of the output for `inputs`, and of the input for `outputs`, among `all` */
GstCaps *outputs_of (
    LoadedModel &loaded, const InferenceSettings &settings, GstCaps *inputs);
GstCaps *inputs_of (LoadedModel &loaded, const InferenceSettings &settings,
    GstCaps *outputs, GstCaps *all);
} // namespace inference
