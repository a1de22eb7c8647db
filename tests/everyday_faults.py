"""Mistakes that authors of sparse operators make, written without regard to how laws are checked.

Each function makes an operator and the arguments with which it is checked.
"""

import numpy as np

import sparseops as so

MISTAKES = []


def mistake(make):
    MISTAKES.append(make)
    return make


def declared(name, describe):
    describe.__name__ = describe.__qualname__ = name
    return so.operator(describe)


def like(x):
    return x.shape, x.dtype


@mistake
def mean_of_the_stored_entries():
    op = declared("row_mean", lambda x: (x.shape[:1], np.dtype(float)))
    op.forward("dense -> dense")(lambda b, x: so.Dense(x.data.mean(axis=1, dtype=float)))

    @op.forward("csr -> dense")
    def kernel(b, x):
        sums = np.bincount(b.row_ids(x), x.data, x.shape[0])
        return so.Dense(sums / np.maximum(np.diff(x.indptr), 1))

    return op, {"shapes": "(m,n)->(m)", "reference": lambda x: x.mean(axis=1, dtype=float)}


@mistake
def largest_stored_entry():
    op = declared("row_max", lambda x: (x.shape[:1], x.dtype))
    op.forward("dense -> dense")(
        lambda b, x: so.Dense(x.data.max(axis=1, initial=-np.inf).astype(x.dtype))
    )

    @op.forward("csr -> dense")
    def kernel(b, x):
        found = np.full(x.shape[0], -np.inf)
        np.maximum.at(found, b.row_ids(x), x.data)
        found[np.diff(x.indptr) == 0] = 0
        return so.Dense(found.astype(x.dtype))

    return op, {"shapes": "(m,n)->(m)", "reference": lambda x: x.max(axis=1, initial=-np.inf)}


@mistake
def softmax_without_the_largest():
    op = declared("row_softmax", like)

    def dense(b, x):
        e = np.exp(x.data)
        return so.Dense(e / e.sum(axis=1, keepdims=True))

    def reference(x):
        e = np.exp(x - x.max(axis=1, keepdims=True, initial=0))
        return e / e.sum(axis=1, keepdims=True)

    op.forward("dense -> dense")(dense)
    return op, {
        "shapes": "(m,n)->(m,n)",
        "reference": reference,
        "domain": {"x": [0.0, 1.0, -800.0, 800.0]},
    }


@mistake
def transpose_that_keeps_the_shape():
    op = declared("flip", lambda x: (x.shape[::-1], x.dtype))
    op.forward("dense -> dense")(lambda b, x: so.Dense(x.data.T.copy()))

    @op.forward("csr -> csr")
    def kernel(b, x):
        return b.csr(b.matrix(x).T.tocsr() if x.shape[0] >= x.shape[1] else b.matrix(x))

    return op, {"shapes": "(m,n)->(n,m)", "reference": lambda x: x.T}


@mistake
def negative_ids_count_from_nowhere():
    op = declared("look_up", lambda w, ids: ((*ids.shape, *w.shape[1:]), w.dtype))
    op.forward("dense, dense -> dense")(lambda b, w, ids: so.Dense(w.data[ids.data]))

    @op.forward("row_sparse, dense -> dense")
    def kernel(b, w, ids):
        found = np.zeros((*ids.shape, *w.shape[1:]), w.dtype)
        for n, row in enumerate(ids.data):
            found[n] = w.data[w.indices == row].sum(axis=0)
        return so.Dense(found)

    return op, {
        "shapes": "(m,n),(k)->(k,n)",
        "reference": lambda w, ids: w[ids],
        "domain": {"ids": lambda m: range(-m, m)},
    }


@mistake
def gradient_of_repeated_rows_is_assigned():
    op = declared("rows_of", lambda w, ids: ((*ids.shape, *w.shape[1:]), w.dtype))
    op.forward("dense, dense -> dense")(lambda b, w, ids: so.Dense(w.data[ids.data]))

    put = declared("put", lambda x, ids, *, rows: ((rows, *x.shape[1:]), x.dtype))

    @put.forward("dense, dense -> dense")
    def kernel(b, x, ids, *, rows):
        found = np.zeros((rows, *x.shape[1:]), x.dtype)
        found[ids.data] = x.data
        return so.Dense(found)

    @op.backward("w", "dense, dense -> dense")
    def rule(g, ids, w_spec):
        return put(g, ids, rows=w_spec.shape[0])

    return op, {
        "shapes": "(m,n),(k)->(k,n)",
        "reference": lambda w, ids: w[ids],
        "domain": {"ids": lambda m: range(m)},
    }


@mistake
def rows_are_taken_for_the_first():
    op = declared("shifted_rows", lambda x, v: (x.shape, np.result_type(x.dtype, v.dtype)))
    op.forward("dense, dense -> dense")(lambda b, x, v: so.Dense(x.data * v.data[:, None]))

    @op.forward("row_sparse, dense -> row_sparse")
    def kernel(b, x, v):
        return x.with_data(x.data * v.data[: len(x.indices), None])

    return op, {"shapes": "(m,n),(m)->(m,n)", "reference": lambda x, v: x * v[:, None]}


@mistake
def rows_joined_but_not_added():
    op = declared("plus", lambda x, y: (x.shape, np.result_type(x.dtype, y.dtype)))
    op.forward("dense, dense -> dense")(lambda b, x, y: so.Dense(x.data + y.data))

    @op.forward("row_sparse, row_sparse -> row_sparse")
    def kernel(b, x, y):
        rows = np.union1d(x.indices, y.indices).astype(x.indices.dtype)
        data = np.zeros((len(rows), *x.shape[1:]), np.result_type(x.dtype, y.dtype))
        data[np.searchsorted(rows, x.indices)] = x.data
        data[np.searchsorted(rows, y.indices)] = y.data
        return so.RowSparse(data, rows, x.shape)

    return op, {"shapes": "(m,n),(m,n)->(m,n)", "reference": lambda x, y: x + y}


@mistake
def a_floor_above_zero():
    op = declared("at_least_one", like)
    op.forward("dense -> dense")(lambda b, x: so.Dense(np.maximum(x.data, x.dtype.type(1))))
    op.forward("csr -> csr")(lambda b, x: x.with_data(np.maximum(x.data, x.dtype.type(1))))
    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: np.maximum(x, x.dtype.type(1))}


@mistake
def the_tail_is_forgotten():
    op = declared("twice", like)
    op.forward("dense -> dense")(lambda b, x: so.Dense(x.data * x.dtype.type(2)))

    @op.forward("row_sparse -> row_sparse")
    def kernel(b, x):
        data = (x.data * x.dtype.type(2)).reshape(len(x.indices), -1)
        return so.RowSparse(data, x.indices, (x.shape[0], data.shape[1]))

    return op, {"shapes": "(m,n,k)->(m,n,k)", "reference": lambda x: x * x.dtype.type(2)}


@mistake
def gradient_read_at_positions_for_rows():
    op = declared("squares", like)
    op.forward("dense -> dense", "row_sparse -> row_sparse")(
        lambda b, x: x.with_data(x.data * x.data)
    )
    pick = declared("pick", lambda y, x: (x.shape, x.dtype))
    pick.forward("dense, dense -> dense")(lambda b, y, x: so.Dense(2 * y.data * x.data))

    @pick.forward("dense, row_sparse -> row_sparse")
    def kernel(b, y, x):
        return x.with_data(2 * y.data[: len(x.indices)] * x.data)

    op.backward("x", "dense -> dense", "dense; row_sparse -> row_sparse")(lambda g, x: pick(g, x))
    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x * x}


@mistake
def explicit_zeros_are_counted():
    op = declared("count", lambda x: (x.shape[:1], np.dtype(np.int64)))
    op.forward("dense -> dense")(lambda b, x: so.Dense((x.data != 0).sum(axis=1)))

    @op.forward("csr -> dense")
    def kernel(b, x):
        return so.Dense(np.diff(x.indptr).astype(np.int64))

    return op, {"shapes": "(m,n)->(m)", "reference": lambda x: (x != 0).sum(axis=1)}


@mistake
def absolute_value_that_stays_complex():
    op = declared("size", lambda x: (x.shape, np.zeros(0, x.dtype).real.dtype))
    op.forward("dense -> dense")(lambda b, x: so.Dense(np.abs(x.data)))
    op.forward("csr -> csr")(lambda b, x: x.with_data(np.sqrt(x.data * np.conj(x.data))))
    return op, {
        "shapes": "(m,n)->(m,n)",
        "reference": np.abs,
        "traits": ["complex"],
    }


@mistake
def product_by_way_of_a_dense_matrix():
    op = declared("product", lambda x, w: ((x.shape[0], w.shape[1]), np.result_type(x, w)))
    op.forward("dense, dense -> dense")(lambda b, x, w: so.Dense(x.data @ w.data))
    op.forward("csr, dense -> dense")(lambda b, x, w: so.Dense(b.matrix(x).toarray() @ w.data))
    return op, {"shapes": "(m,n),(n,k)->(m,k)", "reference": np.matmul}


@mistake
def columns_scaled_twice_in_the_gradient():
    op = declared("columns_by", lambda x, s: (x.shape, np.result_type(x.dtype, s.dtype)))
    op.forward("dense, dense -> dense")(lambda b, x, s: so.Dense(x.data * s.data))
    op.forward("csr, dense -> csr")(lambda b, x, s: x.with_data(x.data * s.data[x.indices]))
    op.backward("x", "dense, dense -> dense", "csr, dense -> csr")(lambda g, s: op(op(g, s), s))
    op.backward("s", "dense, dense -> dense", "csr, dense -> dense")(
        lambda g, x: so.sum(g * x, axis=0)
    )
    return op, {"shapes": "(m,n),(n)->(m,n)", "reference": lambda x, s: x * s}


@mistake
def a_loss_that_skips_zeros():
    op = declared("squared_error", lambda x, y: ((), np.result_type(x.dtype, y.dtype)))
    op.forward("dense, dense -> dense")(
        lambda b, x, y: so.Dense(np.asarray(((x.data - y.data) ** 2).sum()))
    )

    @op.forward("csr, dense -> dense")
    def kernel(b, x, y):
        rows = b.row_ids(x)
        return so.Dense(np.asarray(((x.data - y.data[rows, x.indices]) ** 2).sum()))

    return op, {
        "shapes": "(m,n),(m,n)->()",
        "reference": lambda x, y: np.asarray(((x - y) ** 2).sum()),
    }


@mistake
def memory_given_back_and_used_again():
    buffer = {}
    op = declared("scaled_into", lambda x: (x.shape, x.dtype))
    op.forward("dense -> dense")(lambda b, x: so.Dense(x.data * x.dtype.type(3)))

    @op.forward("csr -> csr")
    def kernel(b, x):
        key = len(x.data), x.dtype
        if key not in buffer:
            buffer[key] = np.empty(*key)
        out = buffer[key]
        out.setflags(write=True)
        np.multiply(x.data, x.dtype.type(3), out=out)
        return x.with_data(out)

    return op, {"shapes": "(m,n)->(m,n)", "reference": lambda x: x * x.dtype.type(3)}
