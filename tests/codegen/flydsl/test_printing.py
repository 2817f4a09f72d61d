"""FlyDSL source as text: every function has words, what has none is an error at its line."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.codegen import flydsl
from dslc.codegen.flydsl.functions import faces, used
from dslc.codegen.flydsl.generate import Text, print_texts
from dslc.codegen.flydsl.texts import UnprintableError
from dslc.compiler.diagnostics import DiagnosticError

EXAMPLES = Path(__file__).parents[3] / "examples"
# Those that only functions with words of their own name, and a loop that is written where it is called.
INNER = {"as_f16x2", "word_around", "await_value"}
# What FlyDSL has no words for: a kernel that names one is DSL0590 there.
WORDLESS = {"add_in_word", *(f"atomic_add_{t}" for t in ("i8", "u8", "i16", "u16"))}
WORDLESS |= {"change_bits", "odd_f32_of_long", "store_row"}
WORDLESS |= {"atomic_max", "atomic_min", "exchange_word", "replace_word", "atomic_extreme"}
WORDLESS |= {"atomic_max_float", "atomic_min_float", "atomic_exchange", "atomic_cas"}
WORDLESS |= {"word_of", "number_of"}
KERNEL = """// twice
DEVICE int doubled(int x) { return x + x; }

extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void
twice(
    const unsigned short* __restrict__ x,
    unsigned* __restrict__ y,
    int N) {
  const int tid = thread_index();
  unsigned z[2] = {};
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    LINE
  }
}
"""


def printed(line: str) -> str:
    """The source of a kernel with this line in its loop."""
    return print_texts([Text("twice", KERNEL.replace("LINE", line), 64, ("N",), ())], "twice")


@pytest.mark.parametrize("name", sorted(set(faces()) - INNER - WORDLESS))
def test_a_device_function_is_python(name: str) -> None:
    ast.parse(used(name))


@pytest.mark.parametrize("name", sorted(WORDLESS))
def test_a_device_function_without_words_is_told(name: str) -> None:
    with pytest.raises(UnprintableError, match="has no words in FlyDSL"):
        used(name)


def test_unsigned_words_keep_their_sign_and_narrow_ones_are_widened() -> None:
    assert "z[i] = fx.Uint32(z[i]) >> 3" in printed("z[i] >>= 3;")
    assert "z[i] = fx.Uint32(fx.Int32(fx.Uint16(x[tid])) + i)" in printed("z[i] = x[tid] + i;")
    assert "z[i] = fx.Uint32(z[i]) & fx.Uint32(0xffff0000)" in printed("z[i] &= 0xffff0000u;")
    assert "if tid < N and i != 0:" in printed("if (tid < N && i) z[i] = 1;")


def test_words_of_python_are_no_names() -> None:
    text = KERNEL.replace("int N)", "int lambda)").replace(
        "LINE", "const int from = 0; z[i] = from;"
    )
    tree = ast.parse(print_texts([Text("twice", text, 64, ("N",), (), ("x", "y", "N"))], "twice"))
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert {"from_2", "lambda_"} <= names
    assert "N" not in names  # the grid's dim is the parameter that holds it


def test_no_module_of_the_script_s_folder_hides_one_of_python() -> None:
    folder = Path(flydsl.__file__).parent
    assert not {p.stem for p in folder.glob("*.py")} & sys.stdlib_module_names


def test_what_is_stored_at_a_computed_place_is_no_variable_of_a_branch() -> None:
    assert "(y + N + i).store(fx.Uint32(tid))" in printed("if (tid < N) (y + N + i)[0] = tid;")


def test_kernels_of_one_name_are_two() -> None:
    text = Text("twice", KERNEL.replace("LINE", "z[i] = tid;"), 64, ("N",), ())
    names = [n.name for n in ast.parse(print_texts([text, text], "")).body if hasattr(n, "name")]
    assert names[-4:] == ["twice_kernel", "launch_twice", "twice_2_kernel", "launch_twice_2"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("goto end;", "';' expected"),
        ("z[i] = unheard_of(tid);", "unheard_of has no words in FlyDSL"),
        ("for (int k = N; k > 0; k -= 2) z[i] = k;", "a loop while >"),
        ("z[i] = z;", "z is an address"),
    ],
)
def test_what_has_no_words_is_an_error_at_its_line(line: str, problem: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        printed(line)
    found = caught.value.diagnostics[0]
    assert (found.code, found.loc.file, found.loc.line) == ("DSL0590", "kernel.hip", 13)
    assert problem in found.message


def test_the_command_line_prints_all_kernels_of_a_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("ziglang")
    source = str(EXAMPLES / "mlp.tile")
    choices = ["-k", "mlp", "-D", "H=64", "-D", "F=128"]
    assert run(["build", source, "-t", "hip:gfx942", "--emit", "flydsl", *choices]) == 0
    text = capsys.readouterr().out
    names = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    wanted = {"rmsnorm", "gemm_residual", "swiglu", "gemm"}
    assert {f"{n}_kernel" for n in wanted} | {f"launch_{n}" for n in wanted} < set(names)
    assert len(names) == len(set(names))
