"""What the hub is told of objects by rules over their fields."""

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.embedded.ocm.work.condition_rules import evaluated
from fleetqueue.fleets.work_expressions import evaluate
from fleetqueue.testing.builders import ended_job

from .objects import config_map


def rule(**parts):
    return work.ConditionRule(condition="Complete", **parts)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            rule(type="CEL", cel_expressions=("object.data.done == 'yes'",)),
            ("True", "ConditionRuleEvaluated", "Manifest is Complete"),
            id="an expression that holds",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("nonsense",)),
            (
                "False",
                "ConditionRuleExpressionError",
                "ERROR: <input>:1:1: undeclared reference to 'nonsense' (in container '')\n | nonsense\n | ^",
            ),
            id="an expression that cannot be read",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("'text'",)),
            ("False", "ConditionRuleExpressionError", "expected bool result, got string"),
            id="an expression that is no condition",
        ),
        pytest.param(
            rule(type="CEL", cel_expressions=("object.data.done == 'yes'",), message_expression="'all done'"),
            ("True", "ConditionRuleEvaluated", "all done"),
            id="a message by an expression",
        ),
        pytest.param(
            rule(type="Other"),
            ("Unknown", "ConditionRuleInvalid", "unrecognized condition rule type Other"),
            id="a kind of rule that nobody knows",
        ),
    ],
)
def test_condition_rules(given, said):
    [found] = evaluated(config_map(done="yes"), [given], evaluate, 3)

    assert (found.status, found.reason, found.message) == said
    assert found.observed_generation == 3


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        pytest.param("Job", {}, ("False", "Job is not finished"), id="a job that runs"),
        pytest.param(
            "Job", ended_job("Failed", "2026-01-01T00:00:00Z"), ("True", "Job is finished"), id="a job that failed"
        ),
        pytest.param("Pod", {"phase": "Running"}, ("False", "Pod is in phase Running"), id="a pod that runs"),
        pytest.param("Pod", {"phase": "Succeeded"}, ("True", "Pod is in phase Succeeded"), id="a pod that ended"),
    ],
)
def test_well_known_conditions(kind, status, said):
    obj = {"apiVersion": "batch/v1" if kind == "Job" else "v1", "kind": kind, "status": status}

    [found] = evaluated(obj, [rule(type="WellKnownConditions")], evaluate, 1)

    assert (found.status, found.message) == said
