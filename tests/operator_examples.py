"""How each built-in operator is called, where its declaration alone does not say.

One or more sets of arguments of `check_operator`. Traits are claimed where they hold.
"""

from typing import Any

import numpy as np

import sparseops.demo.layer  # noqa: F401  declares the operator of the demo
from sparseops.registry import operators

ROWS = ["rowwise"]
COMPLEX = ["complex"]
POSITIVE = [1.0, 0.5, 2.0, 3.25]
INSIDE = [0.5, -0.25, 0.75, 0.125]


def ids(m):
    return range(-m, m)


def sizes(**given: Any) -> dict[str, Any]:
    return given


def _sum(x, axis=None, keepdims=False):
    dtype = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(x.dtype.kind, x.dtype)
    wide = np.float32 if x.dtype == np.float16 else dtype
    return x.astype(wide).sum(axis=axis, keepdims=keepdims, dtype=wide).astype(dtype)


def _square_sum(x, axis=None, keepdims=False):
    dtype = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(x.dtype.kind, x.dtype)
    wide = x.astype(np.float32 if x.dtype == np.float16 else dtype)
    return (wide * wide).sum(axis=axis, keepdims=keepdims, dtype=wide.dtype).astype(dtype)


def _mean(x, axis=None, keepdims=False):
    wide = np.float32 if x.dtype == np.float16 else None
    with np.errstate(all="ignore"):
        found = np.asarray(x.mean(axis=axis, keepdims=keepdims, dtype=wide))
    return found.astype(np.float16) if x.dtype == np.float16 else found


def _softmax(x, axis=-1):
    wide = np.exp(x).dtype
    x = x.astype(np.result_type(wide, np.float32))
    e = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    return (e / e.sum(axis=axis, keepdims=True)).astype(wide)


def _log_softmax(x, axis=-1):
    wide = np.exp(x).dtype
    x = x.astype(np.result_type(wide, np.float32))
    x = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
    return (x - np.log(np.exp(x).sum(axis=axis, keepdims=True))).astype(wide)


def _logistic_loss(x, y):
    dtype = np.exp(x).dtype
    x = x.astype(np.result_type(dtype, np.float32))
    return (np.logaddexp(0, x) - y * x).astype(dtype)


def _cross_entropy(x, labels):
    return -_log_softmax(x)[np.arange(len(x)), labels]


def _one_hot(ids, num_columns, dtype="float64"):
    return (ids[:, None] == np.arange(num_columns)).astype(dtype)


def _scatter(values, ids, num_rows):
    out = np.zeros(
        (num_rows, *values.shape[1:]), np.float32 if values.dtype == "f2" else values.dtype
    )
    if values.dtype == bool:
        np.logical_or.at(out, ids, values)
    else:
        np.add.at(out, ids, values)
    return out.astype(values.dtype)


def _replaced(x, value, ids):
    out = x.copy()
    for row, number in enumerate(ids):
        out[number] = value[row]
    return out


def _added(*arrays):
    total = arrays[0]
    for x in arrays[1:]:
        total = total + x
    return total


def _norm(x, ord=None, axis=None):
    size = np.abs(x.astype(np.result_type(x.dtype, np.float32 if x.dtype.kind in "fc" else float)))
    found = {
        None: lambda: np.sqrt((size * size).sum(axis=axis)),
        1: lambda: size.sum(axis=axis),
        np.inf: lambda: size.max(axis=axis),
    }[ord]()
    return np.asarray(found).astype(np.linalg.norm(np.ones(1, x.dtype)).dtype)


def _shared(weights, x, best, stored):
    equal = x == best
    part = (weights / np.maximum(equal.sum(), 1)).astype(np.result_type(weights, x))
    return np.where(stored["x"] & equal, part, part.dtype.type(0))


def _stored_softmax(x, stored):
    e = np.where(stored["x"], np.exp(x), 0)
    total = e.sum(axis=1, keepdims=True)
    return (e / np.where(total, total, 1)).astype(x.dtype)


def _along_an_axis(function, several=True):
    """Examples of a reduction that looks for the largest or smallest value."""

    def reference(x, axis=None, keepdims=False):
        return np.asarray(function(x, axis=axis, keepdims=keepdims))

    params = [{"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}]
    return [
        {"shapes": "(m,n)->()", "reference": reference},
        {"shapes": "(m,n)", "reference": reference, "params": params},
        *([{"shapes": "(m,n,k)", "reference": reference, "params": {"axis": (1, 2)}}] * several),
    ]


def _retain(x, rows):
    out = np.zeros_like(x)
    out[rows] = x[rows]
    return out


def _place_rows(x, start, step, num_rows):
    out = np.zeros((num_rows, *x.shape[1:]), x.dtype)
    out[[start + step * n for n in range(len(x))]] = x
    return out


def _place_columns(x, start, size, axis):
    out = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    out[(slice(None),) * axis + (slice(start, start + x.shape[axis]),)] = x
    return out


def _slice_rows(x, start, count, step):
    return x[[start + step * n for n in range(count)]]


def _sum_to(x, shape):
    found = _sum(x, axis=tuple(range(x.ndim - len(shape))))
    axes = tuple(n for n, length in enumerate(shape) if length == 1)
    return _sum(found, axis=axes, keepdims=True) if axes else found


def _sampled(pattern, a, b, stored):
    found = np.dot(a, b)
    return np.where(stored["pattern"], found, found.dtype.type(0))


def _cast(x, dtype):
    return x.astype(dtype)


EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "project": [{"shapes": "(m,n),(n,k)->(m,k)", "reference": np.matmul}],
    "add_n": [
        {"shapes": "(m,n)...->(m,n)", "reference": _added, "traits": COMPLEX},
        {"shapes": "(m,n,k)...->(m,n,k)", "reference": _added},
    ],
    "argmax": _along_an_axis(np.argmax, several=False),
    "argmin": _along_an_axis(np.argmin, several=False),
    "max": _along_an_axis(np.max),
    "min": _along_an_axis(np.min),
    "norm": [
        {"shapes": "(m,n)->()", "reference": _norm, "params": [{}, {"ord": 1}, {"ord": np.inf}]},
        {"shapes": "(m,n)", "reference": _norm, "params": [{"axis": 0}, {"axis": 1, "ord": 1}]},
    ],
    "nnz": [
        {"shapes": "(m,n)->()", "reference": lambda x, stored: stored["x"].sum()},
        {
            "shapes": "(m,n)",
            "params": [{"axis": 0}, {"axis": 1}],
            "reference": lambda x, axis, stored: stored["x"].sum(axis=axis),
        },
    ],
    "clip": [
        {
            "shapes": "(m,n)->(m,n)",
            "params": [{"low": -1, "high": 2}, {"low": 1, "high": 2}, {"low": None, "high": 0}],
            "reference": lambda x, low, high: np.clip(x, low, high),
            "domain": {"x": [1.0, 0.0, -2.5, 5.0]},
        }
    ],
    "kept_within": [
        {
            "shapes": "(m,n),(m,n)->(m,n)",
            "params": {"low": -1, "high": 2},
            "reference": lambda y, x, low, high: np.where((x >= low) & (x <= high), y, 0),
            "domain": {"x": [1.0, 0.5, -2.5, 5.0], "y": [1.0, 2.0, 3.0]},
        }
    ],
    "diagonal_matrix": [
        {
            "shapes": "(m)->(m,n)",
            "params": {"shape": lambda m: (m, m + 1)},
            "reference": lambda x, shape: (
                np.eye(*shape, dtype=x.dtype)[:, :-1] @ np.diag(x) @ np.eye(*shape, dtype=x.dtype)
            ),
            "domain": {"x": [1.0, -2.0, 3.0]},
        }
    ],
    "dropout": [
        {"shapes": "(m,n),()->(m,n)", "params": {"rate": 0.5}, "domain": {"seed": [0, 3, 17]}}
    ],
    "share": [
        {
            "shapes": "(),(m,n),()->(m,n)",
            "reference": _shared,
            "domain": {"x": [2.0, 1.0], "best": [2.0], "weights": [1.0, 3.0]},
        }
    ],
    "stored_softmax": [
        {"shapes": "(m,n)->(m,n)", "reference": _stored_softmax, "domain": {"x": INSIDE}}
    ],
    "stored_log_softmax": [
        {
            "shapes": "(m,n)->(m,n)",
            "reference": lambda x, stored: np.where(
                stored["x"], np.log(np.where(stored["x"], _stored_softmax(x, stored), 1)), 0
            ),
            "domain": {"x": INSIDE},
        }
    ],
    "broadcast_to": [
        {
            "shapes": "(1,n)->(m,n)",
            "params": {"shape": lambda n: (3, n)},
            "reference": lambda x, shape: np.broadcast_to(x, shape),
        },
        {
            "shapes": "(m,1)->(m,n)",
            "params": {"shape": lambda m: (m, 2)},
            "reference": lambda x, shape: np.broadcast_to(x, shape),
        },
    ],
    "cast": [
        {
            "params": [{"dtype": "float32"}, {"dtype": "float64"}],
            "reference": _cast,
            "domain": {"x": [1.0, 0.0, -2.0, 0.5]},
        },
        {"params": {"dtype": "int16"}, "reference": _cast, "domain": {"x": [1, 0, -2, 5]}},
    ],
    "cast_storage": [
        {"params": [{"stype": "csr"}, {"stype": "dense"}, {"stype": "row_sparse"}]},
        {"shapes": "(m,n,k)->(m,n,k)", "params": [{"stype": "dense"}, {"stype": "row_sparse"}]},
    ],
    "concat": [
        {
            "shapes": "(m,n)...",
            "params": [{"axis": 0}, {"axis": 1}, {"axis": -1}],
            "reference": lambda *arrays, axis=0: np.concatenate(arrays, axis),
        },
        {"shapes": "(m,n,k)...", "reference": lambda *arrays: np.concatenate(arrays)},
        {"shapes": "(m,n),(k,n),(m,n)", "reference": lambda *arrays: np.concatenate(arrays)},
    ],
    "gather": [
        {
            "shapes": "(m,n),(k)->(k,n)",
            "params": {"key": ("ids", "all")},
            "reference": lambda x, ids: x[ids],
            "domain": {"ids": ids},
            "storages": ["dense, dense", "row_sparse, dense"],
        },
        {
            "shapes": "(m,n),(k)->(m,k)",
            "params": {"key": ("all", "ids")},
            "reference": lambda x, ids: x[:, ids],
            "domain": {"ids": lambda n: range(-n, n)},
            "storages": ["dense, dense", "row_sparse, dense", "csr, dense"],
        },
        {
            "shapes": "(m,n),()->(m)",
            "params": {"key": ("all", "number")},
            "reference": lambda x, ids: x[:, ids],
            "domain": {"ids": lambda n: range(-n, n)},
            "storages": ["dense, scalar", "row_sparse, scalar", "csr, scalar"],
        },
        {
            "shapes": "(m,m),(k),(k)->(k)",
            "params": {"key": ("ids", "ids")},
            "reference": lambda x, rows, columns: x[rows, columns],
            "domain": {"ids": ids},
            "storages": ["dense, dense, dense", "row_sparse, dense, dense", "csr, dense, dense"],
        },
    ],
    "replace": [
        {
            "shapes": "(m,n),(k,n),(k)->(m,n)",
            "params": {"key": ("ids", "all")},
            "reference": _replaced,
            "domain": {"ids": ids},
            "storages": ["dense, dense, dense", "row_sparse, dense, dense", "csr, csr, dense"],
        },
    ],
    "scatter": [
        {
            "shapes": "(k,n),(k)->(5,n)",
            "params": {"key": ("ids", "all"), "shape": lambda n: (5, n)},
            "reference": lambda values, ids, shape: _scatter(values, ids, shape[0]),
            "domain": {"ids": [0, 4, -2, 1]},
        },
    ],
    "times_power": [
        {
            "shapes": "(m,n),(m,n)->(m,n)",
            "params": [{"exponent": 2}, {"exponent": 0.5}],
            "domain": {"x": POSITIVE, "y": POSITIVE},
        }
    ],
    "log_softmax": [
        {"reference": _log_softmax, "params": [{}, {"axis": 0}], "domain": {"x": INSIDE}}
    ],
    "softmax": [{"reference": _softmax, "params": [{}, {"axis": 0}], "domain": {"x": INSIDE}}],
    "logistic_loss": [
        {"reference": _logistic_loss, "domain": {"y": [1.0, 0.0, 0.5], "x": [1.0, 0.0, -2.5]}}
    ],
    "softmax_cross_entropy": [
        {
            "shapes": "(m,3),(m)->(m)",
            "reference": _cross_entropy,
            "domain": {"x": INSIDE, "labels": [0, 1, 2]},
        }
    ],
    "one_hot": [
        {
            "shapes": "(m)->(m,k)",
            "params": {"num_columns": 4},
            "reference": _one_hot,
            "domain": {"ids": [0, 3, 1]},
        }
    ],
    "mean": [
        {"shapes": "(m,n)->()", "reference": _mean, "traits": COMPLEX},
        {
            "shapes": "(m,n)",
            "params": [{"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}],
            "reference": _mean,
            "traits": COMPLEX,
        },
        {"shapes": "(m,n,k)", "params": [{"axis": 0}, {"axis": (1, 2)}], "reference": _mean},
    ],
    "square_sum": [
        {
            "shapes": "(m,n)",
            "params": [{"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}],
            "reference": _square_sum,
        },
    ],
    "sum": [
        {"shapes": "(m,n)->()", "reference": _sum, "traits": [*COMPLEX, "linear"]},
        {
            "shapes": "(m,n)",
            "params": [{"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": ()}],
            "reference": _sum,
            "traits": [*COMPLEX, "linear"],
        },
        {"shapes": "(m,n,k)", "params": [{"axis": 0}, {"axis": (1, 2)}], "reference": _sum},
    ],
    "sum_to": [
        {"shapes": "(m,n)->(n)", "params": {"shape": lambda n: (n,)}, "reference": _sum_to},
        {"shapes": "(m,n)->(m,1)", "params": {"shape": lambda m: (m, 1)}, "reference": _sum_to},
    ],
    "reshape": [
        {
            "shapes": "(m,n)",
            "params": {"shape": lambda m, n: (n, m)},
            "reference": lambda x, shape: x.reshape(shape),
            "traits": [*COMPLEX, "linear"],
        },
        {
            "shapes": "(m,n,k)",
            "params": [
                {"shape": lambda m, n, k: (m, n * k)},
                {"shape": lambda m, n, k: (m * n * k,)},
            ],
            "reference": lambda x, shape: x.reshape(shape),
        },
    ],
    "retain": [{"shapes": "(m,n),(k)->(m,n)", "reference": _retain, "domain": {"rows": ids}}],
    "row": [
        {
            "shapes": "(m,n),()->(n)",
            "reference": lambda x, index: x[index],
            "domain": {"index": ids},
        }
    ],
    "take": [
        {
            "shapes": "(m,n),(k)->(k,n)",
            "reference": lambda x, ids: x[ids],
            "domain": {"ids": ids},
            "traits": COMPLEX,
        },
        {
            "shapes": "(m,n),(k,2)->(k,2,n)",
            "reference": lambda x, ids: x[ids],
            "domain": {"ids": ids},
            "storages": ["dense, dense", "row_sparse, dense"],
        },
    ],
    "scatter_rows": [
        {
            "shapes": "(m,n),(m)->(5,n)",
            "params": {"num_rows": 5},
            "reference": _scatter,
            "domain": {"ids": [0, 4, -2, 1]},
        }
    ],
    "place_rows": [
        {
            "shapes": "(2,n),()->(7,n)",
            "params": {"step": 3, "num_rows": 7},
            "reference": _place_rows,
            "domain": {"start": [0, 1, 3]},
        }
    ],
    "place_columns": [
        {
            "shapes": "(m,n)->(m,k)",
            "params": {"start": 1, "size": lambda n: n + 2, "axis": 1},
            "reference": _place_columns,
        }
    ],
    "slice_rows": [
        {
            "shapes": "(5,n),()->(2,n)",
            "params": [{"count": 2, "step": 1}, {"count": 2, "step": -2}],
            "reference": _slice_rows,
            "domain": {"start": [2, 3]},
        }
    ],
    "slice_columns": [
        {
            "shapes": "(m,4)->(m,2)",
            "params": {"start": 1, "stop": 3, "axis": 1},
            "reference": lambda x, start, stop, axis: x[:, start:stop],
        }
    ],
    "sparse_mask": [
        {"reference": lambda x, like, stored: np.where(stored["like"], x, x.dtype.type(0))}
    ],
    "times_slope": [
        {
            "shapes": "(m,n),(m,n)->(m,n)",
            "params": [{"of": "sin"}, {"of": "expm1"}],
            "domain": {"x": INSIDE, "y": INSIDE},
        }
    ],
    "dot": [
        {"traits": [*COMPLEX, "linear", "rowwise"]},
        {
            "shapes": "(n,m),(n,k)->(m,k)",
            "params": {"transpose_a": True},
            "reference": lambda a, b: np.dot(a.T, b),
        },
        {
            "shapes": "(m,n),(k,n)->(m,k)",
            "params": {"transpose_b": True},
            "reference": lambda a, b: np.dot(a, b.T),
        },
    ],
    "sddmm": [
        {"reference": _sampled},
        {
            "shapes": "(m,k),(n,m),(n,k)->(m,k)",
            "params": {"transpose_a": True},
            "reference": lambda pattern, a, b, stored: _sampled(pattern, a.T, b, stored),
        },
        {
            "shapes": "(m,k),(m,n),(k,n)->(m,k)",
            "params": {"transpose_b": True},
            "reference": lambda pattern, a, b, stored: _sampled(pattern, a, b.T, stored),
        },
    ],
    "add": [
        {"traits": ["commutative", *COMPLEX]},
        {"shapes": "(m,n),(n)->(m,n)"},
        {"shapes": "(m,n),(m,1)->(m,n)"},
    ],
    "subtract": [{"traits": COMPLEX}, {"shapes": "(m,n),(n)->(m,n)"}],
    "multiply": [
        {"traits": ["commutative", "linear", "rowwise", *COMPLEX]},
        {"shapes": "(m,n),(n)->(m,n)"},
        {"shapes": "(m,n),(m,1)->(m,n)"},
    ],
    "divide": [{"domain": {"b": [1.0, -2.0, 0.5, 4.0]}}, {}],
    "log": [{"domain": {"x": POSITIVE}}],
    "sqrt": [{"domain": {"x": POSITIVE}}],
    "arcsin": [{"domain": {"x": INSIDE}}],
    "arctanh": [{"domain": {"x": INSIDE}}],
    "transpose": [{"traits": [*COMPLEX, "linear", "involution"]}],
    "negative": [{"traits": [*COMPLEX, "linear", "involution", "rowwise"]}],
    "relu": [{"traits": ["idempotent", "zero_preserving"]}],
}


def calls() -> list[tuple[str, dict[str, Any]]]:
    """Every built-in operator with each set of arguments."""
    found = []
    for name, op in sorted(operators.items()):
        if op.__module__.startswith("sparseops."):
            found += [(name, given) for given in EXAMPLES.get(name, [{}])]
    return found
