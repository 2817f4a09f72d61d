"""What is fuzzed: readers of foreign bytes, each with bytes that it reads gladly.

A subject takes any bytes. It may raise a DiagnosticError whose codes the catalogue has, and nothing
else; what it accepts has to hold together.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.diagnostics.catalogue import entries

from support.generated.bombs import BOMBS
from support.generated.changed_json import changed
from support.launches import artifacts, launched

EXAMPLES = Path(__file__).parents[2] / "examples"
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # files that no disk is asked for


@dataclass(frozen=True)
class Subject:
    """`read` is given the bytes; `seeds` are some that it reads; `words` stand in them."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[str, ...] = ()

    def __call__(self, data: bytes) -> tuple[str, ...]:
        """The codes of a refusal, none where the bytes were read."""
        try:
            self.read(data)
        except DiagnosticError as refused:
            codes = tuple(d.code for d in refused.diagnostics)
            assert codes
            assert {*codes} <= entries().keys(), codes
            return codes
        return ()


# The manifest of a package


def framed(body: bytes) -> bytes:
    """package.json around a body, with its digest: as one writes it who knows how."""
    return (
        b'{"digest": "%s",\n"package": ' % hashlib.sha256(body).hexdigest().encode() + body + b"}\n"
    )


def _manifest(data: bytes) -> None:
    """The first byte says what the others are: the whole file, its body, or what to change in one."""
    from dslc.runtime.package.index import parse_index

    kind, rest = data[:1], data[1:]
    if kind < b"\x20":
        parse_index(rest)
    elif kind < b"\x80":
        parse_index(framed(rest))
    else:
        parse_index(framed(json.dumps(changed(_package()[1], rest)).encode()))


def _manifest_seeds() -> Iterator[bytes]:
    folder, index = _package()
    yield b"\0" + (folder / "package.json").read_bytes()
    yield b"\x40" + json.dumps(index).encode()
    yield b"\xff0"


# A package on disk, and what its artifacts say of their launch


def _folder(data: bytes) -> None:
    """The first byte names a file, the second says whether the index is made to fit its new bytes."""
    from dslc.runtime.package import PackageFolder

    root, index = _package()
    names = sorted(index["files"])
    name = names[data[0] % len(names)] if data else names[0]
    whole = (root / name).read_bytes()
    kind, content = (data[1] if len(data) > 1 else 0), data[2:]
    if name.endswith("manifest.json") and kind & 2:
        content = json.dumps(changed(json.loads(whole), content)).encode()
    try:
        (root / name).write_bytes(content)
        if kind & 1:
            (root / "package.json").write_bytes(framed(_fitting(index, name, content)))
        package = PackageFolder(root)
        package.check()
        for kernel in package.index.kernels:
            for made in kernel.specializations:
                package.artifact(kernel, made)
    finally:
        (root / name).write_bytes(whole)
        (root / "package.json").write_bytes(framed(json.dumps(index).encode()))


def _fitting(index: Mapping[str, Any], name: str, content: bytes) -> bytes:
    copy = json.loads(json.dumps(index))
    copy["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return json.dumps(copy).encode()


def _folder_seeds() -> Iterator[bytes]:
    root, index = _package()
    for number, name in enumerate(sorted(index["files"])):
        for kind in range(4):
            yield bytes([number, kind]) + (root / name).read_bytes()


def _artifact(data: bytes) -> None:
    """A manifest of one target's artifact in which values were changed, up to the door of a launch."""
    kept = artifacts()
    artifact = kept[data[0] % len(kept)] if data else kept[0]
    manifest = changed(artifact.to_manifest(), data[1:])
    if not isinstance(manifest, dict):
        manifest = {"format": manifest}
    launched(Artifact.from_manifest(manifest, artifact.files))


def _artifact_seeds() -> Iterator[bytes]:
    for number, _ in enumerate(artifacts()):
        yield bytes([number])


# Results of tuning


def _tuning(data: bytes) -> None:
    """A file of results as it stands, or with other values; what is read can be written."""
    from dslc.tuner.store import parse, render

    text = data.decode(errors="replace")
    if data[:1] == b"\xff":
        text = json.dumps(changed(json.loads(next(_tuning_seeds())), data[1:]))
    try:
        records = list(parse(text))
    except ValueError as problem:
        raise error("DSL0922", str(problem)) from None
    assert list(parse(render(records))) == records


def _tuning_seeds() -> Iterator[bytes]:
    from dslc.tuner.records import Environment, Record
    from dslc.tuner.store import render

    environment = Environment("gemm", "cuda:sm_90a", "3f", "0c", "e1")
    record = Record(
        environment, "a GPU", "12.8", {"M": 16, "K": 4096}, ("K",), ("K",), {"BM": 16, "W": "u4"},
        "9a", 1e-5, 2e-5, 40, "2026-11-22",
    )  # fmt: skip
    yield render([record]).encode()
    yield b"\xff0"


# The others


def _safetensors(data: bytes) -> None:
    from dslc.runtime.safetensors import read_safetensors

    path = _memory() / "x.safetensors"
    path.write_bytes(data)
    for array in read_safetensors(path).values():
        assert array.nbytes <= len(data)


def _header(data: bytes) -> None:
    """A header with its length before it, and bytes behind it."""
    head, _, tail = data.partition(b"\0")
    _safetensors(len(head).to_bytes(8, "little") + head + tail)


def _header_seeds() -> Iterator[bytes]:
    whole = {
        "__metadata__": {"a": "b"},
        "t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "u": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [8, 12]},
    }
    yield json.dumps(whole).encode() + b"\0" + bytes(12)


def _safetensors_seeds() -> Iterator[bytes]:
    for seed in _header_seeds():
        head, _, tail = seed.partition(b"\0")
        yield len(head).to_bytes(8, "little") + head + tail


def _gguf(data: bytes) -> None:
    from dslc.checkpoints.gguf import read_gguf

    path = _memory() / "x.gguf"
    path.write_bytes(data)
    found = read_gguf(path)
    for tensor in found.values():
        array = tensor if isinstance(tensor, np.ndarray) else tensor.codes
        assert array.size <= 4 * len(data)


def _gguf_seeds() -> Iterator[bytes]:
    pair = struct.pack("<Q1sIIQQ1s", 1, b"k", 9, 8, 1, 1, b"v")
    tensor = struct.pack("<Q1sIQQIQ", 1, b"t", 2, 256, 1, 12, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + pair + tensor
    yield head + bytes(-len(head) % 32) + bytes(144)


def _tile(data: bytes) -> None:
    from dslc.frontend import parse_tile, print_module

    module = parse_tile(data.decode(errors="replace"), "x.tile")
    assert parse_tile(print_module(module), "x.tile") == module


def _check(data: bytes) -> None:
    """As `dslc check`: its findings are given, not raised."""
    from dslc.checker.source import check_source

    found = check_source(data.decode(errors="replace"), "x.tile")
    assert {d.code for d in found} <= entries().keys()


def _bombs(data: bytes) -> None:
    """The first byte chooses a source that asks for much, the second how much; then pairs of bytes each
    make a number of it another one. Of `choices` so many are tried for each tune: they take their time.
    """
    which, size, *rest = data if len(data) > 1 else b"\0\0"
    grown = [name for name in BOMBS if name != "choices"]
    text = BOMBS[grown[which % len(grown)]](size % 32)
    for at, digits in zip(rest[::2], rest[1::2], strict=False):
        numbers = list(re.finditer(r"\b\d+\b", text))
        found = numbers[at % len(numbers)]
        text = f"{text[: found.start()]}{1 << digits % 80}{text[found.end() :]}"
    _check(text.encode())


def _bomb_seeds() -> Iterator[bytes]:
    for number, _ in enumerate(BOMBS):
        yield bytes([number, 2])


def _tile_seeds() -> Iterator[bytes]:
    """The shorter kernels of the examples, each with what stands before the first."""
    for path in sorted(EXAMPLES.glob("*.tile")):
        head, *items = re.split(r"^(?=kernel |program )", path.read_text(), flags=re.MULTILINE)
        for item in items:
            if len(text := (head + item).encode()) < 1200:
                yield text


def _expression(data: bytes) -> None:
    from dslc.runtime.expression import evaluate, names_of

    text = data.decode(errors="replace")
    evaluate(text, dict.fromkeys(names_of(text), 7))


def _expression_seeds() -> Iterator[bytes]:
    yield b"cdiv(M, 16) * (N + 3) // 2 - min(M, 4) + select(M > 3 and not N == 4, 1 << 3, i32(K % 5))"


def _sealed(data: bytes) -> None:
    """An entry of a shared cache whose seal is right."""
    from dslc.runtime.entry import CorruptEntryError
    from dslc.runtime.sealed import unseal

    try:
        unseal("0" * 64, data + hashlib.sha256(data).digest())
    except CorruptEntryError:
        return


def _sealed_seeds() -> Iterator[bytes]:
    from dslc.runtime.sealed import seal

    yield seal("0" * 64, {"a.py": b"text", "b": b""}, {"name": "x"})[:-32]


_TILE_WORDS = (
    "kernel", "program", "function", "for", "in", "parallel(", "range(", "if", "else", "elif", "tune",
    "const", "require", "pass", "out", "inout", "f32", "f16", "bf16", "u4", "i8", "bool", "dot(",
    "zeros(", "cast(", "sum(", "max(", "where(", "exp(", "reshape(", "transpose(", "assert", "return",
    "import", "from", "not", "and", "or",
    "\n    ", "\n        ", "[m : m + 16, :]", "x[", "]", ":", "'",
    '"""', "1e", "0x", "//", "**", "<<", "->", "@",
)  # fmt: skip

SUBJECTS: dict[str, Subject] = {
    "manifest": Subject(_manifest, _manifest_seeds),
    "folder": Subject(_folder, _folder_seeds),
    "artifact": Subject(_artifact, _artifact_seeds),
    "tuning": Subject(_tuning, _tuning_seeds),
    "safetensors": Subject(_safetensors, _safetensors_seeds),
    "gguf": Subject(_gguf, _gguf_seeds),
    "header": Subject(_header, _header_seeds, ("F32", "BF16", "data_offsets", "shape", "dtype")),
    "sealed": Subject(_sealed, _sealed_seeds),
    "expression": Subject(
        _expression, _expression_seeds, ("cdiv(", "min(", "max(", "select(", "f16(", "not")
    ),
    "tile": Subject(_tile, _tile_seeds, _TILE_WORDS),
    "check": Subject(_check, _tile_seeds, _TILE_WORDS),
    "bombs": Subject(_bombs, _bomb_seeds),
}


# What is built once a process


@functools.cache
def _memory() -> Path:
    holder = tempfile.TemporaryDirectory(dir=MEMORY)
    _HELD.append(holder)  # until the process ends
    return Path(holder.name)


_HELD: list[object] = []


@functools.cache
def _package() -> tuple[Path, dict[str, Any]]:
    """A small package in memory, and its index."""
    from dslc.packaging import build_package

    from support.packages import write_spec

    folder = _memory()
    text = '[[kernel]]\nsource = "rows.tile"\ndims = { N = 16 }\n'
    spec = write_spec(folder / "source", ["interp"], text)
    build_package(spec, folder / "rows.dslc", jobs=0, cache=False)
    index = json.loads((folder / "rows.dslc" / "package.json").read_text())["package"]
    return folder / "rows.dslc", index
