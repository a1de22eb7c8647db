"""Functions of single values: zero-preserving ones keep every storage, the others are dense.

Most are one entry of a table: NumPy's function, what it is, an example, and its gradient. The rule
of a zero-preserving function serves every storage. Where its derivative is not zero at zero, as the
cosine is for sin, the rule multiplies by it at the stored places alone, by `times_slope`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseops.errors import DTypeError, GradientError
from sparseops.operators import Operator, operator
from sparseops.ops.cast import SAME
from sparseops.ops.slope import conjugate, times_slope, zeros_like

# fmt: off
__all__ = [
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "conj", "cos", "cosh",
    "degrees", "exp", "expm1", "floor", "imag", "log", "log1p", "negative", "radians", "real",
    "relu", "rint", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    "zeros_like",
]
# fmt: on

DENSE = ("dense -> dense",)

_DOC = """{summary}

Parameters
----------
x : array of any storage
    The values.

Returns
-------
NDArray
    {storage}
    The dtype is that of ``numpy.{name}``:
    {dtypes}.

Raises
------
DTypeError
    For values that NumPy's function does not take{refused}.

Notes
-----
O(values stored). The gradient by `x` is ``{gradient}``, at the places that `x` stores{conjugated}.

Examples
--------
>>> import sparseops as so
>>> so.{name}(so.{example})
{shown}
"""


def _map(
    function: Callable[[np.ndarray], np.ndarray],
    summary: str,
    example: str,
    gradient: str,
    *,
    name: str = "",
    at_zero: str = "",
) -> Operator:
    """The operator of NumPy's `function`, for dense arrays alone if it is `at_zero` at zero.

    Its gradient is its entry among the rules, or else `g` times its entry among the slopes.
    """
    numpy_name = function.__name__
    name = name or numpy_name

    def describe(x):
        return x.shape, _result_dtype(function, x.dtype)

    def kernel(backend, x):
        data = getattr(backend.xp, numpy_name)(x.data)
        # The parts of complex values come as views with gaps between the values.
        return x.with_data(data if data.base is None else data.copy())

    def by_slope(g, x):
        return times_slope(g, x, of=name)

    describe.__name__ = describe.__qualname__ = name
    describe.__doc__ = _document(function, name, summary, example, gradient, at_zero)
    kernel.__name__ = f"_{name}"
    signatures = DENSE if at_zero else SAME
    made = operator(describe, shapes="(m,n)->(m,n)", reference=function)
    made.forward(*signatures)(kernel)
    made.backward("x", *signatures)(_RULES.get(name, by_slope))
    return made


def _result_dtype(function: Callable[[np.ndarray], np.ndarray], dtype: np.dtype) -> np.dtype:
    try:
        return function(np.zeros(0, dtype)).dtype
    except TypeError:
        raise DTypeError(f"numpy.{function.__name__} takes no {dtype.name} values") from None


def _document(function, name, summary, example, gradient, at_zero) -> str:
    """The docstring of an operator of the table."""
    value, shown = example.split(" -> ")
    if at_zero:
        storage = f"Dense; 0 becomes {at_zero}, so a sparse `x` falls back to dense, on record."
        call, text = f"array([{value}])", f"<float64[1] dense>\n[{shown}]"
    else:
        storage = (
            "In the storage of `x` and with its structure: 0 becomes 0, so places that are not\n"
            "    stored are skipped, and explicit zeros stay."
        )
        call = f"csr_array([[0.0, {value}]])"
        dtype = "complex128" if "j" in shown else "float64"
        text = f"<{dtype}[1,2] csr, 1 stored>\n  (0, 1)  {shown}"
    taken, refused = [], []
    for dtype in ("bool", "int8", "int32", "float32", "complex64"):
        try:
            taken.append(f"{dtype} to {_result_dtype(function, np.dtype(dtype)).name}")
        except DTypeError:
            refused.append(dtype)
    scaled = "complex64" not in refused and ("x" in gradient or "out" in gradient)
    return _DOC.format(
        summary=summary,
        storage=storage,
        dtypes=", ".join(taken),
        refused=f", such as {' and '.join(refused)}" if refused else "",
        gradient=gradient,
        conjugated=";\na complex factor is conjugated" if scaled else "",
        name=name,
        example=call,
        shown=text,
    )


def _sign_x(g):
    if g.dtype.kind == "c":
        raise GradientError("the gradient of sign is declared for real values, not complex ones")
    return zeros_like(g)


def _imag_x(g, x_spec):
    return 1j * g if x_spec.dtype.kind == "c" else zeros_like(g)


#: The gradients that are more than a product with a slope.
_RULES: dict[str, Callable[..., Any]] = {
    "abs": lambda g, x: g * sign(x),
    "sign": _sign_x,
    "rint": lambda g: zeros_like(g),
    "ceil": lambda g: zeros_like(g),
    "floor": lambda g: zeros_like(g),
    "trunc": lambda g: zeros_like(g),
    "square": lambda g, x: 2 * (g * conjugate(x)),
    "sqrt": lambda g, out: times_slope(g, 2 * out, of="log"),
    "cbrt": lambda g, out: times_slope(g, 3 * square(out), of="log"),
    "tan": lambda g, out: g + g * square(conjugate(out)),
    "tanh": lambda g, out: g - g * square(conjugate(out)),
    "degrees": lambda g: degrees(g),
    "radians": lambda g: radians(g),
    "negative": lambda g: negative(g),
    "conj": lambda g: conj(g),
    "real": lambda g: g,
    "imag": _imag_x,
    "exp": lambda g, out: g * conjugate(out),
    "cos": lambda g, x: -(g * sin(conjugate(x))),
    "cosh": lambda g, x: g * sinh(conjugate(x)),
}

abs = _map(np.abs, "The absolute value.", "-2.0 -> 2.0", "g * sign(x)", name="abs")
sign = _map(np.sign, "-1, 0 or 1; ``x / abs(x)`` if complex.", "-2.5 -> -1.0", "0, for real `x`")
rint = _map(np.rint, "The nearest integer, the even one of two.", "2.5 -> 2.0", "0")
ceil = _map(np.ceil, "The least integer not below each value.", "1.5 -> 2.0", "0")
floor = _map(np.floor, "The largest integer not above each value.", "1.5 -> 1.0", "0")
trunc = _map(np.trunc, "The integer part.", "-1.5 -> -1.0", "0")
square = _map(np.square, "The square.", "3.0 -> 9.0", "2 * g * x")
sqrt = _map(np.sqrt, "The square root; NaN if negative.", "4.0 -> 2.0", "g / (2 * out)")
cbrt = _map(np.cbrt, "The cube root, also if negative.", "-8.0 -> -2.0", "g / (3 * out**2)")
sin = _map(np.sin, "The sine, of radians.", "0.5 -> 0.4794...", "g * cos(x)")
tan = _map(np.tan, "The tangent, of radians.", "0.5 -> 0.5463...", "g * (1 + out**2)")
arcsin = _map(np.arcsin, "The inverse sine.", "0.5 -> 0.5235...", "g / sqrt(1 - x**2)")
arctan = _map(np.arctan, "The inverse tangent.", "1.0 -> 0.7853...", "g / (1 + x**2)")
sinh = _map(np.sinh, "The hyperbolic sine.", "1.0 -> 1.1752...", "g * cosh(x)")
tanh = _map(np.tanh, "The hyperbolic tangent.", "1.0 -> 0.7615...", "g * (1 - out**2)")
arcsinh = _map(np.arcsinh, "The inverse hyperbolic sine.", "1.0 -> 0.8813...", "g / hypot(1, x)")
arctanh = _map(np.arctanh, "The inverse hyperbolic tangent.", "0.5 -> 0.5493...", "g / (1 - x**2)")
degrees = _map(np.degrees, "Degrees, of radians.", "1.0 -> 57.295...", "degrees(g)")
radians = _map(np.radians, "Radians, of degrees.", "180.0 -> 3.1415...", "radians(g)")
expm1 = _map(np.expm1, "``exp(x) - 1``, exact for small values.", "1.0 -> 1.7182...", "g * exp(x)")
log1p = _map(np.log1p, "``log(1 + x)``, exact for small values.", "1.0 -> 0.6931...", "g / (1 + x)")
negative = _map(np.negative, "The values with the other sign.", "1.0 -> -1.0", "-g")
conj = _map(np.conj, "The complex conjugate.", "1+2j -> (1-2j)", "conj(g)", name="conj")
real = _map(np.real, "The real part.", "1+2j -> 1.0", "g")
imag = _map(np.imag, "The imaginary part; 0 if real.", "1+2j -> 2.0", "1j * g")

exp = _map(np.exp, "The exponential.", "1.0 -> 2.7182...", "g * out", at_zero="1")
log = _map(np.log, "The natural logarithm.", "2.0 -> 0.6931...", "g / x", at_zero="-inf")
cos = _map(np.cos, "The cosine, of radians.", "0.5 -> 0.8775...", "-g * sin(x)", at_zero="1")
cosh = _map(np.cosh, "The hyperbolic cosine.", "1.0 -> 1.5430...", "g * sinh(x)", at_zero="1")


@operator(shapes="(m,n)->(m,n)", reference=lambda x: np.maximum(x, x.dtype.type(0)))
def relu(x):
    """The larger of each value and 0.

    Parameters
    ----------
    x : array of any storage
        The values; NaN stays.

    Returns
    -------
    NDArray
        In the storage and dtype of `x`, with its structure; negative values become explicit zeros.

    Raises
    ------
    DTypeError
        For complex values, which have no order.

    Notes
    -----
    O(values stored). The gradient by `x` is `g` where `x` is positive and 0 elsewhere, at 0 too.

    Examples
    --------
    >>> import sparseops as so
    >>> so.relu(so.array([-1.0, 0.0, 2.0]))
    <float64[3] dense>
    [0. 0. 2.]
    """
    if x.dtype.kind == "c":
        raise DTypeError(f"{x.dtype} values have no order; relu takes real ones")
    return x.shape, x.dtype


@relu.forward(*SAME)
def _relu(backend, x):
    return x.with_data(backend.xp.maximum(x.data, x.data.dtype.type(0)))


@relu.backward("x", *SAME)
def _relu_x(g, out):
    return g * sign(out)


@operator(shapes="(m,n)->(m,n)", reference=lambda x: 1 / (1 + 1 / np.exp(x)))
def sigmoid(x):
    """The logistic function ``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : array of any storage
        The values.

    Returns
    -------
    NDArray
        Dense: 0 becomes 0.5, so a sparse `x` falls back to dense, on record. The dtype is that of
        ``exp(x)``.

    Notes
    -----
    O(size). The gradient by `x` is ``g * out * (1 - out)``.

    Examples
    --------
    >>> import sparseops as so
    >>> so.sigmoid(so.array([-1000.0, 0.0, 1000.0]))
    <float64[3] dense>
    [0.  0.5 1. ]
    """
    return x.shape, _result_dtype(np.exp, x.dtype)


@sigmoid.forward(*DENSE)
def _sigmoid(backend, x):
    xp = backend.xp
    data = x.data.astype(_result_dtype(np.exp, x.data.dtype))
    positive = data.real >= 0
    small = xp.exp(xp.where(positive, -data, data))
    return x.with_data(xp.where(positive, 1, small) / (1 + small))


@sigmoid.backward("x", *DENSE)
def _sigmoid_x(g, out):
    out = conjugate(out)
    return g * (out * (1 - out))
