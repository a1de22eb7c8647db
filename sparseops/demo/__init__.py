"""The demo: a text classifier with a sparse operator of its own, told step by step."""

import argparse
import sys
from collections.abc import Sequence

from sparseops.demo.screen import open_screen
from sparseops.demo.story import DemoError, tell


def main(argv: Sequence[str] | None = None) -> int:
    """Tell the story; the exit status is 1 if something in it turns out otherwise than it says."""
    options = _parser().parse_args(argv)
    try:
        tell(open_screen(), epochs=1 if options.quick else options.epochs)
    except DemoError as error:
        print(f"sparseops demo: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sparseops demo",
        description="Train a text classifier with a custom sparse operator, step by step. "
        "Takes less than a minute, needs no network and writes no files.",
    )
    parser.add_argument(
        "--epochs",
        type=_positive,
        default=4,
        help="rounds over the training documents, by default %(default)s",
    )
    parser.add_argument("--quick", action="store_true", help="train for one epoch alone")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number
