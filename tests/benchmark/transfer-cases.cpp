/* opencl-bench: transfer cases
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyingchain.hpp"
#include "session.hpp"

namespace bench {
namespace {
/* Differences between the cases */
struct Transfer {
  Feed::Kind from;
  bool up, down;
};

bool
make_line (const Transfer &transfer, unsigned width, unsigned height, Line &line,
    std::string &error)
{
  Feed feed = green_screen (width, height);
  feed.kind = transfer.from;
  if (transfer.from == Feed::HELD && transfer.up)
    for (unsigned i = 1; i < 8; i++) /* an application's buffers in flight */
      feed.frames.push_back (hold (gst_buffer_copy_deep (feed.frames[0].get ())));
  if (!transfer.up
      && !hold_frame (
          "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
          {{"source", feed}}, feed, error))
    return false;
  line.text = std::string ("benchmarksource name=source ! ")
              + (transfer.up ? "openclupload ! " : "")
              + (transfer.down ? "opencldownload ! " : "")
              + (transfer.down ? queued_sink : sink);
  line.feeds = {{"source", feed}};
  line.amount = gst_buffer_get_size (feed.frames[0].get ());
  return true;
}

void
run_transfer (Session &session, const std::string &what, const Transfer &transfer)
{
  const unsigned width = session.options.width ? session.options.width : 3840;
  const unsigned height = session.options.height ? session.options.height : 2160;
  Result result = session.result (what, picture_size (width, height), "B/s");
  Line line;
  result.limit = session.ceilings.link_limit (transfer.up, transfer.down);
  if (make_line (transfer, width, height, line, result.error))
    measure (line, session.options.timing, result);
  session.print (result);
}
} // namespace

const std::vector<Case> transfer_cases = {
    {"upload-pinned", "openclupload, source writes to pinned memory",
        with (run_transfer, Transfer{Feed::POOL, true, false})},
    {"upload-pageable", "openclupload, source memory is pageable",
        with (run_transfer, Transfer{Feed::HELD, true, false})},
    {"download", "opencldownload",
        with (run_transfer, Transfer{Feed::HELD, false, true})},
    {"both-pinned", "openclupload and opencldownload, pinned",
        with (run_transfer, Transfer{Feed::POOL, true, true})},
    {"both-pageable", "openclupload and opencldownload, pageable",
        with (run_transfer, Transfer{Feed::HELD, true, true})},
};
} // namespace bench
