"""Which pods may use which flavor."""

import pytest

from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.scheduling.matching import mismatch

from .objects import flavor, pod_set

SPOT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
WRONG = "flavor f doesn't match node affinity"


def affinity(*terms):
    required = {"nodeSelectorTerms": [{"matchExpressions": [*term]} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def term(key, operator, *values):
    return {"key": key, "operator": operator, "values": [*values]}


@pytest.mark.parametrize(
    ("asked", "offered", "why"),
    [
        pytest.param({}, {}, "", id="nothing is asked"),
        pytest.param(
            {}, {"nodeTaints": [SPOT]}, "untolerated taint {spot yes NoSchedule <nil>} in flavor f", id="taint"
        ),
        pytest.param({}, {"nodeTaints": [{**SPOT, "effect": "PreferNoSchedule"}]}, "", id="a taint that only warns"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, {"nodeTaints": [SPOT]}, "", id="tolerated by the pods"),
        pytest.param({}, {"nodeTaints": [SPOT], "tolerations": [{"operator": "Exists"}]}, "", id="and by the flavor"),
        pytest.param({"nodeSelector": {"arch": "arm"}}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="another label"),
        pytest.param({"nodeSelector": {"zone": "a"}}, {"nodeLabels": {"arch": "x86"}}, "", id="a label of the nodes"),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")])}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="in"
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")], [term("arch", "Exists")])},
            {"nodeLabels": {"arch": "x86"}},
            "",
            id="one of several terms is enough",
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")], [term("zone", "In", "a")])},
            {"nodeLabels": {"arch": "x86"}},
            "",
            id="a term about the nodes can always be met",
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "NotIn", "x86"), term("zone", "In", "a")])},
            {"nodeLabels": {"arch": "x86"}},
            WRONG,
            id="of a term only what the flavor knows counts",
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Gt", "8")])}, {"nodeLabels": {"cores": "16"}}, "", id="more"
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Lt", "8")])}, {"nodeLabels": {"cores": "16"}}, WRONG, id="less"
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Gt", "8")])}, {"nodeLabels": {"cores": "x"}}, WRONG, id="no number"
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "DoesNotExist")])}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="absent"
        ),
    ],
)
def test_mismatch(asked, offered, why):
    (one,) = pod_sets([pod_set(**asked)])

    assert mismatch(one, "f", flavor("f", **offered)) == why


def test_a_flavor_that_is_gone():
    (one,) = pod_sets([pod_set()])

    assert mismatch(one, "f", None) == "flavor f not found"


def test_a_topology_that_is_asked_for_is_not_served():
    (one,) = pod_sets([{**pod_set(), "topologyRequest": {"required": "rack"}}])

    assert mismatch(one, "f", flavor("f")) == 'Flavor "f" does not support TopologyAwareScheduling'
