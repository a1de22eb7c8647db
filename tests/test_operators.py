"""How operators are declared, and every way in which a declaration can be wrong."""

import copy
import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from user_operators import SHAPE, describing, doubling, restore_registry

import sparseops as so
from sparseops.registry import operators

registry = pytest.fixture(autouse=True)(restore_registry)


@so.operator
def kept(x, *, factor=2):
    """`x` times `factor`."""
    return x.shape, x.dtype


@kept.forward("dense -> dense", "csr -> csr")
def _kept(backend, x, *, factor):
    return x.with_data(x.data * factor)


# The describing function


def test_an_operator_looks_like_the_function_that_describes_it():
    assert (kept.__name__, kept.__module__, kept.__doc__) == (
        "kept",
        __name__,
        "`x` times `factor`.",
    )
    assert str(kept.__signature__) == "(x, *, factor=2, stype=None)"
    assert operators["kept"] is kept


def with_default(x, y=1): ...
def with_any_parameters(x, **params): ...
def named_g(g): ...
def named_g_of(x, g_x): ...
def named_out(out): ...
def named_state(x, *, state=None): ...
def named_backend(x, *, backend=None): ...
def named_stype(x, *, stype=None): ...


@pytest.mark.parametrize(
    "describe, message",
    [
        (with_default, "'y' has a default"),
        (with_any_parameters, r"\*\*params"),
        (named_g, "'g' is reserved"),
        (named_g_of, "'g_x' is reserved"),
        (named_out, "'out'"),
        (named_state, "'state' is reserved"),
        (named_backend, "'backend' is reserved"),
        (named_stype, "'stype' is reserved"),
    ],
)
def test_a_wrong_parameter_is_named(describe, message):
    with pytest.raises(TypeError, match=message) as caught:
        so.operator(describe)
    assert describe.__name__ in str(caught.value)
    assert describe.__name__ not in operators


@pytest.mark.parametrize(
    "options, message",
    [
        ({"outputs": "values"}, "'values' is not a sequence"),
        ({"outputs": ()}, "not a sequence"),
        ({"outputs": ("a",)}, "'a' stands twice"),
        ({"outputs": ("p",)}, "'p' stands twice"),
        ({"outputs": ("v", "v")}, "'v' stands twice"),
        ({"outputs": ("g",)}, "'g' is reserved"),
        ({"outputs": ("g_v",)}, "'g_v' is reserved"),
        ({"outputs": ("state",)}, "'state' is reserved"),
        ({"mutates": ("c",)}, "'c', which is not an input"),
        ({"mutates": ("p",)}, "'p', which is not an input"),
    ],
)
def test_a_wrong_name_of_a_result_or_a_state_is_named(options, message):
    with pytest.raises(TypeError, match=message):
        so.operator(describing("ab", params={"p": 0}), **options)


@pytest.mark.parametrize(
    "described",
    (None, 3, "ab", (SHAPE,), (SHAPE, float, "csr"), [(SHAPE, float)] * 2, [SHAPE, float]),
    ids=repr,
)
def test_a_description_without_shape_and_dtype_is_refused(described):
    def wrong(x):
        return described

    op = so.operator(wrong)
    op.forward("dense -> dense")(lambda backend, x: x)
    with pytest.raises(so.ShapeError, match="describing function of wrong") as caught:
        op(so.zeros(SHAPE))
    assert "in wrong(x: float64[2,3] dense)" in caught.value.__notes__


@pytest.mark.parametrize("described", (None, (SHAPE, float), [(SHAPE, float)], [SHAPE, SHAPE, 1]))
def test_a_description_of_several_results_counts_them(described):
    def wrong(x):
        return described

    op = so.operator(wrong, outputs=("v", "w"))
    op.forward("dense -> dense, dense")(lambda backend, x: (x, x))
    with pytest.raises(so.ShapeError, match="2 pairs"):
        op(so.zeros(SHAPE))


@pytest.mark.parametrize(
    "described, error", [((SHAPE, "coo"), so.DTypeError), (((-1, 3), float), so.ShapeError)]
)
def test_a_description_of_no_array_is_refused_with_the_call_noted(described, error):
    def wrong(x):
        return described

    op = so.operator(wrong)
    op.forward("dense -> dense")(lambda backend, x: x)
    for call in (lambda: op(so.zeros(SHAPE)), lambda: op.infer(so.Spec(SHAPE))):
        with pytest.raises(error) as caught:
            call()
        assert "in wrong(x: float64[2,3] dense)" in caught.value.__notes__


# Kernels


def backend_only(backend): ...
def too_many(backend, a, b, c): ...
def with_a_default(backend, a, b, c=1): ...
def one_for_all(backend, arrays): ...
def of_unknown(backend, a, b, *, q): ...
def of_an_input_by_name(backend, a, b, *, p, b_spec): ...


@pytest.mark.parametrize(
    "kernel, message",
    [
        (backend_only, r"takes 1 positional arguments.*kernel\(backend, a, b\)"),
        (too_many, "takes 4 positional arguments"),
        (with_a_default, "takes 4 positional arguments"),
        (of_unknown, "names 'q'; there are p, state"),
        (of_an_input_by_name, "names 'b_spec'"),
    ],
)
def test_a_kernel_with_wrong_parameters_is_refused_where_it_is_declared(kernel, message):
    op = so.operator(describing("ab", params={"p": 0}))
    with pytest.raises(TypeError, match=message) as caught:
        op.forward("dense, dense -> dense")(kernel)
    assert kernel.__name__ in str(caught.value)
    assert op.kernels == []


def test_a_kernel_of_any_number_of_arrays_takes_them_by_a_star():
    op = so.operator(describing(["w", "arrays"], variadic=True))
    for kernel in (one_for_all, lambda backend, w, a: a, lambda backend, w, a, b, *c: a):
        with pytest.raises(TypeError, match=r"kernel\(backend, w, \*arrays\)"):
            op.forward("dense, dense... -> dense")(kernel)
    op.forward("dense, dense... -> dense")(lambda backend, *all: all[0])
    op.forward("csr, dense... -> dense")(lambda backend, w, *arrays: w)


@pytest.mark.parametrize("where", ({"q": 1}, lambda q: q, lambda a, q: a, {"r": 0}))
@pytest.mark.parametrize("declare", ("forward", "backward"))
def test_a_condition_on_what_the_operator_does_not_have_is_refused(where, declare):
    op = so.operator(describing("ab", params={"p": 0}), outputs=("r",))
    with pytest.raises(so.StorageError, match="where reads '[qr]'; drawn has a, b, p"):
        if declare == "forward":
            op.forward("dense, dense -> dense", where=where)(lambda backend, a, b: a)
        else:
            op.backward("a", "dense, dense -> dense", where=where)(lambda g: g)


def test_decorators_stack_and_return_the_function():
    op = so.operator(describing("a"))

    @op.forward("dense -> dense")
    @op.forward("csr -> csr")
    def kernel(backend, a):
        return a

    @op.backward("a", "dense -> dense")
    @op.backward("a", "csr -> csr")
    def rule(g):
        return g

    assert (kernel(None, 3), rule(3)) == (3, 3)
    assert len(op.kernels) == len(op.gradients["a"]) == 2


class Kernel:
    def __call__(self, backend, a):
        return a.with_data(a.data * 2) if a.stype == "dense" else None


@pytest.mark.parametrize(
    "kernel", (Kernel(), functools.partial(lambda k, backend, a: k(backend, a), Kernel()))
)
def test_a_kernel_need_not_have_a_name(kernel):
    op = so.operator(describing("a"))
    op.forward("dense -> dense", "csr -> csr")(kernel)
    assert op(so.array(np.ones(SHAPE))).asnumpy().sum() == 12
    with pytest.raises(so.StorageError, match="returned NoneType"):
        op(so.zeros(SHAPE, stype="csr"))
    with pytest.raises(so.StorageError, match="twice"):
        op.forward("dense -> dense")(kernel)


# Gradient rules


def of_more(g, q): ...
def of_another_g(g_v): ...
def starred(*args): ...
def of_any(g, **kept): ...


@pytest.mark.parametrize(
    "rule, message",
    [
        (of_more, "names 'q'; there are g, a, b, out, p, state, a_spec, b_spec"),
        (of_another_g, "names 'g_v'"),
        (starred, r"takes \*args"),
        (of_any, r"takes \*args"),
    ],
)
def test_a_rule_names_what_it_needs_and_what_there_is(rule, message):
    op = so.operator(describing("ab", params={"p": 0}))
    with pytest.raises(TypeError, match=message) as caught:
        op.backward("a", "dense, dense -> dense")(rule)
    assert rule.__name__ in str(caught.value)
    assert not any(op.gradients.values())


def test_a_gradient_is_by_an_input():
    op = so.operator(describing("ab", params={"p": 0}))
    for wrong in ("c", "p", "out", "a_spec"):
        with pytest.raises(so.StorageError, match=f"no input '{wrong}'; it has a, b") as caught:
            op.backward(wrong, "dense, dense -> dense")
        assert (caught.value.operator, caught.value.slot) == ("drawn", wrong)


# Names


def test_the_name_of_a_built_in_operator_is_refused():
    def cast_storage(x): ...

    with pytest.raises(ValueError, match="'cast_storage' is a built-in operator"):
        so.operator(cast_storage)
    assert operators["cast_storage"] is so.cast_storage


def test_redefining_an_own_operator_replaces_it():
    first, second = doubling(), doubling()
    assert operators["doubled"] is second
    assert first(so.array([1.0])).asnumpy() == second(so.array([1.0])).asnumpy() == 2


def test_a_failed_redefinition_leaves_the_old_operator():
    first = doubling()
    with pytest.raises(TypeError):
        so.operator(describing("g", name="doubled"))
    assert operators["doubled"] is first


def test_operators_pickle_by_name():
    assert pickle.loads(pickle.dumps(kept)) is kept
    assert copy.copy(kept) is copy.deepcopy(kept) is kept
    assert pickle.loads(pickle.dumps(so.cast_storage)) is so.cast_storage


def test_an_operator_that_was_replaced_does_not_pickle():
    stale = so.operator(kept.describe)
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(stale)


def test_a_pickled_operator_is_found_in_another_process(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import sparseops as so\n@so.operator\ndef own(x):\n    return x.shape, x.dtype\n"
    )
    code = "import pickle, mine; print(pickle.dumps(mine.own).hex())"
    load = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])))"
    path = f"import sys; sys.path[:0] = {[str(tmp_path), *sys.path]!r}; "
    pickled = child(path + code).strip()
    assert "<operator own(x" in child(path + load, pickled)


def child(code, *args):
    command = [sys.executable, "-P", "-c", code, *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
