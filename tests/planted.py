"""The table of planted faults: ``python tests/planted.py`` shows what finds each of them.

One line a fault: the laws that are broken, the stored entries of the smallest example, the seconds.
Then the sound operators, over as many seeds as ``--seeds`` says, of which all laws hold.
"""

import argparse
import sys
import warnings

from everyday_faults import MISTAKES
from faulty_operators import FAULTS
from sound_operators import SOUND

from sparseops.testing import check_operator

#: The most stored entries that a counterexample needs.
MOST_ENTRIES = 6


def checked(make, **options):
    """The report of the operator that `make` makes."""
    op, given = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_operator(op, on_fail="report", **{**given, **options})


def broken(report):
    """The failures by law."""
    return {x.law: x.failures for x in report.results if x.status in ("failed", "error")}


def smallest(failures):
    """The stored entries of the smallest example; 0 where none has arrays."""
    counts = [x.entries for x in failures if x.entries is not None]
    return min(counts, default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="of the sound operators")
    seeds = parser.parse_args().seeds
    missed = alarms = 0
    for name, laws, make in [*FAULTS, *((make.__name__, "", make) for make in MISTAKES)]:
        report = checked(make)
        found = broken(report)
        caught = found if not laws else found.keys() & set(laws.split())
        missed += not caught
        least = min((smallest(failures) for failures in found.values()), default=0)
        shown = " ".join(found)
        print(
            f"{'found ' if caught else 'MISSED'} {name:44} {shown:36} {least:2} entries "
            f"{report.seconds:5.1f} s",
            flush=True,
        )
    for make in SOUND.values():
        found = [seed for seed in range(seeds) if broken(checked(make, seed=seed))]
        alarms += bool(found)
        shown = f"ALARM at seeds {found}" if found else f"sound over {seeds} seeds"
        print(f"{make.__name__:51} {shown}", flush=True)
    total = len(FAULTS) + len(MISTAKES)
    print(f"{total - missed} of {total} faults found; {alarms} of {len(SOUND)} sound ones accused")
    return 1 if missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
