"""A checkpoint as a folder that runs at once: the same numbers, stopped and gone on with, damaged."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import Sampling, open_model
from dslc.models.importing import Settings, import_model
from dslc.runtime.safetensors import read_safetensors
from safetensors.numpy import save_file

from models.test_generation import CONFIG

SMALL = {**CONFIG, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
INTERP = Settings(("interp",), length=24, sequences=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(1)
    shapes = {"model.embed_tokens": (50, 16), "model.norm": (16,)}
    for i in range(2):
        at = f"model.layers.{i}"
        shapes |= {f"{at}.self_attn.{p}_proj": (32, 16) for p in "qkv"}
        shapes |= {f"{at}.self_attn.o_proj": (16, 32), f"{at}.mlp.down_proj": (16, 32)}
        shapes |= {f"{at}.mlp.{p}_proj": (32, 16) for p in ("gate", "up")}
        shapes |= {f"{at}.self_attn.{p}_norm": (16,) for p in "qk"}
        shapes |= {f"{at}.{p}_layernorm": (16,) for p in ("input", "post_attention")}
    drawn = {f"{n}.weight": rng.standard_normal(s).astype(np.float16) for n, s in shapes.items()}
    save_file(drawn, where / "model.safetensors")
    (where / "config.json").write_text(json.dumps(SMALL))
    (where / "tokenizer.json").write_text("{}")
    return where


@pytest.fixture(scope="module")
def imported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("imports") / "model"
    import_model(folder, where, INTERP, jobs=0)
    return where


def test_an_import_gives_the_checkpoint_s_logits(folder: Path, imported: Path) -> None:
    ids = [3, 5, 7, 9, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17]
    expected = open_model(folder, "interp", length=24)
    found = open_model(imported, "interp")
    np.testing.assert_array_equal(found.logits(ids), expected.logits(ids))
    np.testing.assert_array_equal(found.logits([1], 17), expected.logits([1], 17))
    prompts = [[3, 5, 7], [9]]
    ways = [Sampling(2.0, 5, seed=1), Sampling()]
    assert [*found.batch(2).generate(prompts, 3, ways)] == [
        *expected.batch(2).generate(prompts, 3, ways)
    ]
    with pytest.raises(DiagnosticError, match="DSL0778"):
        found.batch(3)
    assert (imported / "tokenizer.json").read_text() == "{}"
    assert not [*imported.rglob("*.part")]


def test_targets_share_the_arrays_that_they_store_alike(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dslc.models.specification.PIECES", (1,))  # fewer kernels
    settings = Settings(("interp", "cpu:x86-64-v3"), length=24, quantize="u4:16")
    reports: list[tuple[str, int, int]] = []
    import_model(folder, tmp_path / "m", settings, jobs=0, report=lambda *r: reports.append(r))
    assert ("weights", 4, 4) in reports
    assert reports[-1][0] == "kernels"
    assert reports[-1][1] == reports[-1][2]
    names = list(read_safetensors(tmp_path / "m" / "weights" / "layer-000.safetensors"))
    assert len([n for n in names if n.startswith("0.qkv/s")]) == 1
    assert len([n for n in names if n.startswith("0.qkv/w@")]) == 2
    expected = open_model(folder, "interp", length=24, quantize="u4:16")
    found = open_model(tmp_path / "m", "interp", quantize="u4:16")
    np.testing.assert_array_equal(found.logits([3]), expected.logits([3]))


def test_a_stopped_import_goes_on_with_what_is_whole(folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "m"

    def stop(what: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_model(folder, where, INTERP, jobs=0, report=stop)
    with pytest.raises(DiagnosticError, match=r"DSL0778.*not finished"):
        open_model(where, "interp")
    with pytest.raises(DiagnosticError, match=r"DSL0778.*other settings"):
        import_model(folder, where, Settings(("interp",), length=8), jobs=0)
    first = where / "weights" / "layer-000.safetensors"
    assert [f.name for f in (where / "weights").iterdir()] == [first.name]
    before = first.stat().st_mtime_ns
    import_model(folder, where, INTERP, jobs=0)
    assert first.stat().st_mtime_ns == before
    assert list(open_model(where, "interp").generate([3], 3)) == list(
        open_model(folder, "interp", length=24).generate([3], 3)
    )


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Writes beyond so many bytes of a file fail, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_leaves_nothing_half_written(folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "m"
    with largest_file(4096), pytest.raises(DiagnosticError, match=r"DSL0778.*cannot be written"):
        import_model(folder, where, INTERP, jobs=0)
    assert not [f for f in where.rglob("*") if f.is_file()]


def test_a_folder_of_something_else_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DiagnosticError, match=r"DSL0778"):
        import_model(folder, tmp_path, INTERP, jobs=0)
    with pytest.raises(DiagnosticError, match=r"DSL0778"):
        import_model(folder, tmp_path / "notes.txt", INTERP, jobs=0)
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]


def damaged(imported: Path, where: Path, name: str, change: bytes | None) -> Path:
    """A copy whose file `name` is changed, or lacks its last byte."""
    for file in imported.rglob("*"):
        if file.is_file():
            copy = where / file.relative_to(imported)
            copy.parent.mkdir(parents=True, exist_ok=True)
            content = file.read_bytes()
            if copy == where / name:
                content = content[:-1] if change is None else change
            copy.write_bytes(content)
    return where


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("weights/layer-001.safetensors", None),
        ("weights/ends.safetensors", b""),
        ("import.json", b"{}"),
        ("import.json", b"["),
        ("config.json", b"{}"),
        ("kernels/package.json", None),
    ],
)
def test_a_damaged_import_is_refused(
    imported: Path, tmp_path: Path, name: str, change: bytes | None
) -> None:
    with pytest.raises(DiagnosticError, match=r"DSL07(78|85|87)|DSL08"):
        open_model(damaged(imported, tmp_path, name, change), "interp")


def test_an_import_of_another_version_says_so(imported: Path, tmp_path: Path) -> None:
    manifest = json.loads((imported / "import.json").read_text())
    changed = json.dumps({**manifest, "plan": "0" * 64}).encode()
    where = damaged(imported, tmp_path, "import.json", changed)
    with pytest.raises(DiagnosticError, match=r"DSL0778.*another version"):
        open_model(where, "interp")


def test_what_an_import_was_not_made_for_is_refused(imported: Path) -> None:
    for changed in ({"target": "cpu"}, {"dtype": "f16"}, {"length": 7}, {"quantize": "u4:16"}):
        with pytest.raises(DiagnosticError, match=r"DSL0778"):
            open_model(imported, **{"target": "interp", **changed})  # type: ignore[arg-type]


def test_the_command_imports_and_generate_takes_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = str(tmp_path / "m")
    words = ["import", str(folder), "-o", where, "-t", "interp", "--length", "24", "-j", "0"]
    assert run(words) == 0
    assert "kernels for interp" in capsys.readouterr().out
    assert run(["generate", where, "-t", "interp", "--ids", "3,5", "-n", "2"]) == 0
    assert run([*words, "--dtype", "f16"]) != 0
    assert "DSL0778" in capsys.readouterr().err


def test_the_command_rounds_by_a_text_s_tokens(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dslc.models.specification.PIECES", (1,))  # fewer kernels
    ids = np.random.default_rng(5).integers(0, 50, 40)
    np.save(tmp_path / "ids.npy", ids)
    words = ["import", str(folder), "-t", "interp", "--length", "24", "-j", "0"]
    words += ["--calibrate", str(tmp_path / "ids.npy"), "--calibration-tokens", "32"]
    assert run([*words, "-o", str(tmp_path / "floats")]) != 0
    assert "say --quantize or --compress" in capsys.readouterr().err
    where = str(tmp_path / "m")
    assert run([*words, "-o", where, "--quantize", "u4:16"]) == 0
    expected = open_model(folder, "interp", length=24, quantize="u4:16", calibration=ids[None, :32])
    found = open_model(where, "interp")
    np.testing.assert_array_equal(found.logits([3]), expected.logits([3]))
    assert run([*words, "-o", where, "--quantize", "u4:16", "--calibration-tokens", "16"]) != 0
    assert "DSL0778" in capsys.readouterr().err
