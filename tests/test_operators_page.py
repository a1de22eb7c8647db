"""The page of operators says what the operators declare."""

from operators_page import PAGE, families, page


def test_the_page_is_what_the_operators_declare():
    assert PAGE.read_text() == page(), "PYTHONPATH=. python tests/operators_page.py writes it"


def test_every_operator_says_what_it_costs():
    text = page()
    for _, listed in families():
        for name, _ in listed:
            part = text.partition(f"{name}(")[2].partition("\n###")[0]
            assert "O(" in part, name
