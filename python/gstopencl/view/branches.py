"""Outputs that are added to a playing pipeline, such as recordings, and windows that have them

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from ..launch import build
from .gtk import Gst
from .window import View


class Branch:
    """Elements behind tees of a pipeline, in a bin. `words`: theirs, for launch.build ()"""

    def __init__(self, pipeline, words):
        self.pipeline = pipeline
        self.bin = build(words, lambda line: Gst.parse_bin_from_description(line, False))
        self.pads = []  # (name of the bin's pad, tee, pad of the tee)

    def add_pad(self, name, element, tee):
        """Adds the sink pad of an element to the bin, for link ()."""
        self.bin.add_pad(Gst.GhostPad.new(name, element.get_static_pad("sink")))
        self.pads.append((name, tee, tee.request_pad_simple("src_%u")))

    def link(self):
        for name, _, pad in self.pads:
            pad.link(self.bin.get_static_pad(name))

    def leave(self):
        """Takes no more frames. Those in its queues are still processed. Returns whether it has
        taken frames until now. May be called in any thread."""
        pads, self.pads = self.pads, []
        for name, tee, pad in pads:
            pad.unlink(self.bin.get_static_pad(name))
            tee.release_request_pad(pad)
        return bool(pads)

    def remove(self):
        """Stops and removes the elements."""
        self.leave()
        self.bin.set_locked_state(True)
        self.bin.set_state(Gst.State.NULL)
        if self.bin.get_parent():
            self.pipeline.remove(self.bin)

    def owns(self, element):
        return element == self.bin or element.has_as_ancestor(self.bin)


class BranchingView(View):
    """Window of a pipeline with branches. Subclasses implement branches ()."""

    def __init__(self, pipeline, sinks, quit_at_end=False):
        super().__init__(pipeline, sinks, quit_at_end)
        # The EOS message of a branch does not reach the application otherwise.
        pipeline.set_property("message-forward", True)
        bus = pipeline.get_bus()
        bus.enable_sync_message_emission()
        bus.connect("sync-message::error", lambda _, message: self.isolate(message))

    def branches(self):
        """Returns the branches that the pipeline has now."""
        raise NotImplementedError

    def branch_of(self, message):
        """Returns the branch that posted a message, or None."""
        return next((branch for branch in self.branches()
                     if message.src and branch.owns(message.src)), None)

    def isolate(self, message):
        """Unlinks a branch that fails, in the thread of the failure, so that the tee goes on."""
        branch = self.branch_of(message)
        if branch:
            branch.leave()

    def has_ended(self, branch, structure):
        """Returns whether the structure of an element message tells the end of a branch."""
        if not branch or structure.get_name() != "GstBinForwarded":
            return False
        inner = structure.get_value("message")
        return inner.type == Gst.MessageType.EOS and inner.src == branch.bin
