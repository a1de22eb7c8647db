"""What the tests believe instead of the library: dense arrays made by a loop of their own.

`check_forward` and `check_gradient` run one operator over every combination of storages.
"""

from itertools import product

import numpy as np

import sparseops as so
from sparseops.registry import operators

STORAGES = ("dense", "row_sparse", "csr")


def densify(x):
    """The values of an NDArray, entry by entry, from its read-only parts."""
    if x.stype == "dense":
        return np.array(x.data)
    out = np.zeros(x.shape, x.dtype)
    if x.stype == "row_sparse":
        for position, row in enumerate(x.indices.tolist()):
            out[row] = x.data[position]
        return out
    for row in range(x.shape[0]):
        for position in range(int(x.indptr[row]), int(x.indptr[row + 1])):
            out[row, int(x.indices[position])] = x.data[position]
    return out


def storages(value):
    """The storage types that an array of NumPy can have; a number has none."""
    if not isinstance(value, np.ndarray):
        return ("scalar",)
    return STORAGES[: 1 + (value.ndim >= 1) + (value.ndim == 2)]


def stored(value, stype, *, extra=0, rng=None, width=None):
    """`value` as an NDArray in `stype`, storing `extra` places that hold zeros, at random."""
    if stype == "scalar":
        return value
    if stype == "dense":
        return so.array(value)
    rng = rng or np.random.default_rng(0)
    if stype == "row_sparse":
        keep = (
            (value.reshape(len(value), -1) != 0).any(axis=1)
            if value.size
            else np.zeros(len(value), bool)
        )
        keep |= rng.random(len(value)) < extra
        rows = np.flatnonzero(keep).astype(width or np.int32)
        return so.row_sparse_array((value[rows], rows), value.shape)
    keep = (value != 0) | (rng.random(value.shape) < extra)
    row, column = np.nonzero(keep)
    width = width or np.int32
    return so.csr_array(
        (value[row, column], (row.astype(width), column.astype(width))), value.shape
    )


def assert_same(actual, expected, *, rtol=0.0, where=None):
    """`actual`, an NDArray, is well-formed and has the values, shape and dtype of `expected`."""
    actual.storage.validate()
    expected = np.asarray(expected)
    found = densify(actual)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if where is not None:
        found, expected = np.where(where, found, 0), np.where(where, expected, 0)
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(found, expected)


def check_forward(name, values, reference, *, rtol=0.0, where=None, **params):
    """The operator equals `reference` for every storage of its inputs and every declared result.

    Fallbacks are allowed, and are recorded exactly where the inferred signature says so. `where`
    masks the places to compare (for policies about NaN and infinity).
    """
    op = operators[name]
    expected = reference(*values, **params)
    several = isinstance(expected, tuple)
    for stypes in product(*map(storages, values)):
        inputs = [stored(v, s, extra=0.2) for v, s in zip(values, stypes, strict=True)]
        before = [(x.storage, densify(x)) for x in inputs if isinstance(x, so.NDArray)]
        with so.fallback("allow", limit=None):
            results = op(*inputs, **params)
        for result, want in zip(
            results if several else [results], expected if several else [expected], strict=True
        ):
            assert_same(result, want, rtol=rtol, where=where)
        for (storage, old), x in zip(
            before, [x for x in inputs if isinstance(x, so.NDArray)], strict=True
        ):
            assert x.storage is storage
            np.testing.assert_array_equal(densify(x), old)
        if several:
            continue
        for stype in storages(np.asarray(expected)):
            with so.fallback("allow", limit=None):
                declared = op(*inputs, stype=stype, **params)
            assert declared.stype == stype
            assert_same(declared, expected, rtol=rtol, where=where)


def places(x):
    """Where `x` stores a value."""
    if x.stype == "dense":
        return np.ones(x.shape, bool)
    structure = type(x.storage)
    ones = np.ones(x.storage.data.shape, x.dtype)
    return (
        densify(so.NDArray(x.storage.with_data(ones), x.backend)).astype(bool)
        if structure
        else None
    )


def check_gradient(
    name, values, *, wrt=None, step=2.0**-8, rtol=1e-5, asks=(None, *STORAGES), **params
):
    """Gradients by every floating input agree with central differences on the stored places.

    `values` are float64 or complex128 arrays and numbers; every combination of storages and every
    ask is tried. Multilinear operators on small dyadic values agree exactly for any `step`.
    """
    op = operators[name]
    rng = np.random.default_rng(1)
    for stypes in product(*map(storages, values)):
        inputs = [stored(v, s, extra=0.2) for v, s in zip(values, stypes, strict=True)]
        for slot, x in enumerate(inputs):
            if not isinstance(x, so.NDArray) or (wrt is not None and slot not in wrt):
                continue
            for ask in asks:
                if ask is not None and ask not in storages(values[slot]):
                    continue
                with so.fallback("allow", limit=None), so.Tape() as tape:
                    y = op(*inputs, **params)
                head = rng.integers(-3, 4, y.shape).astype(y.dtype)
                with so.fallback("allow", limit=None):
                    g = tape.gradient(y, x, output_gradients=head, stypes=ask)
                assert ask is None or g.stype == ask
                assert g.shape == x.shape and g.dtype == x.dtype
                g.storage.validate()
                found, expected = densify(g), np.zeros(x.shape, x.dtype)
                mask = places(x)
                for place in zip(*np.nonzero(mask), strict=True):
                    expected[place] = _slope(op, inputs, slot, place, head, params, step)
                assert not found[~mask].any(), f"{name} {stypes} by {slot}: off the stored places"
                np.testing.assert_allclose(
                    found, expected, rtol=rtol, atol=rtol, err_msg=f"{name} {stypes} by {slot}"
                )


def _slope(op, inputs, slot, place, head, params, step):
    """The derivative of sum(head * op(...)) by one stored value, its structure held fixed."""

    def at(offset):
        moved = densify(inputs[slot])
        moved[place] += offset
        like = inputs[slot]
        if like.stype == "dense":
            value = so.array(moved)
        elif like.stype == "csr":
            rows = np.repeat(np.arange(like.shape[0]), np.diff(like.indptr))
            value = so.NDArray(like.storage.with_data(moved[rows, like.indices]), like.backend)
        else:
            value = so.NDArray(like.storage.with_data(moved[like.indices]), like.backend)
        args = [value if n == slot else x for n, x in enumerate(inputs)]
        with so.fallback("allow", limit=None):
            return (np.conj(head) * densify(op(*args, **params))).sum()

    if np.iscomplexobj(densify(inputs[slot])):
        real = (at(step) - at(-step)) / (2 * step)
        imaginary = (at(1j * step) - at(-1j * step)) / (2 * step)
        return real.real + 1j * imaginary.real
    return ((at(step) - at(-step)) / (2 * step)).real
