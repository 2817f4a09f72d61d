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
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.layout import Layout
from dslc.frontend import tree
from dslc.frontend.imports import DISK, Files
from dslc.frontend.rules import check_module as check_rules
from dslc.language_server.document import Document, Part

Facts = Mapping[tuple[int, int], str]
"""What names stand for, by line and column in their part, both from 1."""


@dataclass
class Checked:
    """What is known of one part: findings with places in it, and its facts."""

    findings: list[Diagnostic]
    facts: dict[tuple[int, int], str] = field(default_factory=dict)


class Checker:
    """Checks documents, and again only the kernels that changed or whose module did.

    `files` are the texts of open documents, in front of those on disk.
    """

    def __init__(self, files: Files = DISK) -> None:
        self.files = files
        self._checked: dict[tuple[str, str], Checked] = {}
        self._facts: dict[str, Facts] = {}  # by the part's key

    def facts(self, part: Part) -> Facts:
        """What is known of the names of a part, empty before it was checked."""
        return self._facts.get(part.key, {})

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
        kept: dict[tuple[str, str], Checked] = {}
        for part in document.parts:
            if not isinstance(part.item, tree.Kernel | tree.Program):
                continue
            template = checked.templates.get(part.item.name)
            if template is None or template.loc.file != part.key:
                continue
            key = (part.key, around[isinstance(part.item, tree.Program)])
            result = self._checked.get(key) or self._check(template)
            kept[key] = result
            self._facts[part.key] = result.facts
            findings += [d for d in result.findings if d not in findings]
        live = {part.key for part in document.parts}
        self._checked = {k: v for k, v in self._checked.items() if k[0] not in live} | kept
        return findings

    def _around(self, document: Document, sources: Mapping[str, str]) -> dict[bool, str]:
        """A digest of what a kernel's check depends on beside it, and of what a program's does."""
        kernels = [p for p in document.parts if isinstance(p.item, tree.Kernel | tree.Program)]
        shared = [p.text for p in document.parts if p not in kernels] + [*sources.values()]
        return {False: _digest(shared), True: _digest([*shared, *(p.text for p in kernels)])}

    def _check(self, template: Template) -> Checked:
        checked = Checked([])

        def note(loc: Loc, item: Item) -> None:
            if loc.file == template.loc.file and not isinstance(item, Lost):
                checked.facts.setdefault((loc.line, loc.col), described(item))

        with observed(note):
            checked.findings = check_template(template)
        return checked


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
            extents = ", ".join(_text(e) for e in item.shape)
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
            known = f" = {_text(item)}" if not isinstance(item, ex.Var) else ""
            return f"{item.dtype}{known}"


def _text(expr: ex.Expr) -> str:
    from dslc.compiler.ir.text.printer import print_expr

    text = print_expr(expr).replace("%", "")
    return text if len(text) <= 60 else "..."


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
