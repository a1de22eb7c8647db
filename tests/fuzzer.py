"""Calls of the public names with hostile arguments; each call is remade by its number alone.

``python tests/fuzzer.py FIRST COUNT`` makes them and prints what it finds as lines of JSON;
`fuzz` does so in child processes, which a crash or a hang ends.
"""

import faulthandler
import json
import linecache
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import scipy.sparse as sp

import sparseops as so
from sparseops.ndarray import tapes

ALLOWED = (so.SparseOpsError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError)
SECONDS, MEMORY = 5, 4 << 30
_PACKAGE = str(Path(so.__file__).parent)


class Refusal(Exception):
    """What hostile objects raise."""


class Hang(BaseException):
    """A call that took longer than `SECONDS`."""


def refuse(*args, **kwargs):
    raise Refusal


class Arrayless:
    __array__ = refuse


class Wrong:
    def __array__(self, dtype=None, copy=None):
        return "no array"


class Lengthless:
    __len__ = __getitem__ = refuse


class Indexless:
    __index__ = __float__ = __complex__ = refuse


class Attributeless:
    __getattr__ = refuse


class Unequal:
    __eq__ = __lt__ = __bool__ = refuse
    __hash__ = object.__hash__


class Unhashable:
    __hash__ = __repr__ = __str__ = refuse


class Whole(int):
    pass


def closed_file():
    with tempfile.TemporaryFile() as file:
        pass
    return file


def released():
    view = memoryview(b"abc")
    view.release()
    return view


def recursive():
    found = [1, 2]
    found.append(found)
    return found


def recursive_dict():
    found = {}
    found["a"] = found
    return found


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def deep_tuple(levels):
    found = ()
    for _ in range(levels):
        found = (found,)
    return found


def broken_matrix():
    matrix = sp.csc_array(np.eye(3))
    matrix.indices[1] = 2**30
    return matrix


class Counting:
    """An iterator that ends where a list of it would be too long."""

    def __init__(self):
        self.left = 10**5

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise Refusal
        return self.left


def _each(*values):
    return [lambda value=value: value for value in values]


# Makers, so that no call sees what an earlier one did.
NUMBERS = _each(
    *(0, 1, 2, 3, -1, True, 2.5, 1j, np.nan, np.inf, 2**31, 2**62, 2**63, 2**64, -(2**70)),
    *(
        np.float32(2),
        np.int8(-1),
        np.uint64(2**63),
        np.bool_(True),
        np.longdouble(1),
        -0.0,
        10**400,
    ),
    *(Whole(2), np.datetime64("2020"), np.complex64(1j), np.float16(np.inf)),
)
OBJECTS = [
    *_each(None, "csr", "", "dense", b"\x01", object(), Ellipsis, NotImplemented, np, int, len),
    *_each(slice(3), slice(None, None, -1), slice("a"), slice(2**70, None, 2**70), range(2**62)),
    *(dict, lambda: {1: 2}, lambda: {1}, Arrayless, Wrong, Lengthless, Indexless, Attributeless),
    *(Unequal, Unhashable, Mock, closed_file, released, recursive, recursive_dict),
    *(lambda: deep(70), lambda: deep(3), lambda: deep(5000), lambda: deep_tuple(5000)),
    *(lambda: iter([1]), Counting, lambda: so.Spec((2, 2), "f4", "csr"), so.Tape),
]
ARRAYS = [
    *(lambda: np.arange(3), lambda: np.zeros((2, 2)), lambda: np.zeros((0, 3))),
    *(lambda: np.array(5), lambda: np.array(["a"]), lambda: np.array([None, 1])),
    *(lambda: np.zeros(2, "i4,f8"), lambda: np.array([2**63], "u8"), lambda: np.zeros(2, "M8[s]")),
    *(lambda: np.array([1.5, np.nan]), lambda: np.array([True, False])),
    *(lambda: np.array([1, 0, -1], ">i2"), lambda: np.ma.array([1, 2], mask=[1, 0])),
    *(lambda: np.array([0, 1, 3], np.int32), lambda: np.ones((1,) * 40)),
    *(lambda: np.broadcast_to(1, (2, 2)), lambda: np.arange(4)[::-2]),
    *(lambda: np.array([1], "longdouble"), lambda: np.broadcast_to(1.0, (2**40,))),
]
OTHERS = [
    *(lambda: so.array([1.0, 2.0]), lambda: so.csr_array([[0, 1], [2, 0]])),
    *(lambda: so.zeros((3, 2), stype="row_sparse"), lambda: sp.csr_array(np.eye(2))),
    *(lambda: sp.coo_array(np.arange(3)), lambda: sp.dok_array((2, 2)), broken_matrix),
    *(lambda: so.zeros((1, 2**62), stype="csr"), lambda: so.zeros((2**62, 2), stype="row_sparse")),
    *(lambda: so.Dense(np.ones(2)), lambda: sp.csr_matrix(np.eye(3)), lambda: np.matrix([[1.0]])),
]
LISTS = [
    *(lambda: [], lambda: [[]], lambda: [0, 1], lambda: [1, 0, 1], lambda: [[1, 2], [3]]),
    *(lambda: [[1, 2], [3, 4]], lambda: ["a"], lambda: [None], lambda: [0, 2, 2]),
]
POOL = (NUMBERS, OBJECTS, ARRAYS, OTHERS, LISTS)
# Nothing that a machine may or may not have memory for.
LENGTHS = [0, 1, 2, 3, 2**50, 2**62, 2**63, -1, 2.0, np.nan]
DTYPES = ["f4", "i1", "u8", "?", "c8", "O", "U", "M8[s]", "longdouble", None, object(), 5, np.int16]
STYPES = ["dense", "csr", "row_sparse", "undefined", "CSR", None, 1, [], ("csr",), recursive()]
KINDS = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


def something(rng):
    """Anything at all."""
    if rng.random() < 0.2:
        return rng.choice((tuple, list))(something(rng) for _ in range(rng.randrange(4)))
    return rng.choice(rng.choice(POOL))()


def odd(rng):
    """Anything but a matrix of scipy, which trusts itself where it is iterated."""
    while "scipy" in type(found := something(rng)).__module__ or type(found) in (tuple, list):
        if type(found) in (tuple, list) and rng.random() < 0.3:
            return tuple(odd(rng) for _ in range(rng.randrange(4)))
    return found


def shape(rng):
    """A shape, or what is none."""
    if rng.random() < 0.2:
        return odd(rng)
    return tuple(rng.choice(LENGTHS) for _ in range(rng.choice([0, 1, 2, 2, 2, 3])))


def sound(rng, lengths=None, kinds=KINDS):
    """A sound array; of shapes that often fit each other where `lengths` are the same."""
    lengths = lengths or [rng.choice([0, 1, 2, 3]) for _ in range(3)]
    return _sound(tuple(lengths), tuple(kinds), rng.randrange(64)).copy()


@cache
def _sound(lengths, kinds, seed):
    rng, (m, n, k) = random.Random(seed), lengths
    dims = rng.choice([*[(m, n)] * 4, (n, k), (n, m), (m,), (n,), (), (1, n), (m, 1), lengths])
    draw = np.random.default_rng(seed)
    values = draw.integers(-4, 5, dims) * (draw.random(dims) < 0.6) / 2
    dtype = np.dtype(rng.choice(kinds))
    if dtype.kind in "fc" and values.size and rng.random() < 0.2:
        values.flat[0] = rng.choice([np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        values = values.astype(dtype) if dtype.kind != "u" else np.abs(values).astype(dtype)
    if values.ndim == 2 and rng.random() < 0.5:
        row, col = (x.astype(rng.choice("il")) for x in np.nonzero(draw.random(dims) < 0.5))
        return so.csr_array((values[row, col], (row, col)), shape=dims)
    if values.ndim and rng.random() < 0.5:
        rows = np.flatnonzero(draw.random(dims[0]) < 0.6).astype(rng.choice("il"))
        return so.row_sparse_array((values[rows], rows), shape=dims)
    return so.array(values)


def argument(rng, lengths, hostile=0.25):
    """Most often a sound array."""
    return something(rng) if rng.random() < hostile else sound(rng, lengths)


def _lengths(rng):
    return [rng.choice([0, 1, 2, 3, 3]) for _ in range(3)]


def constructors(rng):
    options = {"dtype": rng.choice(DTYPES)} if rng.random() < 0.3 else {}
    if rng.random() < 0.05:
        options["backend"] = rng.choice(["scipy", "none", 3, None])
    function = rng.choice(
        [so.array, so.asarray, so.csr_array, so.row_sparse_array, so.zeros, so.random]
    )
    if function in (so.array, so.asarray, so.zeros, so.random) and rng.random() < 0.5:
        options["stype"] = rng.choice(STYPES)
    if function is so.random:
        options["density"] = rng.choice([0, 1e-16, 0.5, 1, -1, 2, np.nan, "a", None, 1j])
        options["rng"] = rng.choice([0, 1, "a", -1])
    if function in (so.zeros, so.random):
        return function, (shape(rng),), options
    if function in (so.csr_array, so.row_sparse_array) and rng.random() < 0.5:
        options["shape"] = shape(rng)
    return function, (something(rng),), options


def _parameter(rng, name):
    if rng.random() < 0.25:
        return odd(rng)
    if name == "dtype":
        return rng.choice(DTYPES + KINDS)
    if name == "shape":
        return shape(rng) if rng.random() < 0.3 else sound(rng).shape
    if name == "axis":
        return rng.choice([None, 0, 1, -1, 2, (0,), (0, 1), (1, 0), (0, 0), (), -3, True])
    return rng.choice([0, 1, 2, 3, 4, -1, None, True, False, (0, 1), (0, 2), 2**40, 2**62])


def operator_calls(rng):
    op = so.registry.operators[rng.choice(sorted(so.registry.operators))]
    lengths, hostile = _lengths(rng), rng.choice([0, 0, 0.3])
    count = rng.randrange(4) if op.variadic or rng.random() < 0.03 else len(op.inputs)
    args = [argument(rng, lengths, hostile) for _ in range(count)]
    params = {name: _parameter(rng, name) for name in op.defaults if rng.random() < 0.8}
    if rng.random() < 0.2:
        params["stype"] = rng.choice(STYPES)
    if rng.random() < 0.02:
        params[rng.choice(["x", "g", "shape", "out", "", "self", "args"])] = something(rng)
    if rng.random() < 0.1:
        stypes = {name: rng.choice(STYPES) for name in op.inputs}
        return so.infer_storage, (op,), stypes
    if rng.random() < 0.15:
        params["outputs"] = params.pop("stype", None)
        return op.infer, [x.spec if isinstance(x, so.NDArray) else x for x in args], params
    return op, args, params


def attributes(rng):
    x = sound(rng)
    name = rng.choice([n for n in dir(so.NDArray) if n not in ("__init_subclass__", "spy")])
    if name.startswith("__") and rng.random() < 0.7:
        name = rng.choice([n for n in dir(so.NDArray) if n[0] != "_" and n != "spy"])
    lengths = _lengths(rng)
    args = [argument(rng, lengths, 0.7) for _ in range(rng.choice([0, 0, 1, 1, 1, 2]))]
    if name == "tostype" or name == "to":
        args = [rng.choice([*STYPES, "scipy"])]
    skipped = ("__class__", "__reduce__", "__reduce_ex__", "__new__", "__setattr__", "__delattr__")
    if name in (*skipped, "__init__", "writing", "assign", "__getattribute__", "form", "storage"):
        name = "no_such_attribute"

    def read(x, *args):
        found = getattr(x, name)
        return found(*args) if callable(found) else found

    read.__name__ = f"x.{name}"
    read.changes = name.startswith("__i") or name == "__setitem__"
    return read, (x, *args), {}


def _key(rng):
    parts = [
        lambda: rng.choice([0, 1, -1, 2, 5, np.int8(1), True, None, Ellipsis, 2**70]),
        lambda: slice(*(rng.choice([None, 0, 1, 2, -1, 5, -9, 2**70]) for _ in range(3))),
        lambda: [rng.choice([0, 1, 2, -1, 7]) for _ in range(rng.randrange(4))],
        lambda: np.array([rng.random() < 0.5 for _ in range(rng.randrange(5))]),
        lambda: sound(rng),
        lambda: something(rng),
    ]
    count = rng.choice([1, 1, 2, 2, 3])
    key = tuple(rng.choice(parts)() for _ in range(count))
    return key[0] if count == 1 and rng.random() < 0.8 else key


def reading(rng):
    return lambda x, key: x[key], (sound(rng), _key(rng)), {}


def writing(rng):
    def write(x, key, value):
        x[key] = value

    write.changes = True
    return write, (sound(rng), _key(rng), argument(rng, _lengths(rng), 0.5)), {}


_OPERATORS = "+ - * / // % ** @ & | ^ == != < <= > >=".split()
_BINARY = {op: eval(f"lambda a, b: a {op} b") for op in _OPERATORS}
_UNARY = [float, int, complex, len, bool, iter, list, hash, str, repr, format, abs, sum, max, round]
_UNARY += [lambda x: -x, lambda x: ~x, lambda x: x.T, pickle.dumps, np.asarray, np.from_dlpack]


def python_operators(rng):
    lengths = _lengths(rng)
    x, other = sound(rng, lengths), argument(rng, lengths, 0.6)
    if rng.random() < 0.2:
        return rng.choice(_UNARY), (x,), {}
    symbol = rng.choice(_OPERATORS)
    if rng.random() < 0.4 and not sp.issparse(other):  # scipy's own operators trust broken ones
        x, other = other, x
    if rng.random() < 0.05:
        return lambda a, b: b in a, (x, other), {}
    return _BINARY[symbol], (x, other), {}


_FUNCTIONS = """abs add arctan2 argsort atleast_2d broadcast_to clip concatenate copy dot einsum exp
linalg.norm matmul maximum mean min multiply prod reshape round shape size ndim sin stack sum take
transpose where zeros_like result_type iscomplexobj mod greater isfinite add.reduce add.at
multiply.outer array_equal vstack linalg.inv ones_like asarray array squeeze"""


def numpy_functions(rng):
    name = rng.choice(_FUNCTIONS.split())
    function, lengths = np, _lengths(rng)
    for part in name.split("."):
        function = getattr(function, part)
    args = [argument(rng, lengths, 0.4) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    args[0] = sound(rng, lengths)
    args = args[: getattr(function, "nin", 3)]
    if name in ("concatenate", "stack", "vstack") and rng.random() < 0.8:
        args = [args]
    options = {}
    if rng.random() < 0.2:
        options[rng.choice(["axis", "keepdims", "dtype", "where", "casting"])] = odd(rng)
    return function, args, options


def _function(rng):
    """A function of one array, of operators that may or may not take it."""
    ops = [
        op for op in so.registry.operators.values() if len(op.inputs) <= 2 and not op.needs_stype
    ]
    steps = []
    for _ in range(rng.randrange(1, 4)):
        op = rng.choice(ops)
        other = argument(rng, _lengths(rng), 0.2)
        steps.append((op, {name: _parameter(rng, name) for name in op.defaults}, other))
    final = rng.choice([so.sum, so.sum, so.sum, lambda x: x, lambda x: odd(rng)])

    def f(x, *rest):
        for op, params, other in steps:
            x = op(x, **params) if len(op.inputs) == 1 else op(x, other, **params)
        return final(x)

    return f


def gradients(rng):
    f, lengths = _function(rng), _lengths(rng)
    x = sound(rng, lengths, ["f4", "f8", "f8", "c16", "f2", "i4"])
    chosen = rng.random()
    if chosen < 0.3:
        argnums = rng.choice([0, 0, 0, 1, -1, (0,), (0, 0), (), odd(rng)])
        made = rng.choice([so.grad, so.value_and_grad])
        return lambda f, n, *args: made(f, n)(*args), (f, argnums, x), {}
    if chosen < 0.4:
        return lambda f, *args: so.grad(f)(*args), (f, odd(rng)), {}
    options = {}
    for name in ("output_gradients", "stypes", "into"):
        if rng.random() < 0.3:
            options[name] = rng.choice(STYPES) if name == "stypes" else argument(rng, lengths, 0.3)
    swap = rng.random() < 0.2
    hostile = odd(rng)

    def tape_gradient(x, hostile, **options):
        with so.Tape(persistent=rng.random() < 0.2) as tape:
            y = f(x)
        y, w = rng.choice([(y, hostile), (hostile, x), ([y], [x, x])]) if swap else (y, x)
        return tape.gradient(y, w, **options)

    return tape_gradient, (x, hostile), options


def graphs(rng):
    f, x = _function(rng), sound(rng)
    spec = x.spec if rng.random() < 0.7 else argument(rng, _lengths(rng), 0.7)
    step = rng.randrange(5)
    word, hostile = rng.choice(STYPES), odd(rng)

    def graph_call(f, spec, x, hostile):
        if step == 0:
            return so.infer_storage(f, x=word)
        graph = so.trace(f)(spec)
        if step == 1:
            return graph.infer(x=word).run(x)
        if step == 2:
            return graph.gradient("x", stypes=word)
        if step == 3:
            return graph.gradient(hostile, stypes=hostile)
        return repr(graph), graph.run(x if rng.random() < 0.7 else hostile)

    return graph_call, (f, spec, x, hostile), {}


def optimizers(rng):
    names = "sgd momentum adagrad adam adamw rmsprop ftrl group_adagrad groups clip_global_norm "
    names += "global_norm Cosine Polynomial Stepwise Warmup"
    name = rng.choice(names.split())
    factory = getattr(so.optim, name)
    if name[0].isupper():
        args = [rng.choice([0.1, 1, 10, odd(rng)]) for _ in range(rng.choice([2, 2, 3, 4]))]
        return (
            lambda *args, step: factory(*args)(step),
            args,
            {"step": rng.choice([1, 3, odd(rng)])},
        )
    if name in ("groups", "clip_global_norm", "global_norm"):
        given = rng.choice([lambda: {"a": sound(rng)}, lambda: [sound(rng)], lambda: odd(rng)])
        args = [given()] + [odd(rng)] * (name == "clip_global_norm")
        return factory, args, {}
    options = {}
    for key in ("weight_decay", "rescale", "clip", "lazy", "epsilon", "beta1", "momentum", "l1"):
        if rng.random() < 0.15:
            options[key] = rng.choice([0.0, 0.1, 0.5, 1, True, odd(rng)])
    rate = rng.choice([0.1, 0.1, 1, 0, lambda step: 0.1, odd(rng)])
    lengths = _lengths(rng)
    param = argument(rng, lengths, 0.05)
    gradient = argument(rng, lengths, 0.1)
    if rng.random() < 0.6 and isinstance(param, so.NDArray):
        gradient = sound(rng, lengths, ["f4", "f8", param.dtype])
        with so.fallback("allow"):
            gradient = (
                so.zeros(param.shape if param.dense_nbytes < 10**6 else (1,), param.dtype) + 1
            )
        gradient = gradient.tostype(
            rng.choice(["dense", "row_sparse"] if gradient.ndim else ["dense"])
        )
    hostile = odd(rng) if rng.random() < 0.1 else None

    def optimize(param, rate, gradient, hostile, **options):
        optimizer = factory(rate, **options)
        state = optimizer.init(param) if hostile is None else hostile
        optimizer.update(gradient, state, param)
        optimizer.update(gradient, state, param)

    optimize.changes = True
    return optimize, (param, rate, gradient, hostile), options


def descriptions(rng):
    def open_fallback(*args, **options):
        with so.fallback(*args, **options) as found:
            return found

    def open_backend(name):
        with so.use_backend(name):
            return so.get_backend()

    chosen = rng.randrange(6)
    if chosen == 0:
        args = (shape(rng), *([rng.choice(DTYPES)] * (rng.random() < 0.7)))

        def spec(*args):
            made = so.Spec(*args)
            return made, repr(made), hash(made)

        return spec, (*args, *([rng.choice(STYPES)] * (len(args) == 2))), {}
    if chosen == 1:
        return (
            open_fallback,
            (rng.choice(["allow", "warn", "error", odd(rng)]),),
            {"limit": rng.choice(["1 GiB", "x GiB", "-1 B", "", 0, None, odd(rng)])},
        )
    if chosen == 2:
        return rng.choice([open_backend, so.get_backend]), (odd(rng),), {}
    if chosen == 3:
        function = rng.choice([so.grad, so.value_and_grad, so.trace, so.infer_storage, so.operator])
        return function, (odd(rng),), {}
    if chosen == 4:
        kind, count = rng.choice([(so.Dense, 1), (so.RowSparse, 2), (so.CSR, 3)])
        parts = [rng.choice(ARRAYS)() for _ in range(count)]
        lengths = [] if count == 1 else [tuple(rng.choice([0, 1, 2, 3]) for _ in range(2))]
        return lambda *args: kind(*args).validate(), parts + lengths, {}
    names = [rng.choice(["x", "a", "g", "out", "", "1"]) for _ in range(2)]
    return so.infer_storage, (_function(rng),), {name: rng.choice(STYPES) for name in names}


FAMILIES = (
    [constructors] * 2
    + [operator_calls] * 5
    + [attributes, reading, writing]
    + [
        *(python_operators, python_operators, numpy_functions, gradients, gradients, graphs),
        *(optimizers, descriptions),
    ]
)
_INEXACT = {
    "sparse_mask",
    "sddmm",
    "times_slope",
    "times_power",
    "retain",
    "replace",
    "gather",
    "share",
}


def call(number, families=FAMILIES):
    """The call of that number: its family, function, arguments and options."""
    rng = random.Random(str(number))
    family = rng.choice(families)
    return (family.__name__, *family(rng), rng)


def fingerprint(x, seen=()):
    """What must not change in a value that is handed in."""
    if any(x is outer for outer in seen) or len(seen) > 8:
        return "recursive"
    seen = (*seen, x)
    if isinstance(x, so.NDArray):
        return "NDArray", x.version, [fingerprint(part, seen) for part in x.storage.parts]
    if isinstance(x, np.ndarray):
        kept = x.tobytes() if x.dtype != object and x.size < 10**6 else x.size
        return x.dtype, x.shape, x.strides, x.flags.writeable, kept
    if sp.issparse(x):
        parts = [getattr(x, name, None) for name in ("data", "indices", "indptr", "coords")]
        return (
            type(x),
            x.shape,
            [fingerprint(p, seen) for p in parts if not isinstance(p, memoryview)],
        )
    if type(x) in (list, tuple):
        return type(x), [fingerprint(part, seen) for part in x]
    if type(x) is dict:
        return list(x), [fingerprint(part, seen) for part in x.values()]
    return id(x)


def check_result(found):
    """Every array among what a call gave is sound."""
    for x in found if isinstance(found, (tuple, list)) else (found,):
        if type(x) is so.NDArray:
            x.storage.validate()
            assert repr(x).startswith(f"<{x.spec}"), "repr"
            assert x.storage.spec == x.spec and x.dtype.isnative, "spec"
            assert all(not part.flags.writeable for part in x.storage.parts[1:]), "writable"


def check_value(op, args, params, found):
    """The values are those of the same call of dense arrays, where all is finite."""
    if not isinstance(op, so.Operator) or op.__name__ in _INEXACT or type(found) is not so.NDArray:
        return
    if any(type(x) is not so.NDArray or x.size > 1000 for x in args) or found.size > 1000:
        return
    try:
        dense = op(*(x.tostype("dense") for x in args), **params).asnumpy()
    except so.StorageError:  # some operators take sparse arrays alone
        return
    inputs = [x.asnumpy() for x in args]
    if all(np.isfinite(x).all() for x in (dense, *inputs)):
        got = found.asnumpy()
        wide = np.result_type(dense, np.float32)
        near = np.allclose(got.astype(wide), dense.astype(wide), 1e-2, 1e-2)
        assert near and got.dtype == dense.dtype, "value"


def _frames(error):
    """The file, the line's number and the line of each frame, outermost first."""
    found, step = [], error.__traceback__
    while step is not None:
        found.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return [(path, at, linecache.getline(path, at).strip()) for path, at in found[-30:]]


def _where(error):
    """The line of the package that raised, and the one below it that is not of the package."""
    frames = _frames(error)
    ours = [frame for frame in frames if frame[0].startswith(_PACKAGE)]
    if not ours:
        return None
    path, at, line = ours[-1]
    inner = "" if ours[-1] is frames[-1] else f" < {Path(frames[-1][0]).name}:{frames[-1][1]}"
    return f"{os.path.relpath(path, _PACKAGE)}:{at} {line}{inner}"


def absurd(x, seen=0):
    """Whether a size that no memory holds is among the arguments."""
    if isinstance(x, (list, tuple)):
        return seen < 8 and any(absurd(part, seen + 1) for part in x)
    if isinstance(x, (int, float, np.number)):
        return not abs(x) < 2**24
    return isinstance(x, (slice, range)) or max(getattr(x, "shape", ()) or (0,), default=0) > 2**24


def attempt(number, families=FAMILIES):
    """What is wrong with a call, or None: (kind, place, text). Second: how it ended."""
    name, function, args, options, rng = call(number, families)
    targets = 1 if getattr(function, "changes", False) else 0
    before = [fingerprint(x) for x in (*args[targets:], *options.values())]
    policy = rng.choice(["allow", "allow", "warn", "error"])
    problem, ended = None, "answer"
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with so.fallback(policy), np.errstate(all="ignore"):
            found = function(*args, **options)
        with so.fallback("allow"), np.errstate(all="ignore"):
            stage = "result"
            check_result(found)
            check_result(args[:targets])
            if name == "operator_calls":
                check_value(function, args, options, found)
    except (Exception, Hang) as error:
        ended = kind = type(error).__name__
        place = _where(error)
        if "stage" in locals():
            problem = (f"result {kind}", place, str(error))
        elif isinstance(error, (Hang, SystemError)):
            problem = (kind, place, "")
        elif isinstance(error, MemoryError):
            problem = None if absurd((*args, *options.values())) else (kind, place, str(error))
        elif isinstance(error, AttributeError) and name == "attributes":
            wild = place and "raise AttributeError" not in place
            problem = (kind, place, str(error)) if wild else None
        elif place and not isinstance(error, (*ALLOWED, Refusal)):
            problem = (kind, place, str(error)[:200])
        elif place and not isinstance(error, Refusal) and not isinstance(error, so.SparseOpsError):
            if not _frames(error)[-1][2].startswith("raise"):
                ended = f"raw {kind} {place}: {str(error)[:90]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if [fingerprint(x) for x in (*args[targets:], *options.values())] != before:
        problem = ("changed", name, getattr(function, "__name__", ""))
    if tapes.get():
        tapes.set(())
        problem = ("tape left open", name, "")
    return problem, ended


def _text(x, length=300):
    try:
        return repr(x)[:length]
    except BaseException as error:
        return f"<{type(x).__name__}: {type(error).__name__}>"


def _overtime(*args):
    raise Hang


def main(first, count, progress):
    """Make the calls and print what is found; `progress` is a file that says which call runs."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _overtime)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    file = os.open(progress, os.O_RDWR)
    for number in range(first, first + count):
        os.pwrite(file, str(number).ljust(20).encode(), 0)
        faulthandler.dump_traceback_later(4 * SECONDS, exit=True)
        problem, ended = attempt(number)
        print(json.dumps([number, problem, ended]), flush=number % 100 == 0)


def fuzz(first, count):
    """All that calls end in, by number: (number, problem, ended); a crash is a problem."""
    found, environment = [], {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    stop = first + count
    while first < stop:
        with tempfile.NamedTemporaryFile() as progress, tempfile.TemporaryFile("w+") as errors:
            command = [sys.executable, __file__, str(first), str(stop - first), progress.name]
            child = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
            )
            found += [json.loads(line) for line in child.stdout.splitlines() if line[-1] == "]"]
            if not child.returncode:
                break
            last = int(progress.read() or first)
            errors.seek(0)
            found.append([last, (f"exit {child.returncode}", "", errors.read()[-1500:]), "crash"])
            first = last + 1
    return found


def show(number):
    """Print a call, and what it ends in."""
    name, function, args, options, _ = call(number)
    print(number, name, getattr(function, "__name__", function))
    for x in args:
        print("   ", type(x).__name__, _text(x))
    print("   ", _text(options))
    print("   ", attempt(number))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGALRM, _overtime)
        show(int(sys.argv[1]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
