"""What a small language model loses by the types of its weights, by ways of rounding, and by rank.

    python tests/benchmarks/models/accuracy.py --json out.json       on a GPU, some minutes; needs torch

A decoder of Llama's kind with 10.6 M weights is trained on the documentation strings of Python's
standard library, byte by byte, and read on strings that it has not seen. Its products' weights (not
the embedding, which is the head as well) are then rounded by dslc.quantize, to nearest or calibrated
on training text, or become factors by dslc.compress, and what stands in the codes is multiplied by
torch. Perplexities are of a byte. The weights are not kept.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from dslc.compress import compress_weight
from dslc.quantize import dequantize, quantize, quantize_calibrated, quantize_mx, quantize_nvfp4
from torch import nn
from torch.nn import functional

HIDDEN, INNER, HEADS, LAYERS, LENGTH = 384, 1024, 6, 6, 512
INTEGERS = [f"u{n}" for n in range(1, 9)]
FLOATS = ["f3e1m1", "f4e2m1", "f5e2m2", "f6e2m3", "f6e3m2", "f8e4m3", "f8e5m2"]


def corpus() -> bytes:
    """The documentation strings of the standard library's modules, in order of their names."""
    texts = []
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                texts.append(ast.get_docstring(node) or "")
    return "\n\n".join(dict.fromkeys(t for t in texts if len(t) > 40)).encode()


class Block(nn.Module):
    """Attention and a gated MLP, as in Llama, with names of Hugging Face's parts."""

    def __init__(self) -> None:
        super().__init__()
        self.input_norm, self.inner_norm = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.o = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """Rows [batch, length, hidden]."""
        b, n, _ = x.shape
        q, k, v = self.qkv(self.input_norm(x)).view(b, n, 3, HEADS, -1).permute(2, 0, 3, 1, 4)

        def turned(a: torch.Tensor) -> torch.Tensor:
            one, two = a.chunk(2, -1)
            return torch.cat((one * cos - two * sin, two * cos + one * sin), -1)

        o = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + self.o(o.transpose(1, 2).reshape(b, n, HIDDEN))
        gate, up = self.gate_up(self.inner_norm(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Language(nn.Module):
    """Bytes in, logits of the next byte out; the head is the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN)
        half = HIDDEN // HEADS // 2
        angles = torch.outer(torch.arange(LENGTH), 1e4 ** -(torch.arange(half) / half))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids [batch, length]."""
        x = self.embedding(ids)
        n = ids.shape[1]
        for block in self.blocks:
            x = block(x, self.cos[:n].to(x.dtype), self.sin[:n].to(x.dtype))
        return functional.linear(self.norm(x), self.embedding.weight)


def train(model: Language, data: torch.Tensor, unseen: torch.Tensor, steps: int, batch: int) -> int:
    """AdamW with a cosine, in bf16 where products are; the step whose weights read `unseen` best.

    The text is short: a model that has read it too often knows it by heart.
    """
    best, best_step, kept = float("inf"), 0, model.state_dict()
    groups = [
        {"params": [p for p in model.parameters() if p.ndim == 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim != 2], "weight_decay": 0.0},
    ]
    rate = 1.5e-3
    optimizer = torch.optim.AdamW(groups, rate, (0.9, 0.95), fused=data.is_cuda)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: min(1.0, s / 100) * (0.05 + 0.95 * 0.5 * (1 + np.cos(np.pi * s / steps))),
    )
    draw = torch.Generator().manual_seed(0)
    for step in range(steps):
        at = torch.randint(len(data) - LENGTH - 1, (batch,), generator=draw)
        rows = torch.stack([data[a : a + LENGTH + 1] for a in at.tolist()]).long()
        with torch.autocast(data.device.type, torch.bfloat16):
            logits = model(rows[:, :-1])
        loss = functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99 or step == steps - 1:
            found = perplexity(model, unseen)
            print(f"step {step + 1:5} loss {loss.item():.3f} perplexity {found:.3f}", flush=True)
            if found < best:
                kept = {name: value.clone() for name, value in model.state_dict().items()}
                best, best_step = found, step + 1
    model.load_state_dict(kept)
    return best_step


@torch.no_grad()
def perplexity(model: Language, rows: torch.Tensor) -> float:
    """Of a byte, in f32."""
    total, count = 0.0, 0
    for part in rows.split(64):
        logits = model(part[:, :-1].long()).flatten(0, 1)
        total += functional.cross_entropy(
            logits, part[:, 1:].long().flatten(), reduction="sum"
        ).item()
        count += part[:, 1:].numel()
    return float(np.exp(total / count))


Change = Callable[[np.ndarray, np.ndarray], np.ndarray]


@torch.no_grad()
def changed(model: Language, given: torch.Tensor, change: Change, parts: tuple[str, ...]) -> None:
    """`change(w [K, N], inputs [rows, K])` for each product, layer by layer, as texts go through."""
    x = model.embedding(given[:, :-1].long())
    for block in model.blocks:
        taken = _inputs(block, parts, functools.partial(block, x, model.cos, model.sin))
        for part in parts:
            weight = getattr(block, part).weight
            w = np.ascontiguousarray(weight.T.float().cpu().numpy())
            weight.copy_(torch.from_numpy(change(w, taken[part]).T.astype(np.float32)))
        x = block(x, model.cos, model.sin)


def _inputs(
    block: nn.Module, parts: tuple[str, ...], run: Callable[[], object]
) -> dict[str, np.ndarray]:
    """What each part of a block takes while it runs, [rows, K]."""
    taken: dict[str, np.ndarray] = {}

    def note(part: str, given: tuple[torch.Tensor, ...]) -> None:
        taken[part] = given[0].flatten(0, 1).cpu().numpy()

    hooks = [
        getattr(block, part).register_forward_pre_hook(lambda _, a, p=part: note(p, a))
        for part in parts
    ]
    run()
    for hook in hooks:
        hook.remove()
    return taken


ALL = ("qkv", "o", "gate_up", "down")


def bits(dtype: str, group: int, scale: int, points: bool) -> float:
    """Of a weight, with its share of scales and zero points."""
    own = int(dtype[1])
    return own + (scale + (own if points else 0)) / group


def ways() -> Iterator[tuple[dict[str, Any], Change, tuple[str, ...]]]:
    """What is tried: what it is called in the table, what becomes of a weight, and of which."""
    for dtype in (*INTEGERS, *FLOATS):
        for group in (32, 128):
            size = bits(dtype, group, 16, dtype[0] == "u")
            row = {"dtype": dtype, "group": group, "bits": size}
            yield (
                {**row, "way": "nearest"},
                lambda w, _, d=dtype, g=group: dequantize(quantize(w, d, g)),
                ALL,
            )
            yield (
                {**row, "way": "calibrated"},
                lambda w, x, d=dtype, g=group: dequantize(quantize_calibrated(w, x.T @ x, d, g)),
                ALL,
            )
        row = {"dtype": dtype, "group": 0, "bits": float(dtype[1])}
        yield (
            {**row, "way": "nearest"},
            lambda w, _, d=dtype: dequantize(quantize(w, d, len(w))),
            ALL,
        )
    for dtype in ("f4e2m1", "f6e2m3", "f8e4m3"):
        row = {"dtype": dtype, "group": 32, "bits": bits(dtype, 32, 8, False), "way": "MX"}
        yield row, lambda w, _, d=dtype: dequantize(quantize_mx(w, d)), ALL
    row = {"dtype": "f4e2m1", "group": 16, "bits": bits("f4e2m1", 16, 8, False), "way": "NVFP4"}
    yield row, lambda w, _: dequantize(quantize_nvfp4(w)), ALL
    for ratio in (0.1, 0.2, 0.3, 0.4, 0.5):
        for way in ("factors", "factors, calibrated"):

            def factors(
                w: np.ndarray, x: np.ndarray, r: float = ratio, way: str = way
            ) -> np.ndarray:
                made = compress_weight(w, r, 32, x if way != "factors" else None)
                return np.asarray(made.u @ made.v)

            yield {"ratio": ratio, "way": way}, factors, ("gate_up", "down")


def _rows(text: torch.Tensor) -> torch.Tensor:
    count = len(text) // (LENGTH + 1)
    return text[: count * (LENGTH + 1)].view(count, LENGTH + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    text = torch.from_numpy(np.frombuffer(corpus(), np.uint8).copy()).to(device)
    chosen, tested = len(text) * 17 // 20, len(text) * 18 // 20  # to stop by, and to report
    unseen, held = _rows(text[chosen:tested]), _rows(text[tested:])
    model = Language().to(device)
    begin = time.perf_counter()
    best = train(model, text[:chosen], unseen, options.steps, options.batch)
    seconds = time.perf_counter() - begin
    model.float()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    given = text[: 64 * (LENGTH + 1)].view(-1, LENGTH + 1)
    base = perplexity(model, held)
    about = {
        "bytes": len(text),
        "held_out": held.numel(),
        "weights": sum(p.numel() for p in model.parameters()),
        "steps": best,
        "train_s": seconds,
        "perplexity": base,
        "perplexity_of_training_text": perplexity(model, given),
    }
    print(about, flush=True)
    rows = []
    for row, change, parts in ways():
        model.load_state_dict(kept)
        changed(model, given, change, parts)
        row["perplexity"] = perplexity(model, held)
        rows.append(row)
        print(row, flush=True)
    if options.json:
        options.json.write_text(json.dumps({"model": about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
