"""oct-calibrate: calibration of spectra by mirrors, samples, flat targets, or other programs' maps

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import contextlib
import functools
import os
import pathlib
import sys

import numpy as np

from .calibration import (Refused as NotFound, calibration_of_mirrors, depth_scale_of_mirrors,
                          dispersion_of_sample)
from .calibrationfiles import (load_spectra, map_of_places, map_of_polynomial, map_of_wavelengths,
                               checked_map, read_old_settings, values_of, write_calibration)
from .chain import Chain
from .files import write_whole
from .flatness import Scan, Surfaces, delay_of_surfaces, flatness_of_surfaces, surfaces_of
from .frames import structure_of, view_of
from .notices import collected
from .program import Failed
from .progress import Progress
from .recordings import open_recording
from .view.arguments import Parser, Refused, check_utf8
from .view.octoptions import add_raw, existing, layout_of, of_pattern, whole

PROGRAM = "oct-calibrate"
USAGE = """\
oct-calibrate --mirror FILE [--subtract FILE | --add FILE]… [--mirror FILE …] [OPTION…]
       oct-calibrate --sharpen FILE [--resample-map FILE] [OPTION…]
       oct-calibrate --chirp FILE | --polynomial C0,C1,… | --settings FILE [OPTION…]
       oct-calibrate --flat FILE [OPTION…]

Computes the resample map from spectra of a mirror and, with a second mirror, the dispersion.
--sharpen instead finds the dispersion of a sample. --flat finds the optical path from B-scans or a
volume of a flat target, for octflatten, and from frames scanned in both directions the delay of the
scanner, for octscan. FILE is .npy, Thorlabs .oct, HDF5, TIFF or raw samples."""
EXAMPLES = """Examples:
  oct-calibrate --mirror near.npy --subtract dark.npy --mirror far.npy --subtract dark.npy
  oct-calibrate --sharpen tape.npy --wavelengths lambda.npy --output calibration
  gst-launch-1.0 filesrc location=SPECTRA.npy ! npyparse ! openclupload !
      octwindowinterp settings=settings.txt ! octfft ! …
  … octscan settings=scan.txt reverse=odd ! octwindowinterp … ! octfft !
      octflatten settings=flatten.txt ! …"""
MOST_RESIDUAL = 3  # depths; a peak is found within less than one
MAPS = "--resample-map", "--wavelengths", "--wavelength-range", "--chirp", "--polynomial"
UNITS = {"nm": 1e-3, "um": 1, "m": 1e6}  # in µm
DEPTHS = "octwindowinterp ! octfft ! " \
         "application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE"


# --- arguments ---


class Mirrors(argparse.Action):
    """Collects (file, [(factor, file)]): --subtract and --add apply to the mirror before them."""

    def __call__(self, parser, namespace, value, option=None):
        mirrors = getattr(namespace, self.dest)
        if option == "--mirror":
            mirrors = [*mirrors, (value, [])]
        elif not mirrors:
            raise Refused(f"{option} {value}: expected after a --mirror")
        else:
            mirrors[-1][1].append((1 if option == "--add" else -1, value))
        setattr(namespace, self.dest, mirrors)


def numbers(text):
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = [np.nan]
    if not np.isfinite(values).all():
        raise argparse.ArgumentTypeError("expected numbers, in micrometres")
    return values


def distance(text):
    values = numbers(text)
    if len(values) != 1 or values[0] <= 0:
        raise argparse.ArgumentTypeError("expected a number above 0, in micrometres")
    return [0, *values]


def add_mirrors(parser):
    group = parser.add_argument_group("Mirrors")
    for option, text in (("--mirror", "spectrum of a mirror; A-lines are averaged"),
                         ("--subtract", "spectrum subtracted from the mirror before: that without "
                          "the mirror, which a .oct recording has"),
                         ("--add", "spectrum added to the mirror before")):
        group.add_argument(option, dest="mirrors", metavar="FILE", action=Mirrors, type=existing,
                           default=[], help=text)
    group.add_argument("--same-side", action="store_true",
                       help="both mirrors are on the same side of zero delay (on opposite sides)")
    where = group.add_mutually_exclusive_group()
    where.add_argument("--distance", dest="positions", metavar="MICROMETRES", type=distance,
                       help="distance of the mirrors, which gives the depth step")
    where.add_argument("--positions", metavar="P1,P2,…", type=numbers,
                       help="positions of all mirrors in micrometres. There may then be more than "
                       "two; the first two also calibrate")


def add_sample(parser):
    group = parser.add_argument_group("Sample")
    group.add_argument("--sharpen", metavar="FILE", type=existing,
                       help="A-lines of any sample: finds dispersion-a2 and dispersion-a3")
    group.add_argument("--resample-map", metavar="FILE", type=existing,
                       help="fractional sample of each even wavenumber, .npy or text (that of a "
                       ".oct recording, else samples are even in wavenumber)")
    group.add_argument("--wavelengths", metavar="FILE", type=existing,
                       help="wavelength of each sample, .npy or text")
    group.add_argument("--wavelength-range", metavar="MIN,MAX",
                       type=of_pattern(r"[\d.]+,[\d.]+", "MIN,MAX, such as 1187,1433"),
                       help="wavelengths of the first and the last sample, evenly spaced")
    group.add_argument("--wavelength-unit", choices=UNITS,
                       help="unit of the wavelengths, which gives the depth step")


def add_maps(parser):
    group = parser.add_argument_group("Maps of other programs")
    group.add_argument("--chirp", metavar="FILE", type=existing,
                       help="wavenumber of each sample, in any unit, or its index: .npy, text or "
                       "float32 (Thorlabs Chirp.data)")
    group.add_argument("--polynomial", metavar="C0,C1,…",
                       help="factors of powers of u: 0 at the first wavenumber and 1 at the last "
                       "(OCTproZ)")
    group.add_argument("--samples", metavar="N", type=functools.partial(whole, 16, 65536),
                       help="number of samples of an A-line, for --polynomial")
    group.add_argument("--settings", metavar="FILE", type=existing,
                       help="settings of version 0.3, whose chirp or resample-polynomial is "
                       "converted; with --flat, settings of octwindowinterp for the spectra")


def add_flat(parser):
    group = parser.add_argument_group("Flat target")
    group.add_argument("--flat", metavar="FILE", type=existing,
                       help="frames of A-lines. Real numbers are spectra, complex numbers are "
                       "depths. The strongest peak of an A-line is the surface")
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument("--amplitudes", action="store_true",
                       help="real numbers are amplitudes of depths")
    kinds.add_argument("--decibels", action="store_true",
                       help="real numbers are levels of depths in dB")
    for option, low, high, default, text in (
            ("--order", 2, 6, 4, "degree of the polynomial, 2 to 6"),
            ("--from", 0, 32768, 8, "first depth of the surface"),
            ("--repeats", 1, 4096, 1, "frames of each B-scan"),
            ("--flyback", 0, 1 << 20, 0, "A-lines at the end of a frame outside the sweep")):
        group.add_argument(option, dest=option[2:].replace("from", "first"), metavar="N",
                           type=functools.partial(whole, low, high), default=default,
                           help=f"{text} (%(default)s)")
    group.add_argument("--with-tilt", action="store_true",
                       help="also corrects the slope of the target (taken as the target's tilt, "
                       "which a recording cannot tell from that of the scan)")
    group.add_argument("--bidirectional", action="store_true",
                       help="every second frame was scanned backwards: finds the delay")


def add_files(parser):
    group = parser.add_argument_group("Files")
    add_raw(group)
    group.add_argument("--output", metavar="FOLDER", default=".",
                       help="folder for resample-map.npy, dispersion-phase.npy and "
                       "settings.txt, or flatten.txt and scan.txt (the current folder)")


def parse_arguments(words):
    check_utf8(words)
    parser = Parser(prog=PROGRAM, usage=USAGE, epilog=EXAMPLES)
    for add in add_mirrors, add_sample, add_maps, add_flat, add_files:
        add(parser)
    asked = parser.parse_args(words)
    check_combination(asked)
    return asked


def check_combination(asked):
    """Raises Refused unless there is one task, with the options that belong to it."""
    maps = [option for option in MAPS if value_of(asked, option)]
    tasks = [option for option, is_given in (
        ("--mirror or --sharpen", asked.mirrors or asked.sharpen), ("--flat", asked.flat),
        ("--settings", asked.settings and not asked.flat),
        (" or ".join(MAPS), maps and not asked.sharpen)) if is_given]
    if len(tasks) != 1:
        raise Refused(f"{' and '.join(tasks) or 'nothing'} given, expected --mirror, --sharpen, "
                      "--flat, or one of " + ", ".join(MAPS))
    if len(maps) > 1 or maps and asked.mirrors:
        given = [*(["--mirror"] if asked.mirrors else []), *maps]
        raise Refused(f"{' and '.join(given)}: expected one calibration")
    if asked.polynomial and not asked.samples and not asked.sharpen:
        raise Refused("--polynomial: expected --samples of 16 to 65536")
    if asked.flat and asked.settings and (asked.amplitudes or asked.decibels):
        raise Refused("--settings is for spectra, expected no --amplitudes and no --decibels")
    check_positions(len(asked.mirrors), len(asked.positions or []))


def check_positions(mirrors, positions):
    if mirrors > 2 and not positions:
        raise Refused("expected one or two --mirror, or --positions of all")
    if positions and (positions != mirrors or mirrors < 2):
        raise Refused(f"--positions and --distance: {positions} positions of {mirrors} mirrors, "
                      "expected one of each of two or more")


def value_of(asked, option):
    return getattr(asked, option[2:].replace("-", "_"))


@contextlib.contextmanager
def named(label):
    """Turns what the numerics refuse into a failure that names its option."""
    try:
        yield
    except (NotFound, ValueError) as error:
        raise Failed(f"{label}{error}") from None


# --- mirrors ---


def loaded(path, layout):
    with Progress() as progress:
        return load_spectra(path, progress, **layout)


def spectrum_of(path, changes, layout):
    """Returns the mean spectrum of a mirror, less that of its recording without the mirror."""
    spectra = loaded(path, layout)
    spectrum = spectra.mean
    for factor, other in changes:
        more = loaded(other, layout).mean
        if more.shape != spectrum.shape:
            raise Failed(f"{other} has {more.size} samples, expected {spectrum.size} as in the "
                         "mirror's file")
        spectrum = spectrum + factor * more
    if spectra.background is not None and all(factor > 0 for factor, _ in changes):
        spectrum = spectrum - spectra.background
    return spectrum


def depth_step(asked, spectra, found):
    """Returns the depth step in air, and prints what the positions differ from it. Positions that
    are not on a line are refused."""
    scale = depth_scale_of_mirrors(spectra, asked.positions, found, not asked.same_side)
    line = f"depth step in air: {scale.step:.6g} um"
    if len(spectra) > 2:
        line += "; residuals:" + "".join(f" {value:.3g}" for value in scale.residuals) + " um"
    if abs(scale.residuals).max() > MOST_RESIDUAL * scale.step:
        raise Failed(f"--positions and the depths of the mirrors disagree: {line}, expected at "
                     f"most {MOST_RESIDUAL} depth steps: see also --same-side")
    print(f"# {line}")
    return scale.step


def calibrate_by_mirrors(asked):
    """Returns arrays and settings."""
    spectra = [spectrum_of(*mirror, layout_of(asked)) for mirror in asked.mirrors]
    if len({spectrum.size for spectrum in spectra}) > 1:
        raise Failed("expected the same number of samples of all mirrors")
    with named(""):
        found = calibration_of_mirrors(*spectra[:2], opposite=not asked.same_side)
        settings = {"depth-step": depth_step(asked, spectra, found)} if asked.positions else {}
    arrays = {"resample-map": found.map}
    if len(spectra) > 1 and not asked.sharpen:
        arrays["dispersion-phase"] = found.dispersion
    print(f"# width of the first mirror's peak: {found.width_before:.2f} depths, calibrated "
          f"{found.width_after:.2f}")
    error = f", {found.dispersion_error:.2g} rad of the dispersion" if len(spectra) > 1 else ""
    print(f"# standard error from noise: {found.map_error:.2g} samples of the map{error}")
    return arrays, settings


# --- maps ---


def wavelengths_of(asked, samples):
    """Returns the name and the values of the wavelengths, or None."""
    if asked.wavelengths:
        return asked.wavelengths, values_of(asked.wavelengths)
    low, high = map(float, asked.wavelength_range.split(","))
    if not samples:
        raise Failed("--wavelength-range: expected --samples of 16 to 65536")
    return "--wavelength-range", np.linspace(low, high, samples)


def map_of_options(asked, samples):
    """Returns the map that the options give, or None, and settings of its depths."""
    if asked.resample_map:
        return checked_map(asked.resample_map, values_of(asked.resample_map)), {}
    if asked.chirp:
        return map_of_places(asked.chirp, values_of(asked.chirp)), {}
    if asked.polynomial:
        return map_of_polynomial("--polynomial", asked.polynomial, samples), {}
    if not (asked.wavelengths or asked.wavelength_range):
        return None, {}
    name, wavelengths = wavelengths_of(asked, samples)
    found = map_of_wavelengths(name, wavelengths)
    if not asked.wavelength_unit:
        return found, {}
    ends = wavelengths[[0, -1]] * UNITS[asked.wavelength_unit]
    size = len(wavelengths)
    return found, {"depth-step": (size - 1) / (2 * size * abs(np.diff(1 / ends)[0]))}


def import_map(asked):
    with named(""):
        found, settings = map_of_options(asked, asked.samples)
    if asked.samples and asked.samples != found.size:
        raise Failed(f"{found.size} values, expected {asked.samples}, as --samples says")
    return {"resample-map": found}, settings


# --- sample ---


def sharpen(asked, arrays, settings):
    """Adds the dispersion of a sample, and the map with which it was found."""
    spectra = loaded(asked.sharpen, layout_of(asked))
    samples = spectra.lines.shape[-1]
    with named("--sharpen: "):
        places = arrays.get("resample-map")
        if places is None:
            places, of_depths = map_of_options(asked, samples)
            settings |= of_depths
        places = spectra.map if places is None else places
        if places is not None:
            arrays["resample-map"] = places
            if len(places) != samples:
                raise ValueError(f"{samples} samples per A-line, but the map has {len(places)}")
        with Progress() as progress:
            found = dispersion_of_sample(spectra.lines, places, progress)
    print(f"# at the ends of the spectrum: a2 {found.square:.2f} rad within "
          f"{found.square_error:.2f}, a3 {found.cube:.2f} rad within {found.cube_error:.2f}")
    if found.a2 == 0 and found.a3 == 0:
        print("# no dispersion that this sample tells from none")
    else:
        print(f"# sharpness {found.sharpness:.4g}, before {found.sharpness_before:.4g}")
    return {**settings, "dispersion-a2": found.a2, "dispersion-a3": found.a3}


# --- flat target ---


def decibels(power):
    return 10 * np.log10(np.maximum(power, 1e-12))


def levels_of(asked, recording):
    """Yields the levels of frames in dB, and the depth step, 0 if it is unknown."""
    if asked.amplitudes or asked.decibels:
        for frame in recording.frames():
            yield frame if asked.decibels else decibels(np.square(frame, dtype=float)), 0
        return
    if not recording.parser and recording.dtype.kind == "c":
        yield from ((decibels(abs(frame.astype(complex))**2), 0) for frame in recording.frames())
        return
    settings = asked.settings and os.path.abspath(asked.settings)
    chain = Chain(DEPTHS, settings=settings, parser=recording.parser)
    with contextlib.closing(chain.samples(recording)) as samples:
        for sample in samples:
            step = structure_of(sample.get_caps(), 0).get_value("depth-step") or 0
            yield decibels(abs(view_of(sample).astype(complex))**2), step


def surfaces_of_file(asked):
    recording = open_recording(asked.flat, **layout_of(asked))
    is_depths = asked.amplitudes or asked.decibels
    if is_depths and not recording.parser and recording.dtype.kind == "c":
        raise Failed(f"{asked.flat}: complex depths, expected real numbers for --amplitudes and "
                     "--decibels")
    found, step = [], 0
    with Progress() as progress:
        for levels, step in levels_of(asked, recording):
            found.append(surfaces_of(levels[np.newaxis], asked.first))
            progress(len(found) / recording.count if recording.count else 0)
    return Surfaces(*map(np.concatenate, zip(*found))), step


def write_flat(asked, name, line):
    os.makedirs(asked.output, exist_ok=True)
    print(line, end="")
    write_whole(pathlib.Path(asked.output) / name, line)


def flatten(asked):
    with named("--flat: "):
        surfaces, step = surfaces_of_file(asked)
        scan = Scan(asked.bidirectional, asked.flyback, asked.repeats)
        if asked.bidirectional:
            delay, error = delay_of_surfaces(surfaces, scan)
            scan = scan._replace(delay=delay)
            print(f"# delay of the scanner: {delay:.2f} A-lines, standard error {error:.3f}")
        found = flatness_of_surfaces(surfaces, scan, asked.order, asked.with_tilt)
    if asked.bidirectional:
        write_flat(asked, "scan.txt", f"delay={scan.delay:.6g}\n")
    in_um = f" ({found.residual * step:.3f} um)" if step else ""
    print(f"# surface in {100 * found.share:.1f} % of the A-lines, {found.residual:.3f} depths rms "
          f"from the polynomial{in_um}\n"
          f"# optical path from {found.least:.2f} to {found.most:.2f} depths")
    write_flat(asked, "flatten.txt", "coefficients=<"
               + ",".join(f"{value:.6g}" for value in found.coefficients) + ">\n")


def calibrate(asked):
    arrays, settings = {}, {}
    if asked.mirrors:
        arrays, settings = calibrate_by_mirrors(asked)
    elif asked.settings:
        with named(""):
            arrays, settings = read_old_settings(asked.settings, asked.samples)
    elif not asked.sharpen:
        arrays, settings = import_map(asked)
    if asked.sharpen:
        settings = sharpen(asked, arrays, settings)
    print(write_calibration(asked.output, arrays, settings), end="")


def main(words):
    asked = parse_arguments(words)
    with collected() as warnings:
        try:
            (flatten if asked.flat else calibrate)(asked)
        finally:
            for warning in sorted(warnings):
                print(f"{PROGRAM}: {warning}", file=sys.stderr)
