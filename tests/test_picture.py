"""Pictures show where values are stored, at a cost that no size of an array makes large."""

import re
import sys
import time
import tracemalloc
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest
from oracle import STORAGES, densify, places, stored

import sparseops as so
from sparseops.picture import fill, html, svg

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


def values(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 4, shape) * (rng.random(shape) < 0.3)


def blocks(x, most):
    """The share of stored places (of a dense array of nonzero ones) in each block, by loops."""
    full = densify(x) != 0 if x.stype == "dense" else places(x)
    full = full.reshape(1, -1) if x.ndim == 1 else full.reshape(len(full), -1)
    height, width = (-(-length // most) for length in full.shape)
    return np.array(
        [
            [full[r : r + height, c : c + width].mean() for c in range(0, full.shape[1], width)]
            for r in range(0, full.shape[0], height)
        ]
    )


SHAPES = [(1, 1), (3, 5), (64, 64), (65, 10), (130, 7), (2, 200), (1, 300), (4,), (70,)]


@pytest.mark.parametrize("shape", [*SHAPES, (5, 3, 4), (3, 1, 2, 2)], ids=str)
@pytest.mark.parametrize("stype", STORAGES)
def test_blocks_are_as_full_as_they_are(stype, shape):
    if stype == "csr" and len(shape) != 2:
        return
    x = stored(values(shape), stype, extra=0.1)
    for most in (1, 2, 7, 64):
        expected = blocks(x, most)
        found = np.broadcast_to(fill(x, most), expected.shape)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_blocks_of_huge_arrays_are_counted_in_their_place(width):
    x = so.csr_array(
        (np.ones(3), (np.array([0, 9, 9], width), np.array([0, 2**30, 2**31 - 1], width))),
        (10, 2**62),
    )
    assert np.argwhere(fill(x)).tolist() == [[0, 0], [9, 0]]
    y = so.row_sparse_array((np.ones((2, 1)), np.array([5, 2**31 - 1], width)), (2**31, 1))
    assert np.argwhere(fill(y)).tolist() == [[0, 0], [63, 0]]


HUGE = {
    "csr": lambda: so.csr_array(([1, 2], ([0, 2**20 - 1], [5, 2**61])), (2**20, 2**62)),
    "empty csr": lambda: so.zeros((3, 2**62), stype="csr"),
    "rows": lambda: so.zeros((2**62, 3), stype="row_sparse"),
    "long rows": lambda: so.row_sparse_array((np.broadcast_to(1.0, (3, 10**12)), [1, 2, 5])),
    "flat": lambda: so.asarray(np.broadcast_to(1.0, 10**12)),
    "many axes": lambda: so.asarray(np.broadcast_to(1, (4,) * 20)),
}


@pytest.mark.parametrize("name", HUGE)
def test_an_array_of_any_size_is_pictured_at_once_and_in_short(name):
    x = HUGE[name]()
    tracemalloc.start()
    start = time.perf_counter()
    text = x._repr_html_()
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 1
    assert peak < 2**22
    assert len(text) < 100_000


def test_the_picture_of_any_pattern_is_short():
    checkers = np.indices((640, 640)).sum(axis=0) // 10 % 2 * values((640, 640))
    assert len(svg(so.csr_array(checkers))) < 60_000


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (3, 0), (2, 3), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("stype", STORAGES)
def test_notebooks_get_well_formed_html(stype, shape):
    if stype not in ("dense", "row_sparse")[: 1 + bool(shape)] + ("csr",) * (len(shape) == 2):
        return
    x = stored(values(shape), stype)
    root = ElementTree.fromstring(html(x))
    text = " ".join(root.itertext())
    assert stype in text and str(x.dtype) in text
    assert f"{x.nbytes:,} bytes" in text
    assert len(list(root.iter("svg"))) == bool(shape)


def test_html_shows_values_and_what_they_take():
    text = html(so.csr_array(([1.5, 2.5], ([0, 1], [2, 3])), (2, 4)))
    assert "(0, 2)  1.5" in text
    assert "2 stored, density 25 %, 36 bytes (dense 64)" in text
    assert "1 of 3 rows stored" in html(so.row_sparse_array(([[1.0]], [1]), (3, 1)))


def cells(picture):
    """The blocks that an SVG picture fills, as a matrix of opacities."""
    root = ElementTree.fromstring(picture)
    width, height = map(int, root.get("viewBox").split()[2:])
    found = np.zeros((height, width))
    for path in root.iter("path"):
        for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", path.get("d")):
            part = found[int(row), int(column) : int(column) + int(length)]
            assert not part.any()
            part[:] = float(path.get("fill-opacity"))
    return found


@pytest.mark.parametrize("stype", STORAGES)
def test_the_picture_fills_the_blocks_that_store_something(stype):
    x = stored(values((100, 90)), stype)
    share = fill(x)
    np.testing.assert_array_equal(cells(svg(x)) > 0, share > 0)


def test_fuller_blocks_are_darker_and_the_emptiest_still_show():
    full = np.zeros((128, 128))
    full[:2, :2], full[4:6, 4] = 1, 1
    full[8, 8] = 1
    found = cells(svg(so.csr_array(full)))
    assert found[0, 0] == 1 > found[2, 2] > found[4, 4] >= 0.2


def test_small_arrays_are_drawn_place_by_place():
    x = so.csr_array([[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(cells(svg(x)), [[0, 1, 1], [0, 0, 0], [1, 0, 1]])


def test_pictures_are_neither_flat_nor_thin():
    for shape in ((1, 10**6), (10**6, 1), (5, 5), (10**6,)):
        root = ElementTree.fromstring(svg(so.zeros(shape, stype="row_sparse")))
        sides = int(root.get("width")), int(root.get("height"))
        assert max(sides) == 128 and min(sides) >= 16


# Matplotlib


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'sparseops\[plot\]'"):
        so.zeros((2, 2), stype="csr").spy()


def test_a_number_has_no_picture():
    with pytest.raises(so.ShapeError, match="at least one axis"):
        so.array(1.0).spy()


@pytest.fixture
def axes():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, found = pyplot.subplots()
    yield found
    figure.canvas.draw()
    pyplot.close("all")


@needs_matplotlib
@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0), (5, 3, 4)], ids=str)
@pytest.mark.parametrize("stype", STORAGES)
def test_spy_draws_into_the_axes_given(axes, stype, shape):
    if stype == "csr" and len(shape) != 2:
        return
    x = stored(values(shape), stype)
    assert x.spy(axes) is axes
    assert axes.get_title() == str(x.spec)
    if x.size:
        (image,) = axes.images
        drawn = ~np.ma.getmaskarray(image.get_array())
        np.testing.assert_array_equal(drawn, fill(x, 128) > 0)


@needs_matplotlib
def test_spy_makes_axes_where_none_are_given(axes):
    found = so.csr_array(values((3, 4))).spy(blocks=2)
    assert found is not axes
    assert found.images[0].get_array().shape == (2, 2)
    assert "stored, density" in found.get_xlabel()


@needs_matplotlib
def test_spy_shows_the_places_of_an_array_on_its_axes(axes):
    so.zeros((1000, 3000), stype="csr").spy(axes)
    assert axes.get_xlim() == (-0.5, 2999.5)
    assert axes.get_ylim() == (999.5, -0.5)
