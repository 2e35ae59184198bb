/* opencl-bench: OCT pipelines and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "octchain.hpp"

namespace bench {
namespace {
std::string
text_of (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_dtostr (text, sizeof text, value);
}

/* Branch of a tee that measures and plots, but never delays the other one */
std::string
plotted (const std::string &tee)
{
  return " " + tee
         + ". ! queue leaky=downstream max-size-buffers=2 ! octsignal ! "
           "fakesink async=false sync=false";
}

/* Elements between octfft and the image */
std::string
added_to (OctChain which, const std::string &range)
{
  const std::string picture = " ! video/x-raw(memory:OpenCLMemory),format=GRAY8";
  switch (which) {
  case OctChain::AVERAGE:
    return range + " ! octaverage frames=4" + picture;
  case OctChain::ANGIOGRAPHY:
    return " ! octangio repeats=4 ! octdisplay" + range + picture;
  case OctChain::FULL_ANGIOGRAPHY:
    return " ! octangio repeats=4 axial-shift=2 lateral-shift=2 threshold-snr=6"
           " projection-resolved=true ! octdisplay"
           + range + picture;
  case OctChain::DYNAMICS:
  case OctChain::SWIFTNESS:
    return std::string (" ! octdynamic repeats=32 quantity=")
           + (which == OctChain::DYNAMICS ? "liv" : "swiftness")
           + " ! video/x-raw(memory:OpenCLMemory),format=RGBA";
  case OctChain::DOPPLER:
    return " ! octdoppler ! octdisplay" + picture;
  case OctChain::FLATTEN:
    return " ! octflatten coefficients=<0,0,0,40> ! octdisplay" + range + picture;
  case OctChain::ATTENUATION:
    return " ! octattenuation depth-step=3.4 noise-depths=64 window-lines=4 "
           "window-depths=4 ! octdisplay"
           + picture;
  case OctChain::VOLUME:
    return range + " depth-count=512" + picture
           + " ! tee name=both both. ! queue max-size-buffers=4 ! octvolume b-scans=512"
           + picture
           + " ! fakesink async=false sync=false both. ! octvolume b-scans=512 live=true"
             " ! octrender azimuth=30 elevation=30 turn=0.5 min=60"
           + picture + ",width=" + std::to_string (rendered_size)
           + ",height=" + std::to_string (rendered_size);
  case OctChain::SIGNAL:
    return " ! application/x-oct(memory:OpenCLMemory),format=CF32LE ! tee name=depths"
           + plotted ("depths") + " depths. ! octdisplay" + range + picture;
  case OctChain::FIXED_PATTERN:
    return " ! octbackground ! octdisplay" + range + picture;
  default:
    return range + picture;
  }
}
} // namespace

unsigned
frames_of (OctChain which)
{
  if (which == OctChain::DYNAMICS || which == OctChain::SWIFTNESS)
    return 32;
  return which == OctChain::AVERAGE || which == OctChain::ANGIOGRAPHY
                 || which == OctChain::FULL_ANGIOGRAPHY
             ? 4
             : 1;
}

std::string
oct_chain (OctChain which)
{
  std::string chain = "octwindowinterp window=hann interpolation=";
  chain += which == OctChain::NUFFT ? "nufft" : "linear";
  if (which != OctChain::NO_RESAMPLING)
    chain += " wavelength-min=" + text_of (wavelength_min)
             + " wavelength-max=" + text_of (wavelength_max);
  if (which == OctChain::DISPERSION)
    chain += " dispersion-a2=" + text_of (dispersion_a2)
             + " dispersion-a3=" + text_of (dispersion_a3);
  if (which == OctChain::BACKGROUND_FRAME)
    chain += " background=frame";
  if (which == OctChain::BACKGROUND_ROLLING)
    chain += " background=rolling";
  const std::string range =
      " scale=log db-min=" + text_of (db_min) + " db-max=" + text_of (db_max);
  chain += " ! octfft" + added_to (which, range);
  return which == OctChain::SIGNAL ? "tee name=raw" + plotted ("raw") + " raw. ! " + chain
                                   : chain;
}

std::string
made_spectra (const OctFrame &frame, const std::string &properties)
{
  return "octtestsrc " + properties
         + " ! video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,framerate=30/1,width="
         + std::to_string (frame.samples) + ",height=" + std::to_string (frame.lines);
}

bool
hold_spectra (const OctFrame &frame, Feed &feed, std::string &error)
{
  if (!hold_frame (
          made_spectra (frame, "num-buffers=1") + " ! appsink name=sink sync=false", {},
          feed, error))
    return false;
  /* The frame is pushed repeatedly, without discontinuities. */
  for (const Buffer &held : feed.frames)
    GST_BUFFER_FLAG_UNSET (held.get (), GST_BUFFER_FLAG_DISCONT);
  return true;
}

bool
to_host (Feed &feed, Feed::Kind kind, unsigned copies, std::string &error)
{
  GstMapInfo map;
  const Buffer first = feed.frames.front ();

  if (!gst_buffer_map (first.get (), &map, GST_MAP_READ)) {
    error = "a frame of the device cannot be mapped";
    return false;
  }
  feed.frames.clear ();
  for (unsigned i = 0; i < copies; i++) {
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, map.size, nullptr);
    gst_buffer_fill (buffer, 0, map.data, map.size);
    feed.frames.push_back (hold (buffer));
  }
  gst_buffer_unmap (first.get (), &map);
  GstCaps *caps = gst_caps_copy (feed.caps.get ());
  gst_caps_set_features_simple (caps, gst_caps_features_new_empty ());
  feed.caps = hold (caps);
  feed.kind = kind;
  return true;
}

bool
host_spectra (const OctFrame &frame, Feed::Kind kind, unsigned copies, Feed &feed,
    std::string &error)
{
  return hold_spectra (frame, feed, error) && to_host (feed, kind, copies, error);
}
} // namespace bench
