"""A folder of safetensors as one mapping: one file, or shards with their index.

The index, `model.safetensors.index.json`, has the file of each tensor under `weight_map`
(https://huggingface.co/docs/transformers, "Sharded checkpoints").
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.elements import Array
from dslc.runtime.safetensors import SafeTensors, read_safetensors

_LARGEST_JSON = 64 << 20


class Shards(Mapping[str, Array]):
    """The tensors of all files by name; a shard is opened when a tensor of it is first asked for."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._folder, self._files = folder, files
        self._open: dict[str, SafeTensors] = {}

    def __getitem__(self, name: str) -> Array:
        file = self._files[name]
        shard = self._open.get(file)
        if shard is None:
            shard = self._open[file] = read_safetensors(self._folder / file)
        if name not in shard:
            raise error(
                "DSL0785", f"{self._folder / file} has no tensor {name!r}, which the index promises"
            )
        return shard[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def open_shards(path: Path) -> Mapping[str, Array]:
    """The tensors of a folder, or of one file. DSL0780 to DSL0783, DSL0785."""
    if path.is_file():
        return read_safetensors(path)
    index = path / "model.safetensors.index.json"
    if index.exists():
        return Shards(path, _weight_map(index))
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise error(
            "DSL0780", f"{path} has no *.safetensors", hint="a folder with model.safetensors"
        )
    if len(files) == 1:
        return read_safetensors(files[0])
    names = {name: file.name for file in files for name in read_safetensors(file)}
    return Shards(path, names)


def read_json(path: Path) -> dict[str, Any]:
    """An object of JSON. DSL0780 where the file cannot be read, DSL0785 where it is none."""
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise error("DSL0785", f"{path} is too large to be a description of a model")
        content = json.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise error("DSL0780", f"{path} cannot be read: {problem.strerror}") from None
    except DiagnosticError:
        raise
    except (ValueError, RecursionError) as problem:
        raise error("DSL0785", f"{path} is no JSON: {str(problem)[:200]}") from None
    if not isinstance(content, dict):
        raise error("DSL0785", f"{path} is not a JSON object")
    return content


def _weight_map(index: Path) -> dict[str, str]:
    files = read_json(index).get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(f, str) for f in files.values()):
        raise error("DSL0785", f"{index}: weight_map is not an object of file names")
    for file in sorted(set(files.values())):
        if "/" in file or "\\" in file or file in ("", ".", "..") or "\0" in file:
            raise error("DSL0785", f"{index}: {file[:80]!r} is not a file beside the index")
        if not (index.parent / file).is_file():
            raise error(
                "DSL0785", f"{index.parent} has no {file}", hint="is the download complete?"
            )
    return files
