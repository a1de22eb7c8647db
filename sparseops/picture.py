"""Pictures of what arrays store: in notebooks, and with Matplotlib."""

from html import escape
from math import prod
from typing import Any

import numpy as np

from sparseops.errors import ShapeError
from sparseops.preview import preview
from sparseops.storage import CSR, Dense, RowSparse

#: One color for each storage, told apart on white, on black and by the color-blind.
COLORS = {"dense": "#8a8f98", "row_sparse": "#d9822b", "csr": "#2f7fd6"}
_BLOCKS, _LEVELS, _CONTRAST = 64, 6, 16
_LONG_SIDE, _SHORT_SIDE = 128, 16
_READABLE, _GRIDDED = 2**22, 32


def fill(x: Any, most: int = _BLOCKS) -> np.ndarray:
    """How full blocks of `x` are, from 0 to 1, as a matrix of at most `most` by `most` of them.

    A sparse array is as full as it stores values; a dense one as its values are not zero, or full
    if it is too large to read through. An array of one axis is a row; of many axes the first gives
    the rows. O(values stored).
    """
    rows, columns = _sides(x.shape)
    if not rows * columns:
        return np.zeros((0, 0))
    return _FILL[x.stype](x.storage, x.backend, _Axis(rows, most), _Axis(columns, most))


def _sides(shape: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns of the picture of an array of `shape`."""
    return (1, *shape) if len(shape) == 1 else (prod(shape[:1]), prod(shape[1:]))


class _Axis:
    """An axis cut into the fewest, at most `most`, blocks of one width; the last has what is left.

    Widths are int64, so that dividing indices of any type by them overflows nowhere.
    """

    def __init__(self, length: int, most: int):
        self.width = np.int64(-(-length // most))
        self.starts = range(0, length, int(self.width))
        self.widths = np.diff([*self.starts, length]).astype(float)


def _fill_csr(x: CSR, backend: Any, rows: _Axis, columns: _Axis) -> np.ndarray:
    starts = backend.asnumpy(x.indptr[: -1 : rows.width]).tolist()
    counted = []
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        blocks = x.indices[start:stop] // columns.width
        counted.append(backend.asnumpy(backend.xp.bincount(blocks, minlength=len(columns.starts))))
    return np.array(counted) / np.outer(rows.widths, columns.widths)


def _fill_rows(x: RowSparse, backend: Any, rows: _Axis, columns: _Axis) -> np.ndarray:
    axis = columns if len(x.shape) == 1 else rows
    blocks = backend.xp.bincount(x.indices // axis.width, minlength=len(axis.starts))
    share = backend.asnumpy(blocks) / axis.widths
    return share[None] if len(x.shape) == 1 else share[:, None]


def _fill_dense(x: Dense, backend: Any, rows: _Axis, columns: _Axis) -> np.ndarray:
    if x.data.size > _READABLE:
        return np.ones((1, 1))
    full = backend.asnumpy(x.data != 0).reshape(len(x.data) if len(x.shape) > 1 else 1, -1)
    counts = np.add.reduceat(full, rows.starts, axis=0, dtype=np.int64)
    counts = np.add.reduceat(counts, columns.starts, axis=1)
    return counts / np.outer(rows.widths, columns.widths)


_FILL = {"csr": _fill_csr, "row_sparse": _fill_rows, "dense": _fill_dense}


def _levels(share: np.ndarray) -> np.ndarray:
    """Whole numbers up to `_LEVELS` for how dark blocks are, zero for the empty ones alone.

    They rise with the logarithm, from the emptiest block with a value to the fullest: what is
    stored is often spread over orders of magnitude.
    """
    levels = np.zeros(share.shape, int)
    some = share > 0
    if some.any():
        found = share[some]
        decline = np.log(found.max() / found) / np.log(max(found.max() / found.min(), _CONTRAST))
        levels[some] = _LEVELS - np.rint((_LEVELS - 1) * decline)
    return levels


def _opacity(levels: Any) -> Any:
    """The opacity of blocks of `levels`: that of the first still shows, the last is opaque."""
    return 0.25 + 0.75 * (levels - 1) / (_LEVELS - 1)


def html(x: Any) -> str:
    """`x` for a notebook: its spec, what it stores and takes, a picture, and a few values."""
    listing = preview(x.storage, x.backend.asnumpy).partition("\n")[2]
    color, shape = COLORS[x.stype], " × ".join(f"{length:,}" for length in x.shape)
    dense = "" if x.stype == "dense" else f" (dense {x.dense_nbytes:,})"
    return (
        '<div style="display:flex;gap:16px;align-items:flex-start;margin:4px 0">'
        f"{svg(x)}<div>"
        f'<div><b style="color:{color}">{x.stype}</b> {x.dtype.name} {shape}</div>'
        f'<div style="opacity:.65;font-size:90%">{_stored(x)}{x.nbytes:,} bytes{dense}</div>'
        '<pre style="margin:6px 0 0;padding:0;background:none;max-height:13em;overflow:auto">'
        f"{escape(listing)}</pre>"
        "</div></div>"
    )


def _stored(x: Any) -> str:
    """What a sparse `x` stores, and its share of all places; empty for a dense one."""
    if x.stype == "dense":
        return ""
    density = 100 * x.nnz / x.size if x.size else 0
    count = f"{x.nnz:,}" if x.stype == "csr" else f"{len(x.indices):,} of {x.shape[0]:,} rows"
    return f"{count} stored, density {density:.3g} %, "


def svg(x: Any) -> str:
    """A small picture of where `x` has values, the darker the more; empty for a single number."""
    if not x.shape:
        return ""
    levels = _levels(fill(x))
    height, width = levels.shape if levels.size else (1, 1)
    paths = [
        f'<path fill-opacity="{_opacity(level):.2g}" d="{_runs(levels == level)}"/>'
        for level in range(1, _LEVELS + 1)
        if (levels == level).any()
    ]
    across, down = _pixels(*_sides(x.shape))
    return (
        f'<svg width="{across}" height="{down}" viewBox="0 0 {width} {height}" '
        f'preserveAspectRatio="none" fill="{COLORS[x.stype]}" shape-rendering="crispEdges" '
        'style="flex:none;outline:1px solid rgba(128,128,128,.45)">' + "".join(paths) + "</svg>"
    )


def _pixels(rows: int, columns: int) -> tuple[int, int]:
    """The width and height of the picture, of the proportions of the array within limits."""
    longer = max(rows, columns, 1)
    return tuple(max(_SHORT_SIDE, round(_LONG_SIDE * side / longer)) for side in (columns, rows))


def _runs(blocks: np.ndarray) -> str:
    """An SVG path around the blocks that are set, one box for each run along a row."""
    edges = np.diff(blocks.astype(np.int8), axis=1, prepend=0, append=0)
    starts, stops = np.argwhere(edges == 1), np.argwhere(edges == -1)
    lengths = (stops - starts)[:, 1]
    return "".join(
        f"M{column} {row}h{length}v1h-{length}z"
        for (row, column), length in zip(starts.tolist(), lengths.tolist(), strict=True)
    )


def spy(x: Any, ax: Any = None, *, blocks: int = 128) -> Any:
    """A picture of where `x` has values, drawn by Matplotlib.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.
    blocks : int, optional
        The most blocks along an axis; a larger array is drawn by blocks of places, the darker the
        more of them store a value (or, in a dense array, have one that is not zero).

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    ShapeError
        For an array without axes.
    """
    if not x.shape:
        raise ShapeError("an array of shape () is one number; a picture has at least one axis")
    try:
        from matplotlib import pyplot
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.ticker import MaxNLocator, NullLocator
    except ImportError as error:
        raise ImportError(
            f"spy() needs Matplotlib ({error}): pip install 'sparseops[plot]'"
        ) from error
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    rows, columns = _sides(x.shape)
    levels = _levels(fill(x, blocks))
    if levels.size:
        colors = LinearSegmentedColormap.from_list(x.stype, ["white", COLORS[x.stype]])
        ax.imshow(
            np.ma.masked_array(_opacity(levels), levels == 0),
            cmap=colors,
            vmin=0,
            vmax=1,
            interpolation="nearest",
            extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
            aspect="equal" if max(rows, columns) <= 4 * min(rows, columns) else "auto",
        )
    if max(rows, columns) <= _GRIDDED:
        ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white")
        ax.tick_params(which="minor", length=0)
    for axis, length in ((ax.xaxis, columns), (ax.yaxis, rows)):
        axis.set_major_locator(MaxNLocator("auto", integer=True) if length > 1 else NullLocator())
    ax.set(title=str(x.spec), xlabel=_stored(x).rstrip(", "))
    return ax
