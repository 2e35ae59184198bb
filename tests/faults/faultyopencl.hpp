/* OpenCL with injected failures and a count of unreleased objects
 *
 * Its calls stand in front of the loader's. A program that links it decides before the
 * first call which one fails; without that it only counts.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <map>
#include <string>
#include <vector>

namespace faults {
/* One failure, or one that stays. */
struct Fault {
  std::string
      call;        /* as in cl.h, or "event": the command itself fails, once it has run */
  unsigned at = 0; /* the first call that fails, counted from 1; 0: none does */
  bool for_good = false; /* and all after it */
  int code = 0;          /* what it returns */
};

/* "clFlush:3:-5", or "clFlush:3+:-5" for the third and all after it. */
bool parse (const char *text, Fault &fault);

void set (const Fault &fault);

/* How often each was called, and how many of them failed because they had to. */
std::map<std::string, unsigned> calls ();
unsigned injected ();

/* From now on it is noted from where each call is made: by which functions, and the how many-th
 * time since the thread began with this frame, or with the next element that works on it,
 * which next_step () says. */
void note_sites ();
void next_step ();

/* For each call and each place in the code: numbers of the calls from there, counted
 * from 1 */
std::map<std::string, std::vector<std::vector<unsigned>>> sites ();

/* Objects that were created or retained and not released, by kind; only those that are
 * not 0. */
std::map<std::string, int> balance ();
} // namespace faults
