"""A client of the language server, as an editor has one."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient


class Editor:
    """A client that has opened files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("test", "1")
        self.findings: dict[str, list] = {}
        self.published = asyncio.Event()
        self.versions: dict[str, int] = {}
        self.refreshed = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params) -> None:
            self.findings[params.uri] = list(params.diagnostics)
            self.published.set()

        @self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def _(params) -> None:
            self.refreshed.set()

    async def start(self) -> Editor:
        await self.client.start_io(sys.executable, "-m", "dslc", "lsp", "--target", "hip:gfx942")
        result = await self.client.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(
                    workspace=types.WorkspaceClientCapabilities(
                        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
                    )
                ),
                root_uri=self.folder.as_uri(),
                initialization_options={"dims": {"K": 2048}},
            )
        )
        self.capabilities = result.capabilities
        self.client.initialized(types.InitializedParams())
        return self

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def open(self, name: str, text: str | None = None) -> list:
        """Open a file; the findings of its check."""
        file = self.folder / name
        if text is not None:
            file.write_text(text)
        self.published.clear()
        self.text = file.read_text()
        item = types.TextDocumentItem(self.uri(name), "tile", 1, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await asyncio.wait_for(self.published.wait(), 250)
        return self.findings[self.uri(name)]

    async def change(self, name: str, old: str, new: str, *, wait: bool = True) -> list:
        """Replace a text that occurs once, as typing does."""
        at = self.text.index(old)
        lines = self.text[:at].split("\n")
        begin = types.Position(len(lines) - 1, len(lines[-1]))
        rows = old.split("\n")
        end = types.Position(
            begin.line + len(rows) - 1,
            len(rows[-1]) + (begin.character if len(rows) == 1 else 0),
        )
        self.text = self.text.replace(old, new, 1)
        self.versions[name] = self.versions.get(name, 1) + 1
        self.published.clear()
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name)),
                [types.TextDocumentContentChangePartial(types.Range(begin, end), new)],
            )
        )
        if wait:
            await asyncio.wait_for(self.published.wait(), 250)
        return self.findings.get(self.uri(name), [])

    def at(self, name: str, mark: str, nth: int = 0) -> dict:
        """The arguments of a request at the text before `|` in a mark."""
        before, _, after = mark.partition("|")
        at = [m.start() for m in re.finditer(re.escape(before + after), self.text)][nth]
        lines = self.text[: at + len(before)].split("\n")
        return {
            "text_document": types.TextDocumentIdentifier(self.uri(name)),
            "position": types.Position(len(lines) - 1, len(lines[-1])),
        }

    async def hints(self, name: str, wanted: str = "") -> dict[int, list[str]]:
        """The inlay hints by line, from 1; those of costs once one has a text that is waited for."""
        while True:
            self.refreshed.clear()
            found = await self.client.text_document_inlay_hint_async(
                types.InlayHintParams(
                    types.TextDocumentIdentifier(self.uri(name)),
                    types.Range(types.Position(0, 0), types.Position(self.text.count("\n") + 1, 0)),
                )
            )
            lines: dict[int, list[str]] = {}
            for hint in found:
                lines.setdefault(hint.position.line + 1, []).append(hint.label)
            if not wanted or any(wanted in text for texts in lines.values() for text in texts):
                return lines
            await asyncio.wait_for(self.refreshed.wait(), 100)
