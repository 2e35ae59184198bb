"""Names of files that would be read as something else where a name is taken for text

SPDX-License-Identifier: LGPL-2.1-or-later
"""

# Each ends a string or begins an element in a launch line, or is an option or a pattern of a shell.
HOSTILE = ('x" ! filesink location=pwned filesrc location=ok.npy', "back\\", "-dash", " spaces ",
           "new\nline", "! filesink location=pwned", "$(touch pwned)`touch pwned`*", "NULL", "it's",
           '\\" ! fakesink', "--size", "http:x", "%d{}(memory:x)", '"quoted"',
           "ok.npy\t!\ttee\tname=t\t!\tfilesink\tlocation=pwned\tt.")
