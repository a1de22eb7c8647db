"""Every message of the package is got by a program, and shown on the page of errors."""

import pytest
from messages import PROGRAMS
from messages_page import PACKAGE, PAGE, messages, page, raises

import sparseops as so


def _reached(statement):
    return any(m.file == statement.file and _within(m, statement) for m in messages())


def _within(message, statement):
    return statement.first <= message.line <= statement.last


def test_every_message_is_got_by_a_program():
    missing = [
        f"{statement.file}:{statement.first}: {statement.text}"
        for statement in raises()
        if not _reached(statement)
    ]
    assert not missing, "write programs in tests/messages.py for\n" + "\n".join(missing)


@pytest.mark.parametrize("place", PROGRAMS)
def test_programs_get_the_message_of_the_place_they_stand_under(place):
    for m in messages():
        if m.program in PROGRAMS[place]:
            assert m.file == str(PACKAGE / place), f"{m.program} gets {m.text} of {m.file}"


def test_no_two_programs_are_the_same():
    programs = [program for place in PROGRAMS.values() for program in place]
    assert len(set(programs)) == len(programs)


def test_messages_are_plain_lower_case_facts():
    for m in messages():
        first = m.text.partition(" ")[0]
        named = not first.isalpha() or first in ("NumPy", "NDArray", "None")
        assert named or first.islower(), m
        assert "invalid" not in m.text.lower(), m
        assert not m.text.endswith("!") and not m.text.removesuffix("...").endswith("."), m


def test_errors_about_arrays_and_operators_carry_their_parts():
    kinds = {m.kind for m in messages() if issubclass(m.kind, so.SparseOpsError)}
    expected = {so.ShapeError, so.DTypeError, so.FormatError, so.StorageError, so.DensifyError}
    assert kinds == expected | {so.BackendError, so.GradientError}


def test_the_page_of_errors_is_what_the_programs_get():
    assert PAGE.read_text() == page(), "PYTHONPATH=. python tests/messages_page.py writes it"
