/* Query by which octwindowinterp announces its next settings to octfft
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "spectrumstage.hpp"

namespace oct {
/* Sent downstream from any thread, so that octfft prepares for the spectra in advance.
 * octfft leaves the query unanswered, so that a tee passes it to all branches. */
struct AnnouncedSpectra {
  GstOpenCLContext *context; /* owned by the sender */
  const SpectrumStage *stage;
  guint lines;
  bool fused = false; /* set if octfft computes the spectra */
};

const char *const announcement_query = "GstOctAnnouncedSpectra";

/* (transfer full) */
inline GstQuery *
new_announcement_query (AnnouncedSpectra &spectra)
{
  return gst_query_new_custom (
      GST_QUERY_CUSTOM, gst_structure_new (announcement_query, "spectra", G_TYPE_POINTER,
                            static_cast<gpointer> (&spectra), nullptr));
}

/* (nullable): null for other queries */
inline AnnouncedSpectra *
announced_spectra_of (GstQuery *query)
{
  gpointer spectra = nullptr;
  const GstStructure *structure = gst_query_get_structure (query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_CUSTOM && structure
      && gst_structure_has_name (structure, announcement_query))
    gst_structure_get (structure, "spectra", G_TYPE_POINTER, &spectra, nullptr);
  return static_cast<AnnouncedSpectra *> (spectra);
}
} // namespace oct
