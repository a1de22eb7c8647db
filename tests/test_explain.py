"""The explanation of a function: storages, bytes, and ways out of densifying."""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from inspect import signature
from itertools import product

import numpy as np
import pytest
from user_operators import restore_registry

import sparseops as so
from sparseops import operators
from sparseops.cli import main

N, D = 8192, 1_000_000
X = so.Spec((N, D), "float32", "csr")
W = so.Spec((D, 1), "float32")
pytestmark = pytest.mark.filterwarnings("ignore::sparseops.FallbackWarning")


@pytest.fixture
def registry():
    yield from restore_registry()


def line_of(text):
    """Number of the line of this file that holds `text`."""
    with open(__file__) as lines:
        return next(n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def densifying(x, w):
    """A function that makes its sparse input dense."""
    shifted = so.exp(x)  # the dense line
    return so.sum(so.dot(shifted, w))


def failing(x):
    raise ValueError("on purpose")


def identity(x):
    return x


def factorization_machine(x, w, v, y):
    linear = so.dot(x, w)
    pairs = so.square(so.dot(x, v)) - so.dot(so.square(x), so.square(v))
    scores = so.reshape(linear, shape=-1) + 0.5 * so.sum(pairs, axis=1)
    return so.mean(so.logistic_loss(scores, y))


def graph_convolution(a, x, w1, w2, labels):
    hidden = so.relu(so.dot(a, so.dot(x, w1)))
    return so.mean(so.softmax_cross_entropy(so.dot(a, so.dot(hidden, w2)), labels))


def random_csr(rows, columns):
    return so.random((rows, columns), density=0.2, dtype="float32", rng=rows)


def machine_inputs():
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(30, 1)).astype("f"), rng.normal(size=(30, 4)).astype("f")
    y = (rng.random(20) > 0.5).astype("f")
    return [random_csr(20, 30), so.array(w), so.array(v), so.array(y)]


def convolution_inputs():
    rng = np.random.default_rng(0)
    w1, w2 = rng.normal(size=(12, 5)).astype("f"), rng.normal(size=(5, 3)).astype("f")
    labels = so.array(rng.integers(0, 3, 20))
    return [random_csr(20, 20), random_csr(20, 12), so.array(w1), so.array(w2), labels]


def test_a_fallback_says_what_where_why_and_how_many_bytes():
    report = so.explain(densifying, X, W, nnz={"x": 40 * N})
    (found,) = report.fallbacks
    assert found.operator == "exp"
    assert found.stypes == ("csr", "dense")
    assert found.where == (__file__, line_of("# the dense line"))
    assert found.bytes_dense == 4 * N * D
    assert found.bytes_sparse == 40 * N * 8 + (N + 1) * 4
    assert "x is csr" in found.reason
    assert found.ratio > 10_000


def test_without_nnz_bytes_are_unknown():
    (found,) = so.explain(densifying, X, W).fallbacks
    assert (found.bytes_sparse, found.ratio) == (None, None)
    assert "unknown" in str(so.explain(densifying, X, W))


@pytest.mark.parametrize(
    "function, inputs, wrt",
    [
        (factorization_machine, machine_inputs(), ("w", "v")),
        (graph_convolution, convolution_inputs(), ("w1", "w2")),
        (densifying, [random_csr(5, 8), so.zeros((8, 1), "float32")], ("w", "x")),
    ],
)
def test_storages_and_bytes_are_those_of_running(function, inputs, wrt):
    report = so.explain(function, *inputs, wrt=wrt)
    graph = so.trace(function)(*inputs)
    with so.fallback("allow") as records:
        with so.Tape() as tape:
            y = function(*inputs)
        names = list(graph.inputs)
        gradients = tape.gradient(y, [inputs[names.index(name)] for name in wrt])
    assert report.exact
    assert list(report.gradients.values()) == [x.spec for x in gradients]
    sizes = {line.name: line.bytes for line in report.calls}
    for name, x in zip(wrt, gradients, strict=True):
        assert sizes[report.outputs[f"gradient by {name}"]] == x.nbytes
    assert sizes[report.outputs["out"]] == y.nbytes
    assert [(f.operator, f.stypes, f.bytes_sparse, f.bytes_dense) for f in report.fallbacks] == [
        (r.operator, r.stypes, r.bytes_sparse, r.bytes_dense) for r in records
    ]


@pytest.mark.parametrize(
    "function, inputs, wrt",
    [
        (factorization_machine, machine_inputs(), ("w", "v")),
        (graph_convolution, convolution_inputs(), ("w1", "w2")),
    ],
)
def test_every_value_has_the_storage_and_bytes_that_running_gives(
    function, inputs, wrt, monkeypatch
):
    made = []

    def note(plan, args, results, state):
        for x in results:
            # A call that casts its result is one line of the report.
            operator = plan.operator.__name__
            operator = made.pop()[0] if operator == "cast_storage" else operator
            made.append((operator, x.spec, x.nbytes))
        record(plan, args, results, state)

    record = operators.record
    monkeypatch.setattr(operators, "record", note)
    sources = [
        x for x, name in zip(inputs, signature(function).parameters, strict=True) if name in wrt
    ]
    with so.Tape(), so.Tape() as tape:
        y = function(*inputs)
        tape.gradient(y, sources)  # whose calls the outer tape records
    monkeypatch.undo()
    report = so.explain(function, *inputs, wrt=wrt)
    said = [(line.operator, *line.specs, line.bytes) for line in report.calls]
    assert sorted(said, key=str) == sorted(made, key=str)


SHAPES = [(3, 4), (1, 4), (3, 1), (4,), (1, 1)]


@pytest.mark.parametrize("operator", [so.add, so.multiply, so.maximum, so.greater, so.dot])
def test_fallbacks_of_broadcasting_are_foreseen(operator):
    """Kernels report what fills a result of which no dense array had the size."""
    for shapes in product(SHAPES, SHAPES):
        for stypes in (("csr", "dense"), ("dense", "row_sparse"), ("row_sparse", "row_sparse")):
            if any(s == "csr" and len(shape) != 2 for shape, s in zip(shapes, stypes, strict=True)):
                continue
            pair = [so.array(np.ones(x), stype=s) for x, s in zip(shapes, stypes, strict=True)]
            try:
                with so.fallback("allow") as records:
                    operator(*pair)
            except so.ShapeError:
                continue
            found = so.explain(lambda a, b: operator(a, b), *pair).fallbacks
            said = [(f.operator, f.stypes, f.bytes_sparse, f.bytes_dense) for f in found]
            assert said == [(r.operator, r.stypes, r.bytes_sparse, r.bytes_dense) for r in records]


def test_centering_is_seen_to_densify_and_what_is_suggested_helps():
    x = so.random((5, 4), density=0.5, rng=0)
    (found,) = so.explain(lambda x: x - so.mean(x, axis=0), x.spec).fallbacks
    assert found.suggestion == 'so.subtract(x.tostype("dense"), so.mean(x, axis=0))'
    pasted = eval(f"lambda x: {found.suggestion}", {"so": so})
    assert not so.explain(pasted, x.spec).fallbacks


def test_bounds_hold():
    inputs = machine_inputs()
    exact = so.explain(factorization_machine, *inputs, wrt=("w", "v"))
    specs = [x.spec for x in inputs]
    bounds = so.explain(factorization_machine, *specs, wrt=("w", "v"), nnz={"x": inputs[0].nnz})
    for line, other in zip(bounds.calls, exact.calls, strict=True):
        assert line.specs == other.specs
        assert line.bytes is not None and line.bytes >= other.bytes


SUGGESTED = [
    (lambda x, w: so.exp(x), 'so.exp(x.tostype("dense"))'),
    (lambda x, w: x + 1.5, 'so.add(x.tostype("dense"), 1.5)'),
    (lambda x, w: so.exp(x * 2), 'so.exp((x * 2).tostype("dense"))'),
    (lambda x, w: so.exp(so.dot(x, w), stype="csr"), 'so.exp(so.dot(x, w), stype="dense")'),
]


@pytest.mark.parametrize("function, text", SUGGESTED)
def test_the_suggestion_is_written_as_the_call_stands(function, text):
    (found,) = so.explain(function, so.Spec((3, 4), float, "csr"), so.Spec((4, 2))).fallbacks
    assert found.suggestion == text


@pytest.mark.parametrize("function, text", SUGGESTED)
def test_the_suggestion_removes_the_fallback_when_pasted(function, text):
    pasted = eval(f"lambda x, w: {text}", {"so": so})
    x, w = so.random((3, 4), density=0.5, rng=0), so.array(np.ones((4, 2)))
    assert not so.explain(pasted, x.spec, w.spec).fallbacks
    with so.fallback("allow"):
        expected = function(x, w)
    with so.fallback("error"):
        np.testing.assert_array_equal(pasted(x, w).asnumpy(), expected.asnumpy())


def test_a_cheaper_sparse_cast_is_preferred(registry):
    @so.operator
    def by_rows(x):
        """`x`."""
        return x.shape, x.dtype

    by_rows.forward("dense -> dense", "row_sparse -> row_sparse")(lambda backend, x: x)
    (found,) = so.explain(lambda x: by_rows(x), so.Spec((3, 4), float, "csr")).fallbacks
    assert found.suggestion == 'by_rows(x.tostype("row_sparse"))'


def test_nothing_above_the_limit_runs():
    def f(x):
        return so.sum(so.exp(x))

    x = so.csr_array(([1.0], [0], [0, 1] + [1] * 99_999), shape=(100_000, 100_000))
    report = so.explain(f, x)
    (found,) = report.fallbacks
    assert found.bytes_dense == 8 * 10**10
    assert found.bytes_sparse == x.nbytes


def test_a_big_densification_is_refused_before_memory_is_touched():
    x = so.csr_array((np.ones(1, "float32"), [0], [0] + [1] * N), shape=(N, D))
    with pytest.raises(so.DensifyError, match="30.5 GiB"):
        densifying(x, so.zeros((D, 1), "float32"))


def test_the_text_is_a_table_of_100_columns():
    report = so.explain(factorization_machine, *machine_inputs(), wrt=("w", "v"))
    text = str(report)
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert "gradient by w: float32[30,1] row_sparse" in text
    assert text.endswith("nothing densifies")


def test_json_html_and_dot_hold_what_was_found():
    report = so.explain(densifying, X, W, wrt="w")
    plain = json.loads(report.to_json())
    assert plain["fallbacks"][0]["operator"] == "exp"
    assert plain["gradients"] == {"w": "float32[1000000,1] dense"}
    assert "exp" in report._repr_html_() and "<svg" in report._repr_html_()
    dot = report.to_dot()
    assert dot.startswith("digraph") and dot.count("{") == dot.count("}")
    assert re.search(r'"x" -> "exp"', dot)


@pytest.mark.parametrize(
    "function, inputs, wrt",
    [
        (factorization_machine, machine_inputs(), ("w", "v")),
        (graph_convolution, convolution_inputs(), ("w1", "w2")),
    ],
)
def test_boxes_of_the_drawing_do_not_overlap(function, inputs, wrt):
    drawing = ElementTree.fromstring(so.explain(function, *inputs, wrt=wrt).to_svg())
    space = "{http://www.w3.org/2000/svg}"
    boxes = [group.find(f"{space}rect").attrib for group in drawing.iter(f"{space}g")]
    places = [[float(box[k]) for k in ("x", "y", "width", "height")] for box in boxes]
    for at, (x, y, width, height) in enumerate(places):
        assert 0 <= x and x + width <= float(drawing.get("width"))
        for x2, y2, width2, height2 in places[:at]:
            apart = x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
            assert apart
    assert len(boxes) == len(inputs) + len(so.explain(function, *inputs, wrt=wrt).calls)


def test_more_than_two_hundred_values_are_drawn_by_graphviz_alone(monkeypatch, tmp_path):
    def chain(x):
        for _ in range(300):
            x = -x
        return x

    monkeypatch.setattr("shutil.which", lambda name: None)
    report = so.explain(chain, so.Spec(3))
    assert "too many to draw" in report.to_svg()
    dot = tmp_path / "dot"
    dot.write_text(f"#!{sys.executable}\nimport sys\nprint('<?xml?><svg>', len(sys.stdin.read()))")
    dot.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(dot))
    assert report.to_svg() == f"<svg> {len(report.to_dot())}\n"
    dot.write_text(f"#!{sys.executable}\nraise SystemExit(1)")
    assert "too many to draw" in report.to_svg()


def test_names_are_quoted_for_graphviz():
    dot = so.explain(lambda x: -x['a"b\\'], {'a"b\\': so.Spec(3)}).to_dot()
    assert '"x.a\\"b\\\\\\\\" ->' in dot or '"x.a\\"b\\\\" ->' in dot


def test_the_command_explains_and_fails_where_asked(capsys, tmp_path):
    drawing = tmp_path / "f.svg"
    argv = [
        "explain",
        "tests.test_explain:densifying",
        "--spec=x: float32[8192,1000000] csr nnz=40/row",
        "--spec=w: float32[1000000,1]",
        "--wrt=w",
        f"--svg={drawing}",
    ]
    assert main(argv) == 0
    assert "≤ 2.5 MiB become 30.5 GiB" in capsys.readouterr().out
    assert drawing.read_text().startswith("<svg")
    assert main([*argv, "--json", "--fail-on-fallback"]) == 1
    assert json.loads(capsys.readouterr().out)["fallbacks"]


@pytest.mark.parametrize(
    "argv, text",
    [
        (["tests.test_explain"], "module:function"),
        (["tests.test_explain:nothing"], "nothing"),
        (["no_such_module_here:f"], "no_such_module_here"),
        (["tests/test_explain.py:f"], "names a file; the module is"),
        (["tests.test_explain:N", "--spec=x: float32[3]"], "a function is traced, not int"),
        (["tests.test_explain:densifying", "--spec=x: float32[3,4] csr"], "argument: 'w'"),
        (["tests.test_explain:failing", "--spec=x: float32[3]"], "ValueError: on purpose"),
        (["tests.test_explain:identity", "--spec=x: float32[3]", "--wrt=y"], "no input 'y'"),
        (["tests.test_explain:identity", "--spec=x: float32[3,4] csr nnz=13"], "stores 0 to 12"),
        (["tests.test_explain:densifying", "--spec=x float32"], "is not of the form"),
        (["tests.test_explain:densifying", "--spec=x: float32[?,3]"], "length '?' is not known"),
        (["tests.test_explain:densifying", "--spec=x: float32[-1,3]"], "length '-1'"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(capsys, argv, text):
    assert main(["explain", *argv]) == 1
    printed = capsys.readouterr().err
    assert text in printed
    assert printed.count("\n") == 1


def test_the_command_takes_inputs_in_any_order(capsys):
    specs = ["--spec=w: float32[4,1]", "--spec=x: float32[3,4] csr"]
    assert main(["explain", "tests.test_explain:densifying", *specs]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("x ")
