"""Signatures as text, and the conditions under which they serve."""

from itertools import product

import pytest
from user_operators import describing, restore_registry, table_of

import sparseops as so
from sparseops.signature import Signature, Where

registry = pytest.fixture(autouse=True)(restore_registry)

NAMES = ("dense", "row_sparse", "csr")


# Text


@pytest.mark.parametrize("inputs", list(product((*NAMES, "scalar"), NAMES)))
@pytest.mark.parametrize("heads", (None, ("csr",), ("dense", "row_sparse")))
@pytest.mark.parametrize("variadic", (False, True))
def test_a_signature_reads_as_it_prints(inputs, heads, variadic):
    signature = Signature(inputs, ("csr", "dense"), variadic, heads)
    assert Signature.parse(str(signature), inputs=2, outputs=2, variadic=variadic) == signature


def test_blanks_mean_nothing():
    spaced = Signature.parse("  dense ;csr,dense->  csr ", inputs=2, outputs=1)
    assert spaced == Signature(("csr", "dense"), ("csr",), heads=("dense",))


def test_a_signature_without_inputs_is_written_with_nothing_on_the_left():
    assert Signature.parse("-> csr", inputs=0, outputs=1) == Signature((), ("csr",))


@pytest.mark.parametrize("count", range(4))
def test_the_item_with_dots_stands_for_any_number_of_arrays(count):
    signature = Signature.parse("dense, csr... -> csr", inputs=2, outputs=1, variadic=True)
    assert signature.expand(count + 1) == ("dense",) + ("csr",) * count


WRONG = {
    "": "form",
    "csr": "form",
    "csr, dense": "form",
    "csr, dense => dense": "form",
    "csr -> dense -> dense": "form",
    "csr, dense -> ": "0 results",
    "csr, dense -> dense, dense": "2 results",
    "csr -> dense": "1 inputs",
    "csr, dense, csr -> dense": "3 inputs",
    "-> dense": "0 inputs",
    "csr, CSR -> dense": "'CSR' is not a storage type",
    "csr, coo -> dense": "'coo' is not a storage type",
    "csr dense -> dense": "'csr dense' is not a storage type",
    "csr, dense, -> dense": "'' is not a storage type",
    "csr, undefined -> dense": "'undefined' is not a storage type",
    "csr, dense -> scalar": "'scalar' is not a storage type",
    "scalar; csr, dense -> dense": "'scalar' is not a storage type",
    "csr, dense... -> dense": r"no.*\*arrays|has none",
    "csr..., dense -> dense": r"no.*\*arrays|has none",
    "csr, dense -> dense...": r"'dense\.\.\.'|\.\.\.",
    "dense...; csr, dense -> dense": r"'dense\.\.\.'|\.\.\.",
    "; csr, dense -> dense": ";",
    "dense; dense; csr, dense -> dense": ";",
}


@pytest.mark.parametrize("text, message", WRONG.items(), ids=WRONG)
def test_a_wrong_signature_says_what_is_wrong_with_it(text, message):
    with pytest.raises(so.StorageError, match=message) as caught:
        Signature.parse(text, inputs=2, outputs=1)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", (None, 3, b"csr -> csr", ("csr", "csr")))
def test_a_signature_is_text(text):
    with pytest.raises(so.StorageError, match="form"):
        Signature.parse(text, inputs=1, outputs=1)


@pytest.mark.parametrize(
    "text",
    ("dense, csr -> csr", "dense..., csr -> csr", "dense..., csr... -> csr", "csr... -> csr..."),
)
def test_the_dots_stand_once_at_the_last_input(text):
    with pytest.raises(so.StorageError):
        Signature.parse(text, inputs=text.count(",") + 1, outputs=1, variadic=True)


@pytest.mark.parametrize(
    "text", ("", "csr", "csr => csr", "coo -> csr", "csr, csr -> csr", "csr... -> csr", None, 7)
)
@pytest.mark.parametrize("declare", ("forward", "backward"))
def test_a_wrong_signature_is_refused_where_it_is_declared(text, declare):
    op = so.operator(describing("a"))
    with pytest.raises(so.StorageError):
        if declare == "forward":
            op.forward(text)(lambda backend, a: a)
        else:
            op.backward("a", text)(lambda g: g)
    assert op.kernels == [] and not any(op.gradients.values())


def test_one_wrong_signature_of_several_declares_none():
    op = so.operator(describing("a"))
    with pytest.raises(so.StorageError):
        op.forward("dense -> dense", "csr -> coo")(lambda backend, a: a)
    assert op.kernels == []


def test_a_kernel_cannot_say_in_which_storage_gradients_arrive():
    with pytest.raises(so.StorageError, match=";"):
        so.operator(describing("a")).forward("dense; csr -> csr")(lambda backend, a: a)


@pytest.mark.parametrize("heads", ("dense, dense", "dense, dense, dense"))
def test_a_gradient_names_a_storage_for_each_g(heads):
    with pytest.raises(so.StorageError, match="before ';'"):
        so.operator(describing("a")).backward("a", f"{heads}; csr -> csr")(lambda g: g)


def test_a_declaration_names_a_signature():
    op = so.operator(describing("a"))
    with pytest.raises(so.StorageError, match="signature"):
        op.forward()(lambda backend, a: a)
    with pytest.raises(so.StorageError, match="signature"):
        op.backward("a")(lambda g: g)


def test_a_decorator_without_its_signature_is_refused_at_once():
    op = so.operator(describing("a"))
    with pytest.raises(so.StorageError, match="signature"):

        @op.forward
        def _kernel(backend, a):
            return a


# Declared twice


def flag_op():
    return so.operator(describing("ab", params={"flag": False, "axis": None}))


def zero(b):
    """B is zero."""
    return b == 0


def nonzero(b):
    """B is not zero."""
    return b != 0


OVERLAPPING = [
    (None, None),
    (None, {"flag": True}),
    ({"flag": True}, {"flag": True}),
    ({"flag": True}, {"axis": 0}),
    ({"flag": True}, {"flag": True, "axis": 0}),
    ({"axis": [0, 1]}, {"axis": (0, 1)}),
    (zero, zero),
    (None, zero),
]
DISJOINT = [
    ({"flag": True}, {"flag": False}),
    ({"flag": True, "axis": 0}, {"flag": True, "axis": 1}),
    (zero, nonzero),
]


@pytest.mark.parametrize("first, second", OVERLAPPING + [pair[::-1] for pair in OVERLAPPING])
def test_signatures_that_no_call_tells_apart_are_refused(first, second):
    op = flag_op()
    op.forward("csr, scalar -> csr", where=first)(lambda backend, a, b: a)
    with pytest.raises(so.StorageError, match="drawn declares .*csr, scalar -> csr") as caught:
        op.forward("csr, scalar -> csr", where=second)(lambda backend, a, b: a)
    assert caught.value.operator == "drawn"
    assert len(op.kernels) == 1


@pytest.mark.parametrize("first, second", DISJOINT)
def test_signatures_under_conditions_that_exclude_each_other_are_accepted(first, second):
    op = flag_op()
    op.forward("csr, scalar -> csr", where=first)(lambda backend, a, b: a)
    op.forward("csr, scalar -> csr", where=second)(lambda backend, a, b: a)
    assert len(op.kernels) == 2


def test_a_signature_twice_in_one_declaration_is_refused():
    with pytest.raises(so.StorageError, match="twice"):
        flag_op().forward("csr, csr -> csr", "csr, csr -> csr")(lambda backend, a, b: a)


def test_signatures_that_differ_in_a_result_alone_are_accepted():
    assert len(table_of("csr -> csr", "csr -> dense").kernels) == 2


def test_gradients_of_the_same_inputs_and_storage_are_refused_whatever_g_they_want():
    op = so.operator(describing("a"))
    op.backward("a", "csr -> csr")(lambda g: g)
    with pytest.raises(so.StorageError, match="twice"):
        op.backward("a", "dense; csr -> csr")(lambda g: g)


def test_the_same_signature_may_stand_for_all_backends_and_for_one():
    op = flag_op()
    op.forward("csr, csr -> csr")(lambda backend, a, b: a)
    op.forward("csr, csr -> csr", backend="scipy")(lambda backend, a, b: a)
    with pytest.raises(so.StorageError, match="twice"):
        op.forward("csr, csr -> csr", backend="scipy")(lambda backend, a, b: a)
    assert len(op.kernels) == 2


@pytest.mark.parametrize("declared_first", (None, "scipy"))
def test_the_rule_for_a_backend_is_preferred_there_and_unknown_elsewhere(declared_first):
    op = flag_op()
    for backend in (declared_first, "scipy" if declared_first is None else None):
        op.forward("dense, dense -> dense", backend=backend)(lambda backend, a, b: a)
    known = ("dense", "dense", "undefined")
    assert op.choose(known, backend="scipy")[0].backend == "scipy"
    assert op.choose(known, backend="cupyx")[0].backend is None


# Conditions


@pytest.mark.parametrize(
    "condition, given, holds",
    [
        ({}, {}, True),
        ({"axis": 0}, {"axis": 0, "flag": True}, True),
        ({"axis": 0}, {"axis": 1}, False),
        ({"axis": (0, 1)}, {"axis": (0, 1)}, True),
        ({"axis": [0, 1]}, {"axis": (0, 1)}, True),
        ({"axis": None}, {"axis": 0}, False),
        ({"b": 0}, {"axis": 0}, False),
        (zero, {"b": 0.0}, True),
        (zero, {"b": 1}, False),
        (zero, {}, False),
        (lambda axis: axis, {"axis": "x"}, True),
    ],
)
def test_a_condition_holds_where_the_call_has_what_it_reads_and_it_is_so(condition, given, holds):
    assert Where(condition).holds(given) is holds


def test_a_table_prints_the_docstring_of_a_condition():
    op = flag_op()
    op.forward("csr, scalar -> csr", where=zero)(lambda backend, a, b: a)
    op.forward("csr, csr -> csr", where={"flag": True}, backend="scipy")(lambda backend, a, b: a)
    op.backward("a", "dense; csr, csr -> csr")(lambda g: g)
    text = repr(op)
    assert text.splitlines()[0] == "<operator drawn(a, b, *, flag=False, axis=None, stype=None)>"
    assert "csr, scalar -> csr    where B is zero." in text
    assert "csr, csr -> csr    where flag=True    on scipy" in text
    assert "gradient by a:\n    dense; csr, csr -> csr" in text
