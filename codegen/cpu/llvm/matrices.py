"""Instructions of matrix units as LLVM's intrinsics over numbered tiles (AMX)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from dslc.codegen.cpu.llvm.writing import FunctionText
from dslc.compiler.vector import matrix_instructions as mat

_PALETTE = 1  # of shapes: eight tiles of up to 1 KiB


def _configure(f: FunctionText, i: mat.TileConfigure) -> None:
    """LDTILECFG's 64 bytes: the palette, bytes of a row from 16 on, rows from 48 on."""
    row_bytes = struct.pack("<16H", *i.row_bytes, *[0] * 8)
    shapes = bytes([_PALETTE, *[0] * 15]) + row_bytes + bytes([*i.rows, *[0] * 8])
    f.call_void("llvm.x86.ldtilecfg", f"ptr {f.module.table(shapes)}")


def _release(f: FunctionText, i: mat.TileRelease) -> None:
    f.call_void("llvm.x86.tilerelease")


def _zero(f: FunctionText, i: mat.TileZero) -> None:
    f.call_void("llvm.x86.tilezero", f"i8 {i.tile}")


def _load(f: FunctionText, i: mat.TileLoad) -> None:
    _access(f, "llvm.x86.tileloadd64", i)


def _store(f: FunctionText, i: mat.TileStore) -> None:
    _access(f, "llvm.x86.tilestored64", i)


def _access(f: FunctionText, name: str, i: mat.TileLoad | mat.TileStore) -> None:
    at = f.address(i.pointer, i.offset)
    f.call_void(name, f"i8 {i.tile}", f"ptr {at}", f.typed(i.stride))


def _dot(f: FunctionText, i: mat.TileDot) -> None:
    f.call_void(f"llvm.x86.{i.atom}", f"i8 {i.sums}", f"i8 {i.a}", f"i8 {i.b}")


MATRIX_EMITTERS: Mapping[type, Callable[[FunctionText, Any], None]] = {
    mat.TileConfigure: _configure,
    mat.TileRelease: _release,
    mat.TileZero: _zero,
    mat.TileLoad: _load,
    mat.TileStore: _store,
    mat.TileDot: _dot,
}
