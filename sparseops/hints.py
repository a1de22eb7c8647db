"""What to write here instead of the attributes that arrays of other libraries have."""

_VALUES = "x.asnumpy() gives the values as a dense array of NumPy"
_GRADIENT = "record in `with so.Tape() as tape:` and call tape.gradient(y, x)"
_SCIPY = "x.asscipy() gives a csr_array of SciPy, which has all of its formats"

_HINTS = {
    "A": _VALUES,
    "backward": _GRADIENT,
    "cpu": "x.to('scipy') moves it to the host",
    "cuda": "x.to('cupyx') moves it to the GPU",
    "detach": "a constant is what no tape recorded: x.copy() outside of it",
    "get": "x.to('scipy') moves it to the host",
    "grad": _GRADIENT,
    "numpy": _VALUES,
    "requires_grad": _GRADIENT + "; every array can be one of them",
    "todense": "x.tostype('dense') stores every value, and " + _VALUES,
    "toarray": _VALUES,
    "to_dense": "x.tostype('dense') stores every value",
    "to_sparse_csr": "x.tostype('csr') stores what is not zero",
    "tocoo": _SCIPY,
    "tocsc": _SCIPY,
    "tocsr": "x.tostype('csr') stores what is not zero, and " + _SCIPY,
    "values": "x.data has the stored values",
}


def hint(name: str) -> str:
    """The way out for the attribute `name` that there is not, as the end of a message."""
    return f"; {_HINTS[name]}" if name in _HINTS else ""
