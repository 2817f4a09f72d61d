"""Costs beside lines: asked of a process behind the server, kept until the kernel changes.

Only kernels whose hints an editor asks for are looked at, each once for one text. While an answer is
on its way the lines that have not changed show what they cost before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field

from dslc.environment import default_target
from dslc.executors.processes import Processes, WorkerDiedError
from dslc.frontend import tree
from dslc.language_server.checking import Key
from dslc.language_server.document import Document, Part
from dslc.language_server.line_costs import Answer, Question, answer, begin

_KEPT = 200  # answers


@dataclass(slots=True)
class Settings:
    """What the costs are for: the machine, sizes of dims, and whether they are wanted at all."""

    target: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)
    enabled: bool = True

    def take(self, given: object) -> None:
        """What an editor sends: `target`, `dims` and `costs`, each where it is there and right."""
        if not isinstance(given, Mapping):
            return
        if isinstance(target := given.get("target"), str):
            self.target = target
        if isinstance(dims := given.get("dims"), Mapping):
            self.dims = {str(d): n for d, n in dims.items() if isinstance(n, int)}
        if isinstance(enabled := given.get("costs"), bool):
            self.enabled = enabled


@dataclass(slots=True)
class _Shown:
    """The last answer of a kernel, with the rows that it is about."""

    answer: Answer
    rows: list[str]


class Costs:
    """Answers by kernel; `changed` is called when there is a new one.

    `later` runs a function in the thread that everything else here is called in.
    """

    def __init__(
        self,
        settings: Settings,
        changed: Callable[[], None],
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        self.settings = settings
        self._changed = changed
        self._later = later
        self._processes = Processes(1)
        self._answers: dict[Key, Answer] = {}
        self._last: dict[tuple[str, str], _Shown] = {}  # by file and kernel
        self._waiting: dict[tuple[str, str], tuple[Key, Future[Answer]]] = {}
        self._for = ""

    def hints(
        self, document: Document, part: Part, key: Key | None, texts: Mapping[str, str]
    ) -> Iterator[tuple[int, tuple[str, str]]]:
        """Lines of a part, from 1, with what they cost; what is not known yet is asked for.

        Without a `key` the kernel was not checked yet, or has errors.
        """
        item = part.item
        if not self.settings.enabled or not isinstance(item, tree.Kernel | tree.Program):
            return
        name = str(document.path), item.name
        self._forget_others()
        rows = part.text.split("\n")
        if key is not None and key in self._answers:
            shown = self._last[name] = _Shown(self._answers[key], rows)
        else:
            if key is not None:
                self._ask(name, key, document, texts)
            if name not in self._last:
                return
            shown = self._last[name]
        yield item.loc.line, shown.answer.head
        for line, hint in shown.answer.lines.items():
            if line <= min(len(rows), len(shown.rows)) and rows[line - 1] == shown.rows[line - 1]:
                yield line, hint

    def close(self) -> None:
        """End the process."""
        self._processes.close()

    def _forget_others(self) -> None:
        """Answers are for one machine and one set of sizes."""
        settings = f"{self.settings.target} {sorted(self.settings.dims.items())}"
        if settings != self._for:
            self._for = settings
            self._answers.clear()
            self._last.clear()

    def _ask(
        self, name: tuple[str, str], key: Key, document: Document, texts: Mapping[str, str]
    ) -> None:
        if name in self._waiting:
            asked, future = self._waiting[name]
            if asked == key or not future.cancel():
                return  # one that runs is asked again, by the refresh behind it
        question = Question(
            str(document.path),
            document.text,
            name[1],
            self.settings.target or default_target(),
            dict(self.settings.dims),
            dict(texts),
        )
        self._processes.start(begin, 1)
        future = self._processes.submit(answer, question)
        self._waiting[name] = key, future
        asked_for = self._for
        future.add_done_callback(
            lambda done: self._later(lambda: self._take(name, key, asked_for, done))
        )

    def _take(self, name: tuple[str, str], key: Key, asked_for: str, done: Future[Answer]) -> None:
        if self._waiting.get(name, (None, None))[1] is done:
            del self._waiting[name]
        try:
            found = done.result()
        except (CancelledError, WorkerDiedError):
            return
        except Exception as failure:  # a fault of the compiler is said where its answer would be
            found = Answer((f"{type(failure).__name__}: {failure}", ""))
        if asked_for == self._for:
            while len(self._answers) >= _KEPT:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = found
        self._changed()
