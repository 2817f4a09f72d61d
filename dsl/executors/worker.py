"""The other end of `processes`: a process that runs functions and sends their results back.

Requests come on the standard input, answers go to what the standard output was; anything that is
printed meanwhile goes to the standard error. Both are pickles between a process and its own child.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import IO, Any

_HEAD = struct.Struct("<Q")


def send(stream: IO[bytes], value: object) -> None:
    """Write one value."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_HEAD.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one value; EOFError where the other end has gone."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    (size,) = _HEAD.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def can_travel(failure: Exception) -> bool:
    """Whether an exception arrives as it was: some are pickled and cannot be made again."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:  # whatever an exception's own pickling raises
        return False
    return True


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while True:
        try:
            function, arguments = receive(requests)
        except EOFError:
            return
        try:
            answer = (True, function(*arguments))
        except Exception as failure:
            answer = (False, failure if can_travel(failure) else RuntimeError(repr(failure)))
        try:
            send(answers, answer)
        except (pickle.PicklingError, TypeError, AttributeError):
            send(answers, (False, RuntimeError(f"{answer[1]!r}")))
