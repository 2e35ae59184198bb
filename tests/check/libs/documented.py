#!/usr/bin/env python3
"""Promise: headers document the parameters, the result and the version of every public function.
OpenCL types have (type gpointer), for language bindings that do not know OpenCL.

docs/architecture.md documents every environment variable that gst/ reads.

Usage: documented.py SOURCE-FOLDER HEADER...

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import re
import sys

FUNCTION = re.compile(
    r"(?:/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*)?"
    r"GST_OPENCL_API\s+(?P<type>[\w\s*]+?)(?P<name>gst_\w+)\s*\((?P<parameters>[^)]*)\)(?:\s*G_GNUC_WARN_UNUSED_RESULT)?;", re.S)
HANDLE = re.compile(r"\bcl_(?!int\b|uint\b|ulong\b|bool\b)\w+")


def section(doc, start):
    """The text of one parameter or of the returned value."""
    found = re.search(rf"^ \* {re.escape(start)}(.*?)(?=^ \* @|^ \* Returns:|^ \*$|\Z)", doc, re.S | re.M)
    return found and found.group(1)


def faults(function):
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


checked = bad = 0
for path in sys.argv[2:]:
    for function in FUNCTION.finditer(open(path, encoding="utf-8").read()):
        checked += 1
        for fault in faults(function.groupdict()):
            bad += 1
            print(f"{path}: {function['name']}: {fault}")
assert checked > 40, f"only {checked} functions found"
root = pathlib.Path(sys.argv[1])
read = {name for path in root.glob("gst/**/*.cpp") for name in re.findall(r'"(GST_OPENCL_[A-Z_]+)"', path.read_text())}
described = set(re.findall(r"^\| `(GST_OPENCL_[A-Z_]+)", (root / "docs/architecture.md").read_text(), re.M))
assert len(read) > 5, "no environment variables found"
for name in sorted(read ^ described):
    bad += 1
    print(f"docs/architecture.md and gst/ disagree about {name}")
print(f"{checked} public functions, {len(read)} environment variables, {bad} faults")
sys.exit(bad > 0)
