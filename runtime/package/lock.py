"""Lock files: the digests of the packages that a project has chosen to load.

{"format": 1, "packages": {"llm_kernels": {"version": "1.2.0", "digest": "3f0c..."}}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.package.folder import PackageFolder

_FORMAT = 1
_LARGEST = 1 << 22  # bytes


def lock_text(packages: Iterable[PackageFolder]) -> str:
    """The text of a lock file that pins these packages."""
    pinned = {p.index.name: {"version": p.index.version, "digest": p.digest} for p in packages}
    return json.dumps({"format": _FORMAT, "packages": pinned}, indent=1, sort_keys=True) + "\n"


def check_lock(path: str | os.PathLike[str], package: PackageFolder) -> None:
    """DSL0832 where a lock file has not this package's digest, or is none."""
    pinned = _read(Path(path)).get(package.index.name)
    if not isinstance(pinned, dict):
        raise _refused(f"{path} has no package {package.index.name}")
    if pinned.get("digest") != package.digest:
        raise _refused(
            f"{package.path} is not the {package.index.name} of {path}: its digest is "
            f"{package.digest[:16]}..., the lock has {str(pinned.get('digest'))[:16]}..."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_LARGEST))
    except OSError as failure:
        raise _refused(f"{path} cannot be read: {failure.strerror or failure}") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise _refused(f"{path} is no lock file of format {_FORMAT}")
    packages = data.get("packages")
    return packages if isinstance(packages, dict) else {}


def _refused(text: str) -> DiagnosticError:
    hint = "if the new package is meant, pin it: dslc lock PACKAGE -o FILE"
    return error("DSL0832", text, hint=hint)
