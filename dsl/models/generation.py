"""Tokens one after another: a prompt in, then each token's logits to the next."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from dslc.checkpoints import open_checkpoint
from dslc.compiler.diagnostics import error
from dslc.compiler.targets import find_target
from dslc.environment import default_target
from dslc.machines.registry import resolve_target
from dslc.models.batch import Batch
from dslc.models.calibration import parts_of
from dslc.models.changes import Changes
from dslc.models.configuration import ModelConfig, read_config
from dslc.models.decoder import Decoder, Progress
from dslc.models.imported import ImportedParts, is_import
from dslc.models.names import Weights
from dslc.models.plan import SIZES
from dslc.models.running import Times
from dslc.models.sampling import Sampling, choose
from dslc.runtime.elements import Array
from dslc.runtime.memory import Buffer
from dslc.session import Session


@dataclass(slots=True)
class Model:
    """A decoder with its tokens so far; its kernels are there for batches of up to `most` sequences."""

    config: ModelConfig
    decoder: Decoder
    times: Times = field(default_factory=Times)
    most: int = SIZES[-1]

    def logits(self, ids: Sequence[int], position: int = 0) -> Array:
        """The logits after these tokens, f32 [vocabulary]."""
        return _row(self.decoder(ids, position))

    def batch(self, sequences: int = 16, tokens: int = 0) -> Batch:
        """Room for so many sequences at once, over the same weights.

        Caches hold so many `tokens` of all together, with their prompts (0: of all, however long they
        become). DSL0788 for more than 256 sequences, DSL0778 for more than an import has kernels for.
        """
        if self.most < sequences <= SIZES[-1]:
            text = f"the model was imported for {self.most} sequences at once, not {sequences}"
            raise error("DSL0778", text, hint=f"import it with --batch {sequences}")
        return Batch(self.decoder, sequences, tokens, self.times)

    def generate(
        self, ids: Sequence[int], count: int, sampling: Sampling | None = None
    ) -> Iterator[int]:
        """Up to `count` tokens after a prompt; a token that ends a text is given and ends it.

        DSL0788 for a prompt that is empty, is past the cache, or has tokens that the model has not.
        """
        self.decoder.check(ids, count)
        sampling = sampling or Sampling()
        rng = np.random.default_rng(sampling.seed)
        begin = time.perf_counter()
        logits = self.decoder(ids, 0)
        there = self.decoder.chooses(sampling)
        if there:
            token = self.decoder.choose(len(ids), sampling)
        else:
            token = choose(_row(logits), sampling, rng)
        self.times.add_prompt(len(ids), time.perf_counter() - begin)
        for position in range(len(ids), len(ids) + count):
            self.times.new_tokens += 1
            yield token
            if token in self.config.stops or position + 1 == len(ids) + count:
                return
            begin = time.perf_counter()
            if there:
                token = self.decoder.next(sampling.way)
            else:
                token = choose(self.logits([token], position), sampling, rng)
            self.times.decode += time.perf_counter() - begin


def _row(logits: Buffer) -> Array:
    return np.asarray(logits.read()[0].astype(np.float32))


def open_model(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    dtype: str = "",
    length: int = 0,
    quantize: str = "",
    compress: float = 0.0,
    calibration: Array | None = None,
    progress: Progress | None = None,
) -> Model:
    """A checkpoint ready to run (see `dslc.checkpoints`), or what `dslc import` made of one.

    `dtype` is that of activations (f32), `length` bounds the tokens (0: up to 4096). `quantize` is a
    dtype and a group, such as `u4:128`, to which float weights of products are rounded; the head takes
    8 bits then. `compress` is the share of the parameters of feed-forward halves that factors save.
    With `calibration`, sequences of tokens [n, length], both go by what they bring to products. An
    import has its own: DSL0778 for others.
    """
    begin = time.perf_counter()
    most = SIZES[-1]
    if is_import(Path(path)):
        if calibration is not None or compress:
            raise error("DSL0778", f"{path} is an import, whose weights stay as they are")
        decoder, most = _imported(Path(path), target, (dtype, length, quantize), progress)
    else:
        session = Session(target) if target else Session()
        checkpoint = open_checkpoint(Path(path))
        config = read_config(checkpoint.config)
        limit = length or min(config.positions, 4096)
        changes = Changes.of(quantize, compress, calibration)
        parts = parts_of(Weights(checkpoint, config), dtype or "f32", changes)
        decoder = Decoder(parts, session, dtype or "f32", limit, progress)
    return Model(decoder.config, decoder, Times(load=time.perf_counter() - begin), most)


def _imported(
    path: Path, target: str | None, wanted: tuple[str, int, str], progress: Progress | None
) -> tuple[Decoder, int]:
    """The decoder, and how many sequences a batch of it has at most: 0 where there are none."""
    machine = find_target(resolve_target(target or default_target())).name
    parts = ImportedParts.open(path, machine)
    manifest = parts.manifest
    own = (manifest.dtype, manifest.length, manifest.quantize)
    for name, value, fixed in zip(("dtype", "length", "quantize"), wanted, own, strict=True):
        if value and value != fixed:
            text = f"{path} was imported with {name} {fixed or 'none'}, not {value}"
            raise error("DSL0778", text, hint="leave it out, or import the model with it")
    session = Session(machine)
    decoder = Decoder(parts, session, manifest.dtype, manifest.length, progress, parts.kernels)
    return decoder, manifest.sequences if manifest.sequences > 1 else 0
