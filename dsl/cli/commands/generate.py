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
from dslc.cli.tokens import texts_of, tokenizer_of
from dslc.environment import default_target

if TYPE_CHECKING:
    from dslc.models import Model, Sampling

_EXAMPLES = """
dslc generate Llama-3.2-1B -p "The tide comes in" -n 32
dslc generate qwen3-0.6b-gptq -p "Once" --temperature 0.8 --top-p 0.95 --seed 1
dslc generate imported -p "Once upon a time"
dslc generate Llama-3.2-1B -p "The tide" -p "The moon" -n 32
dslc generate Llama-3.2-1B --prompts questions.txt --batch 16 -n 64
dslc generate model.gguf --ids 1,306,4658 -n 16
"""


@click.command("generate", cls=Documented, examples=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-p",
    "--prompt",
    "texts",
    multiple=True,
    help="A text that the tokens go on with (needs tokenizer.json); several go on at once.",
)
@click.option(
    "--prompts",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text a line of this file.",
)
@click.option(
    "--ids", "numbers", metavar="N,N,...", multiple=True, help="Instead of a text: its tokens."
)
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
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Prompts that go on at once; others wait.",
)
@session_options
def command(
    model: Path,
    texts: tuple[str, ...],
    file: Path | None,
    numbers: tuple[str, ...],
    count: int,
    target: str,
    dtype: str | None,
    quantize: str,
    length: int | None,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    batch: int,
) -> None:
    """Go on with a prompt, or several at once, by a model that is read from its checkpoint.

    MODEL is a folder of Hugging Face's form, a .gguf file, or what `dslc import` has written:
    docs/models.md lists families and formats.
    The tokens of one prompt are printed as they come, those of several by prompt, in their order; times
    by stage follow on the standard error.
    """
    from dslc.cli.progress import shown_progress
    from dslc.models import Sampling, open_model

    if file is not None:
        texts += texts_of(file)
    if bool(texts) == bool(numbers):
        raise click.UsageError("say -p TEXT, --prompts FILE or --ids N,N,...")
    tokenizer = tokenizer_of(model) if texts else None
    prompts = [tokenizer.encode(text).ids for text in texts] if tokenizer is not None else []
    prompts += [_numbers(text) for text in numbers]
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
        if len(prompts) > 1:
            _print_all(opened, tokenizer, prompts, count, sampling, batch)
        elif tokenizer is None:
            _print_ids(opened, prompts[0], count, sampling)
        else:
            _print_text(opened, tokenizer, prompts[0], count, sampling)
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


def _print_all(
    model: Model,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    count: int,
    sampling: Sampling,
    batch: int,
) -> None:
    """What comes after each prompt, when it and those before it are whole: tokens, or `N: TEXT`."""
    from dslc.models.plan import PAGE

    size = min(batch, len(prompts))
    room = -(-(max(len(ids) for ids in prompts) + count) // PAGE) * PAGE
    tokens: list[list[int]] = [[] for _ in prompts]
    ended: set[int] = set()
    shown = 0
    for number, token in model.batch(size, size * room).generate(prompts, count, sampling):
        tokens[number].append(token)
        if token in model.config.stops or len(tokens[number]) == count:
            ended.add(number)
        while shown in ended:
            own = tokens[shown]
            if tokenizer is None:
                click.echo(",".join(map(str, own)))
            else:
                text = tokenizer.decode([t for t in own if t not in model.config.stops])
                click.echo(f"{shown + 1}: {text}")
            shown += 1


def _report(model: Model, seconds: float) -> None:
    times = model.times
    if not times.prefill:
        return
    rate = times.prompt_tokens / times.prefill
    what = "prompt" if times.prompts == 1 else f"{times.prompts} prompts"
    text = f"load {times.load:.2f} s, {what} {times.prompt_tokens} tokens in {times.prefill:.2f} s"
    text += f" ({rate:.1f} a second)"
    if times.decode:
        rate = (times.new_tokens - times.prompts) / times.decode
        text += f", then {rate:.1f} tokens a second ({times.new_tokens} in {seconds:.2f} s)"
    current().note(text)
