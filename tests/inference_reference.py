"""Storage inference as design.md words it, sentence by sentence: slow, and shares no code.

The rows of a table are `user_operators.Row`, those that serve the call.
"""

from itertools import product

STORAGES = ("dense", "row_sparse", "csr")
UNDEFINED = "undefined"


def chosen(rows, known, num_inputs, shared=()):
    """The row that inference takes for `known`, and the filled slots; None where nothing fits.

    `shared` has the slots of each undefined array that stands in several: each storage is tried for
    it, and is cast wherever the row names another.
    """
    candidates = []
    for row in rows:
        named = row.expand(num_inputs)
        for tried in product(STORAGES, repeat=len(shared)):
            have = list(known)
            for slots, storage in zip(shared, tried, strict=True):
                for slot in slots:
                    have[slot] = storage
            if all(map(fits, have[:num_inputs], named[:num_inputs])):
                pairs = zip(have, named, strict=True)
                filled = tuple(n if h == UNDEFINED else h for h, n in pairs)
                candidates.append((row, filled, named))
    for preference in (
        lambda row, filled, named: differing(filled[:num_inputs], named[:num_inputs]),
        lambda row, filled, named: differing(filled[num_inputs:], named[num_inputs:]),
        lambda row, filled, named: not_dense(known, filled),
        lambda row, filled, named: row.backend is None,
    ):
        best = min((preference(*c) for c in candidates), default=None)
        candidates = [c for c in candidates if preference(*c) == best]
    return candidates[0][:2] if candidates else None


def fits(have, named):
    """Whether an input fits: a number only a scalar, a sparse array also dense, by a cast."""
    if "scalar" in (have, named):
        return have == named
    return have in (UNDEFINED, named) or (have in ("row_sparse", "csr") and named == "dense")


def differing(filled, named):
    """How many slots have another storage than the row names."""
    return sum(f != n for f, n in zip(filled, named, strict=True))


def not_dense(known, filled):
    """Which of the undefined slots become sparse, the earliest first."""
    return [f != "dense" for k, f in zip(known, filled, strict=True) if k == UNDEFINED]


def dense_copies(row, filled, num_inputs):
    """How many slots are sparse where the row names dense: none unless it is a fallback."""
    pairs = zip(filled, row.expand(num_inputs), strict=True)
    return sum(n == "dense" and f != "dense" for f, n in pairs)
