"""Storage inference as users meet it: infer, its errors, and storages inferred by a function."""

import numpy as np
import pytest
from inference_reference import STORAGES, UNDEFINED
from user_operators import SHAPE, Row, operator_of, restore_registry, table_of

import sparseops as so

registry = pytest.fixture(autouse=True)(restore_registry)


def zero(a):
    """The number a is zero."""
    return a == 0


# What users see


def test_undefined_becomes_dense_wherever_that_costs_no_cast():
    op = table_of("csr, csr -> csr", "csr, dense -> csr", "dense, dense -> dense")
    spec = so.Spec(SHAPE, float, "csr")
    unknown = so.Spec(SHAPE, float, "undefined")
    assert op.infer(unknown, unknown).stype == "dense"
    assert op.infer(spec, unknown).stype == "csr"
    assert op.infer(spec, unknown, outputs="dense").stype == "dense"
    assert op.choose(("csr", UNDEFINED, UNDEFINED))[1] == ("csr", "dense", "csr")


def test_a_conflict_names_operator_slot_declared_and_available():
    op = table_of("csr, csr -> csr", "csr, dense -> dense")
    with pytest.raises(so.StorageError, match=r"a: dense, b: csr, r: undefined") as caught:
        op(so.zeros(SHAPE), so.zeros(SHAPE, stype="csr"))
    error = caught.value
    assert (error.operator, error.slot) == ("drawn", "a")
    assert error.declared == ("dense", "csr", "undefined")
    assert error.available == ("csr, csr -> csr", "csr, dense -> dense")
    assert "drawn(a: float64[2,3] dense, b: float64[2,3] csr)" in error.__notes__[0]


@pytest.mark.parametrize(
    "stypes, slot",
    [(("undefined", "dense"), "b"), (("row_sparse", "csr"), "a"), (("csr", "row_sparse"), "b")],
)
def test_a_conflict_names_the_first_slot_that_no_signature_takes(stypes, slot):
    op = table_of("csr, csr -> csr")
    with pytest.raises(so.StorageError) as caught:
        op.infer(*[so.Spec(SHAPE, float, stype) for stype in stypes])
    assert caught.value.slot == slot


def test_a_number_fits_no_array_and_an_array_no_number():
    op = table_of("dense, scalar -> dense")
    x = so.zeros(SHAPE)
    assert op(x, 2).stype == "dense"
    for wrong in ((x, x), (2, x), (2, 3)):
        with pytest.raises(so.StorageError):
            op(*wrong)


def test_an_operator_without_kernels_says_so():
    with pytest.raises(so.StorageError, match="none"):
        so.operator(table_of("csr -> csr").describe)(so.zeros(SHAPE))


class Tripwire(so.CSR):
    """A csr storage whose arrays must not be looked at."""

    data = indices = indptr = property(lambda self: pytest.fail("inference looked at data"))

    def __init__(self):
        self.shape = SHAPE


def test_inference_looks_at_no_values():
    op = table_of("csr, dense -> csr", "dense, dense -> dense")
    known = so.zeros(SHAPE, stype="csr")
    untouchable = so.NDArray(Tripwire(), known.form)
    assert op.infer(untouchable, so.Spec(SHAPE)).stype == "csr"
    assert op.infer(untouchable, untouchable).stype == "csr"


def test_inference_uses_the_rules_of_the_current_backend():
    op = operator_of([Row(("dense",), ("dense",), backend="scipy"), Row(("csr",), ("csr",))])
    assert op.infer(so.Spec(SHAPE)) == op(so.zeros(SHAPE)).spec
    assert op.infer(so.Spec(SHAPE, float, "csr"), outputs="dense").stype == "dense"


def test_infer_takes_numbers_parameters_and_declared_results():
    op = operator_of(
        [
            Row(("scalar", "csr"), ("csr",), where=zero),
            Row(("scalar", "csr"), ("row_sparse",), where={"flag": True}),
            Row(("scalar", "dense"), ("dense",)),
        ],
        params={"flag": False},
    )
    spec = so.Spec(SHAPE, np.float32, "csr")
    assert op.infer(0, spec).stype == "csr"
    assert op.infer(1, spec, flag=True).stype == "row_sparse"
    assert op.infer(1, spec).stype == "dense"
    assert op.infer(1, spec, outputs="row_sparse").stype == "row_sparse"
    with pytest.raises(TypeError, match="flagg"):
        op.infer(1, spec, flagg=True)
    with pytest.raises(TypeError, match="takes 2 arrays"):
        op.infer(spec)
    with pytest.raises(so.StorageError, match="2 results"):
        op.infer(1, spec, outputs=("csr", "csr"))
    with pytest.raises(so.StorageError, match="coo"):
        op.infer(1, spec, outputs="coo")


def test_several_results_are_inferred_as_a_tuple():
    op = table_of("csr -> csr, dense")
    found = op.infer(so.Spec(SHAPE, float, "csr"), outputs=(None, "row_sparse"))
    assert [spec.stype for spec in found] == ["csr", "row_sparse"]


# Storages inferred by a function


def function_op(answer):
    op = so.operator(table_of("csr -> csr").describe)
    op.infer_storage(answer)

    @op.forward()
    def _zeros(backend, a):
        return so.zeros(SHAPE, stype=op.answered).storage

    return op


def test_an_operator_may_infer_its_storages_by_a_function():
    op = function_op(lambda stypes: (stypes[0], stypes[0] if stypes[1] == UNDEFINED else stypes[1]))
    for stype in STORAGES:
        op.answered = stype
        assert op(so.zeros(SHAPE, stype=stype)).stype == stype
        assert op.infer(so.Spec(SHAPE, float, stype)).stype == stype
    assert op.infer(so.Spec(SHAPE, float, UNDEFINED)).stype == "dense", "what is left is dense"
    assert "inferred by" in repr(op)


def test_a_function_gets_the_parameters_that_it_names():
    op = operator_of([Row(("csr",), ("csr",))], params={"flag": False, "axis": 0})
    op = so.operator(op.describe)
    op.infer_storage(lambda stypes, flag: (stypes[0], "csr" if flag else "dense"))
    op.forward()(lambda backend, a: a)
    assert op.infer(so.Spec(SHAPE)).stype == "dense"
    assert op.infer(so.Spec(SHAPE), flag=True).stype == "csr"


UNLAWFUL = {
    "changes an input": lambda stypes: ("dense", "dense"),
    "too short": lambda stypes: stypes[:1],
    "too long": lambda stypes: (*stypes, "dense"),
    "unknown name": lambda stypes: (stypes[0], "coo"),
    "a number for an array": lambda stypes: (stypes[0], "scalar"),
    "None": lambda stypes: None,
    "text": lambda stypes: "cd",
    "holds None": lambda stypes: (stypes[0], None),
    "another answer to its own": lambda stypes: (
        stypes[0],
        "csr" if stypes[1] == UNDEFINED else "dense",
    ),
    "no answer to its own": lambda stypes: (stypes[0], "csr") if stypes[1] == UNDEFINED else None,
    "a shorter answer to its own": lambda stypes: ("csr", "csr")[: 1 + (stypes[1] == UNDEFINED)],
}


@pytest.mark.parametrize("answer", UNLAWFUL.values(), ids=UNLAWFUL)
def test_a_function_is_held_to_the_laws_of_inference(answer):
    op = function_op(answer)
    with pytest.raises(so.StorageError, match="infer_storage") as caught:
        op.infer(so.Spec(SHAPE, float, "csr"))
    assert caught.value.operator == "drawn"
    assert "drawn(a: float64[2,3] csr)" in caught.value.__notes__[0]


def test_a_function_may_not_change_a_declared_result():
    op = function_op(lambda stypes: (stypes[0], "dense"))
    op.answered = "dense"
    assert op(so.zeros(SHAPE)).stype == "dense"
    with pytest.raises(so.StorageError, match="changed"):
        op(so.zeros(SHAPE), stype="csr")


def test_what_a_function_raises_reaches_the_user_with_the_call_noted():
    def broken(stypes):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        function_op(broken)(so.zeros(SHAPE))
    assert "in drawn(a: float64[2,3] dense)" in caught.value.__notes__


def test_a_table_and_a_function_exclude_each_other():
    with pytest.raises(so.StorageError, match="one or the other"):
        table_of("csr -> csr").infer_storage(lambda stypes: stypes)
    with pytest.raises(so.StorageError):
        function_op(lambda stypes: stypes).forward("csr -> csr")(lambda backend, a: a)
