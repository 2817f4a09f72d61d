from __future__ import annotations

import json
from pathlib import Path

import pytest
from dslc.cli.main import run

PEAKS = ["--matrix", "2784e9", "--vector", "352e9", "--bandwidth", "99.274e9"]


def test_a_model_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--prompt", "560", "--context", "585", "--all-logits", "--unfused"]
    assert run(["roofline", "qwen-1.8b", *PEAKS, *sizes]) == 0
    out = capsys.readouterr().out
    assert "prefill of 560 tokens" in out
    assert "at most 617.24 tokens/s" in out
    assert "decode at 585 tokens" in out


def test_a_model_by_its_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {
        "num_hidden_layers": 24,
        "hidden_size": 2048,
        "intermediate_size": 5504,
        "vocab_size": 151936,
        "num_attention_heads": 16,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert run(["roofline", str(path), *PEAKS]) == 0
    by_file = capsys.readouterr().out
    assert run(["roofline", "qwen-1.8b", *PEAKS]) == 0
    assert capsys.readouterr().out == by_file
    path.write_text(json.dumps({**config, "num_key_value_heads": 2}))
    assert run(["roofline", str(path), *PEAKS]) == 0
    assert capsys.readouterr().out != by_file


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "does not say num_hidden_layers"), ("[]", "does not say"), ("x", "is no model's")],
)
def test_a_file_that_is_no_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    assert run(["roofline", str(path), *PEAKS]) == 2
    assert said in capsys.readouterr().err


def test_what_is_asked_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["roofline", "nonesuch", *PEAKS]) == 2
    assert "models are qwen-1.8b" in capsys.readouterr().err
    assert run(["roofline", "qwen-1.8b", "--matrix", "0", *PEAKS[2:]]) == 2
