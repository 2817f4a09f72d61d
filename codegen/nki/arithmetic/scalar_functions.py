"""Functions of scalars that emitted files define: rounding, and values where Python raises.

A file defines those that its text calls. They stay within what NKI takes: no `try`, no `is`.
"""

from __future__ import annotations

import re

_FLOAT = '''
def {name}(x):
    """The nearest {name}."""
    return nearest(x, {digits}, {least}, {greatest!r})
'''

_SOURCES = {
    "nearest": '''
def nearest(x, digits, least, greatest):
    """The nearest number of so many binary digits, 2 ** least times 1 and more; ties to even."""
    size = abs(float(x))
    if size == 0.0 or not size < INFINITY:
        return float(x)
    power = max(math.floor(math.log2(size)), least)
    if 2.0 ** power > size and power > least:  # the logarithm is rounded, too
        power = power - 1
    step = 2.0 ** (power - digits + 1)
    found = round(x / step) * step
    return found if abs(found) <= greatest else math.copysign(INFINITY, x)
''',
    "f32": _FLOAT.format(name="f32", digits=24, least=-126, greatest=(2 - 2.0**-23) * 2.0**127),
    "f16": _FLOAT.format(name="f16", digits=11, least=-14, greatest=65504.0),
    "bf16": _FLOAT.format(name="bf16", digits=8, least=-126, greatest=(2 - 2.0**-7) * 2.0**127),
    "truncated": '''
def truncated(x, least, greatest):
    """A number without its fraction, kept within a range; NaN gives 0."""
    return int(max(least, min(greatest, x))) if x == x else 0
''',
    "whole": '''
def whole(x, by):
    """A number rounded down (by -1), to the nearest (0) or up (1); infinities and NaN stay."""
    if not abs(x) < INFINITY:
        return x
    return float(round(x) if by == 0 else math.floor(x) if by < 0 else math.ceil(x))
''',
    "sqrt_of": '''
def sqrt_of(x):
    """The square root; of what is negative NaN."""
    return math.sqrt(x) if x >= 0.0 else NAN
''',
    "log_of": '''
def log_of(x):
    """The natural logarithm; of 0 minus infinity, of what is negative NaN."""
    return math.log(x) if x > 0.0 else -INFINITY if x == 0.0 else NAN
''',
    "log2_of": '''
def log2_of(x):
    """The binary logarithm; of 0 minus infinity, of what is negative NaN."""
    return math.log2(x) if x > 0.0 else -INFINITY if x == 0.0 else NAN
''',
    "sin_of": '''
def sin_of(x):
    """The sine; of infinities NaN."""
    return math.sin(x) if abs(x) < INFINITY else NAN
''',
    "cos_of": '''
def cos_of(x):
    """The cosine; of infinities NaN."""
    return math.cos(x) if abs(x) < INFINITY else NAN
''',
    "quotient_of": '''
def quotient_of(x, y):
    """x / y by the rules of IEEE 754."""
    if y != 0.0:
        return x / y
    return NAN if x == 0.0 or x != x else math.copysign(INFINITY, x) * math.copysign(1.0, y)
''',
    "power_of": '''
def power_of(x, y):
    """x ** y by the rules of IEEE 754."""
    is_odd = y % 2.0 == 1.0
    if x == 0.0 and y < 0.0:
        return math.copysign(INFINITY, x) if is_odd else INFINITY
    if x == 0.0 or not abs(x) < INFINITY or not abs(y) < INFINITY:
        return x ** y
    if x < 0.0 and y != math.floor(y):
        return NAN
    if y * math.log2(abs(x)) < 1000.0:
        return x ** y
    return -INFINITY if x < 0.0 and is_odd else INFINITY
''',
    "greater": '''
def greater(x, y):
    """The greater of two floats; NaN where one is."""
    return NAN if x != x or y != y else max(x, y)
''',
    "lesser": '''
def lesser(x, y):
    """The lesser of two floats; NaN where one is."""
    return NAN if x != x or y != y else min(x, y)
''',
}
NAMES = tuple(_SOURCES)
_USES = re.compile(rf"(?<![\w.])(?:({'|'.join(NAMES)})\(|(INFINITY|NAN|math)\b)")


def _used(text: str) -> set[str]:
    return {function or word for function, word in _USES.findall(text)}


def needed(text: str) -> set[str]:
    """The functions and words of the file's head that a text uses, and those that these use."""
    names, before = _used(text), set[str]()
    while names > before:
        before = names
        names = names.union(*(_used(_SOURCES[name]) for name in names if name in _SOURCES))
    return names


def definitions(names: set[str]) -> str:
    """The text of those functions, in their order."""
    return "".join(f"\n{source}" for name, source in _SOURCES.items() if name in names)
