/* opencl-bench: device time of each kernel and transfer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyingchain.hpp"
#include "octchain.hpp"
#include "profiling.hpp"
#include "session.hpp"

namespace bench {
namespace {
struct Subject {
  Line line;
  Result::Sizes sizes;
  bool complete = false; /* the line has transfers of its own */
};

using MakeSubject = bool (*) (const Options &, Subject &, std::string &);

template <OctChain chain>
bool
oct_subject (const Options &options, Subject &subject, std::string &error)
{
  const OctFrame frame = {options.samples, options.lines_or (1024)};
  Feed feed;
  if (!host_spectra (frame, Feed::POOL, 1, feed, error))
    return false;
  subject.sizes = frame.sizes ();
  subject.line.text = oct_chain (chain);
  subject.line.feeds = {{"source", feed}};
  return true;
}

bool
keying_subject (const Options &options, Subject &subject, std::string &)
{
  const unsigned width = options.width ? options.width : 1920;
  const unsigned height = options.height ? options.height : 1080;
  Feed feed = green_screen (width, height);
  feed.kind = Feed::POOL;
  subject.sizes = picture_size (width, height);
  subject.line.text = keying_chain;
  subject.line.feeds = {{"source", feed}};
  return true;
}

bool
soft_subject (const Options &options, Subject &subject, std::string &error)
{
  if (!keying_subject (options, subject, error))
    return false;
  subject.line.text = soft_chain;
  return true;
}

bool
refine_subject (const Options &options, Subject &subject, std::string &error)
{
  if (!keying_subject (options, subject, error))
    return false;
  subject.line.text = "matterefine";
  return true;
}

bool
camera_subject (const Options &options, Subject &subject, std::string &error)
{
  const unsigned width = options.width ? options.width : 1920;
  const unsigned height = options.height ? options.height : 1080;
  subject.sizes = picture_size (width, height);
  subject.complete = true;
  return camera_line (keying_chain, width, height, subject.line, error);
}

/* Records while the windows run. The few frames in flight at either end are
 * negligible. */
guint64
record (const Line &line, const Options &options, Result &frames)
{
  Run run (line, options.timing);
  run.start ();
  run.wait_for_frames (2);
  g_usleep (gulong (options.timing.warm_up * 1e6));
  const guint64 before = run.frames ();
  profiling::record (true);
  run.wait ();
  profiling::record (false);
  const guint64 count = run.frames () - before;
  run.stop ();
  frames.rates = run.rates ();
  frames.delays = run.delays ();
  frames.error = run.error ();
  return count;
}

void
print_commands (Session &session, const Result &frames, guint64 count)
{
  const auto commands = profiling::collect ();
  double sum = 0;
  for (const auto &command : commands)
    sum += command.second.seconds;
  for (const auto &command : commands) {
    Result result =
        session.result (frames.what + "/" + command.first, frames.sizes, "ms/frame");
    result.rates = {command.second.seconds / count * 1e3};
    result.more = {{"of_device_time", command.second.seconds / sum},
        {"calls_per_frame", double (command.second.calls) / count}};
    session.print (result);
  }
}
} // namespace

int
run_stages (const Options &options)
{
  profiling::enable (); /* before any queue is made */
  Session session (options);
  if (!session.open (false))
    return 1;
  Subject subject;
  Result frames = session.result ("stages/" + options.of, {}, "frames/s");
  static const std::map<std::string, MakeSubject> subjects = {
      {"oct", oct_subject<OctChain::PLAIN>}, {"nufft", oct_subject<OctChain::NUFFT>},
      {"average", oct_subject<OctChain::AVERAGE>},
      {"angiography", oct_subject<OctChain::ANGIOGRAPHY>},
      {"full-angiography", oct_subject<OctChain::FULL_ANGIOGRAPHY>},
      {"dynamics", oct_subject<OctChain::DYNAMICS>},
      {"doppler", oct_subject<OctChain::DOPPLER>},
      {"flatten", oct_subject<OctChain::FLATTEN>},
      {"attenuation", oct_subject<OctChain::ATTENUATION>},
      {"fixed-pattern", oct_subject<OctChain::FIXED_PATTERN>}, {"keying", keying_subject},
      {"soft", soft_subject}, {"refine", refine_subject}, {"camera", camera_subject}};
  guint64 count = 0;
  if (subjects.at (options.of) (options, subject, frames.error)) {
    frames.sizes = subject.sizes;
    if (!subject.complete)
      subject.line.text = "benchmarksource name=source ! openclupload ! "
                          + subject.line.text + " ! opencldownload ! " + queued_sink;
    count = record (subject.line, options, frames);
  }
  session.print (frames);
  if (count > 0)
    print_commands (session, frames, count);
  return session.failed ? 1 : 0;
}
} // namespace bench
