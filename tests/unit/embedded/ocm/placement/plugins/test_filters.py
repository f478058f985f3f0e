"""Which taints a Placement puts up with, and until when."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.ocm.placement.plugins.filters import problem_of
from fleetqueue.rules.placement_eligibility import tolerance
from tests.unit.embedded.ocm.placement.objects import NOW, in_seconds, managed_cluster, placement

EXISTS = {"key": "gpu", "operator": "Exists"}


def taint(key="gpu", effect="NoSelect", value="", added=None):
    when = {} if added is None else {"timeAdded": in_seconds(added)}
    return {"key": key, "effect": effect, "value": value, **when}


def judged(taints, tolerations, *, is_chosen=False):
    wanted = placement(tolerations=tolerations)
    return tolerance(managed_cluster(taints=taints), wanted.spec.tolerations, NOW, is_chosen=is_chosen)


@pytest.mark.parametrize(
    ("taints", "tolerations", "passes"),
    [
        pytest.param([], [], True, id="no taint"),
        pytest.param([taint()], [], False, id="a taint that nobody tolerates"),
        pytest.param([taint()], [EXISTS], True, id="tolerated by its key"),
        pytest.param([taint()], [{"operator": "Exists"}], True, id="everything is tolerated"),
        pytest.param([taint(value="x")], [{"key": "gpu", "value": "x"}], True, id="tolerated by its value"),
        pytest.param([taint(value="x")], [{"key": "gpu", "value": "y"}], False, id="another value"),
        pytest.param([taint()], [{"key": "gpu", "operator": "Near"}], False, id="an unknown operator"),
        pytest.param([taint()], [{**EXISTS, "effect": "NoSelectIfNew"}], False, id="another effect"),
        pytest.param([taint(), taint("old")], [EXISTS], False, id="one of two is not tolerated"),
        pytest.param([taint(effect="PreferNoSelect")], [], True, id="a mere preference"),
        pytest.param([taint(effect="NoSelectIfNew")], [], False, id="a taint against the new"),
    ],
)
def test_every_taint_must_be_tolerated(taints, tolerations, passes):
    assert (judged(taints, tolerations).offence is None) is passes


def test_the_taint_that_keeps_a_cluster_away_is_named():
    assert judged([taint(), taint("old")], [EXISTS]).offence.key == "old"


def test_a_taint_against_the_new_does_not_concern_the_chosen():
    assert judged([taint(effect="NoSelectIfNew")], [], is_chosen=True).offence is None
    assert judged([taint(effect="NoSelect")], [], is_chosen=True).offence is not None


@pytest.mark.parametrize(
    ("added", "seconds", "passes"),
    [
        pytest.param(-10, 11, True, id="still tolerated"),
        pytest.param(-10, 10, False, id="over at this very moment"),
        pytest.param(-10, 9, False, id="over"),
        pytest.param(None, 9999, False, id="nobody knows since when"),
        pytest.param(-10, 0, False, id="tolerated for no time at all"),
    ],
)
def test_a_toleration_may_end(added, seconds, passes):
    found = judged([taint(added=added)], [{**EXISTS, "tolerationSeconds": seconds}])

    assert (found.offence is None) is passes
    assert (found.until is not None) is passes


def test_the_earliest_end_counts():
    found = judged(
        [taint(added=0), taint("old", added=-5)],
        [{**EXISTS, "tolerationSeconds": 60}, {"key": "old", "operator": "Exists", "tolerationSeconds": 30}],
    )

    assert found.until == NOW + timedelta(seconds=25)


def test_the_first_toleration_that_holds_is_taken():
    short, lasting = {**EXISTS, "tolerationSeconds": 5}, EXISTS

    assert judged([taint(added=-10)], [short, lasting]).until is None
    assert judged([taint(added=0)], [short, lasting]).until == NOW + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("toleration", "said"),
    [
        (EXISTS, ""),
        ({"operator": "Exists"}, ""),
        ({"value": "x"}, "TaintToleration:If the key is empty, operator must be Exists."),
        ({**EXISTS, "value": "x"}, "TaintToleration:If the operator is Exists, the value should be empty."),
    ],
)
def test_tolerations_that_cannot_work(toleration, said):
    problem = problem_of(placement(tolerations=[EXISTS, toleration]))

    assert (str(problem) if problem else "") == said
