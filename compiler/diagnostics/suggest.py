"""Did you mean: the known name nearest to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was probably meant to be, or None where none is near.

    Nearness is difflib's ratio (Ratcliff and Obershelp); a difference of case alone always counts.
    Names of one letter are near only to the same letter in the other case.
    """
    known = list(dict.fromkeys(candidates))
    for candidate in known:
        if candidate.lower() == name.lower() and candidate != name:
            return candidate
    if len(name) < 2:
        return None
    import difflib  # only on the way to an error

    # difflib takes quadratic time: a name of thousands of letters is nobody's typing error.
    if len(name) > 80:
        return None
    nearest = difflib.get_close_matches(name, [c for c in known if c != name], n=1, cutoff=0.6)
    return nearest[0] if nearest else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint ``did you mean `x`?``, or None where nothing is near."""
    near = suggest(name, candidates)
    return f"did you mean `{near}`?" if near else None
