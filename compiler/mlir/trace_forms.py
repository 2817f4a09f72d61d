"""Custom forms of traces: settings in pairs, of which no number depends."""

from __future__ import annotations

from dslc.compiler.mlir.attributes import Word
from dslc.compiler.mlir.operations import Operation
from dslc.compiler.mlir.parser import Parser
from dslc.compiler.mlir.values import symbol

_NAMES = (
    "combo_event",
    "edge_event",
    "event",
    "host_config",
    "mode",
    "packet",
    "port",
    "start",
    "start_config",
    "stop",
)


def setting(p: Parser, op: Operation) -> None:
    """`aie.trace.port<0> port=DMA channel=0`: a bracket, a text, a symbol, pairs, a dictionary."""
    if p.word == "<":
        op.attributes["subject"] = Word(p.balanced())
    if p.kind == "string":
        op.attributes["mode"] = Word(p.take("string").strip('"'))
    if p.kind == "symbol":
        op.attributes["symbol"] = symbol(p.take("symbol"))
    while p.kind == "word" and p.words[p.at + 1] == "=":
        name = p.take("word")
        p.expect("=")
        if p.word == "<":
            op.attributes[name] = Word(p.balanced())
        elif p.kind == "word":
            op.attributes[name] = Word(p.take("word"))
        else:
            op.attributes[name] = p.attribute()
    if p.word == "{":
        op.attributes |= p.dictionary()


TRACES = {f"aie.trace.{name}": setting for name in _NAMES}
