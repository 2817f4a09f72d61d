"""NKI kernels run on the host: the emitted source, unchanged, under every rule of the machine.

`simulate` executes a source with modules named as the real package's (`nki`, `nki.isa`,
`nki.language`): NumPy gives the numbers, rounded where the machine rounds; what the machine forbids is
a fault that names the tile, the rule and the line; and a timeline of the engines and DMA queues says
how long it would take, by the costs that the Neuron documentation gives. Such times are *modelled*.
"""

from dslc.runtime.nki_simulator.errors import RULES, NkiFault
from dslc.runtime.nki_simulator.machine import CORES, NeuronCore, find_core
from dslc.runtime.nki_simulator.running import Run, simulate, simulate_file

__all__ = [
    "CORES",
    "RULES",
    "NeuronCore",
    "NkiFault",
    "Run",
    "find_core",
    "simulate",
    "simulate_file",
]
