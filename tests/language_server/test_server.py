"""The language server as editors meet it: a client of its own over stdio."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

types = pytest.importorskip("lsprotocol.types")

ROOT = Path(__file__).parents[2]
USER = """from library import double, scale


kernel quad(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        block = double(x[n : n + 64])
        total = sum(block, axis=0)
        y[n : n + 64] = double(block) + total


program both(x: f32[N], y: out f32[N]):
    t = buffer(f32, [N])
    quad(x, t)
    scale(t, 2.0, y)
"""


def test_findings_come_with_codes_hints_and_fixes(play) -> None:
    async def scenario(editor) -> None:
        assert await editor.open("user.tile", USER) == []
        (found,) = await editor.change("user.tile", "sum(block", "sun(block")
        assert found.code == "DSL0201"
        assert found.source == "dslc"
        assert "did you mean `sum`?" in found.message
        assert (found.range.start.line, found.range.start.character) == (6, 16)
        assert found.range.end.character == 19
        (action,) = await editor.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(editor.uri("user.tile")),
                found.range,
                types.CodeActionContext([found]),
            )
        )
        (edit,) = action.edit.changes[editor.uri("user.tile")]
        assert (edit.new_text, edit.range) == ("sum", found.range)
        assert await editor.change("user.tile", "sun(block", "sum(block") == []
        (found,) = await editor.change("user.tile", "axis=0)", "axis=0")
        assert found.code == "DSL0010"
        # What is right is not checked again, and findings move with their lines.
        (found,) = await editor.change("user.tile", "from library", "# above\n\nfrom library")
        assert found.range.start.line == 8

    play(scenario)


def test_names_are_explained(play) -> None:
    async def scenario(editor) -> None:
        async def hover(mark: str, nth: int = 0) -> str:
            found = await editor.client.text_document_hover_async(
                types.HoverParams(**editor.at("user.tile", mark, nth))
            )
            return found.contents.value if found else ""

        await editor.open("user.tile", USER)
        assert "block: f32[64]" in await hover("bl|ock")
        assert "total: f32[" in await hover("tot|al") or "total: f32" in await hover("tot|al")
        assert "sum(x, axis=None, keepdims=False)" in await hover("s|um(")
        assert "a float of 32 bits" in await hover("f3|2[N]")
        assert "x: f32[N]" in await hover("x|[n")
        assert "for n in parallel" in await hover("|n :")
        assert "kernel quad(x: f32[N], y: out f32[N])" in await hover("qu|ad(x, t)")
        assert "several kernels" in await hover("prog|ram both")
        help_ = await editor.client.text_document_signature_help_async(
            types.SignatureHelpParams(**editor.at("user.tile", "sum(block, |axis"))
        )
        assert help_.signatures[0].label.startswith("sum(x, axis=None")
        assert help_.active_parameter == 1
        hints = await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(
                types.TextDocumentIdentifier(editor.uri("user.tile")),
                types.Range(types.Position(0, 0), types.Position(20, 0)),
            )
        )
        assert ": f32[64]" in [h.label for h in hints]

    play(scenario)


VALUES = """kernel scores(w: u4[N, K], x: f16[N, K], y: out f16[N, K]):
    require K <= 4096
    for n in parallel(range(0, N, 16)):
        best = zeros(f16, [16])
        for k in range(0, K, 32):
            centred = cast(w[n : n + 16, k : k + 32], i8) - 8
            gate = sigmoid(x[n : n + 16, k : k + 32])
            lane = k % 7
            best = maximum(best, max(gate, 1))
            y[n : n + 16, k : k + 32] = gate * cast(centred + lane, f16)
"""


def as_python(text: str) -> str:
    """A kernel of these tests as a decorated function."""
    head = (
        "import dslc\nfrom dslc.lang import *\n\nN, K = dims('N K')\n\n\n@dslc.kernel\ndef scores"
    )
    text = re.sub(r"(\w+): (out )?(\w\d+)\[", r"\1: \2tensor[\3, ", text).replace(
        "out tensor", "out"
    )
    return text.replace("kernel scores", head).replace("require K <= 4096", "require(K <= 4096)")


@pytest.mark.parametrize("name", ["values.tile", "values.py"])
def test_a_hover_says_which_values_a_name_can_have(play, name: str) -> None:
    text = VALUES
    if name.endswith(".py"):
        text = as_python(text)

    async def scenario(editor) -> None:
        async def values(mark: str) -> str:
            found = await editor.client.text_document_hover_async(
                types.HoverParams(**editor.at(name, mark))
            )
            return found.contents.value.partition("values: ")[2]

        assert await editor.open(name, text) == []
        assert await values("w|[n") == "0 to 15"
        assert await values("x|[n") == "any"
        assert await values("cent|red =") == "-8 to 7"
        assert await values("gat|e =") == "0 to 1"
        assert await values("best = maximum(be|st") == "0 to 1"
        assert await values("lan|e =") == "0 to 6"
        assert await values("|n : n + 16, k : k + 32], i8") == "from 0, below N, in steps of 16"
        assert await values("k| %") == "from 0, below K, in steps of 32"
        assert await values("range(0, K|,") == "0 to 4096"

    play(scenario)


@pytest.mark.parametrize("name", ["costs.tile", "costs.py"])
def test_lines_show_what_they_cost_once_it_is_computed(play, name: str) -> None:
    text = VALUES if name.endswith(".tile") else as_python(VALUES)

    async def scenario(editor) -> None:
        assert await editor.open(name, text) == []
        head = next(n for n, row in enumerate(text.split("\n"), 1) if "scores(" in row)
        lines = await editor.hints(name, "hip:gfx942")
        (said,) = lines[head]
        assert re.search(
            r"hip:gfx942, N=1024, K=2048: [\d.]+ us, limited by .*; \d+ registers", said
        )
        (load,) = (n for n, row in enumerate(text.split("\n"), 1) if "sigmoid" in row)
        (cost,) = (t for t in lines[load] if " us" in t)
        assert re.match(r"[\d.]+ us · \d+ reg", cost)
        # A comment above moves them; a line that changed has none until it is computed again.
        await editor.change(
            name, "gate = sigmoid(", "# here\n            gate = 2.0 * sigmoid(", wait=False
        )
        moved = await editor.hints(name)
        assert moved[head] == lines[head]
        assert not any(" us" in t for t in moved.get(load + 1, ()))
        while not any(" us" in t for t in (await editor.hints(name)).get(load + 1, ())):
            await asyncio.wait_for(editor.refreshed.wait(), 100)
        # What does not compile for the machine says so in its place.
        await editor.change(name, "0:K" if "0:K" in text else "K <= 4096", "K <= 1024")
        refused = await editor.hints(name, "DSL0217")
        assert any("1024" in t for t in refused[head])

    play(scenario)


def test_definitions_references_and_renaming_cross_imports(play) -> None:
    async def scenario(editor) -> None:
        client = editor.client
        await editor.open("user.tile", USER)
        found = await client.text_document_definition_async(
            types.DefinitionParams(**editor.at("user.tile", "dou|ble(block)"))
        )
        assert (found.uri, found.range.start.line) == (editor.uri("library.tile"), 4)
        found = await client.text_document_definition_async(
            types.DefinitionParams(**editor.at("user.tile", "double(bl|ock)"))
        )
        assert (found.uri, found.range.start.line) == (editor.uri("user.tile"), 5)
        where = await client.text_document_references_async(
            types.ReferenceParams(
                context=types.ReferenceContext(True),
                **editor.at("user.tile", "dou|ble(block)"),
            )
        )
        places = sorted((Path(r.uri).name, r.range.start.line) for r in where)
        assert places == [
            ("library.tile", 4),
            ("library.tile", 14),
            ("user.tile", 0),
            ("user.tile", 5),
            ("user.tile", 7),
        ]
        edit = await client.text_document_rename_async(
            types.RenameParams(new_name="twice", **editor.at("user.tile", "dou|ble(block)"))
        )
        texts = {}
        for uri, edits in edit.changes.items():
            rows = (editor.folder / Path(uri).name).read_text().split("\n")
            for e in sorted(edits, key=lambda e: -e.range.start.character):
                row = rows[e.range.start.line]
                rows[e.range.start.line] = (
                    row[: e.range.start.character] + e.new_text + row[e.range.end.character :]
                )
            texts[Path(uri).name] = "\n".join(rows)
        assert texts["user.tile"] == USER.replace("double", "twice")
        assert texts["library.tile"] == (editor.folder / "library.tile").read_text().replace(
            "double", "twice"
        )
        with pytest.raises(Exception, match="another name here"):
            await client.text_document_rename_async(
                types.RenameParams(new_name="total", **editor.at("user.tile", "double(bl|ock)"))
            )

    play(scenario)


def test_what_may_be_written(play) -> None:
    async def scenario(editor) -> None:
        async def labels(mark: str) -> set[str]:
            found = await editor.client.text_document_completion_async(
                types.CompletionParams(**editor.at("user.tile", mark))
            )
            return {item.label for item in found.items}

        await editor.open("user.tile", USER)
        inside = await labels("total = |sum")
        assert {"block", "x", "N", "n", "double", "sum", "f16", "for"} <= inside
        assert "t" not in inside
        assert {"axis=", "keepdims="} <= await labels("sum(block, |axis")
        assert {"double", "scale", "HALF"} <= await labels("import |double")
        assert "library" in await labels("from lib|rary")

    play(scenario)


def test_the_whole_source(play) -> None:
    async def scenario(editor) -> None:
        client = editor.client
        untidy = USER.replace("n : n + 64", "n:n+64").replace("both(x: ", "both( x : ")
        await editor.open("user.tile", untidy)
        document = types.TextDocumentIdentifier(editor.uri("user.tile"))
        (edit,) = await client.text_document_formatting_async(
            types.DocumentFormattingParams(document, types.FormattingOptions(4, True))
        )
        assert edit.new_text == USER.replace("scale\n\n\nkernel", "scale\n\n\nkernel")
        symbols = await client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document)
        )
        assert [s.name for s in symbols] == ["double", "scale", "quad", "both"]
        folds = await client.text_document_folding_range_async(types.FoldingRangeParams(document))
        assert (3, 7) in [(f.start_line, f.end_line) for f in folds]
        tokens = await client.text_document_semantic_tokens_full_async(
            types.SemanticTokensParams(document)
        )
        legend = editor.capabilities.semantic_tokens_provider.legend.token_types
        rows = untidy.split("\n")
        line = col = 0
        named = set()
        for i in range(0, len(tokens.data), 5):
            down, right, length, kind, _ = tokens.data[i : i + 5]
            line, col = line + down, right + (0 if down else col)
            named.add((rows[line][col : col + length], legend[kind]))
        assert {
            ("x", "parameter"),
            ("N", "enumMember"),
            ("block", "variable"),
            ("f32", "type"),
            ("sum", "function"),
            ("axis", "property"),
            ("quad", "function"),
        } <= named

    play(scenario)


PYTHON = '''"""A module."""
from __future__ import annotations

import dslc
from dslc.lang import *

T = f32
N, BN = dims("N BN")


def double(x):
    return x + x


@dslc.kernel(BN=[64, 128])
def scale(x: tensor[T, N], y: out[T, N]) -> None:
    """y = 2 x."""
    for n in parallel(range(0, N, BN)):
        block = x[n : n + BN]
        y[n : n + BN] = double(block)


def main() -> None:
    print([i for i in (1, 2)])
'''


def test_decorated_functions_are_read_without_running_them(play) -> None:
    async def scenario(editor) -> None:
        assert await editor.open("module.py", PYTHON) == []
        found = await editor.client.text_document_hover_async(
            types.HoverParams(**editor.at("module.py", "bl|ock"))
        )
        assert "block: f32[64]" in found.contents.value
        (found,) = await editor.change("module.py", "double(block)", "doubl(block)")
        assert (found.code, found.range.start.line) == ("DSL0201", 19)
        nothing = await editor.client.text_document_completion_async(
            types.CompletionParams(**editor.at("module.py", "print([|i"))
        )
        assert not nothing.items

    play(scenario)
