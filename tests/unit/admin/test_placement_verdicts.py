"""What a Placement makes of every cluster, and why it offers none."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin import cluster_draining
from fleetqueue.admin.placement_verdicts import FleetObjects, part_text, verdicts, why_none
from fleetqueue.admin.step_commands import commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import timestamp

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "kueue-system"


def managed(name, cluster_set="spoke", taints=(), deleting=False, **labels):
    labels |= {cluster.CLUSTER_SET_LABEL: cluster_set} if cluster_set else {}
    manifest = cluster.ManagedCluster.manifest(name, labels=labels, spec={"taints": list(taints)})
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = timestamp(NOW)
    return cluster.ManagedCluster.view(manifest)


def placement(name="gpu", namespace=NAMESPACE, **spec):
    return cluster.Placement.view(cluster.Placement.manifest(name, namespace, spec={"clusterSets": ["spoke"], **spec}))


def asks(**labels):
    return {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}]}


BY_CEL = {"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}}]}
BY_SCORE = {
    "numberOfClusters": 1,
    "prioritizerPolicy": {
        "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "gpu"}}, "weight": 2}
        ]
    },
}
TAINT = {"key": "maintenance", "effect": "NoSelect"}


def cluster_set(name="spoke"):
    return cluster.ManagedClusterSet.view(cluster.ManagedClusterSet.manifest(name, spec={}))


def binding(name="spoke", namespace=NAMESPACE):
    return cluster.ManagedClusterSetBinding.view(cluster.ManagedClusterSetBinding.manifest(name, namespace, spec={}))


def decision(*names):
    labels = {cluster.PLACEMENT_LABEL: "gpu"}
    status = {"decisions": [{"clusterName": name, "reason": ""} for name in names]}
    return cluster.PlacementDecision.view(
        cluster.PlacementDecision.manifest("gpu-decision-1", NAMESPACE, labels=labels, status=status)
    )


def score(name, value, valid=60):
    status = {
        "scores": [{"name": "gpu", "value": value}],
        "validUntil": timestamp(NOW + timedelta(seconds=valid)),
    }
    return cluster.AddOnPlacementScore.view(cluster.AddOnPlacementScore.manifest("usage", name, status=status))


def fleet(*clusters, of=None, chosen=(), sets=("spoke",), bound=("spoke",), scores=()):
    return FleetObjects(
        clusters,
        [cluster_set(name) for name in sets],
        [binding(name) for name in bound],
        [of or placement()],
        [decision(*chosen)],
        scores,
    )


@pytest.mark.parametrize(
    ("one", "of", "chosen", "rule", "why"),
    [
        pytest.param(managed("c1"), placement(), ["c1"], "Chosen", "the Placement has chosen it", id="chosen"),
        pytest.param(
            managed("c1", deleting=True),
            placement(),
            [],
            "Leaving",
            "its ManagedCluster is being deleted",
            id="a cluster that leaves",
        ),
        pytest.param(
            managed("c1", "other"),
            placement(),
            [],
            "NotInSet",
            "it is in set other, and the Placement chooses from spoke",
            id="in another set",
        ),
        pytest.param(
            managed("c1", ""),
            placement(),
            [],
            "NotInSet",
            "it is in no set, and the Placement chooses from spoke",
            id="in no set",
        ),
        pytest.param(
            managed("c1", gpu="amd"),
            placement(**asks(gpu="nvidia")),
            [],
            "NotMatched",
            "label gpu must be 'nvidia' and is 'amd'",
            id="another label",
        ),
        pytest.param(
            managed("c1"),
            placement(**asks(gpu="nvidia")),
            [],
            "NotMatched",
            "label gpu must be 'nvidia' and is not set",
            id="no label",
        ),
        pytest.param(
            managed("c1"),
            placement(**BY_CEL),
            [],
            "NotJudged",
            "a CEL expression of the Placement decides over it",
            id="a CEL selector",
        ),
        pytest.param(
            managed("c1", taints=[TAINT]),
            placement(),
            [],
            "Tainted",
            "taint maintenance:NoSelect is not tolerated",
            id="a taint",
        ),
        pytest.param(
            managed("c1", taints=[TAINT]),
            placement(tolerations=[{"key": "maintenance", "operator": "Exists"}]),
            ["c1"],
            "Chosen",
            "the Placement has chosen it",
            id="a taint that is tolerated",
        ),
        pytest.param(
            managed("c1"),
            placement(**BY_SCORE),
            ["c2"],
            "Outscored",
            "the Placement takes 1, and others come first by score or name",
            id="another one is better",
        ),
        pytest.param(
            managed("c1"),
            placement(),
            [],
            "NotDecided",
            "nothing speaks against it, and the Placement has not chosen it yet",
            id="not decided",
        ),
    ],
)
def test_the_rule_that_chooses_or_drops_a_cluster(one, of, chosen, rule, why):
    (verdict,) = verdicts(of, fleet(one, of=of, chosen=chosen), NOW)

    assert (verdict.rule, verdict.why) == (rule, why)


def test_scores_are_told_by_part_and_order_the_clusters():
    of = placement(**BY_SCORE)
    around = fleet(
        managed("c1"), managed("c2"), managed("c3"), of=of, chosen=["c2"], scores=[score("c1", 10), score("c2", 70)]
    )

    found = verdicts(of, around, NOW)

    assert [(one.cluster, one.rank, one.score) for one in found] == [("c2", 1, 140), ("c1", 2, 20), ("c3", 3, 0)]
    assert [part_text(one.parts[0]) for one in found] == [
        "gpu 70 x 2 (valid until 2026-01-01T00:01:00Z)",
        "gpu 10 x 2 (valid until 2026-01-01T00:01:00Z)",
        "gpu none x 2",
    ]


def test_a_score_whose_time_is_over_counts_nothing():
    of = placement(**BY_SCORE)

    (found,) = verdicts(of, fleet(managed("c1"), of=of, scores=[score("c1", 70, valid=-1)]), NOW)

    assert (found.score, found.parts[0].value) == (0, None)


@pytest.mark.parametrize(
    ("around", "code", "sentence"),
    [
        pytest.param(
            FleetObjects(placements=[placement(namespace="default")]),
            "PlacementMissing",
            "Placement gpu not found in namespace kueue-system; there is one in namespace default, where no check"
            " looks for it",
            id="in another namespace",
        ),
        pytest.param(
            fleet(managed("c1"), bound=()),
            "SetNotBound",
            "Placement gpu may not choose from set spoke: no ManagedClusterSetBinding in kueue-system",
            id="not bound",
        ),
        pytest.param(
            fleet(managed("c1"), bound=("other",)),
            "SetNotBound",
            "Placement gpu may not choose from set spoke: no ManagedClusterSetBinding in kueue-system",
            id="another set is bound",
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(clusterSets=[]), bound=()),
            "SetNotBound",
            "Placement gpu may not choose from any set: no ManagedClusterSetBinding in kueue-system",
            id="nothing is bound",
        ),
        pytest.param(
            fleet(managed("c1"), sets=()),
            "SetMissing",
            "Placement gpu chooses from set spoke, which does not exist",
            id="no such set",
        ),
        pytest.param(
            fleet(managed("c1", "other")),
            "SetEmpty",
            "Placement gpu chooses from set spoke, and no ManagedCluster is in there",
            id="an empty set",
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(**asks(gpu="nvidia"))),
            "NoClusterMatches",
            "no cluster matches the predicates of Placement gpu; c1: label gpu must be 'nvidia' and is not set",
            id="no cluster matches",
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(**BY_CEL)),
            "NoClusterMatches",
            "a CEL selector of Placement gpu drops c1",
            id="no cluster matches a CEL selector",
        ),
        pytest.param(
            fleet(managed("c1", taints=[TAINT])),
            "TaintNotTolerated",
            "Placement gpu drops c1: taint maintenance:NoSelect is not tolerated",
            id="a taint",
        ),
        pytest.param(
            fleet(managed("c1", taints=[TAINT], gpu="nvidia"), managed("c2"), of=placement(**asks(gpu="nvidia"))),
            "TaintNotTolerated",
            "Placement gpu drops c1: taint maintenance:NoSelect is not tolerated",
            id="what keeps the nearest one away goes first",
        ),
        pytest.param(
            fleet(managed("c1", taints=[TAINT]), managed("c2", taints=[TAINT, cluster_draining.TAINT])),
            "TaintNotTolerated",
            "Placement gpu drops c1, c2: taint maintenance:NoSelect is not tolerated",
            id="a taint beside a drain",
        ),
        pytest.param(
            fleet(managed("c1", taints=[TAINT]), managed("c2", taints=[cluster_draining.TAINT])),
            "ClusterDraining",
            "Placement gpu drops c2: tainted with fleetqueue.dev/drain, to be drained",
            id="a drain",
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(numberOfClusters=0)),
            "NumberIsZero",
            "Placement gpu has numberOfClusters 0",
            id="it wants none",
        ),
        pytest.param(
            fleet(managed("c1")),
            "PlacementNotDecided",
            "Placement gpu has no decision yet, though c1 could be chosen",
            id="not decided",
        ),
    ],
)
def test_why_a_placement_offers_no_cluster(around, code, sentence):
    cause = why_none("gpu", NAMESPACE, around, NOW)

    assert cause is not None
    assert (cause.code, cause.sentence) == (code, sentence)
    assert cause.step


def selects(labels, *expressions, claims=()):
    terms = {"matchLabels": labels, "matchExpressions": [*expressions]}
    wanted = {"matchExpressions": [{"key": key, "operator": "Exists"} for key in claims]}
    return {"predicates": [{"requiredClusterSelector": {"labelSelector": terms, "claimSelector": wanted}}]}


UNREACHABLE = {"key": f"{cluster.GROUP}/unreachable", "effect": "NoSelect"}


@pytest.mark.parametrize(
    ("around", "commands"),
    [
        pytest.param(
            fleet(managed("c1", gpu="none", zone="a"), of=placement(**selects({"gpu": "a b", "zone": "a"}))),
            ["kubectl label managedcluster c1 'gpu=a b' --overwrite"],
            id="a label that has another value",
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(**selects({"gpu": "yes"}, claims=["id"]))), [], id="a claim too"
        ),
        pytest.param(
            fleet(managed("c1"), of=placement(**selects({"gpu": "yes"}, {"key": "a", "operator": "Odd"}))),
            [],
            id="an operator that there is not",
        ),
        pytest.param(
            fleet(managed("c1", taints=[{**TAINT, "effect": "PreferNoSelect"}, {**TAINT, "key": "broken"}])),
            [
                'kubectl patch managedcluster c1 --type json -p \'[{"op":"test","path":"/spec/taints/1/key",'
                '"value":"broken"},{"op":"remove","path":"/spec/taints/1"}]\''
            ],
            id="the taint that counts",
        ),
        pytest.param(fleet(managed("c1", taints=[UNREACHABLE])), [], id="a taint that OCM sets again"),
    ],
)
def test_a_step_has_a_command_where_one_is_enough(around, commands):
    assert commands_of(why_none("gpu", NAMESPACE, around, NOW).step) == commands


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(fleet(managed("c1"), chosen=["c1"]), id="it has chosen"),
        pytest.param(FleetObjects(), id="Placements cannot be seen"),
        pytest.param(FleetObjects(placements=[placement()]), id="nothing else can be seen"),
    ],
)
def test_nothing_is_claimed_where_it_offers_one_or_nobody_can_tell(around):
    assert why_none("gpu", NAMESPACE, around, NOW) is None
