"""Who compiles: processes of this machine, threads, a cluster, or any executor of `concurrent.futures`.

with open_workers("dask:tcp://10.0.0.7:8786") as workers:
    workers.submit(compile_task, task).result()
"""

from dslc.executors.backlog import Kind
from dslc.executors.opening import ExecutorChoice, Workers, open_workers
from dslc.executors.processes import Processes, WorkerDiedError, default_count

__all__ = [
    "ExecutorChoice",
    "Kind",
    "Processes",
    "WorkerDiedError",
    "Workers",
    "default_count",
    "open_workers",
]
