"""Kernels in OpenCL C over NumPy arrays, unchanged: gstopencl.kernel

The element describes the parameters of a kernel, so that each value is checked against its
declaration before the kernel runs.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import hashlib
import numbers
import os
import re
import weakref

import numpy as np

from .arrays import (
    KEPT, NUMBERS, REAL, Operand, call_all, device, host_array, is_remote, made, numbers_of)
from .frames import TENSORS, TYPES_OF_TENSORS, DeviceError, without_mask

# Arguments that the element sets by their names
LENGTHS = re.compile("(?:(.+)_)?(?:width|height|stride|pixels|count|shape[0-3])")
FILES = str, os.PathLike
signatures = weakref.WeakKeyDictionary()  # by device, then by source, options and name


class Parameter:
    """A parameter of a kernel, as the element describes it"""

    def __init__(self, name, description):
        self.name = name
        self.space, access, self.kind, lanes, size, self.text = description.split(" ", 5)
        self.is_array = self.space in ("global", "constant", "image")
        self.is_written, self.size, self.lanes = access == "written", int(size), int(lanes)
        self.width = 4 if self.lanes == 3 else self.lanes  # numbers of a vector in memory
        self.dtype = np.dtype(TYPES_OF_TENSORS[self.kind]) if self.kind in REAL.values() else None

    def error(self, kind, found, wanted=""):
        return kind(f"{self.name}: {found}, expected {wanted or 'a value'} for \"{self.text}\"")

    def accepts(self, dtype):
        """Returns whether an array of this type fits the pointer."""
        if self.dtype is None:
            is_bytes = dtype.kind == "V" or dtype == np.uint8
            return self.size == 0 or is_bytes and self.size % dtype.itemsize == 0 \
                and dtype.itemsize in (1, self.size)
        if dtype.kind == "c":
            return self.width <= 2 and numbers_of(dtype, ())[0] == self.dtype
        return dtype == self.dtype or dtype.kind == "b" and self.kind in ("uint8", "int8")

    def lengths(self, dtype, shape):
        """Returns the type and shape of an array as the element has it: a vector or a record is
        the last axis."""
        if dtype.kind == "V":
            return np.dtype("u1"), (*shape, dtype.itemsize)
        dtype, shape = numbers_of(dtype, shape)
        if self.width > 1 and (not shape or shape[-1] % self.width):
            raise self.error(ValueError, f"an array of shape {shape}",
                             f"a last axis of {self.width} numbers")
        if self.width > 1 and shape[-1] != self.width:
            shape = (*shape[:-1], shape[-1] // self.width, self.width)
        return dtype, shape or (1,)

    def numbers(self, value):
        """Returns numbers as an array of the parameter's type, which must hold them."""
        found = np.array(without_mask(self.name, value), object)
        if not all(isinstance(each, (numbers.Real, np.bool_)) for each in found.flat):
            raise self.error(TypeError, repr(value), "numbers")
        try:
            with np.errstate(all="ignore"):
                result = found.astype(self.dtype)
            fits = self.dtype.kind == "f" or bool(np.all(result == found))
        except (OverflowError, ValueError):
            fits = False
        if not fits:
            raise self.error(ValueError, repr(value), f"numbers that {self.kind} can hold")
        return result

    def array(self, value):
        """Returns the array for a pointer. One of pyopencl stays as it is."""
        if isinstance(value, FILES):
            value = np.load(value)
        if isinstance(value, (list, tuple)) and self.dtype:
            value = self.numbers(value)
        if not hasattr(value, "dtype") or value.shape == ():
            raise self.error(TypeError, repr(value), "an array")
        if not is_remote(value):
            value = host_array(self.name, value)
        if 0 in value.shape:
            raise ValueError(f"{self.name}: shape {value.shape} has no elements")
        if not self.accepts(value.dtype):
            raise self.error(TypeError, f"an array of {value.dtype}", f"an array of {self.wanted}")
        self.lengths(value.dtype, value.shape)
        return value.view(self.dtype) if self.dtype and value.dtype.kind == "b" else value

    @property
    def wanted(self):
        return self.dtype or f"records of {self.size} bytes"

    def argument(self, value, folder):
        """Returns what `arguments` of the element take for a parameter that is no array."""
        if self.space == "local":
            count = value if isinstance(value, numbers.Integral) else 0
            if count < 1:
                raise self.error(TypeError, repr(value), "the number of elements")
            return int(count)
        if self.kind == "struct":
            return self.struct(value, folder)
        if not self.dtype:  # words of a sampler
            return value
        found = self.numbers(value)
        if found.shape != (() if self.lanes == 1 else (self.lanes,)):
            raise self.error(TypeError, f"shape {found.shape}",
                             f"{self.lanes} numbers" if self.lanes > 1 else "a number")
        return found.tolist()

    def struct(self, value, folder):
        """Returns the numbers of a struct, or the name of a file of its bytes."""
        if isinstance(value, FILES):
            return os.fspath(value)
        if isinstance(value, (np.void, np.ndarray)) and value.shape == () and value.dtype.names:
            if value.dtype.itemsize != self.size:
                raise self.error(TypeError, f"a record of {value.dtype.itemsize} bytes",
                                 f"a record of {self.size} bytes")
            path = os.path.join(folder, f"{hashlib.sha256(value.tobytes()).hexdigest()}.npy")
            if not os.path.exists(path):
                np.save(path, np.frombuffer(value.tobytes(), np.uint8))
            return path
        found = flat(value) if isinstance(value, (list, tuple)) else [None]
        if not all(isinstance(each, (numbers.Real, np.bool_)) for each in found):
            raise self.error(TypeError, repr(value), "a list of numbers or a record")
        if all(isinstance(each, (numbers.Integral, np.bool_)) for each in found):
            return [int(each) for each in found]
        if any(float(each) != each and each == each for each in found):
            raise self.error(ValueError, repr(value), "numbers that float64 can hold, or a record")
        return [float(each) for each in found]


def flat(values):
    return [number for each in values
            for number in (flat(each) if isinstance(each, (list, tuple, np.ndarray)) else [each])]


def signature_of(used, source, options, name):
    """Returns the parameters of a kernel by name."""
    kept, key = signatures.setdefault(used, {}), (source, options, name)
    if key in kept:
        return kept[key]
    element = made("openclkernelsrc")
    for property_name, value in ("source", source), ("options", options), ("kernel", name):
        if not isinstance(value, (str, type(None))):
            raise TypeError(f"{property_name}: found {value!r}, expected a str")
        element.set_property(property_name, value)
    found = element.emit("describe", used.context)
    if found.get_name() == "error":
        raise DeviceError(f"openclkernel: {found.get_string('message')}")
    names = [found.nth_field_name(n) for n in range(found.n_fields())]
    kept[key] = {name: Parameter(name, found.get_string(name)) for name in names}
    for old in [*kept][:-KEPT]:
        kept.pop(old, None)
    return kept[key]


def outputs_of(parameters, outputs):
    """Returns the names of the outputs."""
    written = [each.name for each in parameters.values() if each.is_written]
    if outputs is None:
        outputs = ["output"] if "output" in written else written
        if len(outputs) != 1:
            raise ValueError(f"outputs: the kernel writes {', '.join(written) or 'no pointer'}, "
                             "expected the names of the results")
    outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in outputs:
        if name not in written or outputs.count(name) > 1:
            raise ValueError(f"outputs: {name!r}, expected different names of "
                             f"{', '.join(written) or 'pointers that are not const'}")
    return outputs


def by_name(option, value, names, default=None):
    """Returns an option of outputs as a dictionary."""
    if not isinstance(value, dict):
        return dict.fromkeys(names, value)
    for name in value:
        if name not in names:
            raise ValueError(f"{option}: {name!r}, expected one of {', '.join(names) or 'nothing'}")
    return {name: value.get(name) for name in names}


class Output:
    """Type and shape of an output"""

    def __init__(self, parameter, dtype, shape):
        self.parameter = parameter
        self.dtype = np.dtype(dtype).newbyteorder("=")
        lengths = np.atleast_1d(shape) if np.size(shape) else np.ones(0, int)
        if lengths.dtype.kind not in "iu" or lengths.ndim != 1 or (lengths < 1).any():
            raise ValueError(f"shape: {parameter.name} has {shape!r}, expected positive integers")
        self.shape = tuple(lengths.tolist())
        if not parameter.accepts(self.dtype) or self.dtype.kind == "b":
            raise parameter.error(TypeError, f"dtype {self.dtype}", f"dtype {parameter.wanted}")
        self.real, self.lengths = parameter.lengths(self.dtype, self.shape)
        if self.real.str[1:] not in TENSORS:
            raise TypeError(f"dtype: {self.dtype} is not supported as the type of a result")

    def array(self, found):
        return found.reshape(-1).view(self.dtype).reshape(self.shape)


def new_output(parameter, dtype, shape, first):
    """Returns an output without a value. `first`: parameter and array of the first operand, or
    None; each vector of it is an element."""
    of, array = first or (None, None)
    is_like = first and of.width == parameter.width
    if dtype is None:
        dtype = parameter.dtype or getattr(array, "dtype", None)
        is_pair = parameter.width == 2
        if is_like:
            is_pair = array.dtype.kind == "c" \
                and (not parameter.dtype or parameter.accepts(array.dtype))
        if is_pair and dtype in (np.float32, np.float64):
            dtype = np.result_type(dtype, np.complex64)
    if dtype is None or shape is None and not first:
        raise ValueError(f"{parameter.name}: without an array, shape and dtype are needed")
    if shape is None:
        shape = array.shape
        if not is_like:
            is_vector = of.width > 1 and array.dtype.kind != "c"
            shape = of.lengths(array.dtype, shape)[1][:-1] if is_vector else shape
            if parameter.width > 1 and np.dtype(dtype).kind != "c":
                shape = (*shape, parameter.width)
    return Output(parameter, dtype, shape)


def check_out(name, out, output):
    if not isinstance(out, np.ndarray) or not out.flags.writeable:
        raise TypeError(f"out: {name} is {out!r}, expected an array that can be written")
    if (out.dtype, out.shape) != (output.dtype, output.shape):
        raise ValueError(f"out: {name} is {out.dtype} of shape {out.shape}, but the result is "
                         f"{output.dtype} of shape {output.shape}")


def find_outputs(parameters, names, arrays, dtype, shape, out):
    """Returns the outputs by name."""
    new = [name for name in names if name not in arrays]
    for option, value in ("dtype", dtype), ("shape", shape):
        if value is not None and not new:
            raise ValueError(f"{option}: {', '.join(names)} has a value, whose {option} it keeps")
    dtypes, shapes = by_name("dtype", dtype, new), by_name("shape", shape, new)
    first = next(((parameters[name], array) for name, array in arrays.items()), None)
    outputs = {}
    for name in names:
        like, parameter = out.get(name), parameters[name]
        if name in arrays:
            outputs[name] = Output(parameter, arrays[name].dtype, arrays[name].shape)
        else:
            kind, lengths = (getattr(like, option, None) if given[name] is None else given[name]
                             for option, given in (("dtype", dtypes), ("shape", shapes)))
            outputs[name] = new_output(parameter, kind, lengths, first)
        if like is not None:
            check_out(name, like, outputs[name])
    return outputs


def check_given(parameters, values, arrays, outputs):
    """Checks that each parameter has a value, or one that the element sets by its name."""
    types = {None: next(iter(outputs.values())).dtype,
             **{name: each.dtype for name, each in (*arrays.items(), *outputs.items())}}
    for name, parameter in parameters.items():
        length = LENGTHS.fullmatch(name) if parameter.space == "value" else None
        # The element counts the bytes of records.
        is_set = length and length[1] in types and types[length[1]].kind != "V"
        if name not in values and name not in outputs and not is_set:
            raise parameter.error(TypeError, "no value")


def caps_of(outputs):
    types = ".".join(TENSORS[each.real.str[1:]] for each in outputs)
    dimensions = ".".join(":".join(map(str, reversed(each.lengths))) for each in outputs)
    return f"other/tensors,num_tensors={len(outputs)},types=(string){types}," \
           f"dimensions=(string){dimensions}"


def operand_of(parameter, array, used):
    if array.dtype.kind == "V" and parameter.size:
        array = array.view(np.uint8)
    return Operand(parameter.name, array, used, NUMBERS)


def kernel(source, arguments=None, *, outputs=None, out=None, dtype=None, shape=None, name=None,
           options=None, global_size=None, local_size=None, fill_output=None, debug=False,
           **values):
    """Runs a kernel, and returns what it writes.

    source: OpenCL C, with one kernel or that of this `name`.
    values: by name of the kernel's argument. A pointer takes an array of its type (bool for char,
    complex for float2 or float, records for structs), a list, or a .npy file; a vector or a struct
    a list, an array or a record; a `local` pointer its number of elements. width, height, shape0 …
    count, also as x_count, are set if they are not given.
    arguments: a dictionary of more of them, such as those that have the name of a parameter here.
    outputs: names of the pointers that are results, if not `output` or the only one that is not
    const. One that has a value starts with a copy of it.
    out: an array for the result, or a dictionary of them by name. Other arrays are never written.
    dtype, shape: of outputs without a value, also as dictionaries; else the pointer's type, and the
    shape of the first array. A float2 is a complex number, other vectors are a last axis.
    global_size, local_size: numbers of work-items, x first, or text as "width/4,height". Without
    global_size there is one for each number, vector or record of the first output, in as many
    dimensions as the kernel passes to get_global_id ().
    fill_output: byte that outputs without a value hold before the kernel runs.
    debug: find writes outside of arrays, which are a DeviceError. Slow, and does not find reads.

    Returns an array, or a tuple of them for several outputs.
    """
    used, values = device(), {**(arguments or {}), **values}
    parameters = signature_of(used, source, options, name)
    for each in values:
        if each not in parameters:
            raise TypeError(f"{each}: the kernel has no argument of this name, expected one of "
                            f"{', '.join(p.text for p in parameters.values())}")
    names = outputs_of(parameters, outputs)
    given = {each: parameters[each].array(value) for each, value in values.items()
             if parameters[each].is_array}
    settings = {each: parameters[each].argument(value, used.folder)
                for each, value in values.items() if each not in given}
    is_several = isinstance(out, (dict, type(None))) or len(names) > 1
    out = by_name("out", out or {}, names) if is_several else {names[0]: out}
    found = find_outputs(parameters, names, given, dtype, shape, out)
    first = found[names[0]]
    if first.dtype.kind == "c" and first.parameter.width == 1 and global_size is None:
        raise ValueError("global_size: a complex result needs the number of work-items")
    check_given(parameters, values, given, found)
    properties = {
        "source": source, "kernel": name, "options": options, "global-size": global_size,
        "local-size": local_size, "fill-output": fill_output, "outputs": names,
        "check-bounds": debug, "output-caps": caps_of(found.values())}
    operands = {f"in{n}": operand_of(parameters[each], array, used)
                for n, (each, array) in enumerate(given.items())}
    if operands:
        properties["inputs"] = tuple(given)
    else:
        properties["num-buffers"] = 1
    results = call_all("openclkernelmixer" if operands else "openclkernelsrc",
                       properties, operands, settings, used)
    results = [found[each].array(result) for each, result in zip(names, results)]
    for number, each in enumerate(names):
        if out[each] is not None:
            np.copyto(out[each], results[number])
            results[number] = out[each]
    return results[0] if len(results) == 1 else tuple(results)
