"""The CEL of condition rules."""

import pytest

from fleetqueue.fleets.work_expressions import evaluate

READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "replicas": 3}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", True),
        ("hasConditions(object.status)", True),
        ("hasConditions(object)", False),
        ("object.status.replicas > 2.5", True),
        ("result ? 'good' : 'bad'", "good"),
    ],
)
def test_what_a_rule_says_of_an_object(expression, value):
    assert evaluate(expression, {"object": READY, "result": True}) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [("object.", "Syntax error"), ("nobody", "undeclared reference"), ("object.spec.x", "no such key: spec")],
)
def test_what_is_wrong_with_a_rule_is_said(expression, why):
    with pytest.raises(ValueError, match=why):
        evaluate(expression, {"object": READY})
