"""Results on disk: a JSON file for each kernel and version, written whole or not at all.

They lie in the folder `tuning` of the compile cache. What a file says is data: choices that the kernel
must have offered itself, so that a wrong file can make a kernel slow and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dslc.compiler.diagnostics import error
from dslc.runtime.cache import CacheWarning
from dslc.runtime.lock import locked
from dslc.tuner.records import Environment, Record

FORMAT = 1
_LARGEST = 1 << 26  # bytes of a file that is read
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


class TuningStore:
    """The results under the root of a cache, safe among processes."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.folder = Path(root) / "tuning"

    def has(self, kernel: str) -> bool:
        """Whether some version of a kernel of that name was ever tuned: a look at the folder."""
        return any(self.folder.glob(f"{_stem(kernel)}-*.json"))

    def records(self, environment: Environment) -> list[Record]:
        """The results of a kernel in these versions, on whatever devices."""
        path = self._path(environment)
        return [r for r in self._read(path) if r.environment == environment]

    def all(self) -> list[Record]:
        """Every result, by kernel, target and sizes."""
        records = [r for path in sorted(self.folder.glob("*.json")) for r in self._read(path)]
        return sorted(records, key=lambda r: (r.environment.kernel, r.environment.target, r.sizes))

    def add(self, records: Iterable[Record]) -> None:
        """Keep results; one for the same kernel, versions, device and sizes is replaced.

        DSL0922 where the folder cannot be written.
        """
        groups: dict[Environment, list[Record]] = {}
        for record in records:
            groups.setdefault(record.environment, []).append(record)
        with self._writing():
            for environment, group in groups.items():
                self._merge(environment, group)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            text = f"{self.folder} cannot be written: {failure.strerror or failure}"
            raise error("DSL0922", text, hint="set DSLC_CACHE_DIR to another folder") from None

    def remove(self, chosen: Iterable[Record]) -> int:
        """Forget results; how many there were. DSL0922 as of `add`."""
        gone = {(r.environment, r.device, r.driver, r.sizes) for r in chosen}
        count = 0
        for environment in {key[0] for key in gone}:
            path = self._path(environment)
            with self._writing(), locked(self._lock(path)):
                kept = []
                for record in self._read(path):
                    if (environment, record.device, record.driver, record.sizes) in gone:
                        count += 1
                    else:
                        kept.append(record)
                if kept:
                    _write(path, kept)
                else:
                    path.unlink(missing_ok=True)
        return count

    def _merge(self, environment: Environment, group: list[Record]) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(environment)
        with locked(self._lock(path)):
            held = {(r.device, r.driver, r.sizes): r for r in self._read(path)}
            held |= {(r.device, r.driver, r.sizes): r for r in group}
            _write(path, held.values())

    def _read(self, path: Path) -> list[Record]:
        if not path.is_file():
            return []
        try:
            return list(parse(path.read_text(encoding="utf-8")[:_LARGEST]))
        except (OSError, ValueError) as problem:
            warnings.warn(f"{path} is not used: {problem}", CacheWarning, stacklevel=2)
            return []

    def _path(self, environment: Environment) -> Path:
        return self.folder / f"{_stem(environment.kernel)}-{environment.key[:24]}.json"

    def _lock(self, path: Path) -> Path:
        return path.with_suffix(".lock")


def _stem(kernel: str) -> str:
    return _UNSAFE.sub("_", kernel)[:80]


def parse(text: str) -> Iterator[Record]:
    """The records of a file's text; ValueError says what is wrong with it."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"it has not the format {FORMAT} of tuning results")
    records = data.get("records")
    if not isinstance(records, list):
        raise ValueError("it has no list of records")
    return (Record.from_data(r) for r in records)


def render(records: Iterable[Record]) -> str:
    """The text of a file with these records."""
    data = {"format": FORMAT, "records": [r.to_data() for r in records]}
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _write(path: Path, records: Iterable[Record]) -> None:
    stage = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(os.open(stage, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(render(records).encode())
            file.flush()
            os.fsync(file.fileno())
        stage.replace(path)
    finally:
        stage.unlink(missing_ok=True)


def export_file(path: Path, records: Iterable[Record]) -> int:
    """Write results to a file that `import_file` reads on another machine; how many."""
    chosen = list(records)
    try:
        _write(path, chosen)
    except OSError as failure:
        raise error("DSL0922", f"{path} cannot be written: {failure.strerror or failure}") from None
    return len(chosen)


def import_file(path: Path) -> list[Record]:
    """The results of a file; DSL0922 where it is none."""
    try:
        return list(parse(path.read_text(encoding="utf-8")[:_LARGEST]))
    except OSError as failure:
        raise error("DSL0922", f"{path} cannot be read: {failure.strerror or failure}") from None
    except ValueError as problem:
        text = f"{path} holds no tuning results: {problem}"
        raise error("DSL0922", text, hint="dslc tune --export FILE writes such files") from None
