/* Keeps Wine's signal handlers: LD_PRELOAD for a program that runs in Wine with PoCL
 *
 * LLVM, which PoCL compiles with, replaces handlers of the process by its own, each for one
 * signal (SA_RESETHAND). Wine ends the threads of a process by SIGQUIT: after LLVM's handler a
 * thread goes on, and the process hangs, or the next SIGQUIT kills it, after its complete
 * output. On Windows LLVM does not use signals of Unix.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

typedef int Sigaction (int, const struct sigaction *, struct sigaction *);

int
sigaction (int number, const struct sigaction *action, struct sigaction *before)
{
  static Sigaction *next;

  if (!next)
    next = (Sigaction *)dlsym (RTLD_NEXT, "sigaction");
  if (action && action->sa_flags & (int)SA_RESETHAND)
    action = NULL;
  return next (number, action, before);
}
