"""The reader of MLIR: both forms, what it knows of values and types, and what it refuses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from dslc.compiler.mlir import MlirError, Number, Use, generic, parse

from support.npu.modules import ADD, passed_through

GOLDEN = sorted((Path(__file__).resolve().parents[2] / "golden" / "aie").glob("*.mlir"))
OPT = shutil.which("mlir-opt-22")
TEXTS = {
    **{path.stem: path.read_text(encoding="utf-8") for path in GOLDEN},
    "older": passed_through(ADD, old=True),
    "newer": passed_through(ADD, old=False),
    "flow": """
#map = affine_map<(d0) -> (d0)>
!row = memref<4xf32, 2 : i32>
module @named {
  func.func private @given(%a: !row, %n: i32) -> i32 attributes {link_with = "a.o"}
  func.func @own(%x: memref<4x8xbf16>, %m: !row, %n: index) -> (f32, i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0x7F800000 : f32
    %z = arith.constant dense<[[1.5, 2.0], [0.0, -3.25]]> : vector<2x2xf32>
    %t = arith.constant true
    %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %f, %b = %t) -> (f32, i1) {
      %v = memref.load %m[%i] : !row
      %w = arith.maximumf %a, %v fastmath<nnan> : f32
      %lt = arith.cmpf olt, %w, %v : f32
      scf.yield %w, %lt : f32, i1
    }
    %k = scf.while (%j = %c0) : (index) -> index {
      %less = arith.cmpi slt, %j, %n : index
      scf.condition(%less) %j : index
    } do {
    ^bb0(%j: index):
      %next = arith.addi %j, %c1 overflow<nsw> : index
      scf.yield %next : index
    }
    %r = scf.if %s#1 -> (f32) {
      scf.yield %s#0 : f32
    } else {
      scf.yield %f : f32
    } loc("here":1:2)
    cf.cond_br %t, ^then(%r : f32), ^then(%f : f32)
  ^then(%last: f32):
    %e = vector.extract %z[0, 1] : f32 from vector<2x2xf32>
    %both = arith.addf %last, %e : f32
    return %both, %t : f32, i1
  }
}
""",
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_generic_form_comes_back(name: str) -> None:
    once = generic(parse(TEXTS[name]))
    assert generic(parse(once)) == once


@pytest.mark.skipif(OPT is None, reason="there is no mlir-opt-22")
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_mlir_reads_the_generic_form(name: str) -> None:
    assert OPT is not None
    command = [OPT, "-allow-unregistered-dialect", "-"]
    text = generic(parse(TEXTS[name])).replace('"return"', '"func.return"')
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_an_operation_holds() -> None:
    module = parse(passed_through(ADD, old=False))
    operations = {o.name: o for o in module.walk()}
    loop, load = operations["scf.for"], operations["memref.load"]
    assert loop.operands == ["%c0", "%c4", "%c1"]
    assert load.types[0].shape == (4, 4)
    assert (load.type.text, operations["memref.store"].types[1].element) == ("i32", "i32")
    use = operations["aie.use_lock"]
    assert (use.text("action"), use.attributes["value"]) == ("Release", Use("%ny_given"))
    descriptor = operations["aie.dma_bd"]
    assert (descriptor.integer("len"), descriptor.integer("offset", 5)) == (16, 0)
    assert descriptor.fields("dimensions")[1] == {
        "size": Number(4, "i32"),
        "stride": Number(1, "i32"),
    }
    assert operations["aie.dma_start"].successors == [("^out", []), ("^end", [])]
    assert operations["aie.flow"].text("dest_bundle") == "DMA"


_WRONG = [
    ("module {\n  aie.device(npu2) {", 2, "the end"),
    ("module {\n\n  aie.tile(0 0)\n}", 3, "',' is expected"),
    ("module {\n  aie.tile(0, 0) ~\n}", 2, "no word of MLIR"),
    ("module {\n  aie.unknown()\n}", 2, "aie.unknown is not known"),
    ("module {\n  %a, %b = aie.tile(0, 0)\n}", 2, "gives 1 results, not 2"),
    ("module {\n  %c = arith.constant 1\n}", 2, "a constant has a type"),
    ('module {\n  "a.b"() {x = #q} : () -> ()\n}', 2, "#q is not defined"),
    ("module {\n  %c = arith.constant 1 : i32\n  %d = arith.addi %c, %c : i64\n}", 3, "%c is i32"),
    (
        "module {\n  aie.dma_bd(%b : memref<4xi32> sizes = [1] strides = [])\n}",
        2,
        "1 sizes, 0 strides",
    ),
    ("module {\n}\nmodule {\n}", 3, "a text is one module"),
]


@pytest.mark.parametrize(("text", "line", "message"), _WRONG, ids=[w[2] for w in _WRONG])
def test_what_is_wrong_has_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(MlirError) as found:
        parse(text)
    assert message in found.value.message
    assert found.value.line == line
