#!/usr/bin/env python3
"""Writes what the reference has beside the library: a page of each element, from what it
says of itself and from the comment that its file begins with, and the guides of docs/.

Usage: pages.py SOURCE-ROOT OUTPUT-FOLDER NAME VERSION…
  Writes pages into OUTPUT-FOLDER/content and OUTPUT-FOLDER/gst-opencl.toml for gi-docgen.
  GST_PLUGIN_PATH says where the elements are.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402

FIELDS = {"octopencl": "OCT", "keyingopencl": "Keying", "computeopencl": "Your own programs",
          "inferenceopencl": "Networks",
          "transferopencl": "Transfer and video", "npyopencl": "NumPy files"}
GUIDES = ("get-started", "oct", "oct-camera", "oct-elements", "oct-names", "keying", "keying-figures",
          "compositors", "programs", "python", "inference", "interop", "scaling", "trouble",
          "performance", "figures", "architecture", "testing")
LIMIT = 600  # seconds for a picture, with the compilation of its kernels
# Pictures of the guides that show what an element does
OF_GUIDES = {"noisereduce": "keying-noise.png", "flowkey": "keying-flow.png",
             "octangio": "oct-angiogram.png", "octdynamic": "oct-aliv.png",
             "octdoppler": "oct-flow.png",
             "octattenuation": "oct-attenuation.png", "octflatten": "oct-flat.png",
             "octsignal": "oct-ascan.png",
             "octbackground": "oct-background.png"}
# Pipelines that show what an element does: each ends in one frame of RGB
SCREEN = ("videotestsrc num-buffers=1 pattern=ball background-color=0xff20a040 ! "
          "video/x-raw,format=RGBA,width=320,height=180 ! openclupload ! ")
SPECTRA = ("octtestsrc num-buffers={} ! video/x-raw(memory:OpenCLMemory),width=2048,height=320 ! "
           "octwindowinterp wavelength-min=1187 wavelength-max=1433 ! ")
PICTURES = {
    "openclconvert": "videotestsrc num-buffers=1 pattern=zone-plate kx2=9 ky2=9 ! "
                     "video/x-raw,format=GRAY8 ! openclupload ! openclconvert colormap=viridis",
    "openclcompositor": "openclcompositor name=mix sink_0::zorder=0 sink_1::zorder=1 "
                        "sink_1::width=320 sink_1::height=240 ! openclconvert "
                        f"{SCREEN} chromakey key-color=0xff20a040 method=chroma ! mix.sink_1 "
                        "videotestsrc num-buffers=1 pattern=smpte ! openclupload ! mix.sink_0",
    "octtestsrc": "octtestsrc num-buffers=1 ! video/x-raw(memory:OpenCLMemory),width=512,height=320 ! "
                  "openclconvert",
    "octwindowinterp": SPECTRA.format(1) + "octfft depth-count=400 ! openclconvert",
    "octfft": SPECTRA.format(1) + "octfft db-min=10 depth-start=8 depth-count=400 ! "
              "openclconvert colormap=inferno",
    "octaverage": SPECTRA.format(8) + "octfft depth-start=8 depth-count=400 ! "
                  "octaverage frames=8 ! openclconvert",
    "octattenuation": SPECTRA.format(1).replace("1433 ! ", "1433 wavelength-unit=nm ! ") + "octfft depth-start=8 depth-count=400 ! octattenuation "
        "noise-depths=64 window-lines=8 window-depths=4 ! octdisplay max=6 ! openclconvert colormap=viridis",
    "octflatten": SPECTRA.format(1) + "octfft depth-start=8 depth-count=400 ! octflatten "
                  "coefficients=\"<0,0,0,60>\" ! octdisplay db-min=40 db-max=110 ! openclconvert",
    "chromakey": SCREEN + "chromakey key-color=0xff20a040 method=difference ! keyfill "
                 "method=composite color=0xffe0a060 ! openclconvert",
    "greenscreenbin": SCREEN + "greenscreenbin background-color=0xffe0a060 ! openclupload ! openclconvert",
    "keyfill": SCREEN + "chromakey key-color=0xff20a040 ! keyfill color=0xff3050c0 ! openclconvert",
    "matterefine": SCREEN + "chromakey key-color=0xff20a040 method=difference ! matteshape feather=8 ! "
                   "matterefine subsample=2 radius=8 ! keyfill method=composite color=0xffe0a060 ! "
                   "openclconvert",
    "matteshape": SCREEN + "chromakey key-color=0xff20a040 method=difference ! matteshape grow=-2 "
                  "feather=3 ! keyfill method=composite color=0xffe0a060 ! openclconvert",
    "openclkernelsrc": "openclkernelsrc num-buffers=1 output-caps=video/x-raw,format=GRAY8,"
                       "width=320,height=180 expression=\"0.5+0.5*sin(0.1f*i0)*sin(0.1f*i1)\" ! "
                       "openclconvert",
    "openclconvolve": "videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8 ! openclupload ! "
                      "openclconvolve kernel=\"<<0,1,0>,<1,-4,1>,<0,1,0>>\" offset=128 ! "
                      "openclconvert",
    "openclreduce": "videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,width=320,height=240 ! "
                    "openclupload ! openclreduce operation=cumulative-sum axes=1 ! openclkernel "
                    "expression=\"x / 255.0 / (i0 + 1)\" output-caps=video/x-raw,format=GRAY8,"
                    "width=320,height=240 ! openclconvert",
}


# --- elements ---

def comment_of(root, name):
    """The text of the SECTION comment that the element's file has."""
    for path in sorted((root / "gst").glob("*/*.cpp")):
        found = re.search(rf"/\*\*\n \* SECTION:element-{name}\n(.*?)\*/", path.read_text(), re.S)
        if found:
            lines = [re.sub(r"^ \* ?", "", line) for line in found.group(1).splitlines()]
            return "\n".join(line for line in lines if not line.startswith("@"))
    raise SystemExit(f"no comment SECTION:element-{name} in {root}/gst")


def as_markdown(text):
    """Converts gtk-doc marks: examples to code blocks, names of the library to code."""
    def block(found):
        lines = [line.strip().rstrip("\\").strip() for line in found.group(1).strip().splitlines()]
        return "```sh\n" + " \\\n    ".join(lines) + "\n```"
    text = re.sub(r"\|\[(?:<!--.*?-->)?\n(.*?)\]\|", block, text, flags=re.S)
    return re.sub(r"[#%](Gst\w+|GST_\w+|TRUE|FALSE|NULL)", r"`\1`", text).strip()


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def caps_of(caps):
    """A line for each structure, without the types of its fields."""
    text = re.sub(r"\((?:string|int|fraction|boolean)\)", "", caps.to_string())
    return text.replace("; ", "\n")


def pads_of(factory):
    yield "## Pads\n"
    for template in factory.get_static_pad_templates():
        yield (f"**{template.name_template}**, {template.direction.value_nick}, "
               f"{template.presence.value_nick}\n")
        yield "```\n" + caps_of(template.get_caps()) + "\n```\n"


def choices_of(element, pspec):
    """An enumeration's values by number: PyGObject 3.50's pspec.enum_class does not have them"""
    return type(element.get_property(pspec.name)).__enum_values__


def is_color(pspec):
    return "0xAARRGGBB" in pspec.blurb and pspec.value_type == GObject.TYPE_UINT


def default_of(element, pspec):
    value = getattr(pspec, "default_value", None)
    if GObject.type_is_a(pspec.value_type, GObject.TYPE_ENUM):
        return choices_of(element, pspec)[value].value_nick
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_color(pspec):
        return f"0x{value:08x}"
    return f"{value:g}" if isinstance(value, float) else "" if value is None else value


TYPES = {"GstValueArray": "array", "gboolean": "boolean", "gchararray": "string",
         "gdouble": "number", "gfloat": "number", "gint": "integer", "guint": "integer",
         "gint64": "integer", "guint64": "integer"}


def range_of(pspec):
    """Limits, where they are narrower than those of the type."""
    low, high = getattr(pspec, "minimum", None), getattr(pspec, "maximum", None)
    if low is None or isinstance(low, bool):
        return ""
    limits = [f"{limit:g}" if isinstance(limit, float) else str(limit) for limit in (low, high)]
    if abs(high) < 2**31 - 1:
        return f", {limits[0]} … {limits[1]}" if abs(low) < 2**31 - 1 else f", at most {limits[1]}"
    return f", at least {limits[0]}" if abs(low) < 2**31 - 1 else ""


def type_of(element, pspec):
    """The values of an enumeration as gst-launch takes them; else the type and its range."""
    if GObject.type_is_a(pspec.value_type, GObject.TYPE_ENUM):
        return " · ".join(value.value_nick for value in choices_of(element, pspec).values())
    if is_color(pspec):
        return "colour, 0xAARRGGBB"
    return TYPES.get(pspec.value_type.name, pspec.value_type.name) + range_of(pspec)


# Flags of Gst.PARAM_MUTABLE_*, above GObject.PARAM_USER_SHIFT
WHEN = {16: "while playing", 8: "while paused", 4: "in READY"}


def when_of(pspec):
    if not pspec.flags & GObject.ParamFlags.WRITABLE:
        return "read only"
    flags = int(pspec.flags) >> GObject.PARAM_USER_SHIFT
    when = next((text for flag, text in WHEN.items() if flags & flag), "before it starts")
    return when + (", by a control" if flags & 2 else "")


def properties_of(owner, title, inherited):
    """A table of the properties of an element or a pad, except for the inherited types."""
    listed = [pspec for pspec in sorted(GObject.list_properties(owner), key=lambda pspec: pspec.name)
              if pspec.owner_type.name not in inherited]
    if not listed:
        return
    yield f"## {title}\n"
    yield "| property | values | default | set | |\n|---|---|---|---|---|"
    for pspec in listed:
        default = cell(default_of(owner, pspec))
        yield (f"| `{pspec.name}` | {type_of(owner, pspec)} | {f'`{default}`' if default != '' else ''} "
               f"| {when_of(pspec)} | {cell(pspec.blurb)} |")
    yield ""


def pad_properties_of(element):
    for template in element.get_pad_template_list():
        if template.presence == Gst.PadPresence.REQUEST:
            pad = element.request_pad(template, None, None)
            if pad:
                yield from properties_of(pad, f"Properties of the pads {template.name_template}",
                                         ("GstObject", "GstPad", "GstProxyPad"))
                element.release_request_pad(pad)


def picture_of(name, content):
    """The file of what the element does; none where it makes nothing to look at."""
    if name not in PICTURES:
        return OF_GUIDES.get(name)
    path = content / f"element-{name}.png"
    first, _, rest = PICTURES[name].partition(" name=mix")
    end = " ! opencldownload ! videoconvert ! pngenc snapshot=true ! filesink location=" + str(path)
    line = (PICTURES[name] + end if not rest else
            PICTURES[name].replace("! openclconvert ", "! openclconvert" + end + " ", 1))
    try:
        done = subprocess.run(shlex.split(f"gst-launch-1.0 -q {line}"), capture_output=True,
                              text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"no picture of {name} within {LIMIT} s: {line}") from None
    if done.returncode or not path.exists() or not path.stat().st_size:
        raise SystemExit(f"no picture of {name}: {line}\n{done.stderr}")
    return path.name


def page_of(factory, root, content):
    name = factory.get_name()
    yield f"Title: {name}\n"
    yield f"# {name}\n"
    yield f"*{factory.get_metadata('long-name')}.* {factory.get_metadata('description')}.\n"
    picture = picture_of(name, content)
    if picture:
        yield f"![{name}]({picture})\n"
    yield as_markdown(comment_of(root, name)) + "\n"
    yield from pads_of(factory)
    element = factory.create(None)
    yield from properties_of(element, "Properties", ("GstObject", "GstElement"))
    yield from pad_properties_of(element)


def factories():
    registry = Gst.Registry.get()
    for plugin in FIELDS:
        found = registry.get_feature_list_by_plugin(plugin)
        if not found:
            raise SystemExit(f"no plugin {plugin}; GST_PLUGIN_PATH says where they are")
        for feature in sorted(found, key=lambda feature: feature.get_name()):
            if isinstance(feature, Gst.ElementFactory):
                yield plugin, feature.load()


def write_elements(root, content):
    index = ["Title: Elements\n", "# Elements\n"]
    before = None
    for plugin, factory in factories():
        name = factory.get_name()
        (content / f"element-{name}.md").write_text("\n".join(page_of(factory, root, content)))
        if plugin != before:
            index += ["", f"## {FIELDS[plugin]}\n", "| element | does |", "|---|---|"]
            before = plugin
        index.append(f"| [{name}](element-{name}.html) | {factory.get_metadata('description')} |")
    (content / "elements.md").write_text("\n".join(index) + "\n")


# --- guides ---

def figures(root):
    """The introduction and a table of each command whose results are in docs/figures."""
    folder = root / "docs" / "figures"
    tables = [sys.executable, root / "tests" / "benchmark" / "table.py", *sorted(folder.glob("*.jsonl"))]
    printed = subprocess.run(tables, check=True, text=True, stdout=subprocess.PIPE).stdout
    return (folder / "README.md").read_text() + printed


def write_guides(root, content):
    """Links between guides lead to their pages; a link to a source becomes its name."""
    for name in GUIDES:
        text = figures(root) if name == "figures" else (root / "docs" / f"{name}.md").read_text()
        text = text.replace("](figures)", "](figures.html)").replace("](../", "](")
        title = re.match(r"# (.*)", text).group(1)
        text = re.sub(r"(?<!!)\[([^\]]*)\]\((?:docs/)?([a-z-]+)\.md(#[\w-]+)?\)",
                      r"[\1](\2.html\3)", text)
        text = re.sub(r"(?<!!)\[([^\]]*)\]\((?!http|#)(?![\w-]+\.html)[^)]*\)", r"`\1`", text)
        (content / f"{name}.md").write_text(f"Title: {title}\n\n{text}")
    for picture in (root / "docs").glob("*.png"):
        shutil.copy(picture, content)


def write_configuration(output, content, name, version):
    def names(pattern):
        return ", ".join(f'"{path.name}"' for path in sorted(content.glob(pattern)))
    pages = ", ".join(f'"{page}.md"' for page in ("front", "elements", *GUIDES))
    (output / "gst-opencl.toml").write_text(f"""[library]
name = "{name}"
version = "{version}"
namespace = "GstOpenCL"
description = "OpenCL memory, contexts and base classes for GStreamer, and the elements on them"
license = "LGPL-2.1-or-later"
authors = "The gst-opencl developers"
dependencies = ["Gst-1.0", "GstBase-1.0", "GstVideo-1.0"]

[dependencies."Gst-1.0"]
name = "GStreamer"
description = "Pipelines"
docs_url = "https://gstreamer.freedesktop.org/documentation/gstreamer/"

[dependencies."GstBase-1.0"]
name = "GStreamer's base classes"
description = "Sources, filters, aggregators"
docs_url = "https://gstreamer.freedesktop.org/documentation/base/"

[dependencies."GstVideo-1.0"]
name = "GStreamer's video library"
description = "Raw video"
docs_url = "https://gstreamer.freedesktop.org/documentation/video/"

[theme]
name = "basic"
show_index_summary = true
show_class_hierarchy = false

[extra]
content_files = [{pages}, {names("element-*.md")}]
content_images = [{names("*.png")}]
""")


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    content = output / "content"
    shutil.rmtree(content, ignore_errors=True)
    content.mkdir(parents=True)
    Gst.init(None)
    write_elements(root, content)
    write_guides(root, content)
    shutil.copy(root / "docs" / "site" / "front.md", content)
    write_configuration(output, content, *sys.argv[3:5])


if __name__ == "__main__":
    main()
