"""Small packages for tests: a source, a specification, and what builds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError

SOURCE = '''
kernel scale(x: f32[M, N], by: f32, y: out f32[M, N]):
    """y = x * by."""
    tune BM = 4 | 8

    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * by

kernel weigh(a: f32[M, K], w: u4[K, N], c: out f32[M, N]):
    """c = a @ w, weights of 4 bits."""
    for m, n in parallel(range(0, M, 4), range(0, N, 16)):
        acc = zeros(f32, [4, 16])
        for k in range(0, K, 16):
            acc += dot(a[m : m + 4, k : k + 16], cast(w[k : k + 16, n : n + 16], f32))
        c[m : m + 4, n : n + 16] = acc
'''


def write_spec(folder: Path, targets: list[str], text: str | None = None, **package: str) -> Path:
    """A folder with a source and a specification of its kernels; the specification's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.tile").write_text(SOURCE)
    spec = folder / "rows.toml"
    lines = [f"{name} = {value}" for name, value in package.items()]
    head = ["[package]", 'name = "rows"', 'version = "1.2.0"', f"targets = {json.dumps(targets)}"]
    kernels = (
        text if text is not None else '[[kernel]]\nsource = "rows.tile"\ndims = { N = [16, 32] }\n'
    )
    spec.write_text("\n".join([*head, *lines, "", kernels]))
    return spec


def rewrite(package: Path, change: Callable[[Any], object]) -> None:
    """Change a package's index as one who knows how its digest is made."""
    file = package / "package.json"
    index = json.loads(file.read_text())["package"]
    change(index)
    body = json.dumps(index).encode()
    head = b'{"digest": "%s",\n"package": ' % hashlib.sha256(body).hexdigest().encode()
    file.write_bytes(head + body + b"}\n")


def failure(call: Callable[[], object]) -> Diagnostic:
    """The first finding of what a call raises."""
    with pytest.raises(DiagnosticError) as caught:
        call()
    return caught.value.diagnostics[0]
