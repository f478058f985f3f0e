"""Which gates can be turned; how the real manager puts it is in tests/conformance/kueue_configurations."""

import pytest

from fleetqueue.embedded.kueue.feature_gates import DEFAULTS, GATES, effective, not_served, problems


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        pytest.param({}, "MultiKueue", True, id="by default"),
        pytest.param({"MultiKueue": False}, "MultiKueue", False, id="by its name"),
        pytest.param({"AllBeta": False}, "MultiKueue", False, id="by its stage"),
        pytest.param({"AllBeta": False, "MultiKueue": True}, "MultiKueue", True, id="its name goes before its stage"),
        pytest.param({"AllBeta": False}, "HierarchicalCohorts", True, id="another stage"),
        pytest.param({"AllAlpha": True}, "PriorityBoost", True, id="all that are new"),
    ],
)
def test_effective(given, name, value):
    assert effective(given)[name] is value


def test_nothing_is_wrong_with_the_defaults():
    assert problems(dict(DEFAULTS), "") == []
    assert [*not_served(DEFAULTS)] == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"PriorityBoost": True}, "PriorityBoost=true", id="off by default"),
        pytest.param({"PartialAdmission": False}, "PartialAdmission=false", id="on by default"),
        pytest.param(
            {"PriorityBoost": True, "PartialAdmission": False}, "PartialAdmission=false, PriorityBoost=true", id="two"
        ),
        pytest.param({"VisibilityOnDemand": False, "MultiKueueClusterProfile": True}, "", id="what can be turned"),
    ],
)
def test_what_is_served_only_by_default_is_named(given, why):
    expected = [f"featureGates: Forbidden: {why} is not served by the embedded Kueue"] if why else []

    assert [*not_served(effective(given))] == expected


def test_a_name_for_many_asks_for_each_of_them():
    (text,) = not_served(effective({"AllAlpha": True}))

    assert "ConcurrentAdmission=true, CustomMetricLabels=true" in text
    assert "MultiKueueClusterProfile" not in text


def test_a_locked_gate_is_not_said_to_be_free():
    assert not [name for name, gate in GATES.items() if gate.is_locked and gate.why_free]
