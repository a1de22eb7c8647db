"""Results as tables of words: one line for each case, its data and its sizes."""

from collections.abc import Iterator, Sequence

from sparseops.bench.fit import crossings, series
from sparseops.bench.results import Result, Run, changes, missed, ours, ratios

HEADER = ("case", "sparseops", "spread", "over limit", "peak", "times as long as sparseops")
GROWTH = ("case", "along", "exponent of time", "of memory", "with")


def rows(run: Run) -> Iterator[tuple[str, ...]]:
    """The cells of each point; absent figures are dashes."""
    for point in run.points():
        if len(point) == 1 and is_grown(point[0]):
            continue
        mine = ours(point)
        found = sorted(ratios(point).items(), key=lambda pair: pair[1])
        others = [f"{name} {ratio:.2f}" for name, ratio in found]
        if mine is None:
            yield point[0].title, "-", "-", "-", "-", "; ".join(others)
            continue
        limit = mine.moved / run.machine["bandwidth"]
        yield (
            mine.title,
            duration(mine.median),
            f"{mine.spread:.0%}",
            f"{mine.median / limit:.1f}x" if limit > 2e-6 else "-",
            size(mine.peak),
            "; ".join(others),
        )


def is_grown(result: Result) -> bool:
    """Whether the result stands for a line of growth, which has a table of its own."""
    return {"rows", "columns", "nnz"} <= set(result.size) or "stored" in result.size


def growth(run: Run) -> Iterator[tuple[str, ...]]:
    """For each series of sparseops, the exponents of time and of memory."""
    for one in series(run):
        if one.along == "density" or one.variant != "sparseops":
            continue
        time = one.exponent(lambda result: result.median)
        memory = one.exponent(lambda result: result.peak)
        title = ", ".join(part for part in (one.case, one.data) if part)
        fixed = ", ".join(f"{k}={v}" for k, v in one.fixed.items())
        yield title, one.along, _number(time), _number(memory), fixed


def dense_wins(run: Run) -> Iterator[tuple[str, str]]:
    """For each case along a density, where the dense way begins to win."""
    for case, density, lines in crossings(run):
        highest = max(lines[0].sizes)
        yield case, f"not up to {highest:.0%}" if density is None else f"from {density:.2%}"


def misses(run: Run) -> Iterator[tuple[str, str]]:
    """The targets that are not held."""
    for point in run.points():
        for text in missed(point):
            yield point[0].title, text


def failures(run: Run) -> Iterator[tuple[str, ...]]:
    """What could not be measured, and why."""
    for one in run.results:
        if one.error:
            yield one.title, one.variant, one.error


def comparison(old: Run, new: Run) -> Iterator[tuple[str, ...]]:
    """What changed from one run to another."""
    for before, after, ratio, certain in changes(old, new):
        word = ("slower" if ratio > 1 else "faster") if certain else "within noise"
        times = duration(before.median), duration(after.median)
        yield after.title, after.variant, *times, f"{ratio:.2f}", word


def facts(run: Run) -> Iterator[str]:
    """The machine and the peers, a line each."""
    machine = run.machine
    yield f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"
    yield (
        f"Python {machine['python']}, NumPy {machine['numpy']}, copies "
        f"{machine['bandwidth'] / 1e9:.1f} GB/s on {machine['threads']} threads"
    )
    if run.settings["cpu"]:
        yield "seconds are those of processors"
    elif machine["load"] is not None and machine["load"] > 0.5:
        yield f"others kept {machine['load']:.1f} cores busy: --cpu counts processor time"
    for name, known in run.peers.items():
        if "absent" in known:
            yield f"{name}: absent ({known['absent']})"
        else:
            yield f"{name} {known['version']}: threads {known['threads']}"


def text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain text."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def duration(seconds: float) -> str:
    """Seconds in the unit that suits."""
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def size(count: int | None) -> str:
    """Bytes in the unit that suits."""
    if count is None:
        return "-"
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 2**10:.3g} KiB"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
