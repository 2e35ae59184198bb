"""Structures of caps, events and messages, for each version of gst-python

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import numpy as np


def structure_of(owner, *index):
    """Returns a copy of the structure of caps, at this index, or of an event. gst-python 1.26 gives
    the structure itself in a `with` statement only."""
    found = owner.get_structure(*index)
    return (found.__enter__() if hasattr(found, "__enter__") else found).copy()


def array_of(structure, name):
    """Returns the numbers of a field as an array, which is empty without that field. PyGObject
    reads a GstValueArray only where gst-python is installed."""
    values = structure.get_array(name)[1] if structure.has_field(name) else None
    return np.array([values.get_nth(n) for n in range(values.n_values)] if values else [], float)
