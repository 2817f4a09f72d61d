"""`dslc generate`: a checkpoint's tokens, as they come."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.options import length_option, quantize_option
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options
from dslc.cli.tokens import tokenizer_of
from dslc.environment import default_target

if TYPE_CHECKING:
    from dslc.models import Model, Sampling

_EXAMPLES = """
dslc generate Llama-3.2-1B -p "The tide comes in" -n 32
dslc generate qwen3-0.6b-gptq -p "Once" --temperature 0.8 --top-p 0.95 --seed 1
dslc generate imported -p "Once upon a time"
dslc generate model.gguf --ids 1,306,4658 -n 16
"""


@click.command("generate", cls=Documented, examples=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.option("-p", "--prompt", help="The text that the tokens go on with (needs tokenizer.json).")
@click.option("--ids", metavar="N,N,...", help="Instead of a text: the prompt's tokens.")
@click.option(
    "-n", "--count", type=click.IntRange(1), default=64, show_default=True, help="Tokens at most."
)
@click.option(
    "-t",
    "--target",
    default=default_target,
    show_default=True,
    envvar="DSLC_TARGET",
    help="The machine (dslc targets).",
)
@click.option(
    "--dtype",
    type=click.Choice(["f32", "f16", "bf16"]),
    help="Of activations, caches, and weights that are no codes (default: f32).",
)
@quantize_option
@length_option
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    default=0.0,
    help="0 (the default) takes the likeliest token.",
)
@click.option("--top-k", type=click.IntRange(0), default=0, help="Draw from the k likeliest alone.")
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Draw from the fewest tokens that have this probability together.",
)
@click.option("--seed", type=int, default=0, help="Of the draws.")
@session_options
def command(
    model: Path,
    prompt: str | None,
    ids: str | None,
    count: int,
    target: str,
    dtype: str | None,
    quantize: str,
    length: int | None,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
) -> None:
    """Go on with a prompt, by a model that is read from its checkpoint.

    MODEL is a folder of Hugging Face's form, a .gguf file, or what `dslc import` has written:
    docs/models.md lists families and formats.
    Tokens are printed as they come, times by stage on the standard error at the end.
    """
    from dslc.cli.progress import shown_progress
    from dslc.models import Sampling, open_model

    if (prompt is None) == (ids is None):
        raise click.UsageError("say -p TEXT or --ids N,N,...")
    tokenizer = None if prompt is None else tokenizer_of(model)
    start = tokenizer.encode(prompt).ids if tokenizer is not None else _numbers(ids or "")
    with shown_progress("loading") as progress:
        opened = open_model(
            model,
            target,
            dtype=dtype or "",
            length=length or 0,
            quantize=quantize,
            progress=progress,
        )
    sampling = Sampling(temperature, top_k, top_p, seed)
    begin = time.perf_counter()
    try:
        if tokenizer is None:
            _print_ids(opened, start, count, sampling)
        else:
            _print_text(opened, tokenizer, start, count, sampling)
    finally:
        _report(opened, time.perf_counter() - begin)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--ids takes numbers with commas between, not {text!r}") from None


def _print_ids(model: Model, start: Sequence[int], count: int, sampling: Sampling) -> None:
    for i, token in enumerate(model.generate(start, count, sampling)):
        click.echo(f"{',' if i else ''}{token}", nl=False)
        sys.stdout.flush()
    click.echo()


def _print_text(
    model: Model, tokenizer: Any, start: Sequence[int], count: int, sampling: Sampling
) -> None:
    tokens: list[int] = []
    shown = ""
    for token in model.generate(start, count, sampling):
        if token not in model.config.stops:
            tokens.append(token)
        text = tokenizer.decode(tokens)
        # A character of several tokens is printed when its last one is there.
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            click.echo(text[len(shown) :], nl=False)
            sys.stdout.flush()
            shown = text
    click.echo()


def _report(model: Model, seconds: float) -> None:
    times = model.times
    if not times.prefill:
        return
    rate = times.prompt_tokens / times.prefill
    text = f"load {times.load:.2f} s, prompt {times.prompt_tokens} tokens in {times.prefill:.2f} s"
    text += f" ({rate:.1f} a second)"
    if times.decode:
        rate = (times.new_tokens - 1) / times.decode
        text += f", then {rate:.1f} tokens a second ({times.new_tokens} in {seconds:.2f} s)"
    current().note(text)
