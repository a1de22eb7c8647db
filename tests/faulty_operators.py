"""Operators with one planted fault each, and the laws that may say so.

Each entry makes an operator of its own and the arguments with which it is checked.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sparseops as so

AXES = "(m,n),(m)->(m,n)"


class Fault(NamedTuple):
    """What is wrong, the laws of which at least one must be broken, and what makes the operator."""

    name: str
    laws: str
    make: Callable[[], tuple[Any, dict]]


FAULTS: list[Fault] = []


def fault(laws: str) -> Callable[[Callable], Callable]:
    """Enter the decorated function into the table."""

    def decorate(make: Callable) -> Callable:
        FAULTS.append(Fault(make.__name__, laws, make))
        return make

    return decorate


def described(x, s):
    if s.shape != x.shape[:1]:
        raise so.ShapeError(f"x has {x.shape[0]} rows, s has {s.shape}")
    return x.shape, np.result_type(x.dtype, s.dtype)


def right_dense(backend, x, s):
    return so.Dense(x.data * s.data[:, None])


def right_csr(backend, x, s):
    return x.with_data(x.data * s.data[backend.row_ids(x)])


def scaling(name, csr=right_csr, dense=right_dense, describe=described, **rules):
    """Rows of `x` times the entries of `s`, with parts that may be wrong."""

    def scale(x, s):
        return describe(x, s)

    scale.__name__ = scale.__qualname__ = name
    op = so.operator(scale)
    op.forward("dense, dense -> dense")(dense)
    op.forward("csr, dense -> csr")(csr)
    x_rule = rules.get("x", lambda g, s: op(g, s))
    s_rule = rules.get("s", lambda g, x: so.sum(g * x, axis=1))
    if x_rule:
        op.backward("x", "dense, dense -> dense", "csr, dense -> csr")(x_rule)
    if s_rule:
        op.backward("s", "dense, dense -> dense", "csr, dense -> dense")(s_rule)
    return op, {"shapes": AXES, "reference": lambda x, s: x * s[:, None]}


def mapping(name, csr, reference, dense=None, rule=None, describe=None):
    """A function of one array, without gradient unless `rule` is given."""

    def function(x):
        return describe(x) if describe else (x.shape, x.dtype)

    function.__name__ = function.__qualname__ = name
    op = so.operator(function)
    op.forward("dense -> dense")(dense or (lambda backend, x: so.Dense(reference(x.data))))
    op.forward("csr -> csr")(csr)
    if rule:
        op.backward("x", "dense -> dense", "csr -> csr")(rule)
    return op, {"shapes": "(m,n)->(m,n)", "reference": reference}


def row_sums(name, csr, axes="(m,n)->(m)"):
    """The sums of rows, dense."""

    def total(x):
        return x.shape[:1], x.dtype

    total.__name__ = total.__qualname__ = name
    op = so.operator(total)
    op.forward("dense -> dense")(lambda backend, x: so.Dense(x.data.sum(axis=1, dtype=x.dtype)))
    op.forward("csr -> dense")(csr)
    return op, {"shapes": axes, "reference": lambda x: x.sum(axis=1, dtype=x.dtype)}


# --- values


@fault("V1")
def adds_instead_of_multiplying():
    return scaling("adds", lambda backend, x, s: x.with_data(x.data + s.data[backend.row_ids(x)]))


@fault("V1 V5")
def columns_for_rows():
    def kernel(backend, x, s):
        return x.with_data(x.data * s.data[np.minimum(x.indices, len(s.data) - 1)])

    return scaling("columns", kernel)


@fault("V1")
def one_factor_for_all_rows():
    return scaling("one_factor", lambda backend, x, s: x.with_data(x.data * s.data[:1]))


@fault("V1")
def the_last_entry_is_lost():
    def kernel(backend, x, s):
        data = x.data * s.data[backend.row_ids(x)]
        data[-1:] = 0
        return x.with_data(data)

    return scaling("lost", kernel)


@fault("V1")
def the_dense_kernel_is_wrong():
    return scaling(
        "dense_wrong", dense=lambda backend, x, s: so.Dense(x.data * s.data[:, None] ** 2)
    )


@fault("V1")
def negative_values_are_cut_off():
    return mapping("cut", lambda backend, x: x.with_data(np.maximum(x.data, 0)), lambda x: x)


@fault("V1")
def fractions_are_cut_off():
    return mapping("cut_off", lambda backend, x: x.with_data(np.trunc(x.data.real)), np.array)


@fault("V1")
def wrong_from_the_third_row_on():
    def kernel(backend, x):
        return x.with_data(np.where(backend.row_ids(x) > 1, x.data * 2, x.data))

    return mapping("third", kernel, lambda x: x)


@fault("V1")
def wrong_for_more_rows_than_columns():
    def kernel(backend, x):
        return x.with_data(x.data * (2 if x.shape[0] > x.shape[1] else 1))

    return mapping("tall", kernel, lambda x: x)


@fault("V5 V1")
def reduceat_at_empty_rows():
    def kernel(backend, x):
        data = np.append(x.data, 0).astype(x.data.dtype)
        return so.Dense(np.add.reduceat(data, x.indptr[:-1]).astype(x.data.dtype))

    return row_sums("reduceat", kernel)


@fault("V5")
def nothing_stored_raises():
    def kernel(backend, x):
        x.data.max()
        return x

    return mapping("maximum_of_nothing", kernel, lambda x: x)


@fault("V5")
def no_rows_raise():
    def kernel(backend, x, s):
        return x.with_data(x.data * s.data[backend.row_ids(x)] * (s.data[0] == s.data[0]))

    return scaling("first_row", kernel, s=None, x=None)


@fault("V4")
def stored_zeros_count():
    def count(x):
        return x.shape[:1], np.dtype(np.int64)

    op = so.operator(count)
    op.forward("dense -> dense")(lambda b, x: so.Dense(np.count_nonzero(x.data, axis=1)))
    op.forward("csr -> dense")(lambda b, x: so.Dense(np.diff(x.indptr).astype(np.int64)))
    return op, {"shapes": "(m,n)->(m)", "reference": lambda x: np.count_nonzero(x, axis=1)}


# --- structure and storage


@fault("V2")
def columns_in_reverse():
    def kernel(backend, x):
        return so.CSR(x.data, x.shape[1] - 1 - x.indices, x.indptr, x.shape)

    return mapping("mirrored", kernel, lambda x: x[:, ::-1])


@fault("V2")
def entries_stand_twice():
    def kernel(backend, x):
        return so.CSR(
            np.repeat(x.data / 2, 2).astype(x.dtype), np.repeat(x.indices, 2), 2 * x.indptr, x.shape
        )

    return mapping("twice", kernel, lambda x: x)


@fault("V2")
def slack_behind_the_last_entry():
    def kernel(backend, x):
        return so.CSR(np.append(x.data, x.data[:1]), x.indices.copy(), x.indptr, x.shape)

    return mapping("slack", kernel, lambda x: x)


@fault("V2 V1")
def an_index_too_large():
    def kernel(backend, x):
        return so.CSR(x.data, x.indices + 1, x.indptr, x.shape)

    return mapping("too_large", kernel, lambda x: x)


@fault("V2")
def indptr_not_rebuilt():
    def kernel(backend, x):
        kept = x.data > 0
        return so.CSR(x.data[kept], x.indices[kept], x.indptr, x.shape)

    return mapping("stale", kernel, lambda x: np.where(x > 0, x, 0))


@fault("V2 V4")
def structure_of_nonzero_values():
    def kernel(backend, x):
        kept = np.flatnonzero(x.data)
        return so.CSR(x.data, x.indices[kept], x.indptr, x.shape)

    return mapping("pattern", kernel, lambda x: x)


@fault("I11")
def dense_where_nothing_is_stored():
    def kernel(backend, x):
        return x if len(x.data) else so.Dense(np.zeros(x.shape, x.dtype))

    return mapping("sometimes_dense", kernel, lambda x: x)


@fault("I11")
def row_sparse_for_csr():
    def kernel(backend, x):
        rows = np.zeros(0, np.int32)
        return so.RowSparse(np.zeros((0, x.shape[1]), x.dtype), rows, x.shape)

    return mapping("other_storage", kernel, lambda x: x)


# --- dtypes


@fault("V11")
def always_float64():
    return mapping(
        "wide",
        lambda backend, x: x.with_data(x.data.real.astype(float)),
        lambda x: x,
        dense=lambda backend, x: so.Dense(x.data.real.astype(float)),
        describe=lambda x: (x.shape, np.dtype(float)),
    )


@fault("V1 V11")
def computed_in_float32():
    def kernel(backend, x):
        if x.dtype != np.float64:
            return x
        return x.with_data(x.data.astype(np.float32).astype(np.float64))

    return mapping("narrow", kernel, lambda x: x)


@fault("V11")
def integers_by_way_of_floats():
    def kernel(backend, x):
        square = x.data * x.data
        if x.dtype == np.int64:
            square = (x.data.astype(float) ** 2).astype(np.int64)
        return x.with_data(square)

    return mapping("rounded", kernel, lambda x: x * x)


@fault("V11")
def float32_comes_back_as_float64():
    def kernel(backend, x, s):
        return x.with_data((x.data * s.data[backend.row_ids(x)]) * np.float64(1))

    return scaling("promoted", kernel)


# --- gradients


@fault("G1")
def gradient_of_the_wrong_sign():
    return scaling("wrong_sign", s=lambda g, x: so.negative(so.sum(g * x, axis=1)))


@fault("G1")
def gradient_without_the_factor():
    return scaling("no_factor", x=lambda g: g)


@fault("G1")
def gradient_of_half():
    return scaling("halved_gradient", s=lambda g, x: so.sum(g * x, axis=1) * 0.5)


@fault("G2")
def gradient_beside_the_stored_places():
    def squared_too_far(x):
        return x.shape, x.dtype

    op = so.operator(squared_too_far)
    op.forward("dense -> dense", "csr -> csr")(lambda b, x: x.with_data(x.data * x.data))
    op.backward("x", "dense -> dense")(lambda g, x: 2.0 * g * x)
    op.backward("x", "dense; csr -> dense")(lambda g, x: 2.0 * g * x + (so.abs(x) == 0))
    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x * x}


@fault("G10 G1")
def gradient_without_g():
    return scaling("without_g", s=lambda x: so.sum(x, axis=1))


@fault("G10 G1")
def gradient_with_a_constant():
    return scaling("added_constant", s=lambda g, x: so.sum(g * x, axis=1) + 1.0)


@fault("G3")
def gradient_of_another_storage():
    return scaling("lying", x=lambda g, s: scaled(g.tostype("dense"), s))


def scaled(g, s):
    return so.multiply(g, so.reshape(s, shape=(-1, 1)))


@fault("I12")
def gradient_for_some_storages():
    op, given = scaling("partly", x=None)
    op.backward("x", "csr, dense -> csr")(lambda g, s: op(g, s))
    return op, given


@fault("G1")
def gradient_of_one_of_two_results():
    def both(x):
        return [(x.shape, x.dtype), (x.shape, x.dtype)]

    op = so.operator(both, outputs=("twice", "thrice"))

    @op.forward("dense -> dense, dense", "csr -> csr, csr")
    def _both(backend, x):
        return x.with_data(x.data * 2), x.with_data(x.data * 3)

    op.backward("x", "dense -> dense", "csr -> csr")(lambda g_twice, g_thrice: 2.0 * g_twice)
    return op, {"shapes": "(m,n)->(m,n),(m,n)", "reference": lambda x: (x * 2, x * 3)}


# --- what is kept, changed, remembered


@fault("G9")
def inputs_kept_in_a_list():
    kept = []

    def kernel(backend, x, s):
        kept.append(x)
        return right_csr(backend, x, s)

    return scaling("hoarding", kernel, s=None)


@fault("G9")
def gradient_of_the_last_call():
    last = {}

    def kernel(backend, x, s):
        last["s"] = s.data.copy()
        return right_csr(backend, x, s)

    def dense(backend, x, s):
        last["s"] = s.data.copy()
        return right_dense(backend, x, s)

    op, given = scaling("last_call", kernel, dense, x=None)
    rule = op.backward("x", "dense, dense -> dense", "csr, dense -> csr")
    rule(lambda g: op(g, last["s"]))
    return op, given


@fault("G12 G10 G6 G3")
def the_rule_counts_its_calls():
    calls = []

    def rule(g, s):
        calls.append(1)
        return so.multiply(scaling_of(g, s), float(1 + len(calls) % 2))

    op, given = scaling("counting", x=rule)
    scaling_of = op
    return op, given


@fault("V9")
def inputs_scaled_in_place():
    def kernel(backend, x, s):
        s.data.setflags(write=True)
        s.data[...] = s.data * 2
        return x.with_data(x.data * s.data[backend.row_ids(x)] / 2)

    return scaling("in_place", kernel, x=None, s=None)


@fault("V8")
def writes_into_read_only_memory():
    def kernel(backend, x):
        x.data[...] *= 2
        return x

    return mapping("writing", kernel, lambda x: x * 2)


@fault("V12")
def every_other_call_differs():
    calls = []

    def kernel(backend, x):
        calls.append(1)
        return x.with_data(x.data if len(calls) % 2 else x.data * 2)

    return mapping("moody", kernel, lambda x: x)


@fault("V12 V1 P1")
def a_cache_by_shape():
    cache = {}

    def kernel(backend, x):
        return x.with_data(cache.setdefault((x.shape, len(x.data), x.dtype), x.data.copy()))

    return mapping("cached", kernel, lambda x: x)


@fault("S1")
def a_state_written_in_place():
    def count_up(x, total):
        return x.shape, x.dtype

    op = so.operator(count_up, mutates=("total",))

    @op.forward("dense, dense -> dense")
    def _count_up(backend, x, total):
        total.data.setflags(write=True)
        total.data[...] += x.data
        return x, so.Dense(total.data)

    return op, {"shapes": "(m,n),(m,n)->(m,n)", "reference": lambda x, total: (x, total + x)}


@fault("V1")
def a_state_of_the_call_before():
    def average(x, mean):
        return x.shape, x.dtype

    op = so.operator(average, mutates=("mean",))

    @op.forward("dense, dense -> dense")
    def _average(backend, x, mean):
        return so.Dense(x.data - mean.data), so.Dense(mean.data + 0)

    def reference(x, mean):
        return x - mean, mean + x

    return op, {"shapes": "(m,n),(m,n)->(m,n)", "reference": reference}


@fault("I13")
def a_fallback_inside_of_the_kernel():
    def kernel(backend, x):
        inner = so.exp(so.NDArray(x, backend)).data
        rows, columns = backend.row_ids(x), x.indices
        return x.with_data(np.log(inner[rows, columns]).astype(x.dtype))

    op, given = mapping("hidden", kernel, lambda x: x)
    return op, given | {"rtol": 1e-3}


# --- threads and memory


@fault("P1")
def a_buffer_for_all_threads():
    buffer = np.zeros(4096)

    def kernel(backend, x):
        if x.dtype != np.float64:
            return x.with_data(x.data * 2)
        part = buffer[: len(x.data)]
        part[...] = x.data
        for _ in range(3):
            part = part.view()
        return x.with_data(part * 2)

    return mapping("shared", kernel, lambda x: x * 2)


@fault("P1")
def a_global_factor():
    known = {}

    def kernel(backend, x):
        known["factor"] = x.data[:1].copy()
        shifted = x.data - known["factor"] if len(x.data) else x.data
        for _ in range(3):
            shifted = shifted.view()
        return x.with_data(shifted + (known["factor"] if len(x.data) else 0))

    return mapping(
        "global_factor", kernel, lambda x: x, describe=lambda x: (x.shape, floating(x.dtype))
    )


def floating(dtype):
    if dtype.kind != "f":
        raise so.DTypeError(f"{dtype} is not floating")
    return dtype


@fault("M1")
def dense_on_the_way():
    def kernel(backend, x):
        full = np.zeros(x.shape, x.dtype)
        rows = backend.row_ids(x)
        full[rows, x.indices] = x.data
        return x.with_data(full[rows, x.indices])

    return mapping("by_dense", kernel, lambda x: x)


@fault("M1")
def a_mask_of_the_whole_shape():
    def kernel(backend, x):
        mask = np.zeros(x.shape, bool)
        mask[backend.row_ids(x), x.indices] = True
        return x.with_data(x.data * mask[backend.row_ids(x), x.indices])

    return mapping("by_mask", kernel, lambda x: x)


@fault("M2")
def a_dense_gradient_on_the_way():
    def rule(g, s):
        return so.sparse_mask(scaled(g.tostype("dense"), s), g)

    op, given = scaling("dense_gradient", x=None)
    op.backward("x", "dense, dense -> dense")(lambda g, s: op(g, s))
    op.backward("x", "csr, dense -> csr")(rule)
    return op, given


# --- NaN, infinities


@fault("V10")
def nan_becomes_zero():
    return mapping("no_nan", lambda backend, x: x.with_data(np.nan_to_num(x.data)), lambda x: x)


@fault("V10")
def infinity_becomes_finite():
    def kernel(backend, x):
        if x.dtype.kind != "f":
            return x
        return x.with_data(np.clip(x.data, np.finfo(x.dtype).min, np.finfo(x.dtype).max))

    return mapping("finite", kernel, lambda x: x)


@fault("V10")
def nan_is_dropped():
    def kernel(backend, x):
        kept = x.data == x.data
        counts = np.bincount(backend.row_ids(x)[kept], minlength=x.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(x.indptr.dtype)
        return so.CSR(x.data[kept], x.indices[kept], indptr, x.shape)

    return mapping("dropped", kernel, lambda x: x)


# --- indices and layout


@fault("V6")
def indices_narrowed():
    def kernel(backend, x):
        return so.CSR(x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32), x.shape)

    return mapping("narrowed", kernel, lambda x: x)


@fault("V6")
def int64_read_as_int32():
    def kernel(backend, x, s):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr.view(np.int32)[: x.shape[0] + 1]))
        return x.with_data(x.data * s.data[rows[: len(x.data)]])

    return scaling("viewed", kernel, x=None, s=None)


@fault("V19")
def flat_positions_overflow():
    def kernel(backend, x):
        flat = backend.row_ids(x).astype(np.int32) * np.int32(x.shape[1]) + x.indices
        rows, columns = np.divmod(flat, np.int32(max(x.shape[1], 1)))
        counts = np.bincount(np.maximum(rows, 0), minlength=x.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(x.indptr.dtype)
        return so.CSR(x.data, columns.astype(x.indices.dtype), indptr, x.shape)

    return mapping("overflow", kernel, lambda x: x)


@fault("V7")
def memory_order_for_order():
    def kernel(backend, x, s):
        return so.Dense(x.data.ravel("K").reshape(x.shape) * s.data[:, None])

    return scaling("order", dense=kernel, x=None, s=None)


@fault("V7")
def strides_are_forgotten():
    def kernel(backend, x, s):
        packed = np.lib.stride_tricks.as_strided(s.data, s.shape, (s.data.itemsize,))
        return x.with_data(x.data * packed[backend.row_ids(x)])

    return scaling("packed", kernel, x=None, s=None)


# --- inference


def inferring(name, infer):
    """An operator of two arrays with its own inference."""

    def function(a, b):
        return a.shape, a.dtype

    function.__name__ = function.__qualname__ = name
    op = so.operator(function)
    op.infer_storage(infer)
    op.forward()(lambda backend, a, b: so.Dense(a.data + b.data))
    return op, {"shapes": "(m,n),(m,n)->(m,n)", "reference": np.add}


def filled(stypes):
    return tuple("dense" if stype == "undefined" else stype for stype in stypes)


@fault("I3")
def inference_overwrites_a_declaration():
    return inferring("overwriting", lambda stypes: ("dense", "dense", "dense"))


@fault("I1")
def inference_forgets_a_combination():
    def infer(stypes):
        known = {("dense", "dense"): "dense", ("csr", "csr"): "csr"}
        out = known[filled(stypes)[:2]]
        return (*filled(stypes)[:2], out if stypes[2] == "undefined" else stypes[2])

    return inferring("forgetful", infer)


@fault("I9")
def inference_counts():
    calls = []

    def infer(stypes):
        calls.append(1)
        if stypes[2] == "undefined" and len(calls) % 7 == 0:
            return (*filled(stypes)[:2], "csr")
        return filled(stypes)

    return inferring("counting_inference", infer)


@fault("I8")
def conflict_in_a_few_words():
    def infer(stypes):
        if "row_sparse" in stypes:
            raise so.StorageError("mismatch")
        return filled(stypes)

    return inferring("terse", infer)


@fault("I5")
def inference_asks_whether_it_was_declared():
    def infer(stypes):
        a, b, out = filled(stypes)
        return (a, b, "csr" if stypes[0] == "csr" and stypes[1] == "undefined" else out)

    return inferring("asking", infer)


@fault("I2")
def inference_of_the_wrong_length():
    return inferring("short", lambda stypes: filled(stypes)[:2])


@fault("I4")
def inference_wanders():
    after = {"dense": "csr", "csr": "csr", "row_sparse": "dense"}

    def infer(stypes):
        a, b, out = filled(stypes)
        return (a, b, after[out])

    return inferring("wandering", infer)


@fault("I6")
def inference_refuses_what_it_answered():
    def infer(stypes):
        if stypes[2] == "csr":
            raise so.StorageError("out: csr is declared, available: dense", slot="out")
        out = "csr" if stypes[:2] == ("csr", "csr") else "dense"
        return (*filled(stypes)[:2], out if stypes[2] == "undefined" else stypes[2])

    return inferring("refusing", infer)


@fault("I7")
def sparse_by_default():
    def infer(stypes):
        if stypes == ("undefined",) * 3:
            return ("csr", "csr", "csr")
        return filled(stypes)

    return inferring("sparse_by_default", infer)


@fault("I16")
def a_signature_that_is_never_chosen():
    def spread(x, *, axis=0):
        return x.shape, x.dtype

    def first(axis):
        """axis is 0 or 1"""
        return axis in (0, 1)

    op = so.operator(spread)
    op.forward("dense -> dense")(lambda backend, x: x)
    op.forward("csr -> csr", where=first)(lambda backend, x: x)
    op.forward("csr -> csr", where={"axis": 1})(lambda backend, x: x)
    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x}


@fault("I10")
def a_description_that_changes_its_mind():
    asked = []

    def describe(x):
        asked.append(x)
        return x.shape, np.dtype(float if len(asked) % 2 else np.float32)

    def kernel(backend, x):
        return x.with_data(x.data.astype(float if len(asked) % 2 else np.float32))

    op, given = mapping("moody", kernel, lambda x: x, dense=kernel, describe=describe)
    return op, given | {"reference": lambda x: x.astype(float)}


# --- what results are for


@fault("V13")
def results_of_a_class_of_their_own():
    class Values(np.ndarray):
        def __reduce__(self):
            return np.zeros, (self.shape, self.dtype)

    def relabeled(x):
        return so.NDArray(x.storage.with_data(np.array(x.data).view(Values)), x.backend)

    return relabeled, {
        "shapes": "(m,n)->(m,n)",
        "reference": lambda x: x,
        "arrays": "sparseops",
    }


@fault("V14")
def rows_know_their_numbers():
    def numbered(x):
        return x.shape, x.dtype

    def dense(backend, x):
        return so.Dense(x.data * np.arange(1, x.shape[0] + 1)[:, None].astype(x.dtype))

    op = so.operator(numbered)
    op.forward("dense -> dense")(dense)
    return op, {"shapes": "(m,n)->(m,n)", "traits": ["rowwise"]}


@fault("V15")
def the_last_row_is_special():
    def ended(x):
        return x.shape, x.dtype

    def dense(backend, x):
        found = x.data.copy()
        found[-1:] = 0
        return so.Dense(found)

    op = so.operator(ended)
    op.forward("dense -> dense")(dense)
    return op, {"shapes": "(m,n)->(m,n)", "traits": ["rowwise"]}


@fault("V16")
def a_trait_that_does_not_hold():
    def twice(x):
        return x * x.dtype.type(2)

    op, given = mapping("twice", lambda backend, x: x.with_data(twice(x.data)), twice)
    return op, given | {"traits": ["involution"]}


@fault("V18")
def another_library_that_disagrees():
    op, given = mapping("same", lambda backend, x: x, lambda x: x)
    return op, given | {"compare_with": lambda x: x * 2}


# --- calls that do not end well


@fault("V0")
def a_call_that_hangs():
    def kernel(backend, x):
        while len(x.data):
            time.sleep(0.01)
        return x

    return mapping("hanging", kernel, lambda x: x)


@fault("V0")
def a_package_that_is_not_there():
    def kernel(backend, x):
        import surely_not_installed

        return surely_not_installed.scaled(x)

    return mapping("importing", kernel, lambda x: x)


@fault("M1")
def more_memory_than_there_is():
    def kernel(backend, x):
        np.empty(2**62, np.uint8)
        return x

    return mapping("exhausting", kernel, lambda x: x)


@fault("V1")
def an_exception_of_its_own():
    def kernel(backend, x):
        if len(x.data) > 2:
            raise RuntimeError("no more than two")
        return x

    return mapping("raising", kernel, lambda x: x)


# --- functions on scipy's arrays


def with_data(x, data):
    made = x.copy()
    made.data = data
    return made


@fault("V3")
def last_of_two_entries_wins():
    def diagonal(x):
        found = np.zeros(min(x.shape), x.dtype)
        for row in range(len(found)):
            for position in range(x.indptr[row], x.indptr[row + 1]):
                if x.indices[position] == row:
                    found[row] = x.data[position]
        return found

    return diagonal, {"shapes": "(m,n)->(k)", "reference": lambda x: np.diagonal(x).copy()}


@fault("V3")
def relies_on_sorted_columns():
    def first_column(x):
        found = np.zeros(x.shape[0], x.dtype)
        for row in range(x.shape[0]):
            start, stop = x.indptr[row], x.indptr[row + 1]
            if start < stop and x.indices[start] == 0:
                found[row] = x.data[start]
        return found

    def reference(x):
        return x[:, 0] if x.shape[1] else np.zeros(len(x), x.dtype)

    return first_column, {"shapes": "(m,n)->(m)", "reference": reference}


@fault("V9")
def sorts_its_input():
    def doubled(x):
        x.sort_indices()
        return x * 2

    return doubled, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x * 2}


@fault("V8 V9")
def scales_its_input():
    def halved(x):
        x.data /= 2
        made = x.copy()
        return made

    return halved, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x / 2}


@fault("P1")
def a_buffer_of_a_plain_function():
    buffer, lock = np.zeros(4096), threading.Lock()

    def tripled(x):
        with lock:
            buffer[: x.nnz] = x.data
        for _ in range(3):
            len(x.data)
        return with_data(x, (buffer[: x.nnz] * 3).astype(x.dtype))

    return tripled, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x * 3}
