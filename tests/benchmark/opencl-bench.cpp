/* opencl-bench: measures pipelines on a device against what the device allows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "session.hpp"

#include <cstdio>
#include <map>

namespace {
using namespace bench;

const std::map<std::string, const std::vector<Case> *> commands = {{"oct", &oct_cases},
    {"keying", &keying_cases}, {"transfer", &transfer_cases}, {"fft", &fft_cases},
    {"compute", &compute_cases}, {"convolve", &convolve_cases},
    {"inference", &inference_cases}, {"neighbours", &neighbour_cases}};

int
list (const std::vector<Case> &cases)
{
  for (const Case &one : cases)
    printf ("%-28s %s\n", one.name, one.blurb);
  return 0;
}

int
run (const Options &options)
{
  if (options.command == "stages")
    return run_stages (options);
  if (options.command == "first-frame")
    return run_first_frame (options);
  const std::vector<Case> &cases = *commands.at (options.command);
  if (options.list)
    return list (cases);
  Session session (options);
  if (!session.open (true))
    return 1;
  run_cases (session, cases);
  return session.failed ? 1 : 0;
}
} // namespace

int
main (int argc, char **argv)
{
  Options options;
  int status = 0;
  if (!parse_options (argv, options, status))
    return status;
  g_setenv ("GST_OPENCL_SELF_CHECK", "0", FALSE); /* engines stay fixed */
  gst_init (nullptr, nullptr);
  register_source ();
  return run (options);
}
