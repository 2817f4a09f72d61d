"""The artifact's manifest: JSON there and back, and nothing but what the format says."""

import copy
import json
from typing import Any

import pytest
from dslc.compiler.artifact import (
    Artifact,
    Hashes,
    Param,
    Requirement,
    Signature,
    Workspace,
)
from dslc.compiler.diagnostics import DiagnosticError

ARTIFACT = Artifact(
    name="w4a16",
    kind="kernel",
    target="cuda:sm_90a",
    entry="w4a16_16x128",
    signature=Signature(
        params=(
            Param("a", "f16", "in", ("M", "K"), ("sa", "1")),
            Param("w", "u4", "in", ("K", "N"), None, {"scheme": "row", "order": [0, [1, 2]]}),
            Param("c", "f16", "out", ("M", "N")),
            Param("eps", "f32", "in"),
        ),
        dims=("M", "sa"),
        fixed={"K": 4096, "N": 4096},
        config={"BM": 16, "W": "u4"},
        requires=(Requirement("4096 % 128 == 0", "K % G == 0"),),
        doc="4-bit weights",
    ),
    hashes=Hashes("0" * 64, "1" * 64, "2" * 64, "3" * 64),
    grid=("cdiv(M, 16)", "32"),
    shared_bytes=49152,
    workspaces=(Workspace("partial", "f32", "M * 4096 * 4"),),
    launch={"threads": 128, "cluster": [1, 1, 1], "tma": None, "fast": True, "scale": 0.5},
    files={"w4a16.cu": b"__global__", "w4a16.cubin": bytes(range(256))},
)


def test_the_manifest_comes_back_through_json() -> None:
    text = json.dumps(ARTIFACT.to_manifest())
    assert Artifact.from_manifest(json.loads(text), ARTIFACT.files) == ARTIFACT


def test_an_artifact_with_nothing_optional() -> None:
    small = Artifact("f", "program", "interp", "f", Signature(()), ARTIFACT.hashes)
    assert Artifact.from_manifest(json.loads(json.dumps(small.to_manifest())), {}) == small


def code_of(manifest: Any, files: dict[str, bytes]) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        Artifact.from_manifest(manifest, files)
    return caught.value.diagnostics[0].code, caught.value.diagnostics[0].message


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every dictionary of the manifest that the format closes."""
    found = []
    if isinstance(data, dict):
        found.append(path)
        for key, value in data.items():
            if key not in ("fixed", "config", "launch", "packed", "files"):
                found += places(value, (*path, key))
    if isinstance(data, list):
        for i, value in enumerate(data):
            found += places(value, (*path, i))
    return found


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


@pytest.mark.parametrize("path", places(ARTIFACT.to_manifest()), ids=str)
def test_every_key_is_needed_and_no_other_is_known(path: tuple[Any, ...]) -> None:
    manifest = ARTIFACT.to_manifest()
    for key in list(at(manifest, path)):
        changed = copy.deepcopy(manifest)
        del at(changed, path)[key]
        code, message = code_of(changed, ARTIFACT.files)
        assert code == ("DSL0801" if key == "format" else "DSL0802")
        assert key in message
    changed = copy.deepcopy(manifest)
    at(changed, path)["comment"] = 1
    code, message = code_of(changed, ARTIFACT.files)
    assert code == "DSL0802"
    assert "'comment' is not a known key" in message


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("name",), 3, "manifest.name: expected a string"),
        (("kind",), "function", "expected one of 'kernel', 'program'"),
        (("kind",), ["kernel"], "expected one of"),
        (("shared_bytes",), "4096", "manifest.shared_bytes: expected an integer"),
        (("shared_bytes",), True, "expected an integer"),
        (("shared_bytes",), 1.0, "expected an integer"),
        (("grid",), "cdiv(M, 16)", "manifest.grid: expected a list"),
        (("grid",), [1], r"manifest.grid[0]: expected a string"),
        (("signature",), None, "expected an object"),
        (("signature", "params", 1, "mode"), "ref", "manifest.signature.params[1].mode"),
        (("signature", "params", 0, "dims"), {"M": 1}, "params[0].dims: expected a list"),
        (("signature", "fixed", "K"), "4096", "fixed.K: expected an integer"),
        (("signature", "config", "BM"), 1.5, "config.BM: expected"),
        (("signature", "doc"), 1, "doc: expected a string"),
        (("launch",), [], "launch: expected an object"),
        (("files",), [], "files: expected an object"),
    ],
)
def test_every_value_is_of_its_kind(path: tuple[Any, ...], value: Any, what: str) -> None:
    manifest = ARTIFACT.to_manifest()
    at(manifest, path[:-1])[path[-1]] = value
    code, message = code_of(manifest, ARTIFACT.files)
    assert code == "DSL0802"
    assert what in message


@pytest.mark.parametrize("number", [0, 2, "1", True, 1.0, None])
def test_another_format_is_refused(number: Any) -> None:
    manifest = {**ARTIFACT.to_manifest(), "format": number}
    code, message = code_of(manifest, ARTIFACT.files)
    assert code == "DSL0801"
    assert repr(number) in message


def test_files_must_be_those_that_were_written() -> None:
    manifest, files = ARTIFACT.to_manifest(), ARTIFACT.files
    flipped = {**files, "w4a16.cubin": bytes(255) + b"\xff"}
    for changed, what in (
        (flipped, "'w4a16.cubin' is not the one that was written"),
        ({**files, "extra": b""}, "'extra' is not in the artifact's manifest"),
        ({"w4a16.cu": files["w4a16.cu"]}, "'w4a16.cubin' is missing"),
    ):
        code, message = code_of(manifest, changed)
        assert code == "DSL0803"
        assert what in message


@pytest.mark.parametrize("name", ["../up", "a/b", "/etc/passwd", "", ".hidden", "manifest.json"])
def test_file_names_are_plain(name: str) -> None:
    with pytest.raises(DiagnosticError, match="cannot be the name"):
        Artifact("f", "kernel", "interp", "f", Signature(()), ARTIFACT.hashes, files={name: b""})
    manifest = ARTIFACT.to_manifest()
    manifest["files"][name] = {"size": 0, "sha256": ""}
    assert code_of(manifest, {**ARTIFACT.files, name: b""})[0] == "DSL0803"
