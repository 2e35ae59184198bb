/* Tests of the choice among several devices
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include <gst/opencl/core/devicechoice.hpp>

using namespace check;
using opencl::choose_among;
using opencl::DeviceDescription;

namespace {
constexpr cl_ulong gib = 1 << 30;
const DeviceDescription cpu{"0:0", "Processor", CL_DEVICE_TYPE_CPU, true, 512 * gib, ""};
const DeviceDescription integrated{
    "1:0", "Beside", CL_DEVICE_TYPE_GPU, true, 96 * gib, ""};
const DeviceDescription discrete{"2:0", "Card", CL_DEVICE_TYPE_GPU, false, 8 * gib, ""};
const DeviceDescription larger{
    "2:1", "Large Card", CL_DEVICE_TYPE_GPU, false, 24 * gib, ""};
const DeviceDescription other{
    "3:0", "Board", CL_DEVICE_TYPE_ACCELERATOR, false, 64 * gib, ""};

DeviceDescription
with_fault (DeviceDescription device, const char *fault)
{
  device.fault = fault;
  return device;
}

DeviceDescription
without_compiler (DeviceDescription device)
{
  device.has_compiler = false;
  return device;
}

std::string
chosen_of (const std::vector<DeviceDescription> &listed, const char *choice)
{
  Owned<GError> error;
  int chosen = choose_among (listed, choice, error.out ());
  fail_unless ((chosen < 0) == (error != nullptr));
  std::string result = error ? error->message : listed[chosen].index;
  return result;
}

/* Tries every order of the platforms. */
void
assert_chosen (std::vector<DeviceDescription> listed, const char *choice,
    const DeviceDescription &expected)
{
  auto by_index = [] (const DeviceDescription &a, const DeviceDescription &b) {
    return a.index < b.index;
  };
  std::sort (listed.begin (), listed.end (), by_index);
  do {
    std::string chosen = chosen_of (listed, choice);
    fail_unless (chosen == expected.index, "device=%s: %s, expected %s", choice,
        chosen.c_str (), expected.index.c_str ());
  } while (std::next_permutation (listed.begin (), listed.end (), by_index));
}
} // namespace

TEST (test_choice_prefers_a_card_to_an_integrated_gpu_to_a_cpu)
{
  for (const char *choice : {"auto", "gpu"}) {
    assert_chosen ({cpu, integrated, discrete, other}, choice, discrete);
    assert_chosen ({cpu, integrated, other}, choice, integrated);
  }
  assert_chosen ({cpu, other}, "auto", cpu);
  assert_chosen ({other}, "auto", other);
  assert_chosen ({cpu, integrated, discrete}, "cpu", cpu);
}

TEST (test_choice_of_an_accelerator_takes_the_type)
{
  DeviceDescription named = cpu; /* a name does not make a device an accelerator */
  named.name = "Accelerator";
  assert_chosen ({cpu, integrated, discrete, other, named}, "accelerator", other);
  const std::string message = chosen_of ({named, discrete}, "accelerator");
  fail_unless (message.find ("matches device=accelerator") != std::string::npos
                   && message.find ("0:0 Accelerator, 2:0 Card") != std::string::npos,
      "%s", message.c_str ());
}

/* A device without a compiler cannot run the kernels of other elements. */
TEST (test_choice_of_a_device_without_a_compiler_takes_its_name)
{
  const DeviceDescription board = without_compiler (other);
  for (const char *choice : {"accelerator", "3:0", "board"})
    assert_chosen ({cpu, discrete, board}, choice, board);
  assert_chosen ({cpu, board}, "auto", cpu);
  assert_chosen ({board, other}, "accelerator", other);
  const std::string message = chosen_of ({board}, "auto");
  fail_unless (message.find ("3:0 Board has no compiler") != std::string::npos, "%s",
      message.c_str ());
}

TEST (test_choice_among_equals_is_the_larger_memory_then_the_first)
{
  assert_chosen ({cpu, integrated, discrete, larger}, "auto", larger);
  assert_chosen ({discrete, larger}, "card", larger);
  DeviceDescription twin = larger;
  twin.index = "2:2";
  fail_unless (chosen_of ({discrete, larger, twin}, "auto") == "2:1");
  fail_unless (chosen_of ({discrete, twin, larger}, "auto") == "2:2");
}

TEST (test_choice_passes_over_what_cannot_be_used)
{
  DeviceDescription away = with_fault (larger, "is not available");
  DeviceDescription mute = without_compiler (discrete);

  assert_chosen ({cpu, integrated, away, mute}, "auto", integrated);
  assert_chosen ({cpu, away, mute}, "auto", cpu);
  assert_chosen ({cpu, discrete, away}, "card", discrete);
  /* The message describes the named device and the feature that it lacks, but no other
   * devices. */
  for (const char *choice : {"2:1", "LARGE", "gpu"}) {
    std::string message = chosen_of ({cpu, away, other}, choice);
    fail_unless (message.find ("2:1 Large Card is not available") != std::string::npos
                     && message.find ("Processor") == std::string::npos,
        "%s", message.c_str ());
  }
  std::string message = chosen_of ({away, mute}, "auto");
  fail_unless (message.find ("2:1 Large Card is not available; 2:0 Card has no compiler")
                   != std::string::npos,
      "%s", message.c_str ());
}

TEST (test_choice_of_none_lists_those_there_are)
{
  std::string message = chosen_of ({cpu, discrete}, "7:0");
  fail_unless (message.find ("0:0 Processor, 2:0 Card") != std::string::npos, "%s",
      message.c_str ());
  /* PoCL has no device where it cannot write. */
  for (const char *part : {"no platform", "POCL_CACHE_DIR"})
    fail_unless (chosen_of ({}, "auto").find (part) != std::string::npos, "%s", part);
  fail_unless (chosen_of ({cpu}, "gpu").find ("0:0 Processor") != std::string::npos);
}

/* A user's word may have any bytes, but messages on a bus must be UTF-8. */
TEST (test_choice_takes_any_bytes_for_a_name)
{
  const DeviceDescription accented{
      "0:0", "Pr\u00c9cis", CL_DEVICE_TYPE_CPU, true, gib, ""};
  assert_chosen ({accented, cpu}, "pr\u00e9CIS", accented);
  for (const char *choice : {"\xff", "\xc3",
           "Pr\xc9"
           "cis",
           "\xf0\x9f\x98", "a\xed\xa0\x80z"}) {
    const std::string message = chosen_of ({accented, cpu}, choice);
    fail_unless (g_utf8_validate (message.c_str (), -1, nullptr)
                     && message.find ("matches device=") != std::string::npos,
        "%s", message.c_str ());
  }
}
