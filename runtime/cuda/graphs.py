"""Several launches as one CUDA graph: built once, launched by one call of the driver.

CUDA Driver API, "Graph Management". The graph keeps the values of its kernels' parameters; a launch
with others changes them first, kernel by kernel where they differ.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence

from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.plan import WITHOUT_CONTEXT, Prepared
from dslc.runtime.expression import Number

Values = Sequence[Sequence[Number]]


class _Node:
    """One kernel of a graph, with the memory from which its parameters are read."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.frame = prepared.frame()
        config = self.frame.config
        self.params = cu.KernelNodeParams(
            func=prepared.function.handle,
            grid=config.grid,
            block=config.block,
            shared=config.shared,
            parameters=ctypes.addressof(self.frame.parameters),
        )
        self.handle = 0

    def fill(self, values: Sequence[Number]) -> None:
        self.prepared.pack(self.frame.buffer, 0, *values)


class LaunchGraph:
    """Launches that are not empty, each after those whose numbers `after` gives for it.

    `values` are the arguments of each as `Prepared` takes them. struct.error for a number that C's type
    cannot hold. The driver wants one call about a graph at a time: that is the caller's affair.
    """

    def __init__(
        self,
        device: CudaDevice,
        prepared: Sequence[Prepared],
        after: Sequence[Sequence[int]],
        values: Values,
    ) -> None:
        self._driver = device.driver
        self._device = device
        self._nodes = [_Node(p) for p in prepared]
        self._graph = self._exec = 0
        for node, given in zip(self._nodes, values, strict=True):
            node.fill(given)
        with device.between_captures():
            self._graph = self._driver.handle("cuGraphCreate", 0)
            for node, before in zip(self._nodes, after, strict=True):
                self._add(node, before)
            self._exec = self._driver.handle("cuGraphInstantiate", self._graph, 0)

    def _add(self, node: _Node, before: Sequence[int]) -> None:
        count = len(before)
        handles = (ctypes.c_void_p * max(1, count))(*(self._nodes[i].handle for i in before))
        # Where the nodes before may still run, edges say so, not nodes.
        early = bool(count) and node.prepared.is_dependent
        node.handle = self._driver.handle(
            "cuGraphAddKernelNode",
            self._graph,
            handles,
            0 if early else count,
            ctypes.byref(node.params),
        )
        if early:
            nodes = (ctypes.c_void_p * count)(*[node.handle] * count)
            edge = cu.EdgeData(from_port=cu.PROGRAMMATIC, type=cu.PROGRAMMATIC)
            edges = (cu.EdgeData * count)(*[edge] * count)
            self._driver.call("cuGraphAddDependencies", self._graph, handles, nodes, edges, count)
        for attribute in node.frame.config.attributes[: node.frame.config.count]:
            if attribute.id != cu.DEPENDENT:
                value = ctypes.byref(attribute, cu.LaunchAttribute.value.offset)
                self._driver.call("cuGraphKernelNodeSetAttribute", node.handle, attribute.id, value)

    def update(self, values: Values) -> None:
        """The arguments of the launches that follow."""
        for node, given in zip(self._nodes, values, strict=True):
            before = bytes(node.frame.buffer)
            node.fill(given)
            if bytes(node.frame.buffer) != before:
                params = ctypes.byref(node.params)
                self._driver.call("cuGraphExecKernelNodeSetParams", self._exec, node.handle, params)

    def launch(self, stream: int) -> None:
        """Enqueue all of them. DSL0842 where the driver refuses."""
        status = self._driver.launch_graph(self._exec, stream)
        if status in WITHOUT_CONTEXT:
            with self._device.current():
                status = self._driver.launch_graph(self._exec, stream)
        if status:
            names = ", ".join(dict.fromkeys(n.prepared.function.artifact.name for n in self._nodes))
            raise self._driver.failed(f"launching {names}", status)

    def __del__(self) -> None:
        # The driver lets what runs come to its end; at the end of the process it may be gone itself.
        with contextlib.suppress(Exception):
            if self._exec:
                self._driver.library.cuGraphExecDestroy(self._exec)
            if self._graph:
                self._driver.library.cuGraphDestroy(self._graph)
