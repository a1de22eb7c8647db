"""Arrays as code that makes them again."""

import math
from typing import Any

import numpy as np

#: The dtypes that NumPy gives lists of the values by itself.
_MANY_ROWS = 24
_BY_ITSELF = {np.dtype(name) for name in ("float64", "int64", "bool", "complex128")}


def literal(values: Any) -> str:
    """Numbers, or nested lists of them, as code; `np` stands for NumPy."""
    if isinstance(values, (list, tuple)):
        return f"[{', '.join(map(literal, values))}]"
    if isinstance(values, complex) and not isinstance(values, float):
        if math.isfinite(values.real) and math.isfinite(values.imag):
            return repr(values).strip("()")
        return f"complex({literal(values.real)}, {literal(values.imag)})"
    if isinstance(values, np.generic):
        return f"np.{values.dtype.name}({literal(values.item())})"
    if isinstance(values, float) and not math.isfinite(values):
        return "np.nan" if math.isnan(values) else "np.inf" if values > 0 else "-np.inf"
    return repr(values)


def array(values: np.ndarray, layouts: tuple[str, ...] = (), *, exact: bool = False) -> str:
    """An array as code: a list where NumPy makes the same array of it, unless `exact`."""
    dtype = values.dtype.newbyteorder("=")
    text = literal(values.tolist())
    plain = dtype in _BY_ITSELF and values.size > 0
    if layouts:
        named = ", ".join(f'"{layout}"' for layout in layouts)
        text = f"np.zeros({values.shape})" if not values.size else text
        return f"so.testing.laid_out({text}, {named}{'' if plain else f', dtype={_name(dtype)}'})"
    if not values.size and (values.ndim != 1 or dtype != np.float64):
        shape = values.shape if values.ndim != 1 else 0
        return f"np.zeros({shape}{'' if dtype == np.float64 else f', {_name(dtype)}'})"
    if not plain and values.size:
        return f"np.array({text}, {_name(dtype)})"
    return f"np.array({text})" if exact else text


def integers(values: np.ndarray, layouts: tuple[str, ...] = ()) -> str:
    """Index arrays as code: a list where they have the width that fits."""
    text = str(values.tolist())
    if layouts:
        named = ", ".join(f'"{layout}"' for layout in layouts)
        return f"so.testing.laid_out({text}, {named}, dtype={_name(values.dtype)})"
    return text if values.dtype == np.int32 else f"np.array({text}, {_name(values.dtype)})"


def storage(
    stype: str,
    parts: tuple[np.ndarray, ...],
    shape: tuple[int, ...],
    layouts: tuple[str, ...] = (),
    index_layouts: tuple[str, ...] = (),
    dialect: str = "sparseops",
) -> str:
    """An array of these parts as code, of sparseops or of scipy and NumPy."""
    data, *indices = parts
    values = array(data, layouts, exact=dialect == "scipy")
    if stype == "dense":
        return values if dialect == "scipy" else f"so.{'as' * bool(layouts)}array({values})"
    if stype == "csr" and shape[0] > _MANY_ROWS and not index_layouts and dialect == "sparseops":
        rows = np.repeat(np.arange(shape[0]), np.diff(indices[1])).astype(indices[0].dtype)
        places = f"({integers(rows)}, {integers(indices[0])})"
        return f"so.csr_array(({values}, {places}), shape={shape})"
    listed = f"({', '.join([values, *(integers(part, index_layouts) for part in indices)])})"
    if dialect == "scipy":
        return f"so.testing.scipy_csr({listed}, {shape})"
    return f"so.{'csr_array' if stype == 'csr' else 'row_sparse_array'}({listed}, shape={shape})"


def _name(dtype: np.dtype) -> str:
    return "bool" if dtype.kind == "b" else f"np.{dtype.name}"
