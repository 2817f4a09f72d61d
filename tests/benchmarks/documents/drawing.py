"""How the pictures look, with matplotlib (of the extra `pictures`)."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from documents.pictures import Series, fingerprint
from documents.tables import BY_WIDTH, MANY
from gpu.cases import ROWS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

OURS, RIVAL, BAR, GRID = "#2166ac", "#b9bfc9", "#c0392b", "#e3e6ea"
# By Okabe and Ito: told apart by those who see few colours.
COLOURS = [
    *("#56b4e9", "#0072b2", "#009e73", "#e69f00", "#cc79a7"),
    *("#d55e00", "#999999", "#7a5195", "#222222"),
]
STYLE = {
    "svg.fonttype": "none",  # text stays text: smaller, and found by a search
    "svg.hashsalt": "dslc",  # the same figures give the same bytes
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": "#666666",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "legend.frameon": False,
}


def panels(count: int, height: float, *, rows: bool = True) -> tuple[Figure, Sequence[Axes]]:
    """A picture of 860 points' width with axes side by side."""
    figure = Figure(figsize=(860 / 72, height / 72), layout="constrained", facecolor="white")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for one in axes:
        one.grid(axis="y" if rows else "x", color=GRID)
        one.tick_params(length=0 if rows else 3)
    return figure, axes


def decode(series: Series) -> Figure:
    figure, axes = panels(len(series), 290)
    for one, (title, shares) in zip(axes, series.items(), strict=True):
        for at, (library, colour) in enumerate((("dslc", OURS), ("humming", RIVAL))):
            places = [x + 0.4 * at - 0.2 for x in range(len(BY_WIDTH))]
            one.bar(places, shares[library], 0.38, color=colour, label=library)
        for x, (weight, share) in enumerate(zip(BY_WIDTH, shares["dslc"], strict=True)):
            one.annotate(f"{share:.0f}", (x - 0.2, 2), ha="center", color="white", fontsize=8.5)
            goal = {"1": None, "2": 75}.get(weight[1], 88)
            if goal:
                label = "the bar for dslc" if weight == "u2" else None
                one.plot([x - 0.42, x + 0.02], [goal, goal], color=BAR, linewidth=1.6, label=label)
        one.set_title(f"{title}, K x N = 8192 x 57344")
        one.set_xticks(range(len(BY_WIDTH)), BY_WIDTH)
        one.set_ylim(0, 112)
    axes[0].set_ylabel("of 4.53 TB/s, %")
    axes[0].legend(loc="upper left", ncols=3)
    return figure


def speeds(series: Series) -> Figure:
    figure, axes = panels(len(series), 310)
    for one, (rival, points) in zip(axes, series.items(), strict=True):
        shown = ROWS if rival == "humming" else MANY
        for index, weight in enumerate(BY_WIDTH):
            mine = [(m, speed) for m, name, speed in points if name == weight]
            if mine:
                places = [shown.index(m) + (index - 4) * 0.08 for m, _ in mine]
                one.plot(
                    places, [s for _, s in mine], "o", ms=5, color=COLOURS[index], label=weight
                )
        one.axhline(1, color=BAR, linewidth=1.2)
        one.set_title(f"over {rival}")
        one.set_xticks(range(len(shown)), [f"M = {m}" for m in shown])
    axes[0].set_ylabel("time of the rival / time of dslc")
    axes[0].legend(loc="upper right", ncols=3, columnspacing=1, handletextpad=0.2)
    return figure


def predictions(series: Series) -> Figure:
    figure, (one,) = panels(1, 420)
    figure.set_size_inches(520 / 72, 440 / 72)
    one.grid(axis="both", color=GRID)
    one.plot([5, 9000], [5, 9000], color=BAR, linewidth=1.2, label="as measured")
    one.fill_between(
        [5, 9000], [4.5, 8100], [5.5, 9900], color=BAR, alpha=0.12, linewidth=0, label="within 10 %"
    )
    one.loglog()
    for index, (kernel, times) in enumerate(series.items()):
        # One outline of dots: a mark for each would make the file four times as large.
        ends = [p for x, y in times for p in ((x, y), (x * 1.001, y))]
        codes = [Outline.MOVETO, Outline.LINETO] * len(times)
        colour = COLOURS[(1, 3, 2, 5)[index]]
        dots = PathPatch(
            Outline(ends, codes), fill=False, edgecolor=colour, linewidth=3.2, capstyle="round"
        )
        one.add_patch(dots)
        one.plot([], [], "o", ms=4, color=colour, label=f"{kernel} ({len(times)})")
    one.set(xlim=(5, 9000), ylim=(5, 9000), xlabel="measured, us", ylabel="predicted, us")
    one.legend(loc="upper left")
    return figure


def aarch64(series: Series) -> Figure:
    figure, axes = panels(len(series), 300, rows=False)
    for one, (cpu, lines) in zip(axes, series.items(), strict=True):
        names, ours, goals, public = zip(*lines, strict=True)
        places = range(len(names))
        one.barh([y - 0.2 for y in places], ours, 0.38, color=OURS, label="dslc")
        one.barh([y + 0.2 for y in places], public, 0.38, color=RIVAL, label="best public kernel")
        for y, (rate, goal) in enumerate(zip(ours, goals, strict=True)):
            label = None if y else "the bar for dslc"
            one.plot([goal, goal], [y - 0.42, y + 0.02], color=BAR, linewidth=1.6, label=label)
            one.annotate(f" {rate:.1f}", (rate, y - 0.2), va="center", fontsize=8.5)
        one.set_yticks(places, names if one is axes[0] else [""] * len(names))
        one.invert_yaxis()
        one.set_title(cpu)
        one.set_xlabel("multiply-adds a cycle, modelled (llvm-mca 22)")
    axes[1].legend(loc="lower right")
    return figure


def accuracy(series: Series) -> Figure:
    figure, (one,) = panels(1, 300)
    figure.set_size_inches(620 / 72, 300 / 72)
    for index, (name, points) in enumerate(series.items()):
        bits, growth = zip(*points, strict=True)
        style, colour = ("o-", "s--")[index // 2], COLOURS[(1, 2)[index % 2]]
        one.plot(bits, growth, style, ms=4, color=colour, label=name)
    one.set(xlabel="bits of a weight, with its share of scale and zero point", ylim=(-0.3, 13))
    one.set_ylabel("growth of the perplexity, %")
    one.legend(loc="upper right")
    return figure


DRAWN = {
    "decode": decode,
    "speeds": speeds,
    "predictions": predictions,
    "aarch64": aarch64,
    "accuracy": accuracy,
}


def draw(name: str, series: Series, path: Path) -> None:
    """A picture with the fingerprint of what it shows."""
    with mpl.rc_context(STYLE):
        figure = DRAWN[name](series)
        said = {"Description": f"figures {fingerprint(series)}", "Date": None, "Creator": None}
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata=said)
    short = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text.getvalue())
    path.write_text(re.sub(r" +$", "", short, flags=re.MULTILINE), encoding="utf-8")
