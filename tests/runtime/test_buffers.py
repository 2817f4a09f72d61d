"""Arguments of every library: NumPy's own, and the protocol made by hand."""

import ctypes
import gc

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler import dtypes
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime import elements
from dslc.runtime.buffers import as_array, element_strides, import_array
from dslc.runtime.dlpack import _Managed, _Versioned, from_dlpack

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object


# An exporter's memory lives until its deleter was called: here, for ever.
ALIVE: list["Exporter"] = []


class Exporter:
    """A tensor of a foreign library on the memory of a NumPy array of plain bytes or words."""

    def __init__(
        self,
        array: np.ndarray,
        code: int,
        bits: int,
        *,
        device: tuple[int, int] = (1, 0),
        versioned: bool = False,
        flags: int = 0,
        lanes: int = 1,
        offset: int = 0,
        strides: bool = True,
        major: int = 1,
    ) -> None:
        self.array, self.device, self.versioned, self.released = array, device, versioned, 0
        self.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        steps = [s // array.itemsize for s in array.strides]
        self.strides = (ctypes.c_int64 * max(array.ndim, 1))(*steps)
        managed = _Versioned() if versioned else _Managed()
        if versioned:
            managed.major, managed.minor, managed.flags = major, 0, flags
        tensor = managed.tensor
        tensor.data, tensor.byte_offset = array.ctypes.data - offset, offset
        tensor.device_type, tensor.device_id = device
        tensor.ndim, tensor.code, tensor.bits, tensor.lanes = array.ndim, code, bits, lanes
        tensor.shape = self.shape
        if strides:
            tensor.strides = self.strides
        self.release = type(managed.deleter)(self._release)
        managed.deleter = self.release
        self.managed = managed
        ALIVE.append(self)

    def _release(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.released += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: object):
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument")
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        self.name = ctypes.c_char_p(name)
        return _new(ctypes.addressof(self.managed), self.name, None)


def code_of(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize("versioned", [False, True])
def test_bf16_comes_without_a_copy(versioned: bool) -> None:
    expected = np.array([[1.5, -2.0, 0.25], [3.0, 1e30, -0.0]], ml_dtypes.bfloat16)
    tensor = Exporter(expected.view(np.uint16), 4, 16, versioned=versioned)
    found = as_array(tensor, "bf16", param="x", writable=True)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, expected)
    assert np.shares_memory(found, expected)
    found[0, 0] = 7
    assert expected[0, 0] == 7


def test_the_memory_is_released_once_after_the_last_array() -> None:
    tensor = Exporter(np.arange(6, dtype=np.uint16).reshape(2, 3), 4, 16)
    found = as_array(tensor, "bf16", param="x")
    part = found[1:, ::2]
    del found
    gc.collect()
    assert tensor.released == 0
    assert part.view(np.uint16).tolist() == [[3, 5]]
    del part
    gc.collect()
    assert tensor.released == 1


def test_an_empty_tensor_is_released_at_once() -> None:
    tensor = Exporter(np.zeros((0, 4), np.float32), 2, 32)
    assert as_array(tensor, "f32", param="x").shape == (0, 4)
    gc.collect()
    assert tensor.released == 1


@pytest.mark.parametrize(
    ("name", "code"), [("f8e4m3", 10), ("f8e5m2", 12), ("f8e3m4", 7), ("e8m0", 14)]
)
def test_floats_of_8_bits_come_as_bit_patterns(name: str, code: int) -> None:
    bits = np.arange(16, dtype=np.uint8)
    found = as_array(Exporter(bits, code, 8), name, param="x", writable=True)
    assert found.dtype == np.uint8
    assert np.shares_memory(found, bits)
    other = "f8e5m2" if name == "f8e4m3" else "f8e4m3"
    with pytest.raises(DiagnosticError, match="argument x is an array of float8") as caught:
        as_array(Exporter(bits, code, 8), other, param="x")
    assert code_of(caught) == "DSL0761"


@pytest.mark.parametrize(
    ("array", "code", "dtype"),
    [
        (np.arange(6, dtype=np.float64).reshape(2, 3), 2, "f64"),
        (np.arange(6, dtype=np.float16), 2, "f16"),
        (np.arange(-3, 3, dtype=np.int32), 0, "i32"),
        (np.arange(6, dtype=np.uint8), 1, "u4"),
        (np.array([True, False]), 6, "bool"),
        (np.array(3.5, np.float32), 2, "f32"),
    ],
)
def test_plain_elements(array: np.ndarray, code: int, dtype: str) -> None:
    for strides in (True, False):
        tensor = Exporter(array, code, 8 * array.itemsize, versioned=True, strides=strides)
        found = as_array(tensor, dtype, param="x")
        np.testing.assert_array_equal(found, array)
        assert np.shares_memory(found, array)


def test_strides_and_offsets() -> None:
    base = np.arange(60, dtype=np.int16).reshape(6, 10)
    for view in (base[::2, 1::3], base.T, base[::-1, ::-2], base[3], base[:, 4:5]):
        found = from_dlpack(Exporter(view, 0, 16, offset=64))
        np.testing.assert_array_equal(found, view)
        assert found.strides == view.strides
        assert element_strides(found) == tuple(s // 2 for s in view.strides)


def test_read_only_memory_is_refused_as_output_alone() -> None:
    tensor = Exporter(np.zeros(3, np.float32), 2, 32, versioned=True, flags=1)
    assert not as_array(tensor, "f32", param="y").flags.writeable
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    for given in (tensor, frozen):
        with pytest.raises(DiagnosticError, match="argument y is written by the kernel") as caught:
            as_array(given, "f32", param="y", writable=True)
        assert code_of(caught) == "DSL0763"


@pytest.mark.parametrize(
    ("device", "name"), [((2, 1), "cuda:1"), ((10, 0), "rocm:0"), ((99, 0), "device 99:0")]
)
def test_a_device_tensor_is_refused_with_its_device(device: tuple[int, int], name: str) -> None:
    tensor = Exporter(np.zeros(3, np.float32), 2, 32, device=device)
    with pytest.raises(DiagnosticError, match=f"argument a is on {name}") as caught:
        as_array(tensor, "f32", param="a")
    assert code_of(caught) == "DSL0762"
    assert ".cpu()" in str(caught.value.diagnostics[0].hint)


@pytest.mark.parametrize("device", [3, 11, 13])
def test_pinned_and_managed_memory_is_the_hosts(device: int) -> None:
    tensor = Exporter(np.ones(3, np.float32), 2, 32, device=(device, 0))
    assert as_array(tensor, "f32", param="a").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "options",
    [
        {"code": 2, "bits": 32, "lanes": 2},
        {"code": 17, "bits": 4},
        {"code": 3, "bits": 64},
        {"code": 2, "bits": 32, "versioned": True, "major": 2},
    ],
)
def test_elements_that_numpy_cannot_hold_are_refused(options: dict[str, int]) -> None:
    tensor = Exporter(np.zeros(4, np.float32), **options)
    with pytest.raises(DiagnosticError) as caught:
        import_array(tensor, param="x")
    assert code_of(caught) == "DSL0764"


def test_a_capsule_serves_once() -> None:
    tensor = Exporter(np.zeros(4, np.float32), 2, 32)
    capsule = tensor.__dlpack__()
    tensor.__dlpack__ = lambda **_: capsule
    stub = type("Stub", (), {"__dlpack__": lambda self, **_: capsule})()
    from_dlpack(stub)
    with pytest.raises(DiagnosticError, match="read before"):
        from_dlpack(stub)


def test_a_refusing_exporter_is_an_error_with_its_reason() -> None:
    class Tracked:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("it requires grad\nmore")

    with pytest.raises(DiagnosticError, match="Tracked cannot be read through DLPack: it requires"):
        as_array(Tracked(), "f32", param="x")


def test_numpy_arrays_through_the_protocol() -> None:
    array = np.arange(12.0).reshape(3, 4)[:, 1:3]
    found = from_dlpack(array)
    assert np.shares_memory(found, array)
    np.testing.assert_array_equal(found, array)


def test_numpy_arrays_are_taken_as_they_are() -> None:
    array = np.zeros((3, 4), np.float32)
    assert as_array(array, "f32", param="x", writable=True) is array
    assert as_array(array, "tf32", param="x") is array
    strided = array[:, ::2]
    assert as_array(strided, "f32", param="x") is strided
    assert element_strides(strided) == (4, 2)
    record = np.zeros(4, [("a", "i1"), ("b", "<f4")])
    assert element_strides(record["b"]) is None


def test_subclasses_come_as_plain_arrays(tmp_path) -> None:
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4,))
    found = as_array(mapped, "f32", param="x", writable=True)
    assert type(found) is np.ndarray
    assert np.shares_memory(found, mapped)
    with pytest.raises(DiagnosticError, match="masked array"):
        as_array(np.ma.zeros(3, np.float32), "f32", param="x")


@pytest.mark.parametrize(
    "given", [[1.0, 2.0], (1, 2), 3, 2.5, True, np.float32(1), None, "text", b"bytes", object()]
)
def test_what_is_no_array_is_refused(given: object) -> None:
    with pytest.raises(DiagnosticError, match=r"argument x is a .*, expected an array") as caught:
        as_array(given, "f32", param="x")
    assert code_of(caught) == "DSL0760"


@pytest.mark.parametrize(
    ("array", "dtype", "hint"),
    [
        (np.zeros(2), "f32", r"x.astype\('float32'\)"),
        (np.zeros(2, ">f4"), "f32", "other order"),
        (np.zeros(2, np.float32), "u4", "quantise"),
        (np.zeros(2, np.int32), "u4", r"x.astype\('uint8'\)"),
        (np.zeros(2, np.int8), "u8", r"x.astype\('uint8'\)"),
        (np.zeros(2, np.uint16), "bf16", r"x.astype\('bfloat16'\)"),
        (np.zeros(2, object), "f32", "astype"),
    ],
)
def test_another_element_type_is_refused_with_the_conversion(array, dtype: str, hint: str) -> None:
    with pytest.raises(DiagnosticError, match=f"argument w .* expected {dtype}") as caught:
        as_array(array, dtype, param="w")
    assert code_of(caught) == "DSL0761"
    with pytest.raises(AssertionError, match=hint):
        raise AssertionError(caught.value.diagnostics[0].hint)


def test_storage_agrees_with_the_compilers() -> None:
    ml = [ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn]
    ml += [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.float6_e3m2fn]
    plain = [np.bool_, np.int8, np.uint8, np.int16, np.float16, np.float32, np.float64, np.int64]
    for dtype in (*dtypes.all_dtypes(), dtypes.INDEX):
        assert elements.storage_dtype(dtype.name) == dtypes.storage_dtype(dtype)
        for given in (*ml, *plain):
            for writable in (False, True):
                array = np.zeros(3, given)
                ours = elements.as_storage(array, dtype.name, writable=writable)
                theirs = dtypes.as_storage(array, dtype, writable=writable)
                assert (ours is None) == (theirs is None), (dtype, given)
                if ours is not None and theirs is not None:
                    assert ours.dtype == theirs.dtype
                    assert np.shares_memory(ours, array) == np.shares_memory(theirs, array)


@pytest.mark.torch
def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    for name, code in (("bfloat16", "bf16"), ("float8_e4m3fn", "f8e4m3"), ("float32", "f32")):
        tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
        found = as_array(tensor, code, param="x", writable=True)
        assert found.ctypes.data == tensor.data_ptr()
        assert found.shape == (2, 3)
    tracked = torch.zeros(3, requires_grad=True)
    found = as_array(tracked, "f32", param="x", writable=True)
    assert found.ctypes.data == tracked.data_ptr()


class Tracked:
    """Gives itself out as torch's tensors do: not while it tracks gradients."""

    def __init__(self, array: np.ndarray, requires_grad: bool) -> None:
        self.array, self.requires_grad = array, requires_grad

    def detach(self) -> "Tracked":
        return Tracked(self.array, False)

    def __dlpack__(self, **options: object) -> object:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("writable", [False, True])
def test_a_tensor_that_tracks_gradients_is_taken_without_them(writable: bool) -> None:
    array = np.arange(3, dtype=np.float32)
    found = as_array(Tracked(array, True), "f32", param="x", writable=writable)
    assert np.shares_memory(found, array)


@pytest.mark.torch
def test_jax_arrays_are_values() -> None:
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.arange(4.0)
    assert as_array(array, "f32", param="x").tolist() == [0, 1, 2, 3]
    with pytest.raises(DiagnosticError, match="read-only"):
        as_array(array, "f32", param="x", writable=True)
