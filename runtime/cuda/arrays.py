"""Arrays in a GPU's memory, of any library: their address, shape, strides and element type.

torch tensors are read by their own attributes, others by `__cuda_array_interface__`, and where they
have none or their type has no name there (bfloat16) through DLPack.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.binding import dense_strides
from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.description import ALIGNMENT
from dslc.runtime.cuda.driver import Driver, load_driver
from dslc.runtime.dlpack import device_name, read_tensor
from dslc.runtime.elements import accepted_elements, element_bytes
from dslc.runtime.overlaps import share_elements

_ALIGNMENTS = (
    ALIGNMENT,
    4,
)  # bytes that a kernel can rely on; 4 are what an asynchronous copy needs
_LEGACY = 1  # DLPack's word for the default stream


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array on a GPU; `strides` are in elements, `element` is its type's name (`float16`, `uint8`).

    `stream` is the one that the array's maker names as that of its last use. `owner` keeps the memory.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    device: int
    read_only: bool = False
    stream: int | None = None
    owner: object = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> str:
        """The element type's name, as `str` gives it for a NumPy dtype."""
        return self.element

    @property
    def nbytes(self) -> int:
        """The bytes from its first to its last element, gaps included."""
        if 0 in self.shape:
            return 0
        span = sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))
        return (span + 1) * element_bytes(self.element)


def alignment_of(array: DeviceArray, param: str) -> int:
    """The bytes that its address is a multiple of: 16, 4 or its element's, the first that divides.

    DSL0766 where it is not even a multiple of its element's.
    """
    size = element_bytes(array.element)
    for bytes_ in (*(a for a in _ALIGNMENTS if a > size), size):
        if array.address % bytes_ == 0:
            return bytes_
    raise misaligned(array, param, size)


def misaligned(array: DeviceArray, param: str, wanted: int) -> DiagnosticError:
    """DSL0766 for an array that begins between the multiples that a kernel was compiled for."""
    if wanted <= element_bytes(array.element):
        hint = "copy it to memory that a library has allocated"
    else:
        hint = (
            "copy it (.clone(), .copy()), slice at a multiple of that, or build the kernel for it: "
            f"dslc build --unaligned, or specialize_for(sizes, unaligned=[{param!r}])"
        )
    return error(
        "DSL0766",
        f"argument {param} begins at an address that is no multiple of {wanted} bytes "
        f"({array.address % wanted} past one)",
        hint=hint,
    )


def is_torch(value: object) -> bool:
    """Whether it is a tensor of torch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_cupy(value: object) -> bool:
    """Whether it is an array of CuPy."""
    return type(value).__module__.partition(".")[0] == "cupy"


def device_array(
    value: Any,
    param: str,
    stream: int = 0,
    place: str = "cuda",
    load: Callable[[], Driver] = load_driver,
) -> DeviceArray | None:
    """The array if it lies on a GPU, else None; `stream` is where it will be used.

    `place` is what DLPack calls the GPUs' memory, `load` gives their driver.

    DSL0760 for what is no array, DSL0764 for one that its library does not give out.
    """
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, np.ndarray):
        return None
    if is_torch(value):
        return _from_torch(value, param)
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, dict) and not interface["typestr"][1:].startswith("V"):
        return _from_interface(value, interface, load)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        where = device_name(value)
        is_there = where is not None and where.startswith(place)
        return _from_dlpack(value, stream) if is_there else None
    return None


def check_element(array: DeviceArray, param: Param) -> None:
    """DSL0761 where the element type does not serve the parameter, DSL0763 where it is read-only."""
    packed = param.packed is not None and array.element == "uint8"
    allowed = accepted_elements(param.dtype)
    if not packed and array.element not in allowed:
        raise error(
            "DSL0761",
            f"argument {param.name} is an array of {array.element}, expected {param.dtype} "
            f"({' or '.join(sorted(allowed))})",
            hint="convert it, or compile the kernel for its type",
        )
    if array.read_only and param.mode != "in":
        raise error(
            "DSL0763",
            f"argument {param.name} is written by the kernel, but the array is read-only",
            hint="pass an array of your own",
        )


def refuse_host_tensors(args: Mapping[str, object], arrays: Mapping[str, DeviceArray]) -> None:
    """DSL0765 for a torch tensor of the host beside arrays of a GPU: it was forgotten there."""
    for name, value in args.items():
        if arrays and name not in arrays and is_torch(value):
            other, array = next(iter(arrays.items()))
            raise error(
                "DSL0765",
                f"argument {name} is a torch tensor on {getattr(value, 'device', 'the host')}, and "
                f"{other} is on cuda:{array.device}",
                hint=f"{name}.to({other}.device) first",
            )


def check_strides(array: DeviceArray, param: Param) -> None:
    """DSL0753 for an axis that runs backwards, DSL0742 for an output of which elements share memory."""
    axes = [(s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    if 0 in array.shape or (param.mode == "in" and all(s >= 0 for s, _ in axes)):
        return
    if any(s < 0 for s, _ in axes):
        raise error(
            "DSL0753",
            f"argument {param.name} has strides {array.strides}: a kernel reads no axis backwards",
            hint="copy it (.copy(), .contiguous())",
        )
    reach = 0  # of the axes whose elements lie closer
    for stride, extent in sorted(axes):
        if stride <= reach:
            raise error(
                "DSL0742",
                f"argument {param.name} ({param.mode}) has strides {array.strides}, by which elements "
                f"of shape {array.shape} share memory",
                hint="give the output memory of its own",
            )
        reach += stride * (extent - 1)


def overlap(a: DeviceArray, b: DeviceArray) -> bool:
    """Whether two arrays share an element."""
    if a.address >= b.address + b.nbytes or b.address >= a.address + a.nbytes:
        return False
    return share_elements(_ghost(a), _ghost(b))


def _ghost(array: DeviceArray) -> np.ndarray[Any, np.dtype[Any]]:
    """A NumPy array of the same addresses: never to be read, the host cannot."""
    size = element_bytes(array.element)
    interface = {
        "version": 3,
        "shape": array.shape,
        "typestr": f"|V{size}",
        "strides": tuple(s * size for s in array.strides),
        "data": (array.address, False),
    }
    return np.asarray(type("Ghost", (), {"__array_interface__": interface})())


def torch_device(tensor: Any) -> int | None:
    """The ordinal of the GPU that a torch tensor lies on, None for another device."""
    return int(tensor.get_device()) if tensor.is_cuda else None


def _from_torch(tensor: Any, param: str) -> DeviceArray | None:
    device = torch_device(tensor)
    if device is None:
        return None
    torch: Any = sys.modules["torch"]
    if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
        raise error(
            "DSL0764",
            f"argument {param} is a torch tensor whose memory does not hold its elements as such "
            "(sparse, conjugated or negated lazily)",
            hint="x.to_dense(), x.resolve_conj() or x.resolve_neg()",
        )
    element = str(tensor.dtype).removeprefix("torch.")
    return DeviceArray(
        tensor.data_ptr(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        element,
        device,
        owner=tensor,
    )


def _from_interface(
    value: Any, interface: dict[str, Any], load: Callable[[], Driver]
) -> DeviceArray:
    """By https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 2 and 3."""
    dtype = np.dtype(interface["typestr"])
    shape = tuple(int(n) for n in interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides")
    steps = dense_strides(shape)
    if strides is not None:
        if any(s % dtype.itemsize for s in strides):
            raise error("DSL0753", "an array's strides are no whole numbers of elements")
        steps = tuple(s // dtype.itemsize for s in strides)
    device = load().integer("cuPointerGetAttribute", cu.POINTER_DEVICE, address) if address else 0
    stream = interface.get("stream")
    return DeviceArray(
        address or 0, shape, steps, dtype.name, device, bool(read_only), stream, value
    )


def _from_dlpack(value: Any, stream: int) -> DeviceArray:
    tensor = read_tensor(value, stream or _LEGACY)
    immutable = type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    return DeviceArray(
        tensor.address,
        tensor.shape,
        tensor.strides or dense_strides(tensor.shape),
        tensor.dtype.name,
        tensor.device,
        tensor.read_only or immutable,
        None,
        tensor.owner,
    )
