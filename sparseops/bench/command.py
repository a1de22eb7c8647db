"""The command `sparseops bench`."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from sparseops.bench import experiment, machine, table
from sparseops.bench.case import Case, Point, load
from sparseops.bench.page import page
from sparseops.bench.peers import PEERS
from sparseops.bench.plots import charts
from sparseops.bench.results import Run
from sparseops.bench.results import load as load_results

#: Where suites are looked for: in the installed package, in its checkout, where the command runs.
SUITES = (
    Path(__file__).parent / "benchmarks",
    Path(__file__).parents[2] / "benchmarks",
    Path("benchmarks"),
)


def main(argv: Sequence[str]) -> int:
    """Run benchmarks, or compare two runs."""
    options = _parser().parse_args(argv)
    try:
        if options.compare:
            _compare(*map(load_results, options.compare))
            return 0
        return _run(options)
    except ValueError as error:
        print(f"sparseops bench: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sparseops bench",
        description="Time operators beside other libraries that are installed, each in a process "
        "of its own and in turns, after comparing their results.",
    )
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help="run cases whose suite or name has one of these")
    add("--suite", action="append", metavar="PATH", help="a suite or a folder of them")
    add("--data", action="append", default=[], metavar="FILE", help="a matrix: mtx, npz, libsvm")
    add("--quick", action="store_true", help="small sizes, the first of each case: a minute")
    add("--scale", type=_positive, metavar="X", help="what sizes are multiplied by")
    add("--rounds", type=_count, metavar="N", help="samples of each library")
    add("--cpu", action="store_true", help="count processor time, where others use the machine too")
    add("--threads", type=_count, default=1, metavar="N", help="of each library; by default 1")
    add("--peers", metavar="A,B", help=f"of {', '.join(PEERS)}; by default all that are there")
    add("--mxnet-python", metavar="PATH", help="an interpreter that has MXNet 1.9.1")
    add("--out", metavar="FOLDER", help="write results.json, charts and report.html into it")
    add("--compare", nargs=2, metavar="JSON", help="what a second run is faster or slower in")
    add("--list", action="store_true", help="name the cases, and run nothing")
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


def _run(options: argparse.Namespace) -> int:
    cases = suites(options.suite, options.words)
    settings = _settings(options)
    chosen = list(experiment.points(cases, settings))
    if not chosen:
        raise ValueError(f"no case has {' or '.join(options.words)} in its name")
    if options.list:
        for suite, point in chosen:
            print(f"{Path(suite).stem}: {_title((suite, point))}")
        return 0
    missing = [path for path in settings.files if not os.path.exists(path)]
    if missing:
        raise ValueError(f"there is no file {missing[0]}")
    described = machine.describe(settings.threads)
    peers, results = experiment.measured(cases, settings, _progress)
    # Others may have used the memory the first time.
    described["bandwidth"] = max(described["bandwidth"], machine.bandwidth(settings.threads))
    run = Run(described, asdict(settings), peers, results)
    _print(run)
    if options.out:
        write(run, Path(options.out))
    return int(any(one.peer == "sparseops" and one.error for one in results))


def suites(paths: Sequence[str] | None, words: Sequence[str]) -> dict[str, list[Case]]:
    """The cases by the files they are in; those with one of the words, if there are words."""
    # Other projects have a folder of that name too.
    own = [path for path in SUITES if (path / "products.py").is_file()]
    given = [Path(path) for path in paths or ()] or own[:1]
    if not given:
        raise ValueError("there is no folder benchmarks here; name one with --suite")
    found = {}
    for path in given:
        if not path.exists():
            raise ValueError(f"there is no suite {path}")
        files = sorted(path.glob("[!_]*.py")) if path.is_dir() else [path]
        for file in files:
            if file.name.startswith(("test_", "conftest")):
                continue
            text = [(case, f"{file.stem} {case.name}".lower()) for case in load(str(file))]
            found[str(file.resolve())] = [
                case for case, name in text if not words or any(w.lower() in name for w in words)
            ]
    return found


def _settings(options: argparse.Namespace) -> experiment.Settings:
    peers = options.peers.split(",") if options.peers else list(PEERS)
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise ValueError(f"no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    return experiment.Settings(
        peers=[*peers, *([] if "sparseops" in peers else ["sparseops"])],
        pythons={"mxnet": options.mxnet_python} if options.mxnet_python else {},
        threads=options.threads,
        rounds=options.rounds or (5 if options.quick else 15),
        scale=options.scale or (1 / 16 if options.quick else 1.0),
        warming=0.05 if options.quick else 0.15,
        budget=0.2 if options.quick else 2.0,
        cpu=options.cpu,
        files=options.data,
        quick=options.quick,
    )


def _progress(items: Sequence[Any]) -> Iterable[Any]:
    """The items, with a bar on a terminal, and else a line for each."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        for place, item in enumerate(items, 1):
            print(f"{place}/{len(items)} {_title(item)}", file=sys.stderr, flush=True)
            yield item
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(items))
        for item in items:
            bar.update(task, description=_title(item))
            yield item
            bar.advance(task)


def _title(item: tuple[str, Point]) -> str:
    return f"{item[1].case.name}, {item[1].name}".rstrip(", ")


def _print(run: Run) -> None:
    print("\n".join(table.facts(run)), end="\n\n")
    sections = (
        (table.HEADER, table.rows(run)),
        (table.GROWTH, table.growth(run)),
        (("case", "the dense way is faster"), table.dense_wins(run)),
        (("target missed", "times as long as sparseops"), table.misses(run)),
        (("not measured", "by", "because"), table.failures(run)),
    )
    for header, rows in sections:
        lines = list(rows)
        if lines:
            print(table.text(header, lines), end="\n\n")


def _compare(old: Run, new: Run) -> None:
    header = ("case", "by", "before", "after", "ratio", "")
    print(table.text(header, list(table.comparison(old, new))))


def write(run: Run, folder: Path) -> None:
    """Write the results, the charts if matplotlib is there, and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    run.save(str(folder / "results.json"))
    drawn = {}
    try:
        for name, figure in charts(run):
            figure.savefig(folder / f"{name}.png", dpi=110)
            text = StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None})
            drawn[name] = text.getvalue()
            (folder / f"{name}.svg").write_text(drawn[name])
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        print("no charts without matplotlib: pip install 'sparseops[plot]'", file=sys.stderr)
    (folder / "report.html").write_text(page(run, drawn))
    print(f"wrote {folder / 'report.html'}")
