"""Which task a process takes next: what it knows, the longest first, then where most work is left."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Hashable

from dslc.executors.backlog import Backlog, Kind

NOTHING: frozenset[Hashable] = frozenset()


def backlog(**counts: int) -> Backlog[str]:
    """So many tasks of kinds named SETUP_GROUP."""
    found: Backlog[str] = Backlog()
    for name, count in counts.items():
        for _ in range(count):
            found.put(kind(name), name)
    return found


def kind(name: str) -> Kind:
    return Kind(name.partition("_")[0], name)


def taken(tasks: Backlog[str], *known: Hashable) -> str:
    found = tasks.take(frozenset(known))
    assert found is not None
    return found[1]


def measured(tasks: Backlog[str], **seconds: float) -> None:
    """One of each kind is tried and took so long."""
    for _ in seconds:
        name = taken(tasks)
        tasks.ended(kind(name), seconds[name])


def test_tasks_of_one_kind_are_taken_in_order() -> None:
    tasks: Backlog[int] = Backlog()
    for number in range(5):
        assert tasks.put(Kind(), number) == number + 1
    found = [tasks.take(NOTHING) for _ in range(5)]
    assert [task for _, task in filter(None, found)] == list(range(5))
    tasks.ended(Kind(), 1.0)
    assert tasks.put(Kind(), 5) == 5  # four still run


def test_each_group_is_tried_before_any_is_taken_twice() -> None:
    tasks = backlog(cuda_a=3, cuda_b=3, arm_a=3)
    assert taken(tasks) == "cuda_a"
    assert taken(tasks, "arm") == "arm_a"  # of those that are untried, one that is known
    assert taken(tasks, "arm") == "cuda_b"


def test_a_process_keeps_to_what_it_knows_the_longest_first() -> None:
    tasks = backlog(cuda_a=3, cuda_b=3, arm_a=3)
    measured(tasks, cuda_a=1, cuda_b=2, arm_a=9)
    assert [taken(tasks, "cuda") for _ in range(4)] == ["cuda_b"] * 2 + ["cuda_a"] * 2
    assert taken(tasks, "cuda") == "arm_a"  # rather than nothing


def test_one_that_knows_nothing_goes_where_most_work_is_left_for_each() -> None:
    tasks = backlog(cuda_a=5, arm_a=3)
    measured(tasks, cuda_a=1.0, arm_a=1.5)
    assert taken(tasks) == "cuda_a"  # 4 x 1.0 against 2 x 1.5
    assert taken(tasks) == "arm_a"  # 3 x 1.0 for two against 3.0


def test_a_task_that_was_given_up_says_nothing_of_its_group() -> None:
    tasks = backlog(a_a=2, b_b=1)
    assert taken(tasks) == "a_a"
    tasks.ended(kind("a_a"), None)
    assert taken(tasks) == "a_a"  # still untried


def test_what_waits_is_given_back_when_it_is_closed() -> None:
    tasks = backlog(a_a=1)
    got: list[object] = []
    assert taken(tasks) == "a_a"
    waiting = threading.Thread(target=lambda: got.append(tasks.take(NOTHING)))
    waiting.start()
    assert tasks.close() == []
    waiting.join(10)
    assert got == [None]
    assert backlog(a_a=2, b_b=1).close() == ["a_a", "a_a", "b_b"]


def test_processes_end_together_and_load_few_setups() -> None:
    """8 processes, 5 targets that cost 0.4 s to load, 200 tasks: within 8 % of an even share of work,
    with less than half of the 40 loads that processes make which take tasks in their order."""
    seconds = {f"t{i}_{g}": 0.05 * (i + 1) * (g + 1) for i in range(5) for g in range(2)}
    tasks = backlog(**dict.fromkeys(seconds, 20))
    known: list[set[Hashable]] = [set() for _ in range(8)]
    free = [(0.0, i) for i in range(8)]
    running: list[tuple[float, int, str, float]] = []
    loads, end = 0.0, 0.0
    for _ in range(200):
        while not free or (running and running[0][0] <= free[0][0]):
            at, process, name, spent = heapq.heappop(running)
            tasks.ended(kind(name), spent)
            heapq.heappush(free, (at, process))
        now, process = heapq.heappop(free)
        name = taken(tasks, *known[process])
        spent = seconds[name] + (0.0 if kind(name).setup in known[process] else 0.4)
        loads += spent - seconds[name]
        known[process].add(kind(name).setup)
        heapq.heappush(running, (now + spent, process, name, spent))
        end = max(end, now + spent)
    work = 20 * sum(seconds.values())
    assert loads < 0.4 * 8 * 5 / 2
    assert end < 1.08 * (work + loads) / 8
