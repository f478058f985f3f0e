"""No expression can hang the server."""

import pytest

from fleetqueue.embedded.apiserver.validation import cel
from fleetqueue.embedded.apiserver.validation.cel.types import DYN, INT, list_of

MANY = list(range(2000))


def evaluate(expression, **variables):
    program = cel.compile_expression(expression, dict.fromkeys(variables, list_of(INT)))
    return program.evaluate(*variables.values())


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("items.all(x, items.all(y, x + y >= 0))", id="loops in loops"),
        pytest.param(
            "items.map(x, items).flatten().size() > 0 && items.all(x, items.distinct().size() > 0)", id="distinct"
        ),
        pytest.param("lists.range(100000000).size() > 0", id="a huge list"),
        pytest.param("items.exists(x, false) || items.all(x, items.exists(y, y == -1) || true)", id="behind an or"),
    ],
)
def test_too_much_work_is_cut_off(expression):
    with pytest.raises(cel.CostExceeded):
        evaluate(expression, items=MANY)


def test_the_work_of_a_modest_expression_is_counted():
    value, cost = evaluate("items.all(x, x >= 0)", items=MANY)

    assert value is True
    assert 2000 < cost < 20_000


def test_an_error_does_not_hide_that_there_was_too_much_work():
    with pytest.raises(cel.CostExceeded):
        evaluate("items.all(x, items.all(y, 1 / 0 > 0)) || true", items=MANY)


@pytest.mark.parametrize("expression", ["(" * 400 + "1" + ")" * 400, "[" * 400 + "]" * 400, "+".join(["1"] * 5000)])
def test_what_is_nested_too_deeply_is_refused(expression):
    with pytest.raises(cel.CompileError, match=r"recursion limit|too deeply"):
        cel.compile_expression(expression, {})


def test_a_long_chain_of_operators_is_fine():
    program = cel.compile_expression(" && ".join(["true"] * 3000), {"self": DYN})

    assert program.evaluate(None)[0] is True
