"""Window of any pipeline

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re

from .arguments import Refused
from .gtk import Gst, need_display
from .window import View, show

OPTIONS = "--quit-at-end", "--loop"
SHOW = " ! opencldownload ! videoconvert ! gtksink name=opencl_view_sink"


def view_of(line, quit_at_end=False):
    """Returns the view of a pipeline with one video output. `line`: text, or words of a shell,
    which may contain spaces"""
    pipeline = (Gst.parse_launch(line + SHOW) if isinstance(line, str)
                else Gst.parse_launchv([*line, *SHOW.split()]))
    return View(pipeline, [pipeline.get_by_name("opencl_view_sink")], quit_at_end)


def main(words):
    """Shows the pipeline that the words describe, after their options."""
    options = set()
    while words and words[0] in OPTIONS:
        options.add(words.pop(0))
    if not words:
        raise Refused("expected a pipeline (see --help)")
    if words[0].startswith("-"):
        raise Refused(f"no such option (see --help): {words[0]}")
    for word in words[1:]:
        if re.search(r"[\x00-\x1f]", word):  # would end a word of the pipeline, and begin an element
            raise Refused(f"{word!r}: a control character in a word of a pipeline")
    need_display()
    view = view_of(words[0] if len(words) == 1 else words, "--quit-at-end" in options)
    view.transport.loop.set_active("--loop" in options)
    show(view)
