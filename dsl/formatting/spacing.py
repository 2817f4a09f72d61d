"""White space between the tokens of a line: as PEP 8 has it, slices as Black and Ruff write them."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.frontend.tokens import KEYWORDS, Token

_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
_OPERANDS = frozenset(
    {"NAME", "INT", "FLOAT", "STRING", "...", "True", "False", "None", "parallel"}
)
_SIMPLE = frozenset({"NAME", "INT", "FLOAT", ".", "...", "True", "False", "None"})
_NUMBERS = frozenset({"NAME", "INT", "FLOAT"})
_SIGNS = frozenset({"-", "+", "~"})


def spaces(tokens: Sequence[Token]) -> list[bool]:
    """Whether a space stands before each token, were they all on one line."""
    return _Spacing(tokens).all()


class _Spacing:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.open: list[str] = []  # `(`, `[` of a list, or `index`
        self.wide: list[
            bool
        ] = []  # for each index that is open: whether its item has spaced colons

    def all(self) -> list[bool]:
        """Before each token, in order."""
        spaced = []
        for i, token in enumerate(self.tokens):
            kind = token.kind
            spaced.append(i > 0 and self._before(i))
            if kind in _OPENS:
                self.open.append("index" if kind == "[" and self._is_applied(i) else kind)
                self.wide.append(self._is_wide(i + 1))
            elif kind in _CLOSES and self.open:
                self.open.pop()
                self.wide.pop()
            elif kind == "," and self.open:
                self.wide[-1] = self._is_wide(i + 1)
        return spaced

    def _before(self, i: int) -> bool:
        left, right = self.tokens[i - 1].kind, self.tokens[i].kind
        inside = self.open[-1] if self.open else ""
        if left in _OPENS or right in _CLOSES or right in (",", ";") or "." in (left, right):
            return False
        if left == ",":
            return True
        if ":" in (left, right):
            if inside != "index":
                return left == ":"
            return self.wide[-1] and {left, right} != {":"}
        if "=" in (left, right) and inside == "(":
            return False
        if self._is_sign(i - 1):
            return False
        if "**" in (left, right):
            return not self._is_short_power(i if right == "**" else i - 1)
        return not (right in _OPENS and self._is_applied(i))

    def _is_applied(self, i: int) -> bool:
        """Whether a bracket belongs to what is before it: a call, a subscript, a head's parameters."""
        if i == 0:
            return False
        left = self.tokens[i - 1].kind
        if left in _CLOSES or left in ("STRING", "parallel"):
            return True
        # Two operands side by side are the words of a parameter: `f16[M, K] strides (sm, 1)`.
        return left == "NAME" and not (
            i > 1 and self.tokens[i].kind == "(" and self.tokens[i - 2].kind in ("]", "NAME")
        )

    def _is_sign(self, i: int) -> bool:
        """Whether a token is an operator with one operand, not two."""
        if self.tokens[i].kind not in _SIGNS:
            return False
        if i == 0:
            return True
        left = self.tokens[i - 1].kind
        return not (left in _OPERANDS or left in _CLOSES) or (
            left in KEYWORDS and left not in _OPERANDS
        )

    def _is_short_power(self, i: int) -> bool:
        """Whether both operands of the `**` at i are a name or a number."""
        kinds = [t.kind for t in self.tokens[max(0, i - 2) : i + 4]]
        at = min(i, 2)
        before, (left, _, *rest) = kinds[: at - 1], kinds[at - 1 :]
        rest = rest[1:] if rest[:1] == ["-"] else rest
        named = left in _NUMBERS and rest[:1] and rest[0] in _NUMBERS
        return bool(named) and before != ["."] and not {*rest[1:2]} & {"(", "[", "."}

    def _is_wide(self, start: int) -> bool:
        """Whether the item of an index that begins here has an operation beside a colon."""
        depth = 0
        for i, token in enumerate(self.tokens[start:], start):
            kind = token.kind
            if depth == 0 and (kind == "," or kind in _CLOSES):
                return False
            depth += (kind in _OPENS) - (kind in _CLOSES)
            if kind != ":" and kind not in _SIMPLE and not self._is_sign(i):
                return True
        return False
