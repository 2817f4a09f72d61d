"""Libraries that simulators and emulators have the host's compiler make, kept by what they are of."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import as_file, files
from pathlib import Path

from dslc.runtime.ownership import is_own, refuse_foreign


def kept_folder(name: str) -> Path:
    """A folder below `DSLC_CACHE_DIR`, else below the user's cache folder; made if it is not there.

    What is kept there is loaded: DSL0820 where others can write it.
    """
    root = os.environ.get("DSLC_CACHE_DIR")
    if not root:
        root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = str(Path(root) / "dslc")
    folder = Path(root) / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_foreign(folder)
    return folder


def key_of(*parts: str) -> str:
    """A name for what is made of these texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def make(
    path: Path,
    command: Sequence[str],
    texts: Mapping[str, str],
    package: str | None = None,
    units: Sequence[str] = (),
) -> str | None:
    """Have a compiler make the file, unless it is there; gives what it said where it could not.

    Words of the command that are `units` are files of a package, whose headers are found; `texts` are
    files beside the output. Whoever looks for the file meanwhile finds none, or all of it.
    """
    with suppress(FileNotFoundError):
        if is_own(path.stat()):
            return None
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(dir=path.parent))
        words = list(command)
        if package is not None:
            folder = stack.enter_context(as_file(files(package)))
            words = [str(folder / w) if w in units else w for w in words]
            words.append(f"-I{folder}")
        for name, text in texts.items():
            Path(place, name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [*words, "-o", "out"], cwd=place, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return done.stderr or f"{command[0]} ended with {done.returncode}"
        os.replace(Path(place, "out"), path)
    return None


def processor_features() -> str:
    """What -march=native stands for here, as far as it can be told."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    return next((line for line in text.splitlines() if line.startswith("flags")), "")
