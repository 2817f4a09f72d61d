"""Whether a package is as new as its loader asks for.

A signature says who made a package, not that it is the newest: who puts an older one in its place,
rightly signed, brings back its faults. So a loader may name the least version, which is under the
package's digest, or the earliest day of the signature, which is signed.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.package.folder import PackageFolder

_VERSION = re.compile(r"(\d+(?:\.\d+)*)([abr.+-][A-Za-z0-9.+-]*)?\Z")
_LATER = (".post", "+")  # suffixes of what follows a release; all others come before it
_STAMP = "%Y-%m-%dT%H:%M:%SZ"


def check_version(package: PackageFolder, minimum: str) -> None:
    """DSL0836 where the package's version is below `minimum`, such as 1.2.0, or cannot be compared."""
    wanted, version = _order(minimum), _order(package.index.version)
    if wanted is None:
        raise _refused(f"{minimum!r} is no version such as 1.2.0")
    if version is None or version < wanted:
        raise _refused(
            f"{package.path} is {package.index.name} {package.index.version}, older than {minimum}"
        )


def check_date(package: PackageFolder, signed: str | None, earliest: str | date) -> None:
    """DSL0836 where a signature is older than the day `earliest` (2026-11-23, UTC) or has no date."""
    day = _day(earliest)
    if signed is None:
        raise _refused(f"the signature of {package.path} has no date: an earlier dslc made it")
    if parse_stamp(signed).date() < day:
        raise _refused(f"{package.path} was signed on {signed}, before {day.isoformat()}")


def stamp(moment: datetime) -> str:
    """A moment as signatures have it, in UTC to the second."""
    return moment.astimezone(UTC).strftime(_STAMP)


def parse_stamp(text: object) -> datetime:
    """The moment of a signature; ValueError for another form."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is no date")
    return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)


def _day(text: str | date) -> date:
    try:
        return text if isinstance(text, date) else date.fromisoformat(text)
    except ValueError:
        raise _refused(f"{text!r} is no day such as 2026-11-23") from None


def _order(version: str) -> tuple[tuple[int, ...], int, list[tuple[int, str]]] | None:
    """What versions are compared by: the release, before or behind it, and the parts of the suffix."""
    match = _VERSION.match(version)
    if match is None:
        return None
    release = [int(n) for n in match[1].split(".")]
    while release and not release[-1]:  # 1.2 is 1.2.0
        release.pop()
    suffix = match[2] or ""
    side = 0 if not suffix else 1 if suffix.startswith(_LATER) else -1
    parts = [(int(p), "") if p.isdigit() else (-1, p) for p in re.findall(r"\d+|[A-Za-z]+", suffix)]
    return tuple(release), side, parts


def _refused(text: str) -> DiagnosticError:
    return error("DSL0836", text, hint="ask whoever makes the package for the current one")
