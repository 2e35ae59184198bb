/* Streams of request pads beside the main stream of a filter
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/common/arrayformat.hpp>
#include <gst/opencl/device/readframe.hpp>
#include <gst/video/video.h>
#include <gst/gst.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

#include <atomic>
#include <condition_variable>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include <functional>

namespace opencl {
/* A request pad with its own stream. For each time it has the last frame that began
 * before it, also after EOS. A frame that arrives early blocks its streaming thread. */
class AuxiliaryStream {
public:
  AuxiliaryStream (GstPadTemplate *of, const gchar *name);
  ~AuxiliaryStream ();
  AuxiliaryStream (const AuxiliaryStream &) = delete;

  GstPad *pad () const { return pad_; }

  /* --- the element's streaming thread --- */

  struct Frame {
    GstBuffer *buffer = nullptr; /* (nullable): valid until the next call */
    GstVideoInfo info;
    bool is_video = false;
    ArrayFormat array;    /* of caps that are no video */
    guint number = 0;     /* counts the frames, from 1 */
    bool is_lost = false; /* the frame is invalid, and the one before it stays in use */

    /* Maps a copy of the frame in memory of the filter's context. */
    bool map (GstOpenCLFilter *filter, ReadFrame &mapped, cl_command_queue queue,
        GError **error) const;
  };
  /* Waits for the frame of `time`, the running time of the input frame, unless `waits` is
   * false. Posts one WARNING if the first frame takes more than five seconds. */
  const Frame &frame_at (GstClockTime time, bool waits = true);
  /* Waits for caps. Sets the format of `caps`. Returns false if there are none. */
  bool wait_for_caps (Frame &caps);
  /* Counts the invalid frames up to that of the last call of frame_at () */
  guint losses () const { return n_lost; }
  /* Returns true after the first frame, if it did not come from a live source. */
  bool is_recorded ();
  /* Returns true if threads do not wait for frames now. */
  bool is_interrupted ();
  /* Returns true if no frame comes any more. */
  bool has_ended ();

  /* --- other threads --- */

  /* Sets whether threads that wait for a frame return at once (flush or stop). */
  void interrupt (bool is);

private:
  static GstFlowReturn chain (GstPad *pad, GstObject *parent, GstBuffer *buffer);
  static gboolean event (GstPad *pad, GstObject *parent, GstEvent *event);
  static gboolean activate (
      GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active);
  GstFlowReturn store (GstBuffer *buffer, bool is_lost);
  void handle_event (GstEvent *event);
  void flush (bool is);
  static void wake (GstPad *pad, GstPad *peer, gpointer stream);
  bool next_is_due (GstClockTime time) const;
  bool must_not_wait (GstClockTime time) const;
  void take_next ();
  void wait_for_change (std::unique_lock<std::mutex> &lock, guint &steps);
  void warn (std::unique_lock<std::mutex> &lock);

  GstPad *const pad_;
  std::mutex mutex;
  std::condition_variable changed;
  GstSegment segment;
  GstVideoInfo format; /* current caps, of video or of an array */
  ArrayFormat array;
  bool has_format = false, is_video = false;
  Frame current, next;
  GstClockTime next_begin = GST_CLOCK_TIME_NONE;
  GstClockTime known_until = 0; /* running time until which `current` is valid */
  guint frames = 0, n_invalid = 0, n_lost = 0;
  bool ended = false, flushing = true, interrupted = false;
  std::atomic<bool> is_stale{false}; /* `current` is from before a stop */
  gboolean is_live = FALSE;
  bool may_warn = true; /* until the first frame or a WARNING */
};

/* Auxiliary streams of one element, by pad name */
class AuxiliaryStreams {
public:
  /* For GstElementClass.request_new_pad and release_pad: (transfer none) (nullable).
   * Returns NULL unless the pad was `asked` for by name. gst_element_link() asks without
   * a name for any pad whose caps fit, if the main stream does not fit the sink pad. */
  GstPad *request (GstElement *element, GstPadTemplate *of, const gchar *asked);
  void release (GstElement *element, GstPad *pad);

  /* (nullable) */
  std::shared_ptr<AuxiliaryStream> find (const std::string &name);
  bool has_any ();
  /* In the order of their requests */
  std::vector<std::shared_ptr<AuxiliaryStream>> all ();
  /* Wake threads that wait for a frame when the main stream flushes or the element
   * stops. */
  void follow_event (GstEvent *event);
  void follow_state (GstStateChange change);
  /* Sends a seek of the main stream to the others first. No frame of them is used before
   * `seek_main` returns. */
  gboolean seek (GstEvent *event, const std::function<gboolean ()> &seek_main);

private:
  void interrupt (bool is);

  std::mutex mutex;
  std::vector<std::shared_ptr<AuxiliaryStream>> streams;
};

/* Request pads of a class whose instances have `streams` */
template <auto streams> struct StreamPads;

template <typename Instance, AuxiliaryStreams *Instance::*streams>
struct StreamPads<streams> {
  static AuxiliaryStreams &of (gpointer element)
  {
    return *(static_cast<Instance *> (element)->*streams);
  }

  /* After the class has set functions of its own for state changes and events */
  static void install (gpointer klass, std::initializer_list<GstStaticPadTemplate *> pads)
  {
    auto *element = GST_ELEMENT_CLASS (klass);
    for (GstStaticPadTemplate *pad : pads)
      gst_element_class_add_static_pad_template (element, pad);
    element->request_new_pad = [] (GstElement *self, GstPadTemplate *pad,
                                   const gchar *name, const GstCaps *) {
      return of (self).request (self, pad, name);
    };
    element->release_pad = [] (GstElement *self, GstPad *pad) {
      of (self).release (self, pad);
    };
    static const auto change_state = element->change_state;
    element->change_state = [] (GstElement *self, GstStateChange change) {
      of (self).follow_state (change);
      return change_state (self, change);
    };
    static const auto sink_event = GST_BASE_TRANSFORM_CLASS (klass)->sink_event;
    GST_BASE_TRANSFORM_CLASS (klass)->sink_event = [] (GstBaseTransform *self,
                                                       GstEvent *event) {
      of (self).follow_event (event);
      return sink_event (self, event);
    };
  }
};

/* Current frame of an auxiliary stream. Lets the element process each frame once. */
class AuxiliaryFrame {
public:
  using Process =
      std::function<bool (const GstOpenCLFrame *, const AuxiliaryStream::Frame &)>;

  /* Calls `process` if the frame at `time` is not that of the previous call. */
  bool follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
      const std::string &name, GstClockTime time, cl_command_queue queue,
      const Process &process, GError **error);
  bool exists () const { return number > 0; }

private:
  guint number = 0; /* of the frame, 0 = none */
  std::weak_ptr<AuxiliaryStream> stream;
};
} // namespace opencl
