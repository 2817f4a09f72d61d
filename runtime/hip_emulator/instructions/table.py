"""The form of the instruction tables, and how they are read.

    v_add_u32      u32 = u32 u32 : a + b
    v_add_co_u32   u32 mask = u32 u32 : d = a + b; e = d < a
    v_fmac_f32     f32 = f32 f32 ~f32 : fmaf(a, b, c)
    s_addc_u32     u32 +scc = u32 u32 +scc : const u64 x = (u64)a + b + c; d = (u32)x; e = x >> 32

A line is a mnemonic, the types of its results, `=`, those of its sources, and C: an expression for the
only result, or statements. Sources are a, b, c, g, h and results d, e, f, in the order of the text;
`+scc`, `+vcc`, `+exec` and `+m0` stand in no operand; `~` reads what a result held before. `mask` is
a lane's bit of a scalar pair; `lanes` are all 64 values of a register, and where there are some, the
code runs once for the wave and not for each lane. A body that begins with `*` has comparison's rule for
undefined operands; a mnemonic that ends with `.clamp` is the form with that modifier.
"""

from __future__ import annotations

from dataclasses import dataclass

SCALARS = {"u32", "i32", "f32", "u64", "i64", "f64", "b32", "b64"}
HALVES = {"u16", "i16", "f16", "bf16", "b16"}
TYPES = SCALARS | HALVES | {"mask", "lanes", "bytes", "s32", "s64", "k32"}
IMPLICIT = {"scc", "vcc", "exec", "m0"}
SOURCE_NAMES = "abcghjk"
RESULT_NAMES = "def"


@dataclass(frozen=True, slots=True)
class Type:
    """A place in a table's line: the type, whether it is printed (not `implicit`, not `kept`)."""

    name: str
    implicit: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What an instruction computes; `strict` is the rule of comparisons."""

    results: tuple[Type, ...]
    sources: tuple[Type, ...]
    body: str
    strict: bool = False

    @property
    def statements(self) -> str:
        """The body as statements that set every result."""
        return self.body if len(self.results) != 1 or _assigns(self.body) else f"d = {self.body}"

    @property
    def whole(self) -> bool:
        """Whether the code runs once for a wave."""
        return any(t.name in ("lanes", "s32", "s64") for t in (*self.results, *self.sources))


def _assigns(body: str) -> bool:
    return body.rstrip().endswith((";", "}")) or "d = " in body or "d[" in body


def read_table(text: str) -> dict[str, Entry]:
    """The entries of a table by mnemonic; a second line for one is an error."""
    entries: dict[str, Entry] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, _, body = line.partition(" : ")
        left, _, right = head.partition("=")
        name, *results = left.split()
        if name in entries:
            raise ValueError(f"{name} is in the table twice")
        body = body.strip()
        entries[name] = Entry(
            tuple(map(_type, results)),
            tuple(map(_type, right.split())),
            body.removeprefix("*").strip(),
            body.startswith("*"),
        )
    return entries


def _type(word: str) -> Type:
    name = word.lstrip("+~")
    if name not in (IMPLICIT if word.startswith("+") else TYPES):
        raise ValueError(f"no type: {word}")
    return Type(name, word.startswith("+"), word.startswith("~"))
