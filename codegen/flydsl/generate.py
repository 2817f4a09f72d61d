"""A HIP text as FlyDSL source: the same scheduled program for AMD's own kernel language.

FlyDSL (ROCm/FlyDSL, 0.4) traces Python that builds MLIR. Its pointers, registers, numbers and matrix
instructions are those of the HIP text, so that a kernel is printed statement by statement, after its
parameters; a launcher beside it takes tensors and a stream.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.codegen.c_family.launching import arguments_of
from dslc.codegen.flydsl import syntax as sx
from dslc.codegen.flydsl.c_types import Pointer, Scalar, Type
from dslc.codegen.flydsl.expressions import Expressions
from dslc.codegen.flydsl.functions import faces, used
from dslc.codegen.flydsl.reader import read_function
from dslc.codegen.flydsl.statements import Statements, assigned_in
from dslc.codegen.flydsl.texts import UnprintableError
from dslc.codegen.flydsl.type_reader import UnreadableError
from dslc.codegen.quoting import ascii_name, docstring, entry_name, python_name
from dslc.compiler.artifact import Artifact, Workspace
from dslc.compiler.diagnostics import DiagnosticError, Loc, error
from dslc.compiler.ir import Kernel
from dslc.compiler.manifest import grid_of, workspaces_of

_KERNEL = re.compile(r'^extern "C" ', re.MULTILINE)
_IMPORTS = {
    "flyc.": "import flydsl.compiler as flyc",
    "fx.": "import flydsl.expr as fx",
    "llvm.": "from flydsl._mlir.dialects import llvm",
    "rocdl.": "from flydsl.expr import rocdl",
}
_RESERVED = frozenset((
    *keyword.kwlist, "bool", "float", "int", "isinstance", "max", "min", "print", "range", "type", "fx",
    "flyc", "llvm", "rocdl", "stream", "T",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """A kernel's HIP text, and how it is launched."""

    name: str
    hip: str
    threads: int
    grid: Sequence[str]
    workspaces: Sequence[Workspace]
    arguments: Sequence[str] = ()  # what the grid calls the parameters, where not as the HIP text

    @staticmethod
    def of_kernel(kernel: Kernel, hip: str) -> Text:
        """That of a scheduled kernel."""
        threads = kernel.threads or 0
        names = [str(a.get("name", a.get("value"))) for a in arguments_of(kernel)]
        return Text(kernel.name, hip, threads, grid_of(kernel), workspaces_of(kernel), names)

    @staticmethod
    def of_artifact(artifact: Artifact, source: str) -> Text:
        """That of an artifact's file."""
        hip, threads = artifact.files[source].decode(), int(artifact.launch["threads"])
        names = [str(a.get("name", a.get("value"))) for a in artifact.launch["arguments"]]
        return Text(artifact.name, hip, threads, artifact.grid, artifact.workspaces, names)


def flydsl_of(artifact: Artifact, source: str) -> str:
    """FlyDSL source of a kernel's artifact, or of all kernels of a program's, from their HIP texts.

    `source` is the file that has them. DSL0590 at the line of it for what FlyDSL has no words for.
    """
    texts = [Text.of_artifact(kernel, source) for kernel in _kernels(artifact)]
    title = f"{artifact.name} for {artifact.target}"
    return print_texts(texts, ": ".join([title, *filter(None, [artifact.signature.doc])]))


def print_texts(texts: Sequence[Text], title: str) -> str:
    """Kernels, each with its launcher, after the functions that they name."""
    body = "\n\n\n".join(map(_kernel, _apart(texts)))
    try:
        functions = used(body)
    except UnprintableError as e:
        raise _unprintable(str(e), texts[0], 0) from None
    functions = re.sub(r"\n\n(?=(?:#[^\n]*\n)*def )", "\n\n\n", functions)
    code = f"{functions}\n\n\n{body}\n"
    imports = [line for word, line in _IMPORTS.items() if re.search(rf"\b{re.escape(word)}", code)]
    names = "\n\nT = fx.T" if re.search(r"\bT\.", code) else ""
    return docstring(title) + "\n" + "\n".join(imports) + f"{names}\n\n\n{code}"


def _apart(texts: Sequence[Text]) -> list[Text]:
    """Kernels of one name for different sizes by names of their own."""
    by_name: dict[str, Text] = {}
    for text in texts:
        name, number = text.name, 1
        while name in by_name:
            number += 1
            name = f"{text.name}_{number}"
        by_name[name] = replace(text, name=name)
    return list(by_name.values())


def _kernels(artifact: Artifact) -> list[Artifact]:
    if artifact.kind == "kernel":
        return [artifact]
    texts = []
    for number, manifest in enumerate(artifact.launch["kernels"]):
        own = f"{number}."
        files = {n.removeprefix(own): c for n, c in artifact.files.items() if n.startswith(own)}
        texts.append(Artifact.from_manifest(manifest, files))
    return texts


def _unprintable(problem: str, text: Text, line: int) -> DiagnosticError:
    shown = text.hip.split("\n")[line - 1] if line else ""
    place = Loc("kernel.hip", line, len(shown) - len(shown.lstrip()) + 1) if line else None
    said = f": `{shown.strip()}`" if shown else ""
    message = f"{text.name} cannot be printed as FlyDSL: {problem}{said}"
    return error("DSL0590", message, place, hint="the same program as HIP C++: --emit hip")


def _kernel(text: Text) -> str:
    match = _KERNEL.search(text.hip)
    assert match is not None, "a HIP text has a kernel"
    try:
        kernel = read_function(
            text.hip[match.start() :], text.hip.count("\n", 0, match.start()) + 1
        )
        return "\n".join([*_definition(kernel, text), "", "", *_launcher(kernel, text)])
    except UnreadableError as e:
        raise _unprintable(e.text, text, e.line) from None


def _definition(kernel: sx.Function, text: Text) -> list[str]:
    names = {name: kind for kind, name in kernel.params}
    spelled = _spelled(kernel)
    body = kernel.body or ()
    expressions = Expressions(faces(), dict(names), traced=True, spelled=dict(spelled))
    out = Statements(expressions, _RESERVED | {*faces(), *spelled.values()}, assigned_in(body))
    out.body(body)
    entry = entry_name(text.name)
    given = ", ".join(f"{spelled[n]}: {_annotation(kind, 'Pointer')}" for kind, n in kernel.params)
    return [
        f'@flyc.kernel(name="{entry}", known_block_size=[{text.threads}, 1, 1])',
        f"def {entry}({given}):",
        f'    """One turn of the grid is one workgroup of {text.threads} threads."""',
        *(
            f"    {spelled[name]} = pointer(fx.{kind.to.fly}, {spelled[name]})"
            for kind, name in kernel.params
            if isinstance(kind, Pointer) and kind.to is not None
        ),
        *out.made,
        *out.lines,
    ]


def _spelled(kernel: sx.Function) -> dict[str, str]:
    """The parameters' names in Python, none of which the file or another one has."""
    spelled: dict[str, str] = {}
    names = [name for _, name in kernel.params]
    for name in names:
        others = {n for n in names if n != name} | {*spelled.values()}
        spelled[name] = python_name(name, _RESERVED | {*faces(), *others})
    return spelled


def _launcher(kernel: sx.Function, text: Text) -> list[str]:
    spelled = _spelled(kernel)
    given_as = [(kind, spelled[name]) for kind, name in kernel.params]
    params = ", ".join(f"{name}: {_annotation(kind, 'Tensor')}" for kind, name in given_as)
    given = ", ".join(n if isinstance(kind, Scalar) else f"{n}.iter" for kind, n in given_as)
    words = dict(zip(text.arguments, (name for _, name in given_as), strict=False))
    grid = (re.sub(r"[^\W\d]\w*", lambda m: words.get(m[0], m[0]), _extent(a)) for a in text.grid)
    blocks = " * ".join(f"({axis})" for axis in grid) or "1"
    sizes = [f"{w.name} has {w.bytes} bytes" for w in text.workspaces]
    doc = f"Workspaces, zero before the first launch: {'; '.join(sizes)}."
    return [
        "@flyc.jit",
        f"def launch_{ascii_name(text.name)}({params}, stream: fx.Stream):",
        *([docstring(doc, "    ").rstrip()] if sizes else []),
        f"    grid, block = ({blocks}, 1, 1), ({text.threads}, 1, 1)",
        f"    {entry_name(text.name)}({given}).launch(grid=grid, block=block, stream=stream)",
    ]


def _annotation(kind: Type, pointer: str) -> str:
    return f"fx.{kind.fly}" if isinstance(kind, Scalar) else f"fx.{pointer}"


def _extent(text: str) -> str:
    """The turns of an axis: no dim is negative, so that `max` and `cdiv` are arithmetic."""
    inner = text.removeprefix("max(0, ").removesuffix(")") if text.startswith("max(0, ") else text
    if inner.startswith("cdiv(") and inner.endswith(")"):
        span, _, step = inner[5:-1].rpartition(", ")
        return f"({span} + {step} - 1) // {step}"
    return inner
