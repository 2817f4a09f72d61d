"""Weights in the storage that a kernel loads."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from dslc.compilation.specialization import Specialization
from dslc.runtime.packing import packed_shape

STRIP = 1024  # rows of K that one thread packs at a time; a multiple of every tile
# What was packed last: kernels for other numbers of rows often take weights in the same storage.
_last: list[tuple[torch.Tensor, Mapping[str, Any], torch.Tensor]] = []


def as_codes(patterns: torch.Tensor, weight: str) -> np.ndarray:
    """Bit patterns as a caller gives codes: int8 with the sign for signed integers, else uint8."""
    if weight[0] == "i":
        shift = 8 - int(weight[1:])
        return ((patterns << shift).view(torch.int8) >> shift).cpu().numpy()
    return patterns.cpu().numpy()


def storage_of(made: Specialization, param: str) -> Mapping[str, Any] | None:
    """How a parameter is stored; None for codes of 8 bits that stay as they are."""
    return next(p.packed for p in made.artifact.signature.params if p.name == param)


def packed(made: Specialization, param: str, patterns: torch.Tensor, weight: str) -> torch.Tensor:
    """The parameter's bytes on the GPU."""
    storage = storage_of(made, param)
    if storage is None:
        return torch.from_numpy(as_codes(patterns, weight)).cuda()
    if not _last or _last[0][0] is not patterns or _last[0][1] != storage:
        _last.clear()  # its memory first
        found = _packed(made, param, as_codes(patterns, weight), storage)
        _last.append((patterns, storage, found))
    return _last[0][2]


def _packed(
    made: Specialization, param: str, codes: np.ndarray, storage: Mapping[str, Any]
) -> torch.Tensor:
    """By strips on several threads where strips are whole tiles."""
    if storage["scheme"] != "tiles" or len(codes) % STRIP:
        return torch.from_numpy(made.pack(param, codes)).cuda()
    strips = [codes[i : i + STRIP] for i in range(0, len(codes), STRIP)]
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(lambda strip: made.pack(param, strip), strips))
    return torch.from_numpy(np.concatenate(parts)).cuda()


def random_storage(made: Specialization, extents: tuple[int, int], weight: str) -> torch.Tensor:
    """Bytes of the shape of packed weights `w`, enough to time a kernel."""
    storage = storage_of(made, "w")
    shape = extents if storage is None else packed_shape(storage, extents)
    found = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
    return found.view(torch.int8) if storage is None and weight == "i8" else found
