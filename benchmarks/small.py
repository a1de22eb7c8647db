"""Calls whose kernels do next to nothing: what is measured is dispatch.

The operator passes its input through, and its gradient rule is two operators. A forward call is to
take 2.5 us more than its kernel, and one with tape and gradient 12 us, where PyTorch takes 12 and
43: so the targets.
"""

import numpy as np

from sparseops.bench import Case, Matrix, grid, power_law

STYPES = grid(stype=("dense", "csr"))
bare = Case("the kernel alone", sizes=STYPES)
forward = Case("a small operator, forward", sizes=STYPES, targets={"torch": 4}, quick=2)
backward = Case(
    "a small operator, forward + tape + backward", sizes=STYPES, targets={"torch": 3.5}, quick=2
)


@bare.inputs
@forward.inputs
@backward.inputs
def _(rng, scale, stype):
    ones = np.ones(3, np.float32)
    csr = Matrix(ones, np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32), (3, 3))
    return {"x": csr if stype == "csr" else np.eye(3, dtype=np.float32)}


def operator_of(so):
    """The operator and its kernel."""

    @so.operator
    def twice(x):
        """`x` passed through, for measuring."""
        return x.shape, x.dtype

    @twice.forward("dense -> dense", "csr -> csr")
    def kernel(backend, x):
        return x.with_data(x.data)

    @twice.backward("x", "dense -> dense", "csr -> csr")
    def rule(g):
        return twice(twice(g))

    return twice, kernel


@bare.by("sparseops")
def _(so, x):
    _, kernel = operator_of(so)
    backend, storage = x.backend, x.storage

    def run():
        kernel(backend, storage)
        return x

    return run


@forward.by("sparseops")
def _(so, x):
    twice, _ = operator_of(so)
    return lambda: twice(x)


@backward.by("sparseops")
def _(so, x):
    twice, _ = operator_of(so)

    def run():
        with so.Tape() as tape:
            y = twice(x)
        return tape.gradient(y, x, output_gradients=x)

    return run


def function_of(torch):
    """The same as an autograd.Function."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.view_as(g).view_as(g)

    return Twice.apply


@forward.by("torch")
def _(torch, x, stype):
    needs_dense(stype)
    apply, leaf = function_of(torch), x.requires_grad_()
    return lambda: apply(leaf)


@backward.by("torch")
def _(torch, x, stype):
    needs_dense(stype)
    apply, leaf, g = function_of(torch), x.clone().requires_grad_(), x
    return lambda: torch.autograd.grad(apply(leaf), leaf, grad_outputs=g)[0]


@forward.by("mxnet")
def _(mx, x, stype):
    needs_dense(stype)

    class Twice(mx.autograd.Function):
        def forward(self, x):
            return x

        def backward(self, g):
            return g

    def run():
        with mx.autograd.record():
            return Twice()(x)

    return run


def needs_dense(stype):
    if stype != "dense":
        raise NotImplementedError("views are of dense arrays")


product = Case("a small csr @ dense", targets={"scipy": 0.5})
added = Case("a small csr + csr", targets={"scipy": 0.95})


@product.inputs
def _(rng, scale):
    return {"a": power_law(rng, 10, 10, 30), "d": np.ones((10, 4), np.float32)}


@product.by("sparseops", "scipy", "torch")
def _(library, a, d):
    return lambda: a @ d


@product.by("mxnet")
def _(mx, a, d):
    return lambda: mx.nd.sparse.dot(a, d)


@added.inputs
def _(rng, scale):
    return {"a": power_law(rng, 10, 10, 30)}


@added.by("sparseops", "scipy", "torch")
def _(library, a):
    return lambda: a + a


@added.by("mxnet")
def _(mx, a):
    return lambda: mx.nd.sparse.add(a, a)
