"""Comparisons of arrays, and refusals, for tests of gstopencl's functions

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import numpy as np


def close(found, wanted, tolerance=1e-6):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert np.allclose(found, wanted, tolerance, tolerance), (found, wanted)


def refused(kind, words, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(f"{words}: no {kind.__name__}")
