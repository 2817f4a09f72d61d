"""The server itself: the protocol's requests over the modules that answer them.

Requests are answered at once from what is known; the checker runs behind them, in a thread of its own,
some time after the last keystroke.
"""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dslc
from dslc.compiler.diagnostics import DiagnosticError
from dslc.formatting import format_tile
from dslc.frontend.tokens import Token
from dslc.language_server import completing, explaining, navigation, outline
from dslc.language_server.costs import Costs, Settings
from dslc.language_server.document import Document, Part
from dslc.language_server.findings import published
from dslc.language_server.names import Kind, occurrences, resolve
from dslc.language_server.positions import column, position, span
from dslc.language_server.workspace import Workspace
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

_PAUSE = 0.15  # seconds without a keystroke before the checker runs
_COMPLETIONS = {
    Kind.PARAMETER.value: types.CompletionItemKind.Variable,
    Kind.LOCAL.value: types.CompletionItemKind.Variable,
    Kind.COUNTER.value: types.CompletionItemKind.Variable,
    Kind.DIM.value: types.CompletionItemKind.EnumMember,
    Kind.CONST.value: types.CompletionItemKind.Constant,
    Kind.TUNE.value: types.CompletionItemKind.Constant,
    Kind.DTYPE.value: types.CompletionItemKind.Class,
    Kind.KEYWORD_ARGUMENT.value: types.CompletionItemKind.Property,
    "keyword": types.CompletionItemKind.Keyword,
    "file": types.CompletionItemKind.File,
}
_SYMBOLS = {
    Kind.CONST: types.SymbolKind.Constant,
    Kind.IMPORTED: types.SymbolKind.Module,
}
_LEGEND = types.SemanticTokensLegend(list(outline.TOKEN_TYPES), list(outline.TOKEN_MODIFIERS))


class TileServer(LanguageServer):
    """pygls's server with a workspace of documents."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__("dslc", dslc.__version__)
        self.sources = Workspace()
        self.checks: dict[str, asyncio.Task[None]] = {}
        self.background = ThreadPoolExecutor(1, "dslc-checker")
        self.settings = settings or Settings()
        self._costs: Costs | None = None

    @property
    def costs(self) -> Costs:
        """What lines cost, in the loop that requests are answered in."""
        if self._costs is None:
            loop = asyncio.get_running_loop()
            self._costs = Costs(self.settings, self.refresh, loop.call_soon_threadsafe)
        return self._costs

    def refresh(self) -> None:
        """Have the editor ask for hints again, where it can be told to."""
        of_workspace = self.client_capabilities.workspace
        hints = of_workspace and of_workspace.inlay_hint
        if hints and hints.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def close(self) -> None:
        """End what was started."""
        self.background.shutdown(wait=False, cancel_futures=True)
        if self._costs is not None:
            self._costs.close()

    def document(self, uri: str) -> Document:
        """The document of a URI, as the editor has it now."""
        return self.sources.change(_path(uri), self.workspace.get_text_document(uri).source)

    def place(self, uri: str, at: types.Position) -> tuple[Document, int, int]:
        """A document, and a place in it from 0."""
        document = self.document(uri)
        rows = document.rows
        row = rows[at.line] if at.line < len(rows) else ""
        return document, at.line, column(row, at)

    def token(self, uri: str, at: types.Position) -> tuple[Document, Part, Token] | None:
        """The token at a place of the Tile language."""
        document, line, col = self.place(uri, at)
        at_place = document.token_at(line, col)
        return (document, *at_place) if at_place is not None and at_place[0].is_code else None


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or uri.partition(":")[2])


def _range(document: Document, part: Part, token: Token) -> types.Range:
    return span(document.rows, navigation.Found(document, part, token).loc)


def _location(found: navigation.Found) -> types.Location:
    uri = from_fs_path(str(found.document.path)) or ""
    return types.Location(uri, _range(found.document, found.part, found.token))


def make_server(settings: Settings | None = None) -> TileServer:
    """A server with all that it answers."""
    sys.setswitchinterval(0.001)  # a request does not wait long for the checker's thread
    server = TileServer(settings)
    _follow(server)
    _explain(server)
    _navigate(server)
    _show(server)
    _change(server)
    return server


def _follow(server: TileServer) -> None:
    """What keeps documents and findings up to date."""

    async def check(uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        document = server.document(uri)
        version = server.workspace.get_text_document(uri).version
        loop = asyncio.get_running_loop()
        findings = await loop.run_in_executor(
            server.background, server.sources.checker.check, document
        )
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, published(document, findings), version)
        )
        server.refresh()

    def later(uri: str) -> None:
        waiting = server.checks.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        server.checks[uri] = asyncio.get_running_loop().create_task(check(uri))

    @server.feature(types.INITIALIZED)
    def _(params: types.InitializedParams) -> None:
        root = server.workspace.root_path
        server.sources.folder = Path(root) if root else None

    @server.feature(types.INITIALIZE)
    def _(params: types.InitializeParams) -> None:
        server.settings.take(params.initialization_options)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def _(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        server.settings.take(given.get("dslc", given) if isinstance(given, dict) else None)
        server.refresh()

    @server.feature(types.SHUTDOWN)
    def _(params: None) -> None:
        server.close()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _(params: types.DidOpenTextDocumentParams) -> None:
        later(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _(params: types.DidChangeTextDocumentParams) -> None:
        later(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _(params: types.DidSaveTextDocumentParams) -> None:
        for document in server.sources.files:  # others may import it
            later(from_fs_path(str(document.path)) or params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.sources.close(_path(uri))
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _explain(server: TileServer) -> None:
    """Hover, signature help, completion, inlay hints."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def _(params: types.HoverParams) -> types.Hover | None:
        found = server.token(params.text_document.uri, params.position)
        if found is None:
            return None
        document, part, token = found
        text = explaining.hover(document, server.sources.facts(part), part, token)
        if text is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, _range(document, part, token))

    @server.feature(
        types.TEXT_DOCUMENT_SIGNATURE_HELP, types.SignatureHelpOptions(["(", ","], [","])
    )
    def _(params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        document, line, col = server.place(params.text_document.uri, params.position)
        found = explaining.call_at(document, line, col) if document.at(line)[0].is_code else None
        if found is None:
            return None
        known, active = found
        text = types.MarkupContent(types.MarkupKind.Markdown, known.text)
        parameters = [types.ParameterInformation(p) for p in known.parameters]
        signature = types.SignatureInformation(known.signature, text, parameters)
        return types.SignatureHelp([signature], 0, min(active, max(len(parameters) - 1, 0)))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions([".", " "]))
    def _(params: types.CompletionParams) -> types.CompletionList:
        document, line, col = server.place(params.text_document.uri, params.position)
        part, _ = document.at(line)
        if not part.is_code:
            return types.CompletionList(False, [])
        facts = server.sources.facts(part)
        items: dict[str, types.CompletionItem] = {}
        for choice in completing.choices(document, facts, line, col, server.sources.open_):
            items.setdefault(
                choice.label,
                types.CompletionItem(
                    choice.label,
                    kind=_COMPLETIONS.get(choice.kind, types.CompletionItemKind.Function),
                    detail=choice.detail or choice.kind,
                    documentation=types.MarkupContent(types.MarkupKind.Markdown, choice.text)
                    if choice.text
                    else None,
                ),
            )
        return types.CompletionList(False, list(items.values()))

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def _(params: types.InlayHintParams) -> list[types.InlayHint]:
        document = server.document(params.text_document.uri)
        hints = []
        first, last = params.range.start.line, params.range.end.line
        for part, start in zip(document.parts, document.starts, strict=True):
            if not part.is_code or start > last or start + part.lines < first:
                continue
            for token, text in explaining.inlay_hints(part, server.sources.facts(part)):
                end = _range(document, part, token).end
                hints.append(types.InlayHint(end, text, types.InlayHintKind.Type))
            key = server.sources.checker.key(part)
            for line, (text, more) in server.costs.hints(document, part, key, server.sources.texts):
                row = document.rows[start + line - 1]
                hints.append(
                    types.InlayHint(
                        position(document.rows, start + line, len(row) + 1),
                        text,
                        tooltip=more or None,
                        padding_left=True,
                    )
                )
        return hints


def _navigate(server: TileServer) -> None:
    """Definition, references, rename."""

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def _(params: types.DefinitionParams) -> types.Location | None:
        found = server.token(params.text_document.uri, params.position)
        target = found and navigation.definition(*found, server.sources.open_)
        return _location(target) if target else None

    def references(uri: str, at: types.Position) -> list[navigation.Found]:
        found = server.token(uri, at)
        if found is None:
            return []
        return navigation.references(*found, server.sources.open_, server.sources.folder)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def _(params: types.ReferenceParams) -> list[types.Location]:
        return [_location(f) for f in references(params.text_document.uri, params.position)]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def _(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        found = server.token(params.text_document.uri, params.position)
        if found is None:
            return []
        document, part, token = found
        name = resolve(document, part, token)
        return [
            types.DocumentHighlight(_range(document, p, t)) for p, t in occurrences(document, name)
        ]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def _(params: types.PrepareRenameParams) -> types.Range | None:
        found = server.token(params.text_document.uri, params.position)
        if found is None or navigation.refusal(*found, "a_new_name_") is not None:
            return None
        return _range(*found)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def _(params: types.RenameParams) -> types.WorkspaceEdit:
        found = server.token(params.text_document.uri, params.position)
        reason = "here is no name" if found is None else None
        if found is not None:
            reason = navigation.refusal(*found, params.new_name)
        if reason is not None:
            raise JsonRpcInvalidParams(reason)
        edits: dict[str, list[types.TextEdit]] = {}
        for one in references(params.text_document.uri, params.position):
            location = _location(one)
            edit = types.TextEdit(location.range, params.new_name)
            edits.setdefault(location.uri, []).append(edit)
        return types.WorkspaceEdit(edits)


def _show(server: TileServer) -> None:
    """Symbols, folding, semantic tokens."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def _(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = server.document(params.text_document.uri)
        symbols = []
        for kind, name, part, token in outline.symbols(document):
            where = _range(document, part, token)
            start = document.start_of(part)
            whole = types.Range(
                types.Position(start, 0),
                types.Position(max(start + part.lines, where.end.line + 1), 0),
            )
            symbol = _SYMBOLS.get(kind, types.SymbolKind.Function)
            symbols.append(types.DocumentSymbol(name, symbol, whole, where, kind.value))
        return symbols

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def _(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        document = server.document(params.text_document.uri)
        return [types.FoldingRange(first, last) for first, last in outline.folds(document)]

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
    def _(params: types.SemanticTokensParams) -> types.SemanticTokens:
        return types.SemanticTokens(
            outline.semantic_tokens(server.document(params.text_document.uri))
        )


def _change(server: TileServer) -> None:
    """Formatting and quick fixes."""

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def _(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        document = server.document(params.text_document.uri)
        if document.path.suffix == ".py":
            return None
        loop = asyncio.get_running_loop()
        try:
            text = await loop.run_in_executor(None, format_tile, document.text, str(document.path))
        except DiagnosticError:
            return None
        if text == document.text:
            return []
        end = types.Position(len(document.rows), 0)
        return [types.TextEdit(types.Range(types.Position(0, 0), end), text)]

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix]),
    )
    def _(params: types.CodeActionParams) -> list[types.CodeAction]:
        return [
            types.CodeAction(
                title,
                types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                is_preferred=True,
                edit=types.WorkspaceEdit(
                    {params.text_document.uri: [types.TextEdit(diagnostic.range, text)]}
                ),
            )
            for diagnostic in params.context.diagnostics
            for title, text in (diagnostic.data if isinstance(diagnostic.data, list) else [])
        ]
