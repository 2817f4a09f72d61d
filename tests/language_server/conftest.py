"""A server for the tests of a file, and an editor that talks to it."""

from __future__ import annotations

import asyncio
import threading

import pytest

LIBRARY = '''
const HALF = 0.5


def double(x):
    """Twice x."""
    return x + x


kernel scale(x: f32[N], factor: f32, y: out f32[N]):
    """y = factor * x."""
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = double(x[n : n + BN]) * factor * HALF
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """An editor with a server, in a loop of its own."""
    pytest.importorskip("pygls")
    from support.editors.editor import Editor

    folder = tmp_path_factory.mktemp("sources")
    (folder / "library.tile").write_text(LIBRARY)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(300)

    async def make() -> Editor:
        return await Editor(folder).start()

    editor = run(make())
    yield run, editor
    run(editor.stop())
    loop.call_soon_threadsafe(loop.stop)


@pytest.fixture
def play(server):
    """Runs a scenario with the editor."""
    run, editor = server
    return lambda scenario: run(scenario(editor))
