"""Which nodes get a pod of a DaemonSet, and which pods go: every branch is a row."""

import pytest

from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonPlaces, pod_manifest, target_node, tolerations
from fleetqueue.embedded.kubernetes.daemon_set_plan import DaemonNodes, decide
from fleetqueue.embedded.kubernetes.daemon_sets import wanted_status

from .set_objects import NOW, a_daemon_set, a_node, a_pod, at

NODES = [a_node("n1"), a_node("n2"), a_node("n3")]
SURGE = {"maxUnavailable": 0, "maxSurge": 1}


def on(node, name="", phase="Running", *, revision="new", **options):
    """Make the pod of a node; called as it, unless it has a name."""
    return a_pod(name or f"on-{node}", phase, revision=revision, nodeName=node, **options)


def old(node, **options):
    return on(node, f"old-{node}", revision="old", **options)


def seen(daemon_set, nodes, pods):
    return DaemonNodes.of(daemon_set, nodes, pods, "new", NOW)


def planned(daemon_set, pods, nodes=NODES, pauses=None):
    plan = decide(seen(daemon_set, nodes, pods), pauses or {})
    return [f"create {node}" for node in plan.create] + [f"delete {pod.name}" for pod in plan.delete]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], ["create n1", "create n2", "create n3"], id="one for every node"),
        pytest.param([on("n1"), on("n3")], ["create n2"], id="for those that have none"),
        pytest.param([on("n1"), on("n2"), on("n3", phase="Pending")], [], id="all have one"),
        pytest.param([on("n1"), on("n2"), on("n3", deleting=True)], [], id="one that goes is waited for"),
        pytest.param(
            [on("n1"), on("n2"), on("n3", phase="Failed")], ["delete on-n3"], id="one that failed goes, for the next"
        ),
        pytest.param([on("n1"), on("n2"), on("n3", phase="Succeeded")], ["delete on-n3"], id="one that succeeded, too"),
        pytest.param(
            [on("n1"), on("n2"), on("n3", phase="Failed", deleting=True)],
            ["create n3"],
            id="one that has ended and goes does not count",
        ),
        pytest.param([on("n1"), on("n2"), on("n3"), on("n3", "twin")], ["delete twin"], id="one of two goes"),
        pytest.param([*(on(f"n{i}") for i in (1, 2, 3)), on("n9")], [], id="one of a node that is gone: others care"),
    ],
)
def test_every_node_has_a_pod(pods, expected):
    assert planned(a_daemon_set(), pods) == expected


def made_for(node):
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return a_pod(f"for-{node}", "Pending", revision="new", affinity={"nodeAffinity": required})


def test_a_pod_that_has_no_node_yet_counts_for_the_one_that_it_was_made_for():
    pods = [made_for("n1"), on("n2"), on("n3")]

    assert planned(a_daemon_set(), pods) == []
    assert [target_node(pod) for pod in pods] == ["n1", "n2", "n3"]


def test_one_that_was_made_for_a_node_that_is_gone_goes():
    assert planned(a_daemon_set(), [made_for("n9")], []) == ["delete for-n9"]


def test_of_two_the_one_that_has_a_node_stays():
    twin = made_for("n1")

    assert planned(a_daemon_set(), [twin, on("n1", "older")], NODES[:1]) == ["delete for-n1"]


def test_one_that_failed_again_waits_for_its_replacement():
    daemon_set, failed = a_daemon_set(), [on("n1", phase="Failed")]

    plan = decide(seen(daemon_set, NODES[:1], failed), {"n1": 7.0})

    assert (plan.create, plan.delete, plan.look_again) == ([], [], 7.0)
    assert planned(daemon_set, failed, NODES[:1], {"n1": -1.0}) == ["delete on-n1"]


@pytest.mark.parametrize(
    ("template", "node", "wants", "keeps"),
    [
        pytest.param({}, a_node("n1"), True, True, id="any node"),
        pytest.param({"nodeName": "n2"}, a_node("n1"), False, False, id="another node by name"),
        pytest.param({"nodeSelector": {"zone": "a"}}, a_node("n1", zone="a"), True, True, id="its label"),
        pytest.param({"nodeSelector": {"zone": "a"}}, a_node("n1"), False, False, id="not its label"),
        pytest.param({}, a_node("n1", ("special", "NoSchedule")), False, True, id="a taint against new ones"),
        pytest.param({}, a_node("n1", ("special", "NoExecute")), False, False, id="a taint against all"),
        pytest.param({}, a_node("n1", ("special", "PreferNoSchedule")), True, True, id="rather not is not never"),
        pytest.param(
            {"tolerations": [{"key": "special", "operator": "Exists"}]},
            a_node("n1", ("special", "NoExecute")),
            True,
            True,
            id="it tolerates it",
        ),
        pytest.param({}, a_node("n1", ("node.kubernetes.io/unschedulable", "NoSchedule")), True, True, id="cordoned"),
        pytest.param({}, a_node("n1", ("node.kubernetes.io/not-ready", "NoExecute")), True, True, id="not ready"),
        pytest.param({}, a_node("n1", ("node.kubernetes.io/disk-pressure", "NoSchedule")), True, True, id="full disk"),
        pytest.param(
            {}, a_node("n1", ("node.kubernetes.io/network-unavailable", "NoSchedule")), False, True, id="no network"
        ),
        pytest.param(
            {"hostNetwork": True},
            a_node("n1", ("node.kubernetes.io/network-unavailable", "NoSchedule")),
            True,
            True,
            id="no network, which it brings",
        ),
    ],
)
def test_where_pods_may_be(template, node, wants, keeps):
    places = DaemonPlaces(a_daemon_set(template=template))

    assert (places.wants(node), places.keeps(node)) == (wants, keeps)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_node("n1", ("special", "NoSchedule")), [], id="it stays where new ones may not come"),
        pytest.param(a_node("n1", ("special", "NoExecute")), ["delete on-n1"], id="it goes where none may be"),
    ],
)
def test_pods_on_nodes_that_were_tainted(node, expected):
    assert planned(a_daemon_set(), [on("n1")], [node]) == expected


@pytest.mark.parametrize(
    ("strategy", "pods", "expected"),
    [
        pytest.param({}, [old("n1"), old("n2"), old("n3")], ["delete old-n1"], id="one at a time"),
        pytest.param(
            {"maxUnavailable": 2},
            [old("n1"), old("n2"), old("n3")],
            ["delete old-n1", "delete old-n2"],
            id="two at a time",
        ),
        pytest.param(
            {"maxUnavailable": "50%"},
            [old("n1"), old("n2"), old("n3")],
            ["delete old-n1", "delete old-n2"],
            id="half of three is two",
        ),
        pytest.param({}, [on("n1", ready=False), old("n2"), old("n3")], [], id="the new one must be available"),
        pytest.param({}, [on("n1"), old("n2"), old("n3")], ["delete old-n2"], id="then the next"),
        pytest.param({}, [old("n1", deleting=True), old("n2"), old("n3")], [], id="one is on its way"),
        pytest.param(
            {},
            [old("n1"), old("n2", ready=False), old("n3")],
            ["delete old-n2"],
            id="what is missing anyway goes first",
        ),
        pytest.param(
            {"maxUnavailable": 0}, [old("n1"), old("n2"), old("n3")], ["delete old-n1"], id="nothing allowed means one"
        ),
        pytest.param({}, [on("n1"), on("n2"), on("n3")], [], id="all are new"),
    ],
)
def test_an_update_replaces_pods(strategy, pods, expected):
    assert planned(a_daemon_set(strategy=strategy), pods) == expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([old("n1"), old("n2"), old("n3")], ["create n1"], id="a new one beside an old one"),
        pytest.param([old("n1"), on("n1", ready=False), old("n2"), old("n3")], [], id="it is waited for"),
        pytest.param([old("n1"), on("n1"), old("n2"), old("n3")], ["delete old-n1"], id="then the old one goes"),
        pytest.param(
            [old("n1", ready=False), on("n1", ready=False), old("n2"), old("n3")],
            ["delete old-n1"],
            id="an old one that is not ready goes at once",
        ),
        pytest.param(
            [on("n1"), old("n2", ready=False), old("n3")],
            ["create n2", "create n3"],
            id="an old one that is not available is no loss",
        ),
        pytest.param([on("n1"), on("n2"), on("n3")], [], id="all are new"),
        pytest.param(
            [on("n1"), on("n2"), on("n3", deleting=True)], ["create n3"], id="one that goes is not waited for"
        ),
        pytest.param(
            [on("n1"), on("n1", "twin"), on("n2"), on("n3")], ["delete twin"], id="two new ones on a node are too many"
        ),
    ],
)
def test_an_update_surges(pods, expected):
    assert planned(a_daemon_set(strategy=SURGE), pods) == expected


def test_with_a_surge_a_node_is_left_when_others_have_taken_over():
    nodes = [a_node("n1", ("special", "NoSchedule")), a_node("n2")]
    daemon_set = a_daemon_set(strategy=SURGE)

    assert planned(daemon_set, [old("n1"), on("n2", ready=False)], nodes) == []
    assert planned(daemon_set, [old("n1"), on("n2")], nodes) == ["delete old-n1"]
    assert planned(daemon_set, [old("n1", ready=False), on("n2")], nodes) == ["delete old-n1"]


def test_without_a_strategy_somebody_else_deletes_old_pods():
    daemon_set = a_daemon_set(updateStrategy={"type": "OnDelete"})

    assert planned(daemon_set, [old("n1"), old("n2"), old("n3")]) == []


def test_a_pod_of_the_same_template_generation_is_up_to_date():
    raw = {"metadata": {"name": "agent", "annotations": {"deprecated.daemonset.template.generation": "4"}}}
    daemon_set = type(a_daemon_set()).view(raw)

    assert daemon_set.is_updated(a_pod("p", revision="x", labels={"pod-template-generation": "4"}), "new")
    assert not daemon_set.is_updated(a_pod("p", revision="x", labels={"pod-template-generation": "3"}), "new")


def test_the_status_counts_nodes():
    nodes = [*NODES, a_node("n4", ("special", "NoSchedule")), a_node("n5")]
    pods = [on("n1"), old("n2", ready=False), on("n3", since=90), on("n4")]

    assert wanted_status(seen(a_daemon_set(minReadySeconds=60), nodes, pods)) == {
        "desiredNumberScheduled": 4,
        "currentNumberScheduled": 3,
        "numberMisscheduled": 1,
        "numberReady": 2,
        "numberAvailable": 1,
        "numberUnavailable": 3,
        "updatedNumberScheduled": 2,
        "observedGeneration": 3,
    }


def test_of_a_node_with_two_pods_the_older_one_counts():
    younger = on("n1", "a-younger").metadata
    raw = {"metadata": {"name": younger.name, "uid": "y", "creationTimestamp": at(50)}, "spec": {"nodeName": "n1"}}
    pods = [type(on("n1")).view(raw), on("n1", "older")]

    assert wanted_status(seen(a_daemon_set(), NODES[:1], pods))["numberReady"] == 1


def test_tolerations_are_added_or_last_for_ever():
    limited = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    own = {"key": "special", "operator": "Exists"}

    found = tolerations({"tolerations": [{**limited, "tolerationSeconds": 5}, own]})

    assert found[:2] == [limited, own]
    assert len(found) == 7
    assert len(tolerations({"hostNetwork": True})) == 7


def test_a_pod_may_run_on_its_node_only():
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]
    given = {
        "podAntiAffinity": {"x": "y"},
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        },
    }

    manifest = pod_manifest(a_daemon_set(template={"affinity": given}), "hash", "n1", "agent-x", "agent-")

    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert manifest["spec"]["affinity"] == {
        "podAntiAffinity": {"x": "y"},
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        },
    }
    assert manifest["metadata"]["labels"] == {"controller-revision-hash": "hash"}
