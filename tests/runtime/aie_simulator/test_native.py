"""Loops of cores as C: the same numbers and faults as NumPy's, and NumPy where C has no words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dslc.compiler.mlir import parse
from dslc.runtime.aie_simulator import AieFault, configuration, simulate
from dslc.runtime.aie_simulator.cores import library, native

from support.npu.kernels import EXAMPLES, Case, assert_close, case

pytestmark = pytest.mark.skipif(library.compiler() is None, reason="there is no C compiler")

_CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "products": ("mlp", "gemm_residual", {"T": "bf16", "M": 100, "N": 128, "K": 128, "BN": 64}),
    "norms": ("rmsnorm", "rmsnorm", {"T": "bf16", "M": 13, "H": 100}),
    "functions": ("swiglu", "swiglu", {"T": "bf16", "M": 8, "F": 300}),
    "maxima": ("softmax", "softmax", {"T": "bf16", "M": 5, "N": 700}),
    "integers": ("gemm", "gemm_i8", {"M": 32, "N": 64, "K": 64, "BN": 64, "BM": 16}),
}


@pytest.fixture(scope="module")
def products() -> Case:
    return _case("products")


def _case(name: str) -> Case:
    file, kernel, sizes = _CASES[name]
    return case(EXAMPLES / f"{file}.tile", kernel, **sizes)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whatever a sequence moves; the names of functions that are called."""
    called: list[str] = []
    call = library.Function.__call__

    def noted(self: Any, memories: Any, indices: Any) -> bool:
        done = call(self, memories, indices)
        called.extend([self._name] if done else [])
        return done

    monkeypatch.setattr(configuration, "_MANY", 0)
    monkeypatch.setattr(library.Function, "__call__", noted)
    return called


@pytest.mark.parametrize("name", sorted(_CASES))
def test_numbers_are_those_of_the_interpreter(name: str, always: list[str]) -> None:
    made = _case(name)
    padded = made.padded
    simulate(made.text, padded)
    assert always, "some loop is a function"
    assert_close(made.written(padded), made.expected())


def test_times_are_those_of_a_run_without_values(products: Case, always: list[str]) -> None:
    assert simulate(products.text, products.padded).cycles == simulate(products.text, None).cycles


def _past_the_end(text: str) -> str:
    head, bound, tail = text.rpartition("constant 512 : index")
    return f"{head}{bound.replace('512', '5120')}{tail}"


def _never_written(text: str) -> str:
    return "".join(x for x in text.splitlines(True) if "vector.store %cast, %acc_0_2[" not in x)


@pytest.mark.parametrize(
    ("edit", "rule"), [(_past_the_end, "bounds"), (_never_written, "unwritten")]
)
def test_faults_are_found(
    products: Case, always: list[str], edit: Callable[[str], str], rule: str
) -> None:
    broken = edit(products.text)
    assert broken != products.text
    with pytest.raises(AieFault) as found:
        simulate(broken, products.padded)
    assert always, "loops before it are functions"
    assert found.value.rule == rule
    line = broken.splitlines()[found.value.line - 1]
    assert ".load" in line or ".store" in line


def test_without_a_compiler_numpy_computes(
    products: Case, always: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration, "compiler", lambda: None)
    padded = products.padded
    simulate(products.text, padded)
    assert not always
    assert_close(products.written(padded), products.expected())


def test_equal_loops_are_one_function(products: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[library.Library] = []
    build = library.Library.build
    monkeypatch.setattr(configuration, "_MANY", 0)
    monkeypatch.setattr(library.Library, "build", lambda self: (made.append(self), build(self))[1])
    simulate(products.text, products.padded)
    cores = products.text.count("aie.core(")
    assert cores > 1
    assert len(made[0]._texts) <= 8, "the cores' loops differ in their lines alone"


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("%r = arith.addi %x, %x : i32", True),
        ("%r = arith.ceildivsi %x, %x : i32", False),
        ("%r = arith.andi %p, %p : i1", True),
        ("%r = arith.addi %p, %p : i1", False),  # C adds truths as integers
    ],
)
def test_loops_with_other_words_stay_with_numpy(line: str, known: bool) -> None:
    module = parse(
        f"""module {{
          func.func @f(%start: index, %stop: index, %step: index, %m: memref<8xi32>) {{
            scf.for %i = %start to %stop step %step {{
              %x = memref.load %m[%i] : memref<8xi32>
              %p = arith.cmpi slt, %x, %x : i32
              {line}
            }}
            func.return
          }}
        }}"""
    )
    loop = next(op for op in module.walk() if op.name == "scf.for")
    if known:
        assert "for" in native.Loop(loop, {}).text("f")
    else:
        with pytest.raises(native.Unknown):
            native.Loop(loop, {})
