"""The example models reach their figures, from the command line, without a fallback to dense."""

import sys
from pathlib import Path

import numpy as np
import pytest
from data import FOLDER, needs_data, read_cora
from oracle import check_forward, check_gradient

import sparseops as so

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
sys.path.insert(0, str(NOTEBOOKS))

import factorization_machine  # noqa: E402
import graph_convolution  # noqa: E402
import logistic_regression  # noqa: E402
import matrix_factorization  # noqa: E402
import training  # noqa: E402
import wide_and_deep  # noqa: E402

strict = pytest.mark.usefixtures("no_fallback")


@pytest.fixture
def no_fallback():
    with so.testing.assert_no_fallback():
        yield


@strict
@needs_data
@pytest.mark.data
def test_logistic_regression_classifies_incomes():
    files = ["--file", str(FOLDER / "a9a.gz"), "--test", str(FOLDER / "a9a.t.gz")]
    curve = logistic_regression.main(files)
    assert np.mean(curve.scores[-3:]) >= 0.848


@strict
def test_lazy_and_exact_adam_end_near_each_other():
    (x, y), (x_test, y_test) = training.generated_clicks(20_000, 0)
    areas = []
    for lazy in (True, False):
        adam = so.optim.adam(0.05, lazy=lazy)
        *_, (params, _) = logistic_regression.train(x, y, adam, epochs=3, batch_size=64, seed=0)
        found = logistic_regression.scores(params, x_test).asnumpy()
        areas.append(training.area_under_curve(found, y_test))
    assert abs(areas[0] - areas[1]) < 0.01 and min(areas) > 0.7


@strict
def test_a_factorization_machine_sees_pairs_that_a_linear_model_does_not(tmp_path, capsys):
    picture = tmp_path / "curve.png"
    curve, linear = factorization_machine.main(["--epochs", "4", "--plot", str(picture)])
    assert curve.scores[-1] >= linear + 0.02
    assert curve.scores[-1] > 0.8
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "epoch   4   loss" in capsys.readouterr().out


def test_the_operator_of_pairs_is_right_in_every_storage():
    def reference(x, v):
        products = x[:, :, None] * v
        return (products.sum(axis=1) ** 2 - (products**2).sum(axis=1)).sum(axis=1) / 2

    rng = np.random.default_rng(0)
    values = [rng.integers(-2, 3, shape).astype(float) for shape in ((4, 3), (3, 2))]
    check_forward("pairs", values, reference)
    check_gradient("pairs", values, wrt=[1])


@strict
def test_wide_and_deep_learns_from_files_and_from_what_it_makes(tmp_path):
    _, y, ids = training.clicks(20_000)
    file = tmp_path / "clicks.npz"
    so.io.save(file, {"ids": so.array(ids), "y": so.array(y)})
    curve = wide_and_deep.main(["--file", str(file), "--epochs", "5"])
    assert curve.scores[-1] > 0.78
    assert wide_and_deep.main(["--epochs", "1", "--rows", "4000"]).scores[-1] > 0.5


@strict
def test_matrix_factorization_comes_near_the_noise(tmp_path):
    curve = matrix_factorization.main([])
    assert matrix_factorization.NOISE < curve.scores[-1] < 1.2 * matrix_factorization.NOISE
    file = tmp_path / "ratings.mtx"
    so.io.write_mtx(file, matrix_factorization.ratings(50, 40, 800))
    matrix_factorization.main(["--file", str(file), "--epochs", "1"])


@strict
@needs_data
@pytest.mark.data
def test_a_graph_convolution_classifies_papers(tmp_path):
    features, graph, labels, test = read_cora()
    file = tmp_path / "cora.npz"
    so.io.save(
        file,
        {
            "features": so.csr_array(features),
            "graph": so.csr_array(graph),
            "labels": so.array(labels),
            "train": so.array(np.arange(140)),
            "test": so.array(test),
        },
    )
    accuracies = [
        graph_convolution.main(["--file", str(file), "--seed", str(seed)]).scores[-1]
        for seed in range(2)
    ]
    assert np.mean(accuracies) >= 0.81


@strict
def test_a_graph_convolution_finds_communities():
    assert graph_convolution.main(["--epochs", "60"]).scores[-1] > 0.6


def test_the_area_under_the_curve_counts_pairs_in_order():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 4, 50) / 2, rng.integers(0, 2, 50)
    pairs = scores[labels == 1][:, None] - scores[labels == 0]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
    assert training.area_under_curve(scores, labels) == pytest.approx(expected)


@pytest.mark.parametrize("model", ["logistic_regression", "matrix_factorization"])
def test_models_say_how_they_are_called(model, capsys):
    with pytest.raises(SystemExit) as caught:
        sys.modules[model].main(["--help"])
    assert caught.value.code == 0 and "--epochs" in capsys.readouterr().out
