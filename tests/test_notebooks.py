"""The notebooks run from top to bottom, and are stored with what they print and draw."""

import json
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 300_000


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _code_cells(path):
    return [cell for cell in _read(path)["cells"] if cell["cell_type"] == "code"]


def _source(cell):
    return "".join(cell["source"])


@pytest.fixture
def pictures(monkeypatch):
    """The number of figures that were shown; nothing is drawn on a screen."""
    matplotlib.use("Agg", force=True)
    from matplotlib import pyplot

    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.get_fignums()))
    yield shown
    pyplot.close("all")


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_in_their_order(path, pictures):
    names = {"__name__": "__main__"}
    for number, cell in enumerate(_code_cells(path)):
        exec(compile(_source(cell), f"{path.name}[{number}]", "exec"), names)
    drawn = [o for c in _code_cells(path) for o in c["outputs"] if "image/png" in o.get("data", {})]
    assert len(pictures) == len(drawn)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_it_ran_from_top_to_bottom(path):
    cells = _code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [o for cell in cells for o in cell["outputs"] if o["output_type"] == "error"]
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_nothing_of_the_machine_it_ran_on(path):
    notebook = _read(path)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    assert not [cell["metadata"] for cell in notebook["cells"] if cell["metadata"]]
    text = "".join(
        json.dumps({kind: value for kind, value in output.items() if kind != "data"})
        + json.dumps({k: v for k, v in output.get("data", {}).items() if k != "image/png"})
        for cell in _code_cells(path)
        for output in cell["outputs"]
    )
    for trace in ("/home/", "/root/", "/tmp/", "/work/", "site-packages", "ipykernel"):
        assert trace not in text
