"""Fourier transforms of arrays along any number of axes

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import warnings

import numpy as np

from .arrays import COMPLEX, NUMBERS, REAL, axes_of, call_filter, is_remote, lengths_of, plain

AXES_OF_ELEMENT = 2
NOISE = 16  # rounding errors of a spectrum, in units of its largest bin's precision


def fft(x, axes=None, inverse=False, half_spectrum=False, n=None):
    """Transforms an array along one axis (the last) or several.

    x: real or complex, computed in float64 if it is of that precision, else in float32. Real for
    numpy.fft.rfft.
    axes: a number or several; half_spectrum is that of the last of them.
    half_spectrum: numpy.fft.rfft, and with inverse=True irfft, instead of fft and ifft.
    n: number of samples along each of `axes`, to which x is cropped, or padded with zeros at the
    end, as numpy.fft does. With half_spectrum and inverse=True it is that of the result.

    Without n, a half spectrum of M bins becomes 2 (M - 1) samples, as in NumPy, if its last bin can
    be that of an even number of samples: real, apart from rounding. Otherwise NumPy would drop the
    imaginary part. This function then returns 2 (M - 1) + 1 samples, with a warning that n says so.
    Set n for a spectrum that was changed, whose last bin may have any phase.

    Returns complex numbers, or real ones of irfft, of that precision.

    >>> gstopencl.fft([1.0, 0.0, 0.0, 0.0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    >>> gstopencl.fft([3.0, 0.0], inverse=True, half_spectrum=True, n=3).tolist()
    [1.0, 1.0, 1.0]
    """
    as_real = half_spectrum and not inverse
    x = plain("x", x, REAL if as_real else NUMBERS)
    axes = axes_of(-1 if axes is None else axes, len(x.shape))
    if half_spectrum and not axes:
        raise ValueError("axes: half_spectrum needs an axis")
    is_inverse_half = inverse and half_spectrum
    lengths = counts_of(x, axes, is_inverse_half, n)
    x = in_precision(resized(x, axes, lengths, is_inverse_half), is_inverse_half)
    return half_transform(x, axes, lengths, inverse) if half_spectrum else \
        transform(x, axes, inverse)


def counts_of(x, axes, is_inverse_half, n):
    """Returns the number of samples along each axis."""
    if n is not None:
        counts = lengths_of("n", n)
        if len(counts) != len(axes):
            raise ValueError(f"n: {n!r}, expected a number for each of {len(axes)} axes")
    else:
        counts = tuple(x.shape[axis] for axis in axes)
        if is_inverse_half:
            bins = counts[-1]
            is_odd = bins > 1 and has_odd_count(x, axes)
            counts = (*counts[:-1], 2 * (bins - 1) + is_odd)
            if is_odd:
                warnings.warn(f"fft: the last bin is not real, so that the result has {counts[-1]} "
                              f"samples: set n={counts[-1]}, or n={counts[-1] - 1} as NumPy does",
                              stacklevel=4)
    if any(count < 1 for count in counts):
        raise ValueError(f"{'x' if n is None else 'n'}: a transform of {min(counts)} samples")
    return counts


def has_odd_count(x, axes):
    """Returns whether the last bins of a half spectrum cannot be those of an even number of
    samples, which are real, or symmetric along other axes."""
    x = x.get() if is_remote(x) else x
    last = np.take(x, [-1], axes[-1])
    mirrored = np.roll(np.flip(last, axes[:-1]), 1, axes[:-1]) if axes[:-1] else last
    is_double = x.dtype.str[1:] in ("f8", "c16")
    with np.errstate(invalid="ignore"):
        error = np.abs(last - mirrored.conj()).max()
        precision = NOISE * np.finfo("f8" if is_double else "f4").eps
        return bool(error > 0 and error > precision * np.abs(x).max())


def resized(x, axes, counts, is_inverse_half):
    """Returns an array with these numbers of samples or bins along axes."""
    for axis, count in zip(axes, counts):
        bins = count // 2 + 1 if is_inverse_half and axis == axes[-1] else count
        if bins == x.shape[axis]:
            continue
        x = np.moveaxis(x.get() if is_remote(x) else x, axis, -1)[..., :bins]
        missing = np.zeros((*x.shape[:-1], bins - x.shape[-1]), x.dtype)
        x = np.ascontiguousarray(np.moveaxis(np.concatenate([x, missing], -1), -1, axis))
    return x


def in_precision(x, must_be_complex):
    is_double = x.dtype.str[1:] in ("f8", "c16")
    is_complex = x.dtype.kind == "c" or must_be_complex
    kind = np.dtype(("f4", "f8", "c8", "c16")[2 * is_complex + is_double])
    return x if x.dtype == kind else x.astype(kind)



def transform(x, axes, inverse):
    """Returns the complex transform, two axes at a time."""
    # The element takes real numbers with a last axis of 2 for complex ones.
    if x.dtype.kind != "c" and (not axes or x.shape[-1] == 2):
        x = x.astype(np.result_type(x.dtype, np.complex64))
    for first in range(0, len(axes), AXES_OF_ELEMENT):
        x = of_element(x, axes[first:first + AXES_OF_ELEMENT], inverse, False)
    return x


def half_transform(x, axes, counts, inverse):
    """Returns the transform whose spectrum is half along the last axis. The other axes come after
    it, or before it for an inverse one."""
    first, last = axes[:-1], axes[-1:]
    if inverse:
        return inverse_half(transform(x, first, True), last[0], counts[-1])
    if len(axes) <= AXES_OF_ELEMENT:
        return of_element(x, axes, False, True)
    return transform(of_element(x, last, False, True), first, False)


def inverse_half(x, axis, count):
    """Returns real samples. The element knows even numbers of them; others are those of the whole
    spectrum."""
    if count % 2 == 0:
        return of_element(x, (axis,), True, True)
    bins = np.moveaxis(x.get() if is_remote(x) else x, axis, -1)
    whole = np.concatenate([bins, bins[..., :0:-1].conj()], -1)
    found = of_element(np.ascontiguousarray(np.moveaxis(whole, -1, axis)), (axis,), True, False)
    return np.ascontiguousarray(found.real)


def of_element(x, axes, inverse, half_spectrum):
    found = call_filter("openclfft", "x", x, COMPLEX if x.dtype.kind == "c" else REAL, axes=axes,
                        inverse=inverse, half_spectrum=half_spectrum)
    if inverse and half_spectrum:
        return found
    return found.view(np.result_type(found.dtype, np.complex64))[..., 0]
