#!/usr/bin/env python3
"""Promise: headers document the parameters, the result and the version of every public function.
OpenCL types have (type gpointer), for language bindings that do not know OpenCL.

docs/architecture.md documents every environment variable that gst/ reads.

Every file, function, type, property and variable that a document names in `…` exists. A name counts
as one if it has a suffix or a slash, an underscore, a hyphen, `()` or `=` behind it, or begins with
Gst. NEWS.md is not read: it names what there was.

Usage: documented.py SOURCE-FOLDER HEADER...

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import fnmatch
import pathlib
import re
import sys

FUNCTION = re.compile(
    r"(?:/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*)?"
    r"GST_OPENCL_API\s+(?P<type>[\w\s*]+?)(?P<name>gst_\w+)\s*\((?P<parameters>[^)]*)\)"
    r"(?:\s*G_GNUC_WARN_UNUSED_RESULT)?;", re.S)
HANDLE = re.compile(r"\bcl_(?!int\b|uint\b|ulong\b|bool\b)\w+")
SOURCE = re.compile(r"\.(c|h|cpp|hpp|cl|clh|py|sh|in|map|txt|build|xml)$|(^|/)[^.]+$")
FILE = re.compile(r"<?([\w./*{},-]+\.(?:[ch]|[ch]pp|clh?|py|sh|map|build|md|toml|xml|in|wrap|\*)"
                  r"|[\w.-]+/[\w./-]*)>?")
NAME = re.compile(r"[A-Za-z]\w*_\w+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+|\bGst\w+|\b\w+(?= \()")
# The files of a clone, and of a release
FOLDERS = "data", "debian", "docs", "gst", "kernels", "pipelines", "python", "tests", "tools"
TREE = "*", ".c*", ".ci/*", *(f"{folder}/**/*" for folder in FOLDERS)
# Names in documents that are not from here: caps, cases of benchmarks, files that a reader or a
# program makes; programs, options and drivers; the settings of another program for OCT
FOREIGN = {
    "application/x-oct", "build-release/VERSION",
    "gst-opencl/programs", "gst-opencl/verdicts", "oct/scatterer",
    "oct/tape", "other/tensors", "posterize.cl", "subprojects/gst-opencl",
    "video/x-raw",
    "ARV_DEBUG", "POCL_KERNEL_CACHE", "packet-size", "cl_khr_", "cl_khr_gl_sharing", "dashboard-address",
    "dynamic_axes", "ges-launch-1", "io-mode", "memory-limit", "not-negotiated",
    "n_failures", "n_missing_packets", "n_underruns", "rmem_max",
    "average_window", "bidirectional_segments", "enable_log10", "enable_square",
    "records_per_block", "repeat_count", "repeat_period", "resampling_samples",
    "segments_per_volume", "spectral_filter"}  # fmt: skip


def section(doc, start):
    """The text of one parameter or of the returned value."""
    found = re.search(rf"^ \* {re.escape(start)}(.*?)(?=^ \* @|^ \* Returns:|^ \*$|\Z)", doc,
                      re.S | re.M)
    return found and found.group(1)


def faults_of_function(function):
    doc = function["doc"] or ""
    name = function["name"]
    if f" * {name}:" not in doc:
        yield "no doc comment of its own"
        return
    if not re.search(r"^ \* Since: \d+\.\d+$", doc, re.M):
        yield "no Since:"
    for parameter in function["parameters"].split(","):
        parameter = parameter.strip()
        if parameter == "void":
            continue
        said = section(doc, "@" + re.search(r"\w+$", parameter).group() + ":")
        if said is None:
            yield f"nothing about '{parameter}'"
        elif HANDLE.search(parameter) and "(type gpointer)" not in said:
            yield f"no (type gpointer) of '{parameter}'"
    if function["type"].strip() == "void":
        return
    returned = section(doc, "Returns:")
    if returned is None:
        yield "nothing about what it returns"
    elif HANDLE.search(function["type"]) and "(type gpointer)" not in returned:
        yield "no (type gpointer) of what it returns"
    elif "*" in function["type"] and "(transfer" not in returned:
        yield "not whose the returned value is"


def faults_of_headers(headers):
    checked = 0
    for path in headers:
        for function in FUNCTION.finditer(pathlib.Path(path).read_text()):
            checked += 1
            for fault in faults_of_function(function.groupdict()):
                yield f"{path}: {function['name']}: {fault}"
    assert checked > 40, f"only {checked} functions found"


def faults_of_variables(root):
    read = {name for path in root.glob("gst/**/*.cpp")
            for name in re.findall(r'"(GST_OPENCL_[A-Z_]+)"', path.read_text())}
    described = set(re.findall(r"^\| `(GST_OPENCL_[A-Z_]+)",
                               (root / "docs/architecture.md").read_text(), re.M))
    assert len(read) > 5, "no environment variables found"
    for name in sorted(read ^ described):
        yield f"docs/architecture.md and gst/ disagree about {name}"


class Tree:
    """Names of files and folders, and words of the sources"""

    def __init__(self, root, files):
        self.files = [f"/{path}" for path in files]
        self.files += {f"/{folder}" for path in files for folder in pathlib.Path(path).parents}
        text = "\n".join((root / path).read_text(errors="replace") for path in files
                         if SOURCE.search(path) and not path.startswith(("tests/fuzz/corpus",
                                                                         "tests/check/libs/doc")))
        self.words = {word.strip("-") for word in re.findall(r"[\w-]+|\w+(?=-)", text)}
        self.words.update(re.findall(r"\w+", text))
        self.quoted = set(re.findall(r'"([a-z][a-z0-9-]*)"', text))

    def has_file(self, name):
        """NAME, FIELD, … stand for any. build/ has programs of the sources of their names. Commands
        run in out/."""
        name = name.removeprefix("../").removeprefix("build/").rstrip("/")
        patterns = name, re.sub(r"\b[A-Z]+\b", "*", name), f"{name}.*"
        return any(fnmatch.fnmatch(path, f"*/{pattern}") for path in self.files
                   for pattern in patterns)

    def has_name(self, name):
        """meson.build puts names of tests together: elements_NAME, pipelines_NAME_PART."""
        start, _, end = name.rpartition("_")
        _, _, rest = name.partition("_")
        is_test = name.startswith(("libs_", "elements_", "pipelines_"))
        return name in self.words or is_test and (
            rest in self.words or f"{start}_" in self.words and end in self.words)


def missing_of(tree, span):
    """Names in a span of code that are neither files nor words of the tree."""
    for word in span.split():
        found = FILE.fullmatch(word)
        if found and not tree.has_file(found[1]):
            yield found[1]
    for name in NAME.findall(re.sub(r"\S*/\S*", "", span)):
        if not tree.has_name(name):
            yield name
    for name in re.findall(r"(?<![\w-])([a-z][a-z0-9-]*)=", span):
        if name not in tree.quoted:
            yield name


def faults_of_documents(root):
    paths = [path for pattern in TREE for path in root.glob(pattern) if path.is_file()]
    files = [path.relative_to(root).as_posix() for path in paths]
    tree, used, spans = Tree(root, files), set(), 0
    for path in files:
        if not re.fullmatch(r"(?:[A-Z]+|docs/[\w-]+)\.md", path) or path == "NEWS.md":
            continue
        text = re.sub(r"^```.*?^```", "", (root / path).read_text(), flags=re.M | re.S)
        for span in re.findall(r"`([^`]+)`", text):
            spans += 1
            missing = set(missing_of(tree, span))
            used |= missing & FOREIGN
            for name in sorted(missing - FOREIGN):
                yield f"{path}: `{' '.join(span.split())}`: there is no {name}"
    assert spans > 1000, f"only {spans} names found"
    for name in sorted(FOREIGN - used):
        yield f"no document names {name} any more"


def main():
    root = pathlib.Path(sys.argv[1])
    faults = [*faults_of_headers(sys.argv[2:]), *faults_of_variables(root),
              *faults_of_documents(root)]
    print(*faults, f"{len(faults)} faults", sep="\n")
    sys.exit(len(faults) > 0)


main()
