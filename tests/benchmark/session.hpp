/* opencl-bench: device, limits and output that all cases of a command use
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

#include "ceilings.hpp"
#include "earlier.hpp"
#include "options.hpp"
#include "result.hpp"
#include "run.hpp"
#include "table.hpp"

#include <gst/opencl/opencl-prelude.h>

#include <functional>

namespace bench {
class Session {
public:
  explicit Session (const Options &options);
  ~Session ();

  Session (const Session &) = delete;
  /* Opens the device and, if `with_ceilings`, measures the ceilings. */
  bool open (bool with_ceilings);

  /* Returns a result for this device, to be filled in. */
  Result result (const std::string &what, Result::Sizes sizes, const char *unit) const;
  void print (Result result);

  const Options options;
  GstOpenCLContext *context = nullptr;
  Ceilings ceilings;
  std::string device_name;
  bool failed = false; /* something could not be measured */

private:
  EarlierResults earlier;
  Table table;
};

/* One thing to measure; prints one result or more. */
struct Case {
  const char *name;
  const char *blurb;
  std::function<void (Session &, const std::string &what)> run;
};

/* `run` of a case, with further arguments */
template <typename Run, typename... More>
std::function<void (Session &, const std::string &)>
with (Run run, More... more)
{
  return
      [=] (Session &session, const std::string &what) { run (session, what, more...); };
}

/* Runs the cases that --case selects, as COMMAND/NAME. */
void run_cases (Session &session, const std::vector<Case> &cases);

/* The cases of each command. */
extern const std::vector<Case> oct_cases, keying_cases, transfer_cases, fft_cases,
    compute_cases, convolve_cases, inference_cases, neighbour_cases;

/* Commands without cases */
int run_stages (const Options &options);
int run_first_frame (const Options &options);
} // namespace bench
