"""Packing in C beside Python's, bit for bit: every number of bits, in storages of any structure."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.codegen.c_interface.packing import storage_text
from dslc.packaging import build_package
from dslc.runtime.package import PackageFolder
from dslc.runtime.packing import pack, packed_shape
from dslc.runtime.storage import read_storage

from support.packages import write_spec

HERE = Path(__file__).parents[3] / "codegen" / "c_interface"
TOP = r"""
#include "header.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""
FLAGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fPIC")
Packer = Callable[[np.ndarray], bytes | str]


class Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def tensor(codes: np.ndarray) -> Tensor:
    axes = ctypes.c_int64 * codes.ndim
    kind = Type(0 if codes.dtype.kind == "i" else 1, 8, 1)
    shape, strides = axes(*codes.shape), axes(*codes.strides)
    return Tensor(codes.ctypes.data, (1, 0), codes.ndim, kind, shape, strides, 0)


def called(function: Any, failed: Any, codes: np.ndarray, *dims: int) -> bytes | str:
    """What a C function packs, or the text of its failure."""
    failed.restype = ctypes.c_char_p
    taken, size = tensor(codes), ctypes.c_int64()
    rest = [ctypes.c_int64(d) for d in dims]
    if function(ctypes.byref(taken), None, ctypes.byref(size), *rest):
        return str(failed().decode())
    out = np.full(size.value + 1, 0xA5, np.uint8)
    if function(ctypes.byref(taken), ctypes.c_void_p(out.ctypes.data), ctypes.byref(size), *rest):
        return str(failed().decode())
    assert out[-1] == 0xA5
    return out[:-1].tobytes()


def tiles(bits: int, signed: bool, rng: np.random.Generator) -> dict[str, Any]:
    """A tile of two axes that is cut, ordered and dealt at random."""
    while True:
        modes = [rng.choice([1, 2, 4, 8], rng.integers(1, 4)).tolist() for _ in "ab"]
        factors = [n for sizes in modes for n in sizes]
        tile_bytes, rest = divmod(prod(factors) * bits, 8)
        words = [w for w in (1, 2, 4, 8, 16) if tile_bytes and tile_bytes % w == 0]
        if rest or not words:
            continue
        word = int(rng.choice(words))
        held = word * int(rng.choice([n for n in (1, 2, 3, 4) if tile_bytes % (n * word) == 0]))
        storage = {
            "scheme": "tiles",
            "bits": bits,
            "signed": signed,
            "modes": modes,
            "order": rng.permutation(len(factors)).tolist(),
            "thread_bytes": held,
            "word_bytes": word,
            "lanes": int(rng.choice([1, 2, 4])) if held % 4 == 0 else 1,
        }
        read_storage(storage)
        return storage


def structures() -> list[dict[str, Any]]:
    """Rows and tiles of every number of bits; tiles are cut and dealt at random."""
    rng = np.random.default_rng(0)
    listed: list[dict[str, Any]] = []
    for bits in range(1, 9):
        for signed in {False, bits > 1}:
            listed.append({"scheme": "row", "bits": bits, "signed": signed})
            listed += [tiles(bits, signed, rng) for _ in range(3)]
    return listed


@pytest.fixture(scope="module")
def packers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Mapping[str, Any], Packer]]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    from dslc.codegen.c_interface.module import header

    folder = tmp_path_factory.mktemp("packing")
    (folder / "header.h").write_text(header("t", "1", []))
    text = TOP + (HERE / "support.c").read_text() + (HERE / "packing.c").read_text()
    text += "const char *t_last_error(void) { return dslc_text; }\n"
    listed = structures()
    for number, storage in enumerate(listed):
        text += "\n".join(storage_text(f"s{number}", storage, 2))
        text += (
            f"\nint pack_{number}(const dslc_tensor *t, uint8_t *out, int64_t *bytes) "
            f'{{ return dslc_pack(&s{number}, t, "w", out, bytes); }}\n'
        )
    (folder / "t.c").write_text(text)
    command = [
        compiler,
        *FLAGS,
        "-shared",
        "-I",
        str(folder),
        "-o",
        str(folder / "t.so"),
        str(folder / "t.c"),
    ]
    subprocess.run(command, check=True, timeout=300)
    library = ctypes.CDLL(str(folder / "t.so"))

    def packer(number: int) -> Packer:
        return lambda codes: called(library[f"pack_{number}"], library.t_last_error, codes)

    return [(storage, packer(n)) for n, storage in enumerate(listed)]


def test_every_structure_is_packed_as_python_packs_it(
    packers: list[tuple[Mapping[str, Any], Packer]],
) -> None:
    rng = np.random.default_rng(1)
    for storage, packer in packers:
        bits, signed = storage["bits"], storage["signed"]
        low = -(1 << bits - 1) if signed else 0
        for shape in ((32, 24), (13, 29), (1, 3), (0, 5)):
            codes = rng.integers(low, low + (1 << bits), shape)
            codes = codes.astype(np.int8 if signed else np.uint8)
            expected = pack(codes, storage)
            assert expected.shape == packed_shape(storage, shape)
            assert packer(codes) == expected.tobytes(), storage
            # Transposed in memory, and a signed code as the byte that it is.
            assert packer(np.asfortranarray(codes)) == expected.tobytes(), storage
            assert packer(codes.view(np.uint8)) == expected.tobytes(), storage


def test_a_code_of_more_bits_is_refused_with_its_place(
    packers: list[tuple[Mapping[str, Any], Packer]],
) -> None:
    for storage, packer in packers:
        codes = np.zeros((5, 7), np.int8 if storage["signed"] else np.uint8)
        bits = storage["bits"]
        if bits < 8:
            codes[3, 4] = 1 << (bits - 1 if storage["signed"] else bits)
            assert packer(codes) == f"the code at [3, 4] of w has more than {bits} bits"


KERNELS = '[[kernel]]\nsource = "rows.tile"\nkernel = "weigh"\ndims = { M = [1, 8] }\n'


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ctypes.CDLL]:
    """A package for this kind of CPU, and its C with the assembly beside it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    import platform

    if platform.machine() != "x86_64":
        pytest.skip("needs an x86-64 CPU")
    folder = tmp_path_factory.mktemp("package")
    spec = write_spec(folder / "src", ["cpu:x86-64-v3"], KERNELS, consumers='["c"]')
    build_package(spec, folder / "out", jobs=0, cache=False)
    out = folder / "out"
    sources = [str(p) for p in sorted((out / "c").iterdir())]
    command = [compiler, *FLAGS, "-Wno-unused-variable", "-shared", "-I", str(out / "include")]
    subprocess.run([*command, "-o", str(folder / "rows.so"), *sources], check=True, timeout=300)
    return out, ctypes.CDLL(str(folder / "rows.so"))


def test_a_package_packs_in_c_what_its_kernels_read(library: tuple[Path, ctypes.CDLL]) -> None:
    out, loaded = library
    PackageFolder(out).check()
    from dslc.runtime import load

    codes = np.random.default_rng(2).integers(0, 16, (40, 24)).astype(np.uint8)
    expected = load(out).weigh.pack("w", codes, M=1)
    found = called(loaded.rows_weigh_pack_w, loaded.rows_last_error, codes, 0, 0)
    assert found == expected.tobytes()
    codes[0, 1] = 16
    text = called(loaded.rows_weigh_pack_w, loaded.rows_last_error, codes, 0, 0)
    assert text == "the code at [0, 1] of w has more than 4 bits"
    text = called(loaded.rows_weigh_pack_w, loaded.rows_last_error, codes[0], 0, 0)
    assert text == "w has 2 axes, not 1"
    assert (
        "int rows_weigh_pack_w(const dslc_tensor *codes, void *packed"
        in (out / "include" / "rows.h").read_text()
    )
