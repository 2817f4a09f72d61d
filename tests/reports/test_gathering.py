"""The data of a report: costs of lines, passes as edits, layouts, memory, code with its lines."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.compilation import building
from dslc.reports.gathering import Data, Question, gather
from dslc.reports.stages import edits_of

SOURCE = '''\
kernel gain(x: f32[M, N], g: f32[N], y: out f32[M, N]):
    """y = x * g, by rows."""
    tune BM = 8 | 16

    for m in parallel(range(0, M, BM)):
        rows = x[m : m + BM, 0:64]
        factor = g[0:64]
        y[m : m + BM, 0:64] = rows * exp(factor)[None, :]
'''


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    path = tmp_path_factory.mktemp("report") / "gain.tile"
    path.write_text(SOURCE)
    question = Question(sizes={"M": 256, "N": 64})
    return gather(path, ["cuda:sm_90a", "cpu:x86-64-v3", "nki:trn2", "interp"], question)


def test_the_passes_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gain.tile").write_text(SOURCE)
    runs = []
    real = building.run_passes
    monkeypatch.setattr(building, "run_passes", lambda *a, **k: runs.append(a) or real(*a, **k))
    gather(tmp_path / "gain.tile", ["interp"], Question(cache=False))
    assert len(runs) == 1


def of(data: Data, target: str) -> Data:
    (kernel,) = data["kernels"]
    return next(t for t in kernel["targets"] if t["target"] == target)


def test_lines_cost_what_they_move(data: Data) -> None:
    for target in ("cuda:sm_90a", "cpu:x86-64-v3"):
        costs = {line[1]: line for line in of(data, target)["lines"]}
        loaded, stored = costs[6][4], costs[8][5]
        assert loaded == stored == 256 * 64 * 4
        assert costs[6][2] > 0
        assert costs[6][3]
    assert {line[1] for line in of(data, "interp")["lines"]} >= {6, 7, 8}


def test_a_simulated_run_gives_its_times_to_lines(data: Data) -> None:
    lines = of(data, "nki:trn2")["lines"]
    units = {unit for line in lines for unit in line[9]}
    assert "DMA" in units
    assert units & {"ACT", "DVE", "Pool"}
    assert of(data, "nki:trn2")["timeline"].startswith("<svg")


def test_every_pass_follows_from_the_one_before(data: Data) -> None:
    for part in data["kernels"][0]["targets"]:
        lines: list[str] = []
        for stage in part["stages"]:
            at, after = 0, []
            for edit in stage["edits"]:
                if isinstance(edit, int):
                    after += lines[at : at + edit]
                    at += edit
                else:
                    at += edit[0]
                    after += edit[1]
            assert at == len(lines)
            lines = after
        library = dslc.compile(data["sources"][0]["file"], part["target"])
        made = library.gain.specialize_for({"M": 256, "N": 64})
        assert lines == made.source(made.ir_stages[-1]).splitlines()


def test_edits_are_of_what_changes() -> None:
    assert edits_of(list("abc"), list("abc")) == [3]
    assert edits_of(list("abc"), list("axc")) == [1, [1, ["x"]], 1]
    assert edits_of([], list("ab")) == [[0, ["a", "b"]]]
    assert edits_of(list("aa"), list("a")) == [1, [1, []]]


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cpu:x86-64-v3", "nki:trn2"])
def test_code_knows_its_lines(data: Data, target: str) -> None:
    file = data["sources"][0]["file"]
    for text in of(data, target)["code"]:
        assert sum(run[0] for run in text["runs"]) == len(text["lines"])
        assert not any("@line" in line for line in text["lines"])
        lines = {n for _, f, n in text["runs"] if f}
        # On CPUs what is read once is loaded by the line that reads it.
        assert lines >= ({8} if target.startswith("cpu") else {6, 8})
        assert {f for _, f, _ in text["runs"] if f} == {file}


def test_machine_code_is_beside_the_lines_that_it_is_for(data: Data) -> None:
    last = of(data, "cuda:sm_90a")["code"][-1]
    if last["name"] != "machine code":
        pytest.skip("nvdisasm is not here: pip install nvidia-cuda-nvdisasm")
    at, of_line = 0, {}
    for many, _, line in last["runs"]:
        of_line.setdefault(line, []).extend(last["lines"][at : at + many])
        at += many
    assert any("LDG" in text for text in of_line[6])
    assert any("MUFU.EX2" in text for text in of_line[8])
    assert any("STG" in text for text in of_line[8])


def test_layouts_say_who_holds_what(data: Data) -> None:
    for layout in of(data, "cuda:sm_90a")["layouts"]:
        named = {thread for row in layout["cells"] for thread, _ in row}
        assert named
        assert max(named) < layout["threads"]
        assert all(0 <= number < layout["locals"] for row in layout["cells"] for _, number in row)


def test_a_refused_kernel_says_why_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "wide.tile"
    path.write_text(SOURCE.replace("0:64", "0:N").replace("8 | 16", "512"))
    (kernel,) = gather(path, ["interp", "cuda:sm_90a"], Question(sizes={"N": 8192}))["kernels"]
    fine, refused = kernel["targets"]
    assert fine["lines"]
    assert "error[DSL" in refused["error"]
