"""An AMD GPU as a place where packaged kernels run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.runtime.hip import HipDevice, HipGpuKernel
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import SPECIALIZATIONS

_BINARY = ".hsaco"


class AmdGpu:
    """The first AMD GPU. Its driver does not say which chip it is, but whether it runs some code."""

    name = "the AMD GPU"

    def __init__(self, folder: PackageFolder) -> None:
        self._folder = folder
        self._runs: dict[str, bool] = {}

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """The chip that it is, as the first code object of each target tells."""
        if not target.startswith("hip:") or "hsaco" not in forms:
            return None
        if target not in self._runs:
            self._runs[target] = HipDevice.get(0).runs(self._folder.read(self._code_of(target)))
        return (0,) if self._runs[target] else None

    def load(self, artifact: Artifact) -> _OnAmd:
        """The driver loads it at the first launch."""
        return _OnAmd(artifact)

    def _code_of(self, target: str) -> str:
        index = self._folder.index
        own = (s for k in index.kernels for s in k.specializations if s.target == target)
        folders = {f"{SPECIALIZATIONS}/{s.key}" for s in own if "hsaco" in s.forms}
        return next(
            p for p in index.files if p.endswith(_BINARY) and p.rpartition("/")[0] in folders
        )


class _OnAmd:
    def __init__(self, artifact: Artifact) -> None:
        self.signature = artifact.signature
        self._kernel = HipGpuKernel(artifact)

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        self._kernel.launch(args, stream, dims)
