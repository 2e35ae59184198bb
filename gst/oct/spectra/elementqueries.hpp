/* Queries between octwindowinterp, octfft and octsignal
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/octcaps.hpp"
#include "spectrumstage.hpp"

#include <limits>

namespace oct {
/* Sent downstream by octwindowinterp from any thread, so that octfft prepares for its next
 * settings. octfft leaves the query unanswered, so that a tee passes it to all
 * branches. */
struct AnnouncedSpectra {
  static constexpr const char *query = "GstOctAnnouncedSpectra";

  GstOpenCLContext *context; /* owned by the sender */
  const SpectrumStage *stage;
  guint lines;
  bool fused = false; /* set if octfft computes the spectra */
};

/* Sent upstream by octsignal: the widths of a mirror's peak that the window and the
 * source's spectrum allow. octwindowinterp answers it. Both widths are full widths at half
 * of the amplitude, in depth bins; NaN if unknown. */
struct PeakWidths {
  static constexpr const char *query = "GstOctPeakWidths";

  double window = std::numeric_limits<double>::quiet_NaN ();   /* of the window alone */
  double spectrum = std::numeric_limits<double>::quiet_NaN (); /* with the spectrum */
};

/* Sent downstream by octfft and octvolume, which prefer depths as numbers to levels of an
 * image for elements that keep them, such as octfilesink, but not for those that show
 * them, such as octrender. */
struct KeptDepths {
  static constexpr const char *query = "GstOctKeptDepths";

  bool are_kept = false, are_shown = false;
};

/* Sends the query from a pad to its peer. */
template <typename Asked>
void
ask_peer (GstPad *pad, Asked &asked)
{
  GstQuery *query = gst_query_new_custom (
      GST_QUERY_CUSTOM, gst_structure_new (Asked::query, "asked", G_TYPE_POINTER,
                            static_cast<gpointer> (&asked), nullptr));
  gst_pad_peer_query (pad, query);
  gst_query_unref (query);
}

/* Returns the first of `others` that are numbers if an element behind `src` keeps depths,
 * else all of `others`. (transfer full) */
inline GstCaps *
choose_kept_depths (GstPad *src, GstCaps *others)
{
  KeptDepths depths;
  ask_peer (src, depths);
  for (guint n = 0; depths.are_kept && n < gst_caps_get_size (others); n++) {
    if (is_video (gst_caps_get_structure (others, n)))
      continue;
    GstCaps *chosen = gst_caps_copy_nth (others, n);
    gst_caps_unref (others);
    return chosen;
  }
  return others;
}

/* (nullable): null for other queries */
template <typename Asked>
Asked *
asked_by (GstQuery *query)
{
  gpointer asked = nullptr;
  const GstStructure *structure = gst_query_get_structure (query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_CUSTOM && structure
      && gst_structure_has_name (structure, Asked::query))
    gst_structure_get (structure, "asked", G_TYPE_POINTER, &asked, nullptr);
  return static_cast<Asked *> (asked);
}
} // namespace oct
