"""The checker over a document: findings, and what each name was when its kernel was elaborated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dslc.checker.context import observed
from dslc.checker.items import (
    Absent,
    Builtin,
    Item,
    KernelName,
    Lost,
    UserFunction,
    describe,
    shape_text,
)
from dslc.checker.module import Template, check_module
from dslc.checker.source import check_template
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, Severity
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.layout import Layout
from dslc.frontend import tree
from dslc.frontend.imports import DISK, Files
from dslc.frontend.rules import check_module as check_rules
from dslc.language_server.document import Document, Part
from dslc.language_server.values import Values, expression_text


@dataclass(frozen=True, slots=True)
class Fact:
    """What a name stands for: its type, and the values that it can have (empty where it has none)."""

    type: str
    values: str = ""


Facts = Mapping[tuple[int, int], Fact]
"""What names stand for, by line and column in their part, both from 1."""


Key = tuple[str, str]
"""A part's own key, and a digest of what its meaning depends on beside it."""


@dataclass
class Checked:
    """What is known of one part: findings with places in it, and its facts."""

    findings: list[Diagnostic]
    facts: Facts = field(default_factory=dict)


class Checker:
    """Checks documents, and again only the kernels that changed or whose module did.

    `files` are the texts of open documents, in front of those on disk.
    """

    def __init__(self, files: Files = DISK) -> None:
        self.files = files
        self._checked: dict[Path, dict[str, tuple[Key, Checked]]] = {}  # by the part's key

    def facts(self, part: Part) -> Facts:
        """What is known of the names of a part, empty before it was checked."""
        known = self._known(part)
        return known[1].facts if known else {}

    def key(self, part: Part) -> Key | None:
        """What a part's meaning depends on; None before it was checked and where it is wrong."""
        known = self._known(part)
        if known is None or any(d.severity is Severity.ERROR for d in known[1].findings):
            return None
        return known[0]

    def forget(self, document: Document) -> None:
        """Forget what was known of a document."""
        self._checked.pop(document.path, None)

    def _known(self, part: Part) -> tuple[Key, Checked] | None:
        return next((k[part.key] for k in list(self._checked.values()) if part.key in k), None)

    def check(self, document: Document) -> list[Diagnostic]:
        """All findings, with places in the document and in others."""
        return [
            replace(
                d,
                loc=document.located(d.loc) if d.loc else None,
                labels=tuple(replace(x, loc=document.located(x.loc)) for x in d.labels),
            )
            for d in self._findings(document)
        ]

    def _findings(self, document: Document) -> list[Diagnostic]:
        errors = [d for part in document.parts for d in part.errors]
        if errors:
            return errors
        loc = Loc(str(document.path), 1, 1, 1, 1)
        module = tree.Module(document.items, loc=loc)
        broken: list[Diagnostic] = []
        check_rules(module, broken.append)
        if broken:
            return broken
        try:
            checked = check_module(module, folder=document.path.parent, files=self.files)
        except DiagnosticError as failure:
            return list(failure.diagnostics)
        around = self._around(document, checked.sources)
        findings: list[Diagnostic] = []
        before = self._checked.get(document.path, {})
        kept: dict[str, tuple[Key, Checked]] = {}
        for part in document.parts:
            if not isinstance(part.item, tree.Kernel | tree.Program):
                continue
            template = checked.templates.get(part.item.name)
            if template is None or template.loc.file != part.key:
                continue
            key = (part.key, around[isinstance(part.item, tree.Program)])
            known = before.get(part.key)
            result = known[1] if known and known[0] == key else self._check(template)
            kept[part.key] = key, result
            findings += [d for d in result.findings if d not in findings]
        self._checked[document.path] = kept
        return findings

    def _around(self, document: Document, sources: Mapping[str, str]) -> dict[bool, str]:
        """A digest of what a kernel's check depends on beside it, and of what a program's does."""
        kernels = [p for p in document.parts if isinstance(p.item, tree.Kernel | tree.Program)]
        shared = [p.text for p in document.parts if p not in kernels] + [*sources.values()]
        return {False: _digest(shared), True: _digest([*shared, *(p.text for p in kernels)])}

    def _check(self, template: Template) -> Checked:
        noted = _Noted(template.loc.file)
        with observed(noted):
            findings = check_template(template)
        return Checked(findings, noted.facts())


class _Noted:
    """What a check tells of a part's names; the values of the first kernel that comes out count."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.items: dict[tuple[int, int], list[Item]] = {}
        self.elaborated: Kernel | None = None

    def name(self, loc: Loc, item: Item) -> None:
        """Keep the items of a place until a kernel is there: those of a failed attempt go before."""
        if self.elaborated is None and loc.file == self.file and not isinstance(item, Lost):
            self.items.setdefault((loc.line, loc.col), []).append(item)

    def kernel(self, kernel: Kernel) -> None:
        """The first that is of the part itself."""
        if self.elaborated is None and kernel.loc is not None and kernel.loc.file == self.file:
            self.elaborated = kernel

    def facts(self) -> Facts:
        """What is known of each place."""
        values = None if self.elaborated is None else Values(self.elaborated)
        return {place: _fact(items, values) for place, items in self.items.items()}


def _fact(items: list[Item], values: Values | None) -> Fact:
    """That of the first of some items whose values are known, else of the first."""
    for item in items:
        if values is not None and (held := values.text(item)):
            return Fact(described(item), held)
    return Fact(described(items[0]))


def _digest(texts: list[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()


def described(item: Item) -> str:
    """What an item is, as a type: `f32[16, 128]`, with its layout where it has one."""
    match item:
        case Value():
            layout = f", layout {item.type.layout}" if item.type.layout is not None else ""
            return f"{item.type.dtype}{shape_text(item.type.shape)}{layout}"
        case Memory():
            extents = ", ".join(expression_text(e) for e in item.shape)
            return f"{item.dtype}[{extents}]"
        case bool() | int() | float() | str():
            return f"{item!r}"
        case tuple():
            return f"[{', '.join(map(described, item))}]"
        case DType():
            return f"the dtype {item}"
        case Layout():
            return f"{item}"
        case UserFunction() | Builtin() | KernelName():
            return describe(item)
        case None | Lost() | Absent():
            return describe(item)
        case _:
            known = f" = {expression_text(item)}" if not isinstance(item, ex.Var) else ""
            return f"{item.dtype}{known}"


class OpenFiles:
    """The texts of documents that are open, and the disk."""

    def __init__(self) -> None:
        self.documents: dict[Path, Document] = {}

    def has(self, path: Path) -> bool:
        """Whether there is such a file."""
        return path.resolve() in self.documents or DISK.has(path)

    def read(self, path: Path) -> str:
        """Its text, as the editor has it."""
        document = self.documents.get(path.resolve())
        return document.text if document is not None else DISK.read(path)

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self.documents.values()))
