"""Charts of a run, drawn with matplotlib: who wins where, how far the limit is, how things grow."""

from collections.abc import Iterator
from typing import Any

from sparseops.bench.fit import crossings, series
from sparseops.bench.results import Result, Run, ours, ratios
from sparseops.bench.table import is_grown

#: Colors that people with any color vision tell apart, and a shape for each, by peer.
STYLES = {
    "scipy": ("#0072B2", "o"),
    "torch": ("#D55E00", "s"),
    "mxnet": ("#009E73", "^"),
    "mkl": ("#CC79A7", "D"),
    "graphblas": ("#56B4E9", "v"),
    "jax": ("#E69F00", "P"),
    "sklearn": ("#000000", "X"),
    "hypothesis": ("#777777", "*"),
}
WIN, LOSE = "#e5f3e5", "#fbe9e7"


def charts(run: Run) -> Iterator[tuple[str, Any]]:
    """The names and figures of the charts for which the run has results."""
    from matplotlib.figure import Figure

    plain = [
        point for point in run.points() if not is_grown(point[0]) and "density" not in point[0].size
    ]
    compared = [point for point in plain if ratios(point)]
    if compared:
        yield "peers", _peers(Figure, compared)
    limited = [point for point in plain if ours(point) and ours(point).moved]
    limited = [p for p in limited if ours(p).median > 1e-4]
    if limited:
        yield "limit", _limit(Figure, limited, run.machine["bandwidth"])
    grown = [one for one in series(run) if is_grown(one.results[0])]
    if grown:
        yield "growth", _growth(Figure, grown)
    crossed = list(crossings(run))
    if crossed:
        yield "density", _density(Figure, crossed)


def _peers(figure: Any, points: list[list[Result]]) -> Any:
    """For each point, how many times as long as sparseops the others take."""
    points = sorted(points, key=lambda point: min(ratios(point).values()), reverse=True)
    made = figure(figsize=(9, 1.8 + 0.24 * len(points)), layout="constrained")
    axes = made.add_subplot()
    seen = set()
    for place, point in enumerate(points):
        found = ratios(point)
        low, high = min(1, *found.values()), max(1, *found.values())
        axes.plot([low, high], [place, place], color="#cccccc", linewidth=0.8, zorder=1)
        for one in point:
            if one.variant not in found:
                continue
            color, marker = STYLES.get(one.peer, ("#777777", "."))
            label = None if one.peer in seen else one.peer
            seen.add(one.peer)
            axes.scatter(
                found[one.variant], place, c=color, marker=marker, s=32, label=label, zorder=3
            )
    _ratio_axis(axes, [title(point) for point in points])
    left, right = axes.get_xlim()
    axes.axvspan(left, 1, color=LOSE, zorder=0)
    axes.axvspan(1, right, color=WIN, zorder=0)
    axes.set_xlim(left, right)
    losing = sum(min(ratios(point).values()) < 1 for point in points)
    axes.set_title(
        f"sparseops is the fastest in {len(points) - losing} of {len(points)} cases",
        loc="left",
    )
    axes.set_xlabel(
        "the other is faster  \N{LEFTWARDS ARROW}   time of the other / time of sparseops   "
        "\N{RIGHTWARDS ARROW}  sparseops is faster"
    )
    made.legend(loc="outside lower center", ncols=len(seen), frameon=False)
    return made


def title(point: list[Result]) -> str:
    """The title of a point, as axes show it."""
    return point[0].title


def _ratio_axis(axes: Any, titles: list[str]) -> None:
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1, zorder=2)
    axes.set_yticks(range(len(titles)), titles, fontsize=8)
    axes.set_ylim(-0.7, len(titles) - 0.3)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _limit(figure: Any, points: list[list[Result]], bandwidth: float) -> Any:
    """How many times as long as a copy of the bytes it has to move each point takes."""
    found = sorted((ours(point) for point in points), key=lambda one: one.median / one.moved)
    times = [one.median * bandwidth / one.moved for one in found]
    made = figure(figsize=(9, 1.3 + 0.22 * len(found)), layout="constrained")
    axes = made.add_subplot()
    axes.barh(range(len(found)), times, left=0, color="#0072B2", height=0.6)
    _ratio_axis(axes, [one.title for one in found])
    axes.set_xlim(min(0.8, min(times) * 0.9), max(times) * 1.6)
    for place, value in enumerate(times):
        axes.text(value * 1.05, place, f"{value:.1f}x", va="center", fontsize=7)
    axes.set_title("sparseops beside the memory's limit", loc="left")
    axes.set_xlabel(f"time / time to move the bytes at {bandwidth / 1e9:.1f} GB/s")
    return made


def _growth(figure: Any, found: list[Any]) -> Any:
    """Time along each size, one panel for each operator."""
    cases = list(dict.fromkeys(one.case for one in found))
    made = figure(figsize=(10, 2.9 * -(-len(cases) // 3)), layout="constrained")
    panels = list(made.subplots(-(-len(cases) // 3), 3, squeeze=False).flat)
    colors = dict(zip(dict.fromkeys(one.along for one in found), STYLES.values(), strict=False))
    for axes, case in zip(panels, cases, strict=False):
        for one in found:
            if one.case == case:
                color, marker = colors[one.along]
                times = [result.median * 1e3 for result in one.results]
                factors = [size / one.sizes[0] for size in one.sizes]
                label = f"{one.along}: {one.exponent(lambda result: result.median):.2f}"
                axes.plot(factors, times, marker=marker, color=color, label=label, markersize=4)
        axes.set_xscale("log", base=4)
        axes.set_yscale("log")
        axes.set_xticks([1, 4, 16], ["1x", "4x", "16x"])
        axes.set_title(case, fontsize=9, loc="left")
        axes.set_ylabel("ms", fontsize=8)
        axes.legend(fontsize=7, title="exponent of time by", title_fontsize=7)
    for axes in panels[len(cases) :]:
        axes.set_visible(False)
    made.suptitle("Growth of one size at a time; 1 is linear, 0 is free", fontsize=11)
    return made


def _density(figure: Any, found: list[Any]) -> Any:
    """Time by density of the sparse and the dense way."""
    made = figure(figsize=(10, 2.9 * -(-len(found) // 3)), layout="constrained")
    panels = list(made.subplots(-(-len(found) // 3), 3, squeeze=False).flat)
    for axes, (case, where, (sparse, dense)) in zip(panels, found, strict=False):
        for one, color, label in ((sparse, "#0072B2", "csr"), (dense, "#D55E00", "dense")):
            times = [result.median * 1e3 for result in one.results]
            axes.plot(one.sizes, times, marker="o", color=color, label=label, markersize=4)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
        text = "dense never wins" if where is None else f"dense wins from {where:.1%}"
        axes.set_title(f"{case}\n{text}", fontsize=9, loc="left")
        if where is not None:
            axes.axvline(where, color="black", linewidth=0.8, linestyle=":")
        axes.set_ylabel("ms", fontsize=8)
        axes.legend(fontsize=7)
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    made.suptitle("Sparse and dense by the share of places that is stored", fontsize=11)
    return made
