"""Who may stay chosen by a Placement. Taints alone: see the tests of OCM's placement."""

from datetime import UTC, datetime

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.rules.placement_eligibility import may_stay


def placement(**spec):
    return cluster.Placement.view(cluster.Placement.manifest("gpu", "kueue-system", spec=spec))


def managed(*, labels=None, taints=(), claims=None, deleting=False):
    manifest = cluster.ManagedCluster.manifest("c1", labels=labels, spec={"taints": list(taints)})
    manifest["status"] = {"clusterClaims": [{"name": k, "value": v} for k, v in (claims or {}).items()]}
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return cluster.ManagedCluster.view(manifest)


def required(**selector):
    return {"requiredClusterSelector": selector}


IN_SET = cluster.CLUSTER_SET_LABEL
LABELLED = required(labelSelector={"matchLabels": {"gpu": "yes"}})
CLAIMED = required(claimSelector={"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]})
UNREADABLE = required(labelSelector={"matchExpressions": [{"key": "gpu", "operator": "Has", "values": ["yes"]}]})
CEL = required(celSelector={"celExpressions": ["true"]})
TAINT = {"key": "gpu", "value": "broken", "effect": "NoSelect"}
TOLERATED = {"key": "gpu", "operator": "Exists"}
FOR_A_MINUTE = {**TOLERATED, "tolerationSeconds": 60}
NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


def since(minutes, seconds=0):
    return {**TAINT, "timeAdded": f"2026-01-01T00:{minutes:02}:{seconds:02}Z"}


@pytest.mark.parametrize(
    ("spec", "member", "answer"),
    [
        pytest.param({}, managed(), True, id="no condition"),
        pytest.param({}, managed(deleting=True), False, id="on its way out"),
        pytest.param({"predicates": [LABELLED]}, managed(labels={"gpu": "yes"}), True, id="its label fits"),
        pytest.param({"predicates": [LABELLED]}, managed(labels={"gpu": "no"}), False, id="its label does not fit"),
        pytest.param({"predicates": [CLAIMED]}, managed(claims={"region": "eu"}), True, id="its claim fits"),
        pytest.param({"predicates": [CLAIMED]}, managed(claims={"region": "us"}), False, id="its claim does not fit"),
        pytest.param({"predicates": [CLAIMED]}, managed(), False, id="it has no such claim"),
        pytest.param(
            {"predicates": [LABELLED, CLAIMED]}, managed(claims={"region": "eu"}), True, id="one of two is enough"
        ),
        pytest.param({"predicates": [CEL]}, managed(), False, id="a CEL selector is not evaluated here"),
        pytest.param(
            {"predicates": [CEL, LABELLED]}, managed(labels={"gpu": "yes"}), True, id="CEL, but another one fits"
        ),
        pytest.param({}, managed(taints=[TAINT]), False, id="a taint"),
        pytest.param({"tolerations": [TOLERATED]}, managed(taints=[TAINT]), True, id="a tolerated taint"),
        pytest.param(
            {"tolerations": [TOLERATED]},
            managed(taints=[TAINT, {**TAINT, "key": "x"}]),
            False,
            id="one of two tolerated",
        ),
        pytest.param(
            {"tolerations": [FOR_A_MINUTE]}, managed(taints=[since(9, 1)]), True, id="a taint that is tolerated for now"
        ),
        pytest.param(
            {"tolerations": [FOR_A_MINUTE]}, managed(taints=[since(9)]), False, id="a taint whose toleration has ended"
        ),
        pytest.param({}, managed(taints=[{**TAINT, "effect": "PreferNoSelect"}]), True, id="a taint that only advises"),
        pytest.param({}, managed(taints=[{**TAINT, "effect": "NoSelectIfNew"}]), True, id="a taint for new ones"),
        pytest.param({"clusterSets": ["spoke"]}, managed(labels={IN_SET: "spoke"}), True, id="it is in the set"),
        pytest.param({"clusterSets": ["spoke"]}, managed(labels={IN_SET: "old"}), False, id="it has left the set"),
        pytest.param({"clusterSets": ["global"]}, managed(labels={IN_SET: "old"}), True, id="the set of all clusters"),
        pytest.param({"predicates": [UNREADABLE]}, managed(), False, id="a selector that cannot be read"),
    ],
)
def test_who_could_still_be_chosen(spec, member, answer):
    assert may_stay(placement(**spec), member, NOW) is answer
