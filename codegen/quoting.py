"""Foreign text on its way into emitted files: one function for each language and place.

Docstrings, names, the texts of `assert` and `print`, requirements and paths come from whoever wrote
the program, and what is emitted is compiled, imported or run elsewhere. Every such text passes through
here, so that it stays the comment, string or name that it was meant to be, whatever it holds.
"""

from __future__ import annotations

import json
import keyword
import re
import shlex
from collections.abc import Container

_ENTRY = "_kernel"
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
virtual void volatile wchar_t while xor xor_eq NULL NAN INFINITY EOF errno assert stdin stdout
stderr linux unix offsetof
"""
C_WORDS = frozenset(_WORDS.split())
"""The keywords of C23 and C++23, and what headers of C define as macros."""


def comment_lines(text: str, mark: str = "//") -> str:
    """A text as comments to the end of the line, in C, C++, CUDA, HIP and assembly.

    A backslash at its end would join the next line to the comment; `??/` is one in older C.
    """
    lines = (_printable(line).replace("??", "? ?").rstrip() for line in text.splitlines())
    ended = (line + "." if line.endswith("\\") else line for line in lines)
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in ended)


def block_comment(text: str) -> str:
    """The first line of a text as `/* ... */`; nothing of an empty one."""
    first = next(iter(text.strip().splitlines()), "")
    shown = _printable(first).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return f"/* {shown} */" if shown else ""


def c_string(text: str) -> str:
    """A text as a string literal of C, with its quotes."""
    return f'"{_c_escaped(text)}"'


def c_format(text: str) -> str:
    """A text as a part of a format string of `printf`, without quotes."""
    return _c_escaped(text).replace("%", "%%")


def docstring(text: str, indent: str = "") -> str:
    """A text as a docstring of Python, a line of its own at the end of it."""
    shown = text.replace("\\", "\\\\")
    if '"""' in text or text.endswith('"'):
        shown = shown.replace('"', '\\"')
    shown = "\n".join(_printable(line) for line in shown.split("\n"))
    return f'{indent}"""{shown}"""\n'


def python_string(text: str) -> str:
    """A text as a string literal of Python on one line."""
    return ascii(text)


def python_name(name: str, taken: Container[str] = ()) -> str:
    """A public name of Python: itself, or with `_` behind it where it means something already."""
    while keyword.iskeyword(name) or name in taken:
        name += "_"
    return name


def c_name(name: str, taken: Container[str] = ()) -> str:
    """A name of C and C++: itself, or with `_` behind it where it is a keyword, a macro or taken."""
    name = ascii_name(name)
    while name in C_WORDS or name in taken:
        name += "_"
    return f"_{name}" if name[0].isdigit() else name


def ascii_name(name: str) -> str:
    """A name in the letters that every assembler and MLIR read; other scripts by their codes."""

    def instead(letter: re.Match[str]) -> str:
        return "_" if letter[0].isascii() else f"_u{ord(letter[0]):x}_"

    return re.sub(r"[^A-Za-z0-9_]", instead, name)


def entry_name(kernel: str) -> str:
    """The symbol of a kernel in C's family: a header's or compiler's name is never one that ends so."""
    return ascii_name(kernel) + _ENTRY


def yaml_string(text: str) -> str:
    """A text as a scalar of YAML, which reads the strings of JSON."""
    return text if re.fullmatch(r"[A-Za-z][\w./+ -]*[\w/]", text, re.ASCII) else json.dumps(text)


def shell_word(text: str) -> str:
    """A text as one word of a POSIX shell, in which GitHub Actions sees no `${{ expression }}`."""
    return shlex.quote(text).replace("${{", "$''{{")


def header_line(text: str) -> str:
    """A text as the value of a line `Name: value` of a wheel's metadata."""
    return _printable(" ".join(text.splitlines()))


def _printable(line: str) -> str:
    """A line whose characters all print: others by their escape in Python."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def _c_escaped(text: str) -> str:
    """Octal escapes end after three digits, whatever follows; `??` may begin a trigraph."""
    escaped = []
    for char in text:
        if char in '"\\':
            escaped.append("\\" + char)
        elif char == "\n":
            escaped.append("\\n")
        elif char.isprintable():
            escaped.append(char)
        else:
            escaped += [f"\\{byte:03o}" for byte in char.encode("utf-8", "backslashreplace")]
    return "".join(escaped).replace("??", "?\\?")
