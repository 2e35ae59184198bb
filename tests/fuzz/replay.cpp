/* Fuzzing: a target's corpus once more, without libFuzzer
 *
 * replay FOLDER: every file of it is an input; a crash is what can go wrong.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

int
main (int argc, char **argv)
{
  GDir *folder = argc == 2 ? g_dir_open (argv[1], 0, nullptr) : nullptr;
  guint inputs = 0;

  if (!folder) {
    fprintf (stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  while (const gchar *name = g_dir_read_name (folder)) {
    gchar *path = g_build_filename (argv[1], name, nullptr);
    gchar *bytes;
    gsize size;
    if (g_file_get_contents (path, &bytes, &size, nullptr)) {
      /* Allocated with its exact size, so that a memory checker sees accesses beyond
       * it. */
      guint8 *input = static_cast<guint8 *> (g_memdup2 (bytes, size));
      fprintf (stderr, "%s\n", name);
      LLVMFuzzerTestOneInput (input, size);
      g_free (input);
      g_free (bytes);
      inputs++;
    }
    g_free (path);
  }
  g_dir_close (folder);
  printf ("%u inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
