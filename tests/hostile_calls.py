"""Families of calls of the public names, most of them with some hostile argument.

Each is made of a random state: a function, its arguments by position, and those by name.
"""

import pickle

import numpy as np
import scipy.sparse as sp
from hostile import (
    ARRAYS,
    DTYPES,
    KINDS,
    STYPES,
    argument,
    lengths_of_axes,
    odd,
    shape,
    something,
    sound,
)

import sparseops as so


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
    lengths, hostile = lengths_of_axes(rng), rng.choice([0, 0, 0.3])
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
    lengths = lengths_of_axes(rng)
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
    return write, (sound(rng), _key(rng), argument(rng, lengths_of_axes(rng), 0.5)), {}


_OPERATORS = "+ - * / // % ** @ & | ^ == != < <= > >=".split()
_BINARY = {op: eval(f"lambda a, b: a {op} b") for op in _OPERATORS}
_UNARY = [float, int, complex, len, bool, iter, list, hash, str, repr, format, abs, sum, max, round]
_UNARY += [lambda x: -x, lambda x: ~x, lambda x: x.T, pickle.dumps, np.asarray, np.from_dlpack]


def python_operators(rng):
    lengths = lengths_of_axes(rng)
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
    function, lengths = np, lengths_of_axes(rng)
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
        other = argument(rng, lengths_of_axes(rng), 0.2)
        steps.append((op, {name: _parameter(rng, name) for name in op.defaults}, other))
    final = rng.choice([so.sum, so.sum, so.sum, lambda x: x, lambda x: odd(rng)])

    def f(x, *rest):
        for op, params, other in steps:
            x = op(x, **params) if len(op.inputs) == 1 else op(x, other, **params)
        return final(x)

    f.given = [(other, *params.values()) for _, params, other in steps]
    return f


def gradients(rng):
    f, lengths = _function(rng), lengths_of_axes(rng)
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

    tape_gradient.given = f.given
    return tape_gradient, (x, hostile), options


def graphs(rng):
    f, x = _function(rng), sound(rng)
    spec = x.spec if rng.random() < 0.7 else argument(rng, lengths_of_axes(rng), 0.7)
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
    lengths = lengths_of_axes(rng)
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
