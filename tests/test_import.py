"""`import dslc` is light, and its public names are there."""

import json
import pkgutil
import subprocess
import sys

import dslc
import pytest

HEAVY = ("lark", "rich", "click", "msgspec", "numpy", "ml_dtypes", "dslc.compiler", "dslc.lang")


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_import_loads_nothing_heavy():
    code = "import sys, json, dslc; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run_python(code).stdout))
    assert loaded & set(HEAVY) == set()


def test_import_takes_under_30_ms():
    code = "import time; t = time.process_time(); import dslc; print(time.process_time() - t)"
    assert min(float(run_python(code).stdout) for _ in range(3)) < 0.030


@pytest.mark.parametrize("name", dslc.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dslc, name) is not None
    assert name in dir(dslc)


def test_no_module_has_the_name_of_something_public():
    """Whoever imported such a module first would get it in place of the function."""
    modules = {module.name for module in pkgutil.iter_modules(dslc.__path__)}
    assert modules & set(dslc.__all__) == set()


def test_dtypes_and_rooms_are_attributes():
    assert str(dslc.u4) == "u4"
    assert "u4" in dir(dslc)
    assert dslc.lang.f16 is dslc.f16
    for room in ("compiler", "runtime", "packaging", "quantize"):
        assert getattr(dslc, room).__name__ == f"dslc.{room}"
        assert room in dir(dslc)


def test_the_runtime_names_what_it_has():
    assert dir(dslc.runtime) == sorted(dslc.runtime.__all__)
    assert all(hasattr(dslc.runtime, name) for name in dir(dslc.runtime))


@pytest.mark.parametrize("name", ["kernal", "f99", "astuple", "_private"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=name):
        getattr(dslc, name)
