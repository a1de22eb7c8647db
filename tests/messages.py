"""Small programs, each of which gets one of the messages of the package."""

from messages_ops import OPERATORS, OPTIMIZERS

#: What stands before every program.
PRELUDE = """\
import os, sys
from types import SimpleNamespace

import numpy as np
import sparseops as so
from sparseops.registry import operators

v = so.array([1.0, 2.0, 3.0, 4.0])
d = so.array(np.arange(12.0).reshape(3, 4))
x, r = d.tostype("csr"), d.tostype("row_sparse")

w = so.array([1.0, 2.0, 3.0, 4.0])
with so.Tape() as tape:
    z = w * w
    y = so.sum(z)

@so.operator
def op(x, s):
    return x.shape, x.dtype

@so.operator
def by_function(x):
    return x.shape, x.dtype
by_function.infer_storage(lambda stypes: stypes)

@so.operator
def same(x):
    return x.shape, x.dtype
same.forward("dense -> dense")(lambda backend, x: x)

@so.operator
def stack(*arrays):
    return arrays[0].shape, arrays[0].dtype
stack.forward("dense... -> dense")(lambda backend, *arrays: arrays[0])

@so.operator(mutates=("total",))
def count(x, total):
    return x.shape, x.dtype

def gradient(rule, operator=same):
    operator.backward(operator.inputs[0], "dense" + "..." * (operator is stack) + " -> dense")(rule)
    return so.grad(lambda w: so.sum(operator(w)))(w)

def step(gradient=w, state=None, param=w):
    optimizer = so.optim.momentum(0.1)
    optimizer.update(gradient, optimizer.init(param) if state is None else state, param)
"""

#: Programs that fail, by the file of the package whose message they get.
PROGRAMS = {
    "__init__.py": [
        "so.nonsense",
    ],
    "spec.py": [
        "so.Spec((2, 3, 4), float, 'csr')",
        "so.Spec((), float, 'row_sparse')",
        "so.Spec((2,)).dtype = int",
        "del so.Spec((2,)).dtype",
        "so.zeros('ab')",
        "so.zeros((1,) * 65)",
        "so.zeros((2, -1))",
        "so.zeros(3, 'no type')",
        "so.zeros(3, 'datetime64[s]')",
        "so.zeros(3, stype='coo')",
        "so.zeros(3, stype='undefined')",
        "so.add(np.ones(2), np.ones(3))",
    ],
    "storage.py": [
        "so.Dense([1.0, 2.0])",
        "so.row_sparse_array((np.ones((2, 3)), [0]), (4, 3))",
        "so.csr_array(([1.0, 2.0], [0], [0, 1]), (1, 3))",
        "so.csr_array(([1.0], [0], [0, 1]), (2, 3))",
        "so.csr_array(([1.0], [0], [1, 1]), (1, 3))",
        "so.csr_array(([1.0], [0], [0, 1, 0]), (2, 3))",
        "so.csr_array(([1.0], [0], [0, 2]), (1, 3))",
        "so.csr_array(([1.0], [3], [0, 1]), (1, 3))",
        "so.RowSparse([[1.0]], np.array([0]), (3, 1)).validate()",
        "so.RowSparse(np.ones((1, 2)), [0], (3, 2)).validate()",
        "so.CSR(np.ones(1), np.zeros(1, 'int32'), np.array([0, 1]), (1, 2)).validate()",
    ],
    "native/__init__.py": [
        "so.set_num_threads('2')",
        "so.set_num_threads(0)",
        "# Where no compiler was found.\nso.native.load = lambda: None\nso.set_num_threads(2)",
    ],
    "backend.py": [
        "so.zeros(3, backend='torch')",
        "sys.modules['cupy'] = None\nso.zeros(3, backend='cupyx')",
        "sys.modules['cupy'] = SimpleNamespace(\n"
        "    __version__='14.0', cuda=SimpleNamespace(is_available=lambda: False)\n"
        ")\n"
        "so.zeros(3, backend='cupyx')",
    ],
    "intake.py": [
        "so.sum(so.Spec((3, 4)))",
        "so.csr_array((so.zeros(1), [0], [0, 1]))",
        "so.array(x.storage)",
        "so.array([d, d])",
        "so.array(object(), backend='gpu')",
        "so.array([[1, 2], [3]])",
        "so.array(['a'])",
        "so.array([1j], float)",
        "so.array([300], 'uint8')",
        "so.csr_array(([1.0], [[0], [1, 2]], [0, 1]))",
        "so.csr_array(([1.0], [0.5], [0, 1]))",
        "so.csr_array(([1.0], [[0]], [0, 1]))",
        "so.csr_array(([1.0], np.array([2**63], 'uint64'), [0, 1]))",
        "so.csr_array(([], [], [0, 0]))",
        "so.zeros(2**60)",
        "so.array(np.ma.masked_array([1.0, 2.0], [0, 1]))",
    ],
    "coalesce.py": [
        "so.csr_array((np.array([100, 100], 'int8'), ([0, 0], [1, 1])))",
    ],
    "constructors.py": [
        "so.csr_array(([], [], []))",
        "so.csr_array((2, 3))",
        "so.row_sparse_array((1.0, [0]))",
        "so.csr_array([[1.0, 0.0]], (2, 2))",
        "so.csr_array([1.0, 2.0], (2,))",
        "so.csr_array(([1.0], ([0], [0], [0])))",
        "so.csr_array(([1.0, 2.0], ([0], [0])))",
        "so.csr_array(([1.0], ([0], [3])), (2, 3))",
    ],
    "creation.py": [
        "so.random((3, 4), density='half')",
        "so.random((3, 4), density=1.5)",
        "so.random((3, 4), dtype=int)",
        "so.random((2**40, 2**40), density=0.0)",
    ],
    "keys.py": [
        "d[0, 0, 0]",
        "d[..., ...]",
        "d['a']",
        "d[[True, False]]",
        "d[[0, 1], [0, 1, 2]]",
        "d[3]",
        "d[[0, 7]]",
    ],
    "ndarray.py": [
        "class Mine(so.NDArray): ...",
        "d.indptr",
        "r.asscipy()",
        "so.csr_array([[1, 0]], dtype='float16').asscipy()",
        "with so.Tape(): d.to('gpu')",
        "len(so.array(1.0))",
        "float(d)",
        "d.assign(x.storage)",
    ],
    "reading.py": [
        "x[None]",
        "x[:, None]",
        "x[0, True]",
        "x[[[0, 1]]]",
    ],
    "writing.py": [
        "with so.Tape(): d[...] = v.sum()",
        "d[0] = 'a'",
        "d[0] = 1j",
        "d[0] = so.zeros(4, backend='gpu')",
        "x[0] = [1.0, 2.0]",
        "x[:, 1] = 1.0",
        "r[0, None] = 1.0",
    ],
    "numpy_functions.py": [
        "d.__array_ufunc__(3, '__call__', d)",
        "np.arctan2(x, x)",
        "np.add(d, d, where=True, casting='no')",
        "np.add(d, d, out=np.zeros((3, 4)))",
        "np.sum(x, initial=1)",
        "np.transpose(so.zeros((2, 3, 4)), (1, 0, 2))",
        "np.take(d, [0], axis=1)",
        "np.round(d, 2)",
    ],
    "operand.py": [
        "x * np.matrix([[1.0]])",
    ],
    "protocols.py": [
        "so.trace(lambda x: 1.0 in x)(so.Spec((3,)))",
        "with so.Tape(): d += d",
        "v += d",
        "x += d",
        "v = so.array([1]); v += 0.5",
        "np.asarray(so.zeros(3, backend='gpu'))",
        "np.asarray(x)",
        "with so.Tape(): np.asarray(d)",
    ],
    "policy.py": [
        "with so.fallback(limit=8): so.exp(x)",
        "with so.fallback('error'): so.exp(x)",
        "os.environ['SPARSEOPS_FALLBACK'] = 'loud'; so.exp(x)",
        "with so.fallback('loud'): ...",
        "with so.fallback(limit='a lot'): ...",
    ],
    "slots.py": [
        "@so.operator\ndef scale(x, **more): ...",
        "@so.operator\ndef scale(x, s=1): ...",
        "@so.operator\ndef scale(x, state): ...",
        "@so.operator(outputs=('x', 'y'))\ndef scale(x): ...",
        "@so.operator(mutates=('mean',))\ndef scale(x): ...",
        "op.forward('csr, dense -> csr')(lambda backend, x: x)",
        "op.backward('x', 'csr, dense -> csr')(lambda *all: all)",
        "count.backward('x', 'dense, dense -> dense')(lambda g, total: g)",
        "op.backward('x', 'csr, dense -> csr')(lambda g, weight: g)",
    ],
    "signature.py": [
        "op.forward('csr, dense')",
        "op.backward('x', '; csr, dense -> csr')",
        "op.forward('csr, dense... -> csr')",
        "stack.forward('dense -> dense')",
        "op.forward('csr -> csr')",
        "op.forward('coo, dense -> csr')",
        "op.forward('csr, dense -> csr', where=1)",
    ],
    "declaration.py": [
        "by_function.forward('csr -> csr')",
        "op.forward()",
        "op.forward('dense; csr, dense -> csr')",
        "op.backward('y', 'csr, dense -> csr')",
        "op.backward('x')",
        "op.backward('x', 'dense, dense; csr, dense -> csr')",
        "same.infer_storage(lambda stypes: stypes)",
        "op.forward('csr, dense -> csr', where={'axis': 0})",
        "op.forward('csr, dense -> csr', 'csr, dense -> csr')(lambda backend, x, s: x)",
        "same.kernel('csr', 'csr')",
    ],
    "parameters.py": [
        "deep = [0]\ndeep.append(deep)\nso.sum(d, axis=deep)",
        "so.sum(x=d)",
        "so.sum(d, axes=0)",
        "so.cast(d)",
        "so.sum(d, axis=v)",
    ],
    "operators.py": [
        "so.cast_storage(d)",
        "same(d, d)",
        "count([1.0], 1.0)",
        "so.add(d, so.zeros((3, 4), backend='gpu'))",
        "so.sum(d, 0)",
        "so.operator(3)",
        "@so.operator(outputs='values')\ndef scale(x): ...",
        "@so.operator\ndef add(a, b): ...",
    ],
    "inference.py": [
        "so.add.infer([1.0], [1.0])",
        "so.add(d, d, stype=('csr', 'csr'))",
        "so.dot(d, 2.0)",
        "@so.operator\n"
        "def bad(x):\n"
        "    return x.shape\n"
        "bad.forward('dense -> dense')(lambda backend, x: x)\n"
        "bad(v)",
    ],
    "plan.py": [
        "op.infer_storage(lambda stypes: 'csr'); op(x, v)",
        "op.infer_storage(lambda stypes: ('dense',) * 3); op(x, v)",
        "op.infer_storage(lambda stypes: (*stypes[:2], 'coo')); op(x, v)",
        "op.infer_storage(lambda stypes: ('csr', 'dense', 'csr' if stypes[2] == "
        "'undefined' else 'dense')); op(x, v)",
    ],
    "results.py": [
        "count.forward('dense, dense -> dense')(lambda backend, x, total: x); count(d, d)",
        "count.forward('dense, scalar -> dense')(lambda backend, x, total: (x, x)); count(d, 1)",
        "op.forward('csr, dense -> csr')(lambda backend, x, s: s.data); op(x, v)",
        "op.forward('csr, dense -> csr')(lambda backend, x, s: x.with_data(1)); op(x, v)",
        "op.forward('csr, dense -> csr')(lambda backend, x, s: s); op(x, v)",
        "op.forward('csr, dense -> csr')(lambda backend, x, s: x.with_data(x.indices)); op(x, v)",
    ],
    "autograd.py": [
        "tape.gradient(y, w, stypes=3)",
        "so.grad(so.sum, argnums='x')(w)",
        "tape.gradient(y, w)\nwith tape: ...",
        "tape.gradient(y, w); tape.gradient(y, w)",
        "tape.gradient(so.sum(w), w)",
        "y[...] = 0.0; tape.gradient(y, w)",
        "tape.gradient(y, w, into=so.zeros(3))",
        "tape.gradient(y, 1.0)",
        "tape.gradient(y, [1.0])",
        "tape.gradient(y, so.array([1]))",
        "tape.gradient(y, w, into=[w, w])",
        "tape.gradient(y, w, stypes=['csr', 'csr'])",
        "tape.gradient(y, w, stypes='coo')",
        "tape.gradient(z, w)",
        "tape.gradient([y, z], w, output_gradients=[1.0])",
        "tape.gradient(z, w, output_gradients=[[1.0]])",
        "so.grad(so.sum, 1)(w)",
    ],
    "gradient.py": [
        "with tape: w[...] = 0.0; q = so.sum(w)\ntape.gradient([y, q], w)",
        "with tape: q = so.sum(same(w))\ntape.gradient(q, w)",
        "gradient(lambda g: g, stack)",
        "w[...] = 0.0; tape.gradient(y, w)",
        "gradient(lambda g: 1.0)",
        "gradient(lambda g: so.zeros(2))",
        "gradient(lambda g: so.zeros(4, stype='row_sparse'))",
        "gradient(lambda g: so.zeros(4, int))",
    ],
    **OPERATORS,
    **OPTIMIZERS,
}
