# SPDX-License-Identifier: LGPL-2.1-or-later
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike, DTypeLike, NDArray

from .devicearray import Array as Array
from .chain import Chain as Chain, ChainError as ChainError
from .frames import DeviceError as DeviceError
from .livecalibration import LiveCalibration as LiveCalibration
from .networks import Network
from .recordings import RecordingError as RecordingError
from .source import Source as Source

__version__: str

def run(expression: str, arguments: Mapping[str, Any] | None = None, *,
        dtype: DTypeLike | None = None, shape: int | Sequence[int] | None = None,
        options: str | None = None, **values: Any) -> NDArray[Any]: ...
def kernel(source: str, arguments: Mapping[str, Any] | None = None, *,
           outputs: str | Sequence[str] | None = None,
           out: NDArray[Any] | Mapping[str, NDArray[Any]] | None = None,
           dtype: DTypeLike | Mapping[str, DTypeLike] | None = None,
           shape: int | Sequence[int] | Mapping[str, Any] | None = None,
           name: str | None = None, options: str | None = None,
           global_size: int | Sequence[int] | str | None = None,
           local_size: int | Sequence[int] | str | None = None,
           fill_output: int | None = None, debug: bool = False, **values: Any) -> Any: ...
def array(x: Any, dtype: DTypeLike | None = None) -> Array: ...
def fft(x: ArrayLike, axes: int | Sequence[int] | None = None, inverse: bool = False,
        half_spectrum: bool = False, n: int | Sequence[int] | None = None) -> NDArray[Any]: ...
def reduce(x: ArrayLike, operation: str = "sum", axes: int | Sequence[int] | None = None,
           keep_dimensions: bool = False, **properties: Any) -> NDArray[Any]: ...
def convolve(x: ArrayLike, kernel: ArrayLike, bias: ArrayLike | None = None,
             **properties: Any) -> NDArray[Any]: ...
def empty(shape: int | Sequence[int], dtype: DTypeLike = "float32") -> NDArray[Any]: ...
def use(what: Any) -> None: ...
def clear() -> None: ...
def network(file: str | PathLike[str], precision: str = "float",
            constants: Mapping[str, Any] | None = None) -> Network: ...
def process(recording: Any, chain: Any = ..., settings: Any = None,
            **options: Any) -> NDArray[Any]: ...
