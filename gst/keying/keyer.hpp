/* Keys frames by the methods of chromakey
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "input/inputformat.hpp"
#include "input/pixelformats.hpp"
#include "keychain.hpp"
#include "screen/screenplate.hpp"
#include "screen/screensearch.hpp"
#include "unkeyed.hpp"

#include <cmath>
#include <string>
#include <vector>
#include <gst/opencl/gstopenclframe.h>

namespace keying {
enum class Method {
  distance,
  chroma,
  difference,
};

enum class AutoKey {
  none,
  rectangle,
  screen,
};

/* As in softkey.clh */
enum class SpillMethod {
  unmix,
  limit,
  average,
  luminance_preserving,
};

/* How a picture was composed: a lens mixes light, many programs mix encoded levels */
enum class MixingMode {
  automatic,
  light,
  levels,
};

struct Rectangle {
  guint x = 0, y = 0;
  guint width = 32, height = 32;
};

struct ChromaKeySettings {
  Method method = Method::distance;
  guint key_color = 0xff00ff00;
  std::vector<guint> key_colors;
  guint tone = 0; /* the screen's second one, which the search has found, or 0 */
  gdouble tolerance = 0.025;
  bool relative = false;
  Channel channel = Channel::all;
  gdouble balance = 0.75;
  gdouble similarity = 0.08;
  gdouble smoothness = 0.95;
  Plate plate = Plate::adaptive;
  std::string plate_location;
  std::vector<double> garbage_polygon;
  bool refine = true;
  bool core = true;
  bool subject = true;
  bool quiet = false;
  MixingMode mixing = MixingMode::automatic;
  bool linear = true;       /* in force: not MixingMode::levels, unless that was found */
  bool auto_linear = false; /* deprecated */
  gdouble spill = 0;
  SpillMethod spill_method = SpillMethod::unmix;
  gdouble spill_balance = 0.5;
  gdouble shadow = 0;
  bool invert = false;
  gdouble opacity = 1;
  AutoKey auto_key = AutoKey::none;
  Rectangle rectangle;
  guint auto_key_revision = 1; /* counts changes of these two */
  guint mixing_revision = 1;

  cl_uint opacity_in_integers () const
  {
    return cl_uint (std::lround (opacity * full_opacity));
  }
};

/* Maximum number of key-colors */
const gsize most_keys = 8;

/* Kernels and state of the streaming thread for one format */
class Keyer {
public:
  bool create (GstOpenCLContext *context, const InputFormat &format, GError **error);

  const InputFormat &format () const { return format_; }
  const GstVideoInfo &info () const { return format_.output (); }

  /* Writes the key colour of `auto-key` to the device, once per change of settings. Does
   * nothing if the host knows the key. */
  bool measure_key (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
      cl_command_queue queue, GError **error);
  /* Waits for that colour. */
  bool read_back_key (cl_command_queue queue, GError **error);
  /* Returns TRUE if the host knows the key colour of the next frame. */
  bool knows_key (const ChromaKeySettings &settings) const;
  /* Returns the key colour if the host knows it, else key-color. */
  guint known_key (const ChromaKeySettings &settings) const;
  ScreenKey screen_key (const ChromaKeySettings &settings) const;

  DistanceKey distance_key (const ChromaKeySettings &settings) const;
  bool key_by_distance (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, cl_command_queue queue, GError **error);
  /* Keys nothing, while no screen is found. */
  bool key_nothing (ChromaKeySettings settings, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, cl_command_queue queue, GError **error);
  /* Keys `input`, which is not in a camera's format, with the plate. */
  bool key_softly (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, cl_command_queue queue, GError **error);
  /* Sets `levels_pixels` to the number of edge pixels that say that levels were mixed.
   * Waits for it, and overwrites `output`. Follow the plate with settings.linear before. */
  bool judge_mixing (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, guint &levels_pixels, cl_command_queue queue,
      GError **error);
  /* Returns false if the transfer function is not known, so that levels are keyed. */
  bool knows_light () const { return has_curve; }
  /* Converts camera formats once, since soft methods read the frame several times: replaces
   * `input` by `pixels`. */
  bool convert_format (const GstOpenCLFrame **input, GstOpenCLFrame *pixels,
      cl_command_queue queue, GError **error);

  ScreenSearch search;
  ScreenPlate plate;

private:
  /* Kernels of the soft methods */
  struct SoftKernels {
    opencl::FrameKernel key_cpu;
    opencl::FrameKernel key_gpu[2][2]; /* [plate image][refine]: 0 = without, 1 = with */
  };
  /* Frames of one launch. Distances are computed from `seen`. */
  struct Frames {
    const GstOpenCLFrame *seen, *input, *output;
  };

  void prepare_soft (SoftKernels &kernels, const std::string &options);
  void prepare_kernels (const std::string (&soft)[2]);
  bool is_linear (const ChromaKeySettings &settings) const;
  cl_uint threshold (const ChromaKeySettings &settings, guint key) const;
  cl_uint8 further_thresholds (const ChromaKeySettings &settings) const;
  template <typename... After>
  bool set_arguments (opencl::Kernel *kernel, const ChromaKeySettings &settings,
      const Frames &frames, GError **error, After... after);
  bool key_gpu (SoftKernels &kernels, const ChromaKeySettings &settings,
      const Frames &frames, cl_command_queue queue, GError **error);
  bool key_cpu (SoftKernels &kernels, const ChromaKeySettings &settings,
      const Frames &frames, cl_command_queue queue, GError **error);
  bool make_matte (const ChromaKeySettings &settings, const Frames &frames,
      cl_command_queue queue, GError **error);
  bool key_frames (const ChromaKeySettings &settings, const Frames &frames,
      cl_command_queue queue, GError **error);
  bool ensure_means (GError **error);
  bool quieten (const GstOpenCLFrame *input, GstOpenCLFrame *seen, cl_command_queue queue,
      GError **error);
  gsize mean_stride () const;

  GstOpenCLContext *context = nullptr; /* outlives this */
  InputFormat format_;                 /* of the input */
  opencl::FrameKernel distance[2];     /* [extras] */
  gsize tile_rows = 0;
  bool wide = false;      /* use key_cpu() instead of key_gpu() */
  SoftKernels soft[2][2]; /* [linear][further keys] */
  bool has_curve = false; /* the transfer function is known */
  opencl::FrameKernel measure;
  opencl::FrameKernel counting;
  cl::Buffer mixing_votes;
  ReadBack mixing_counts; /* of mixing_votes */
  opencl::FrameKernel quiet_kernel;
  SubjectColors subject;
  FormatConverter pixels;
  cl::Buffer means[2]; /* temporal means, of four components; made when first needed */
  cl::Buffer quiet;    /* denoised frame */
  guint newer_mean = 0;
  bool has_mean = false;
  cl::Buffer auto_key;
  ReadBack measured_key;
  guint measured_revision = 0; /* auto_key_revision of auto_key */
  guint host_revision = 0;     /* auto_key_revision of host_key */
  guint host_key = 0;
};
} // namespace keying
