"""The sources that the server knows: those that are open, and others on disk as they are asked for."""

from __future__ import annotations

from pathlib import Path

from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend.source import read_source
from dslc.language_server.checking import Checker, Facts, OpenFiles
from dslc.language_server.document import Document, Part
from dslc.language_server.python_document import PythonDocument


def new_document(path: Path, text: str) -> Document:
    """The document of a path: by its name a `.tile` source, or Python with kernels in it."""
    return PythonDocument(path, text) if path.suffix == ".py" else Document(path, text)


class Workspace:
    """Documents by path."""

    def __init__(self) -> None:
        self.files = OpenFiles()
        self.checker = Checker(self.files)
        self.folder: Path | None = None
        self._on_disk: dict[Path, tuple[float, Document]] = {}

    def change(self, path: Path, text: str) -> Document:
        """The open document of a path, with this text."""
        path = path.resolve()
        document = self.files.documents.get(path)
        if document is None:
            document = self.files.documents[path] = new_document(path, text)
        else:
            document.update(text)
        return document

    def close(self, path: Path) -> None:
        """Forget an open document."""
        document = self.files.documents.pop(path.resolve(), None)
        if document is not None:
            self.checker.forget(document)

    def open_(self, path: Path) -> Document | None:
        """The document of a path, open or on disk; None where it cannot be read."""
        path = path.resolve()
        if (document := self.files.documents.get(path)) is not None:
            return document
        try:
            changed = path.stat().st_mtime
            known = self._on_disk.get(path)
            if known is None or known[0] != changed:
                known = self._on_disk[path] = (changed, new_document(path, read_source(path)))
        except (OSError, DiagnosticError):
            return None
        return known[1]

    @property
    def texts(self) -> dict[str, str]:
        """The texts of all open documents by path."""
        return {str(path): d.text for path, d in self.files.documents.items()}

    def facts(self, part: Part) -> Facts:
        """What the last check learned of a part."""
        return self.checker.facts(part)
