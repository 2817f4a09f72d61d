"""What to say of a token that the grammar does not allow where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dslc.compiler.diagnostics import Diagnostic, Loc, suggest
from dslc.frontend.foreign import FOREIGN
from dslc.frontend.tokens import CLOSING, KEYWORDS, OWN_KEYWORDS, Token

_ITEMS = ("from", "const", "def", "kernel", "program")
_STATEMENTS = (
    "for", "while", "if", "elif", "else", "const", "tune", "require", "assert", "return", "pass",
)  # fmt: skip
_OPENS_BLOCK = frozenset({"kernel", "program", "def", "for", "while", "if", "elif", "else"})
_VALUES = frozenset({"NAME", "INT", "FLOAT", "STRING", "True", "False", "None", "(", "["})


@dataclass(frozen=True, slots=True)
class Mistake:
    """A token that does not fit, what stood before it, and what would have fitted.

    `line` is the logical line up to the token; `previous` may be of the line before.
    """

    file: str
    token: Token
    previous: Token
    line: tuple[Token, ...]
    expected: set[str]
    opened: Token | None  # a bracket before it that is never closed

    @property
    def first(self) -> Token:
        """The first token of the line."""
        return self.line[0] if self.line else self.token

    def at(self, token: Token) -> Loc:
        """The place of a token."""
        return Loc(self.file, token.line, token.col, token.end_line, token.end_col)

    def error(
        self, code: str, message: str, hint: str | None = None, token: Token | None = None
    ) -> Diagnostic:
        """A diagnostic at a token, by default the one that does not fit."""
        return Diagnostic(code, message, self.at(token or self.token), hint)


def diagnose(mistake: Mistake) -> Diagnostic:
    """The most telling diagnostic for a mistake."""
    for look in _LOOKS:
        if diagnosis := look(mistake):
            return diagnosis
    return _plain(mistake)


def _bracket(m: Mistake) -> Diagnostic | None:
    if m.opened is None:
        return None
    hint = f"write the `{CLOSING[m.opened.text]}` that belongs to it"
    return m.error("DSL0010", f"`{m.opened.text}` is never closed", hint, token=m.opened)


def _indentation(m: Mistake) -> Diagnostic | None:
    if m.token.kind == "INDENT":
        hint = "begin it where the line before begins; only `:` opens a block"
        return m.error("DSL0013", "this line is indented more than its block", hint)
    if "INDENT" in m.expected and m.previous.kind == "NEWLINE":
        hint = "indent the body; a body that does nothing is `pass`"
        return m.error("DSL0014", "an indented block is missing here", hint)
    return None


def _foreign(m: Mistake) -> Diagnostic | None:
    if m.first.kind == "@":
        return m.error("DSL0105", *FOREIGN["decorator"], m.first)
    for token in (m.first, m.token):
        if token.kind in FOREIGN and not (token.kind == "in" and m.first.kind == "for"):
            return m.error("DSL0105", *FOREIGN[token.kind], token)
    if m.token.kind == "for" and m.previous.kind == "parallel":
        return m.error(
            "DSL0105", "there is no `parallel for`", "write `for n in parallel(range(N)):`"
        )
    if m.token.kind == "for" and {")", "]"} & m.expected:
        return m.error("DSL0105", *FOREIGN["comprehension"])
    if m.token.kind == "not" and "**" in m.expected:
        return m.error("DSL0105", *FOREIGN["in"])
    if m.token.kind in ("else", "elif") and m.token is m.first:
        message = f"this `{m.token.kind}` belongs to no `if`"
        return m.error("DSL0105", message, "loops have no `else`")
    if m.token.kind in ("*", "**") and m.previous.kind in ("(", ","):
        return m.error("DSL0105", "arguments are not unpacked", "write them out")
    if m.token.kind == m.previous.kind and m.token.kind in ("&", "|"):
        word = "and" if m.token.kind == "&" else "or"
        return m.error("DSL0105", f"there is no `{m.token.kind * 2}`", f"write `{word}`")
    if m.token.kind == "NEWLINE" and [t.kind for t in m.line[-2:]] in (["+", "+"], ["-", "-"]):
        sign = m.previous.kind
        return m.error("DSL0105", f"there is no `{sign * 2}`", f"write `{sign}= 1`", m.line[-2])
    return None


def _misspelt(m: Mistake) -> Diagnostic | None:
    """A first word that is nearly a keyword: `kernal f(...)`, `retrun x`."""
    if m.first.kind != "NAME" or m.token.line != m.first.line:
        return None
    second = m.line[1] if len(m.line) > 1 else m.token
    if second is not m.token and m.token is not m.first:
        return None
    words = _ITEMS if m.token is m.first else _STATEMENTS
    if near := suggest(m.first.text, words):
        message = f"`{m.first.text}` is no keyword"
        return m.error("DSL0103", message, f"did you mean `{near}`?", m.first)
    return None


def _colon(m: Mistake) -> Diagnostic | None:
    if ":" not in m.expected or m.first.kind not in _OPENS_BLOCK:
        return None
    if m.token.kind == "=":
        return m.error("DSL0101", "`=` assigns and has no value", "`==` compares")
    if m.token.kind in ("NEWLINE", *_STATEMENTS) and m.previous.kind != ":":
        message = f"`:` is missing at the end of the `{m.first.text}` line"
        return m.error("DSL0102", message, "the body follows a colon")
    return None


def _reserved(m: Mistake) -> Diagnostic | None:
    word = m.token.kind
    wants_name = "NAME" in m.expected and word not in ("in", "if", "else", "and", "or")
    if word in KEYWORDS and wants_name and m.previous.kind != "NEWLINE":
        kind = "a keyword" if word in OWN_KEYWORDS else "a keyword of Python"
        return m.error("DSL0104", f"`{word}` is {kind} and cannot be a name", "choose another name")
    if m.token.kind in ("=", *_AUGMENTED) and m.previous.kind in OWN_KEYWORDS:
        message = f"`{m.previous.text}` is a keyword and cannot be a name"
        return m.error("DSL0104", message, "choose another name", m.previous)
    return None


_AUGMENTED = ("+=", "-=", "*=", "/=", "//=", "%=")


def _comma(m: Mistake) -> Diagnostic | None:
    in_brackets = "," in m.expected and m.expected & {")", "]"}
    if in_brackets and m.token.kind in _VALUES and m.previous.kind in (*_VALUES, ")", "]"):
        message = f"`,` is missing between {_shown(m.previous)} and {_shown(m.token)}"
        return m.error("DSL0112", message)
    return None


def _parameter(m: Mistake) -> Diagnostic | None:
    if m.first.kind in ("kernel", "program"):
        if m.token.kind in (",", ")") and m.expected == {":"}:
            message = f"the parameter `{m.previous.text}` has no type"
            return m.error("DSL0111", message, f"write `{m.previous.text}: f16[M, N]` or the like")
        if m.token.kind == "=" and "," in m.expected:
            return m.error("DSL0111", f"a {m.first.kind}'s parameters have no defaults")
    if m.first.kind == "def" and m.token.kind == ":" and "," in m.expected:
        return m.error("DSL0111", "a function's parameters have no types", "write the names alone")
    return None


def _assignment(m: Mistake) -> Diagnostic | None:
    if "NEWLINE" not in m.expected:
        return None
    if m.token.kind == "=" and any(t.kind == "=" for t in m.line[:-1]):
        return m.error("DSL0101", "one assignment to a line", "write two lines")
    if m.token.kind == ":" and m.first.kind == "NAME":
        return m.error("DSL0105", *FOREIGN["annotation"])
    return None


def _top_level(m: Mistake) -> Diagnostic | None:
    if m.token is m.first and "kernel" in m.expected and m.token.kind not in ("NEWLINE", "DEDENT"):
        hint = "a file holds `from`, `const`, `def`, `kernel` and `program`"
        if m.token.kind == "NAME":
            hint += "; a constant is `const NAME = ...`"
        return m.error("DSL0101", f"{_shown(m.token)} cannot stand outside a kernel", hint)
    return None


def _after_colon(m: Mistake) -> Diagnostic | None:
    if m.token.kind in _OPENS_BLOCK and m.previous.kind in (":", ";"):
        message = f"`{m.token.text}` cannot stand behind `{m.previous.text}`"
        return m.error("DSL0101", message, "begin a new line")
    return None


def _return(m: Mistake) -> Diagnostic | None:
    """`return` alone: functions give a value, and kernels give none."""
    if m.previous.kind == "return" and m.token.kind == "NEWLINE":
        hint = "a function ends with `return x`; a kernel writes its `out` parameters and just ends"
        return m.error("DSL0110", "`return` gives a value, at the end of a `def`", hint)
    return None


# What a mark or the end of a line is often meant for, where it does not fit.
_OFTEN = {
    "//": "a comment begins with `#`; `//` divides whole numbers",
    "==": "a value stands on both sides of a comparison",
    ":": "a condition stands before the colon",
}


def _plain(m: Mistake) -> Diagnostic:
    if m.token.kind == "NEWLINE":
        hint = "go on with it, or take the last mark away"
        return m.error("DSL0101", f"the line ends too early: {_wanted(m.expected)}", hint)
    if m.token.kind in ("DEDENT", "END"):
        return m.error("DSL0101", f"the block ends too early: {_wanted(m.expected)}")
    often = _OFTEN.get(m.token.kind) if m.expected >= _VALUES else None
    return m.error("DSL0101", f"unexpected {_shown(m.token)}: {_wanted(m.expected)}", often)


def _wanted(expected: set[str]) -> str:
    """What would have fitted, in few words."""
    if expected >= _VALUES:
        return "a value is wanted"
    names = {"NAME": "a name", "NEWLINE": "the end of the line", "STRING": "a string", "INT": ""}
    if "**" in expected:  # after a value nearly every operator fits: name the closing mark alone
        expected = expected & {")", "]", ":", "NEWLINE", "in"} or {"an operator"}
    words = sorted(names.get(k, k if " " in k else f"`{k}`") for k in expected)
    words = [w for w in words if w]
    if len(words) > 6:
        return "that does not fit here"
    return " or ".join(words) + (" is wanted" if len(words) == 1 else " would fit")


def _shown(token: Token) -> str:
    kinds = {
        "NEWLINE": "the end of the line",
        "END": "the end of the file",
        "DEDENT": "the block's end",
        "STRING": "this string",
    }
    return kinds.get(token.kind, f"`{token.text}`")


_LOOKS: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    _bracket,
    _indentation,
    _foreign,
    _misspelt,
    _return,
    _after_colon,
    _colon,
    _parameter,
    _assignment,
    _reserved,
    _comma,
    _top_level,
)
