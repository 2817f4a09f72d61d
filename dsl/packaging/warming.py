"""What a process that will compile has to import, whatever it compiles."""

from __future__ import annotations


def import_compiler() -> None:
    """Import front-end, checker and what is around them; a generator comes with its first task."""
    import dslc.checker.source
    import dslc.compilation.building
    import dslc.compilation.templates
    import dslc.frontend
    import dslc.packaging.tasks
    import dslc.tuner.store  # noqa: F401
