"""Properties of elements that may change while they play: names, units, ranges, values as text

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import re

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402

PLUGINS = ("transferopencl", "octopencl", "keyingopencl", "computeopencl", "npyopencl",
           "inferenceopencl")
WHOLE = (GObject.TYPE_INT, GObject.TYPE_UINT, GObject.TYPE_INT64, GObject.TYPE_UINT64)
REAL = GObject.TYPE_DOUBLE, GObject.TYPE_FLOAT
# Limits beyond which a range says nothing to the user
LARGEST_LIMIT = 1e6

# Units as blurbs name them, after "in"
UNITS = {
    "dB per mm": "dB/mm", "dB": "dB", "micrometres": "µm", "nanoseconds": "ns", "degrees": "°",
    "pixels": "px", "Hz": "Hz", "nm": "nm", "mm/s": "mm/s", "1/mm": "1/mm", "rad": "rad",
    "depth bins": "depth bins", "depths": "depth bins", "A-lines": "A-lines", "raw units": "raw",
}
UNIT = re.compile("in (" + "|".join(UNITS) + r")(?![\w/-])")

# Ordinary properties of elements whose first ones are not those that are set most often. The
# others of an element are behind "More". Elements without a row here show their first ones, which
# GObject lists in the order in which the element defines them.
ORDINARY = {
    "octfft": "db-min db-max db-auto depth-start depth-count flip",
    "octdisplay": "db-min db-max db-auto flip true-scale",
    "octwindowinterp": "wavelength-min wavelength-max window dispersion-a2 dispersion-a3 "
                       "background settings",
    "octaverage": "frames lines rolling mean",
    "octvolume": "projection slab-start slab-depths surface db-min db-max",
    "octrender": "mode azimuth elevation turn zoom min max opacity",
    "octtestsrc": "pattern level noise velocity motion",
    "octsignal": "line roll-off min-snr full-scale",
    "octscan": "b-scans flyback delay reverse repeats",
    "octdoppler": "between quantity threshold angle line-rate",
    "octangio": "method repeats axial-shift threshold-snr bands",
    "octdynamic": "quantity repeats frame-rate db-min db-max min max",
    "chromakey": "method key-color auto-key tolerance similarity smoothness spill shadow",
    "greenscreenbin": "background-location background-color light-wrap key-color auto-key "
                      "similarity smoothness core mixing spill spill-method "
                      "spill-balance shadow key-colors garbage-polygon",
    "openclkernel": "location expression arguments",
    "openclkernelmixer": "location expression arguments",
    "openclkernelsrc": "location expression arguments",
    "openclconvolve": "kernel scale offset border",
}
FIRST = 6  # number of ordinary properties without a row above
# Properties of every element of this project that only matter for its speed
RARE = {"async-depth"}


def elements_of(pipeline):
    """Returns the elements from the source to the sinks, in the order of the launch line. That of
    the bin is another one."""
    found = []
    pipeline.iterate_sorted().foreach(found.append)
    return found[::-1]


def may_change_while_playing(spec):
    wanted = GObject.ParamFlags.WRITABLE | GObject.ParamFlags.READABLE
    return bool(spec.flags & Gst.PARAM_MUTABLE_PLAYING) and spec.flags & wanted == wanted


def properties_of(element):
    """Returns its properties that may change while it plays; none for elements of others."""
    factory = element.get_factory()
    if not factory or factory.get_plugin_name() not in PLUGINS:
        return []
    return [spec for spec in element.list_properties() if may_change_while_playing(spec)]


def ordinary_names(element, specs):
    """Returns the names of properties that are not behind "More": those of the table, and those
    that the pipeline sets."""
    usual = [spec.name for spec in specs
             if spec.name not in RARE and not spec.blurb.startswith("Deprecated")]
    wanted = ORDINARY.get(element.get_factory().get_name(), " ".join(usual[:FIRST])).split()
    defaults = defaults_of(element, specs)
    return set(wanted) | {spec.name for spec in specs
                          if read_text(element, spec) != defaults[spec.name]}


def defaults_of(element, specs):
    """Returns the values of a new element as text, by name. The defaults of property
    specifications do not include those that are set when an element is made."""
    new = element.get_factory().create(None)
    return {spec.name: read_text(new, spec) for spec in specs}


def is_a(spec, kinds):
    return any(GObject.type_is_a(spec.value_type, kind) for kind in kinds)


def enum_values(element, spec):
    """Returns the values of an enumeration, and none of another type."""
    # spec.enum_class of PyGObject 3.50 does not have the values.
    return list(type(element.get_property(spec.name)).__enum_values__.values()) \
        if is_a(spec, [GObject.TYPE_ENUM]) else []


def is_whole(spec):
    return is_a(spec, WHOLE)


def is_number(spec):
    return is_a(spec, WHOLE + REAL)


def is_colour(spec):
    """Returns whether a property is a colour. Colours have no type of their own, but a blurb with
    their format."""
    return spec.value_type == GObject.TYPE_UINT and "0xAARRGGBB" in spec.blurb


def words_of(spec):
    """Returns the name for people."""
    if spec.nick and spec.nick != spec.name:
        return spec.nick
    return spec.name.replace("-", " ").capitalize()


def unit_of(spec):
    """Returns the unit that the blurb names in its first clause, or at the start of a later one;
    empty if there is none."""
    if not is_number(spec) or is_colour(spec):
        return ""
    first, *later = re.split(r"[,;:] | \(", spec.blurb)
    found = UNIT.search(first) or next(filter(None, map(UNIT.match, later)), None)
    return UNITS[found[1]] if found else ""


def range_of(spec):
    """Returns the range of a number in words; empty if it has no limits that matter."""
    if not is_number(spec) or is_colour(spec):
        return ""
    low, high = (f"{limit:g}" if abs(limit) < LARGEST_LIMIT else ""
                 for limit in (spec.minimum, spec.maximum))
    if low and high:
        return f"{low} to {high}"
    return f"from {low}" if low else f"up to {high}" if high else ""


# Values as text, in the syntax of gst-launch-1.0

def written(number):
    """Returns a number as text, with as many digits as it takes."""
    return repr(number).removesuffix(".0")


def read_array(element, spec):
    """Returns an array of numbers as text. PyGObject cannot read GstValueArray."""
    _, array = Gst.util_get_object_array(element, spec.name)
    numbers = (array.get_nth(n) for n in range(array.n_values))
    return "<" + ", ".join(map(written, numbers)) + ">"


def read_fraction(element, spec):
    """Returns a fraction as text. PyGObject cannot read GstFraction, and GObject converts it."""
    class Text(GObject.Object):
        text = GObject.Property(type=str)

    holder = Text()
    element.bind_property(spec.name, holder, "text", GObject.BindingFlags.SYNC_CREATE).unbind()
    return holder.text


def read_flags(element, spec):
    value = element.get_property(spec.name)
    return "+".join(value.value_nicks) or "0"


def read_text(element, spec):
    """Returns the value of a property as text, or None for a string, structure or caps that is
    not set."""
    if spec.value_type.name == "GstValueArray":
        return read_array(element, spec)
    if spec.value_type.name == "GstFraction":
        return read_fraction(element, spec)
    if is_a(spec, [GObject.TYPE_FLAGS]):
        return read_flags(element, spec)
    value = element.get_property(spec.name)
    if is_a(spec, [GObject.TYPE_ENUM]):
        return value.value_nick
    if is_a(spec, [GObject.TYPE_BOOLEAN]):
        return str(value).lower()
    if is_colour(spec):
        return f"0x{value:08x}"
    if is_number(spec):
        return written(value)
    return value if value is None or isinstance(value, str) else value.to_string()


def read_number(spec, text):
    """Returns the number that a text gives a property. Raises ValueError with the reason."""
    try:
        value = int(text, 0) if is_whole(spec) else float(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"“{text}”: expected a number") from None
        if not value.is_integer():
            raise ValueError(f"“{text}”: expected a whole number") from None
        value = int(value)  # 1e6
    if math.isnan(value) or not spec.minimum <= value <= spec.maximum:
        expected = "0 to 0xffffffff" if is_colour(spec) else f"{spec.minimum:g} to {spec.maximum:g}"
        raise ValueError(f"“{text}”: expected {expected}")
    return value


def write_text(element, spec, text):
    """Sets a property from text, if that changes it. None and an empty text unset a string, a
    structure or caps. Raises ValueError with the reason if the text is not a value, or the element
    keeps another one."""
    if (text or None) == (read_text(element, spec) or None):
        return
    if is_number(spec):
        write_value(element, spec, read_number(spec, text))
    elif text is None or is_a(spec, [GObject.TYPE_STRING]):
        write_value(element, spec, text or None)
    else:
        write_parsed(element, spec, text)


def write_value(element, spec, value):
    """Sets a property if that changes it. Raises ValueError if the element keeps another value."""
    before = element.get_property(spec.name)
    if before == value:
        return
    element.set_property(spec.name, value)
    now = element.get_property(spec.name)
    # A boolean may be a command, which is FALSE again once it is done.
    if now == before and not is_a(spec, [GObject.TYPE_BOOLEAN]):
        raise ValueError(f"“{value}” is not accepted")


def write_parsed(element, spec, text):
    """Sets a property from text by GStreamer's parser, which says nothing about text that it
    cannot parse: such text leaves the value, or sets an empty array."""
    if not text.strip("<> "):
        is_array = spec.value_type.name == "GstValueArray"
        Gst.util_set_object_arg(element, spec.name, "<>") if is_array \
            else element.set_property(spec.name, None)
        return
    before = read_text(element, spec)
    Gst.util_set_object_arg(element, spec.name, text)
    now = read_text(element, spec)
    if now == "<>":
        Gst.util_set_object_arg(element, spec.name, before)
    if now == "<>" or now == before and not same(before, text):
        nicks = [value.value_nick for value in enum_values(element, spec)]
        raise ValueError(f"“{text}”: expected {', '.join(nicks) or 'a value of this property'}")


def same(text, other):
    """Returns whether two texts give the same value but for spaces and the notation of numbers."""
    def parts(words):
        for word in re.findall(r"[^\s<>,;]+", words or ""):
            try:
                yield float(word)
            except ValueError:
                yield word
    return list(parts(text)) == list(parts(other))
