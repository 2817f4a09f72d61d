"""The raw results of a run: one JSON file, from which every table is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu.cases import Case

Record = dict[str, Any]
# Between a measuring process and the one that started it: the mark of a result's line, and the status
# of a process whose GPU no longer works.
MARK = "@@result "
BROKEN = 3


@dataclass
class Results:
    """What was measured where: the machine, the libraries' versions, a record for case and library."""

    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def add(self, library: str, record: Record) -> None:
        """Another result of a process: the versions it used, or a case."""
        if "versions" in record:
            self.versions |= record["versions"]
        else:
            self.records.append({"library": library, **record})

    def cases(self, section: str) -> list[Case]:
        """The cases of a section in the order in which they were first measured."""
        found = {}
        for record in self.records:
            case = Case.from_data(record["case"])
            if case.section == section and not record.get("skipped"):
                found.setdefault(case.key, case)
        return list(found.values())

    def of(self, case: Case, library: str) -> Record | None:
        """The last result of a library for a case; None where it has none, or skipped it."""
        for record in reversed(self.records):
            same = record["library"] == library and Case.from_data(record["case"]).key == case.key
            if same and not record.get("skipped"):
                return record
        return None

    def number(self, case: Case, library: str, name: str = "us") -> float | None:
        """A figure of a library's result; None where it has none or failed."""
        found = self.of(case, library)
        value = None if found is None else found.get(name)
        return None if value is None else float(value)

    def failures(self) -> Iterator[tuple[Case, str, str]]:
        for record in self.records:
            if "failure" in record:
                yield Case.from_data(record["case"]), record["library"], record["failure"]

    def save(self, path: Path) -> None:
        data = {"machine": self.machine, "versions": self.versions, "records": self.records}
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Results:
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(data["machine"], data["versions"], data["records"])

    @classmethod
    def joined(cls, parts: Iterable[Results]) -> Results:
        """Several runs as one; the machine is the last one's."""
        whole = cls()
        for part in parts:
            whole.machine |= part.machine
            whole.versions |= part.versions
            whole.records += part.records
        return whole
