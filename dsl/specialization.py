"""A kernel for known dims and tune choices: compiled once, called often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from dslc.arguments import Argument, Array, dim_size, prepare
from dslc.compiler.diagnostics import did_you_mean, error
from dslc.signature import Parameter, Signature

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact
    from dslc.machines import Executable

Stages = Mapping[str, Callable[[], str]]


class Specialization:
    """A compiled kernel: call it with the arguments of its parameters, outputs included.

    `fixed` are the dims that it was compiled for, `config` the choice of every tune.
    """

    def __init__(
        self, signature: Signature, artifact: Artifact, executable: Executable, stages: Stages
    ) -> None:
        self._signature = signature
        self._executable = executable
        self._stages = stages
        self.artifact = artifact
        self.fixed: Mapping[str, int] = MappingProxyType(dict(artifact.fixed))
        self.config: Mapping[str, object] = MappingProxyType(dict(artifact.config))

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._signature.name

    @property
    def target(self) -> str:
        """The target that it was compiled for."""
        return self.artifact.target

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the caller's order."""
        return self._signature.parameters

    @property
    def stages(self) -> tuple[str, ...]:
        """What `source` can show, first to last."""
        return tuple(self._stages)

    def __repr__(self) -> str:
        choices = ", ".join(f"{k}={v}" for k, v in {**self.fixed, **self.config}.items())
        return f"<dslc specialization {self.name}({choices}) for {self.target}>"

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run the kernel. Dims and tunes may be stated by keyword: they must be its own."""
        matched = self._signature.match(args, kwargs)
        for name, value in matched.config.items():
            if self.config[name] != value:
                raise error("DSL0773", f"{self!r} was compiled for {name} = {self.config[name]}")
        self.launch(prepare(self.parameters, matched.arguments), matched.dims)

    def launch(self, ready: Mapping[str, Argument], stated: Mapping[str, int]) -> None:
        """Run over prepared arguments; DSL0773 where a stated dim is not what they say."""
        for dim, value in stated.items():
            size = self.fixed.get(dim, dim_size(self.parameters, ready, dim))
            if size is not None and size != value:
                text = f"{self.name}: {dim} is {size} in the arguments, not {value} as stated"
                raise error("DSL0773", text)
        self._executable.launch(ready)

    def source(self, stage: str = "final") -> str:
        """The program's text at a stage: one of `stages`; DSL0775 for any other."""
        if stage not in self._stages:
            hint = did_you_mean(stage, self._stages) or f"there are {', '.join(self._stages)}"
            raise error("DSL0775", f"{self.name} has no stage {stage}", hint=hint)
        return self._stages[stage]()

    def pack(self, param: str, codes: object) -> Array:
        """Codes of a low-bit parameter (one a byte) in the storage that the kernel loads: bytes."""
        raise NotImplementedError

    def unpack(self, param: str, packed: object) -> Array:
        """The inverse of `pack`: codes, one a byte."""
        raise NotImplementedError
