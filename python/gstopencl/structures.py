"""Structures of caps and events, for each version of gst-python

SPDX-License-Identifier: LGPL-2.1-or-later
"""


def structure_of(owner, *index):
    """Returns a copy of the structure of caps, at this index, or of an event. gst-python 1.26 gives
    the structure itself in a `with` statement only."""
    found = owner.get_structure(*index)
    return (found.__enter__() if hasattr(found, "__enter__") else found).copy()
