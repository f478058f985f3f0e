"""The rows that `get` shows."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.admin import inventory, listings
from fleetqueue.admin.hub_state import HubState, look
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE as FENCE_LEASE
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, REFUSED
from fleetqueue.api.kueue_pods import OWNER_NAME
from fleetqueue.client import Client
from fleetqueue.controllers.credentials import secret_content
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.runtime.cluster import OURS
from fleetqueue.runtime.events import Recorder
from fleetqueue.testing.builders import by_secret, condition, pod_template


def member(name: str, cluster_set: str) -> dict[str, object]:
    joined = condition(cluster.JOINED)
    return cluster.ManagedCluster.manifest(
        name,
        labels={cluster.CLUSTER_SET_LABEL: cluster_set},
        spec={"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": f"https://{name}"}]},
        status={"conditions": [joined]},
    )


async def test_a_cluster_tells_where_it_is_and_how(api):
    api.add(member("cluster1", "spoke"))

    (row,) = await inventory.clusters(Client(api))

    assert row["name"] == "cluster1"
    assert (row["accepted"], row["joined"], row["available"]) == (True, "True", "Unknown")
    assert (row["set"], row["urls"], row["credentials_until"]) == ("spoke", ["https://cluster1"], "")


def connection(name, *conditions, source=None, labels=None):
    spec = {"clusterSource": source or {"kubeConfig": {"locationType": "Secret", "location": "other"}}}
    return kueue.MultiKueueCluster.manifest(name, labels=labels, spec=spec, status={"conditions": list(conditions)})


OF_CLUSTER1 = {"labels": {CLUSTER_LABEL: "cluster1"}}
FAILED = condition("Active", False, "ClientConnectionFailed", "connection refused")


@pytest.mark.parametrize(
    ("connections", "cell"),
    [
        pytest.param([], "-", id="no Placement selects it"),
        pytest.param([connection("other-c1", condition("Active"))], "-", id="that of another"),
        pytest.param([connection("gpu-c1", condition("Active"), **OF_CLUSTER1)], "True", id="connected"),
        pytest.param([connection("gpu-c1", **OF_CLUSTER1)], "Unknown", id="not tried yet"),
        pytest.param([connection("gpu-c1", FAILED, **OF_CLUSTER1)], "False (ClientConnectionFailed)", id="refused"),
        pytest.param(
            [
                connection("gpu-c1", FAILED, **OF_CLUSTER1),
                connection("cpu-c1", condition("Active"), **OF_CLUSTER1),
                connection("all-c1", condition("Active"), **OF_CLUSTER1),
            ],
            "True,False (ClientConnectionFailed)",
            id="one for each Placement",
        ),
        pytest.param(
            [
                connection(
                    "mine", condition("Active"), source={"kubeConfig": {"location": "kueue-admin-cluster1-kubeconfig"}}
                )
            ],
            "True",
            id="made by hand, by our secret",
        ),
        pytest.param(
            [connection("mine", condition("Active"), source={"clusterProfileRef": {"name": "cluster1"}})],
            "True",
            id="made by hand, by its profile",
        ),
    ],
)
async def test_a_cluster_tells_whether_kueue_is_connected(api, connections, cell):
    api.add(member("cluster1", "spoke"), *connections)

    headings, line = (await listings.clusters(Client(api))).splitlines()

    where = headings.index("CONNECTED")
    assert line[where : headings.index("SET")].strip() == cell


async def test_programs_get_what_kueue_says_of_each_connection(api):
    api.add(member("cluster1", "spoke"), connection("gpu-c1", FAILED, **OF_CLUSTER1))

    (row,) = json.loads(await listings.clusters(Client(api), "json"))

    said = {"connected": "False", "reason": "ClientConnectionFailed", "message": "connection refused"}
    assert row["connections"] == [{"name": "gpu-c1", **said}]


async def test_who_may_not_see_connections_still_sees_the_clusters(api):
    api.add(member("cluster1", "spoke"))
    api.fail_on("list multikueueclusters", errors.Forbidden("no"))

    (row,) = await inventory.clusters(Client(api))

    assert row["connections"] == []


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        pytest.param("secrets", "CREDENTIALS UNTIL", id="secrets"),
        pytest.param("multikueueclusters", "CONNECTED", id="connections"),
    ],
)
async def test_a_column_that_the_user_may_not_read_is_named_with_the_reason(api, kind, column):
    api.add(member("cluster1", "spoke"))
    api.fail_on(f"list {kind}*", errors.Forbidden(f"{kind} is forbidden: User x cannot list"))

    _, line, note = (await listings.clusters(Client(api))).splitlines()

    assert line.startswith("cluster1")
    assert note == f"note: {column} could not be read: {kind} is forbidden: User x cannot list"


async def test_programs_are_told_what_could_not_be_read(api):
    api.add(member("cluster1", "spoke"))
    api.fail_on("list secrets*", errors.Forbidden("secrets is forbidden"))

    (row,) = json.loads(await listings.clusters(Client(api), "json"))

    assert row["unread"] == {"credentials_until": "secrets is forbidden"}


LEFT_OUT = {
    "gpu-cluster1": "secret kueue-admin-cluster1-kubeconfig (in kueue-system) is missing, or not ours",
    "gpu-cluster10": "it is the hub itself",
}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(messages.generated(LEFT_OUT, refused={"gpu-c2": "refused"})[1], id="beside others that serve"),
        pytest.param(messages.no_clusters("gpu", LEFT_OUT, [])[1], id="with nobody that serves"),
    ],
)
async def test_a_cluster_that_is_selected_and_left_out_tells_why(api, message):
    parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "gpu"}
    check = kueue.AdmissionCheck.manifest(
        "ac",
        spec={"controllerName": CHECK_CONTROLLER, "parameters": parameters},
        status={"conditions": [condition("Active", message=message)]},
    )
    api.add(member("cluster1", "spoke"), member("cluster2", "spoke"), check)

    headings, one, two, note = (await listings.clusters(Client(api))).splitlines()

    cells = [line[headings.index("CONNECTED") : headings.index("SET")].strip() for line in (one, two)]
    assert cells == ["- (left out)", "-"]
    assert note == f"note: cluster1 is left out by AdmissionCheck ac: {LEFT_OUT['gpu-cluster1']}"


@pytest.mark.parametrize(("namespace", "is_told"), [("kueue-system", True), ("default", False)])
async def test_why_a_chosen_cluster_is_left_out_is_among_the_verdicts(api, namespace, is_told):
    message = messages.no_clusters("gpu", LEFT_OUT, [])[1]
    parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "gpu"}
    check = kueue.AdmissionCheck.manifest(
        "ac",
        spec={"controllerName": CHECK_CONTROLLER, "parameters": parameters},
        status={"conditions": [condition("Active", message=message)]},
    )
    api.add(member("cluster1", "spoke"), cluster.Placement.manifest("gpu", namespace, spec={}), check)

    (row,) = await inventory.placement_verdicts(Client(api))

    assert row["why"].endswith(f"AdmissionCheck ac leaves it out: {LEFT_OUT['gpu-cluster1']}") is is_told


async def test_a_credential_that_the_worker_refuses_is_no_good_until_its_end(api):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    credential = secret_content.Issued("kubeconfig", now, now + timedelta(days=1))
    secret = secret_content.secret_manifest("cluster1", "kueue-system", credential, None)
    secret["metadata"]["annotations"] = {
        **{name: value for name, value in secret["metadata"]["annotations"].items() if value is not None},
        REFUSED: "2026-01-01T10:00:00Z",
    }
    api.add(member("cluster1", "spoke"), secret)

    assert "2026-01-02T00:00:00Z (Unauthorized)" in await listings.clusters(Client(api))
    (row,) = json.loads(await listings.clusters(Client(api), "json"))
    assert row["credentials_refused"] == "2026-01-01T10:00:00Z"


async def test_sets_tell_their_members_and_who_may_choose(api):
    api.add(member("cluster2", "spoke"), member("cluster1", "spoke"), member("other", "default"))
    api.add(cluster.ManagedClusterSet.manifest("spoke"), cluster.ManagedClusterSet.manifest("empty"))
    api.add(*(cluster.ManagedClusterSetBinding.manifest("spoke", ns) for ns in ("kueue-system", "default")))

    rows = await inventory.cluster_sets(Client(api))

    assert rows == [
        {"name": "empty", "bound_namespaces": [], "status": "No ManagedCluster selected", "clusters": []},
        {
            "name": "spoke",
            "bound_namespaces": ["default", "kueue-system"],
            "status": "2 ManagedClusters selected",
            "clusters": ["cluster1", "cluster2"],
        },
    ]


@pytest.mark.checklist("B-1")
def test_the_tree_is_drawn_as_clusteradm_draws_it():
    default = {"name": "default", "bound_namespaces": [], "status": "No ManagedCluster selected", "clusters": []}
    spoke = {
        "name": "spoke",
        "bound_namespaces": ["default", "kueue-system"],
        "status": "3 ManagedClusters selected",
        "clusters": ["cluster1", "cluster2", "cluster3"],
    }

    assert inventory.set_tree([default, spoke]).splitlines() == [
        "<ManagedClusterSet> ",
        "└── <default> ",
        "│   ├── <BoundNamespace> ",
        "│   ├── <Status> No ManagedCluster selected",
        "│   ├── <Clusters> []",
        "└── <spoke> ",
        "    └── <BoundNamespace> default,kueue-system",
        "    └── <Status> 3 ManagedClusters selected",
        "    └── <Clusters> [cluster1 cluster2 cluster3]",
    ]


async def test_a_placement_tells_what_it_chose(api):
    satisfied = condition("PlacementSatisfied", True, "AllDecisionsScheduled")
    status = {"numberOfSelectedClusters": 2, "conditions": [satisfied]}
    api.add(
        cluster.Placement.manifest("gpu", "ns", spec={}, status=status),
        decision("gpu-1", "ns", "gpu", ["b"]),
        decision("gpu-2", "ns", "gpu", ["a"]),
        decision("gpu-1", "other", "gpu", ["x"]),
    )

    (row,) = await inventory.placements(Client(api))

    assert (row["succeeded"], row["reason"], row["selected"]) == ("True", "AllDecisionsScheduled", 2)
    assert row["clusters"] == ["a", "b"]


async def test_scores_of_other_add_ons_are_left_out(api):
    status = {"scores": [{"name": "gpuClusterAvailable", "value": -70}], "validUntil": "2026-01-01T00:05:00Z"}
    api.add(
        cluster.AddOnPlacementScore.manifest("resource-usage-score", "cluster2", status=status),
        cluster.AddOnPlacementScore.manifest("other", "cluster2"),
    )

    (row,) = await inventory.scores(Client(api))

    assert row == {
        "cluster": "cluster2",
        "fresh": "Unknown",
        "valid_until": "2026-01-01T00:05:00Z",
        "scores": {"gpuClusterAvailable": -70},
    }


@pytest.mark.parametrize(
    ("true", "state", "clusters"),
    [
        pytest.param((), "Pending", [], id="it has no quota, or none any more"),
        pytest.param(("QuotaReserved",), "QuotaReserved", ["c1"], id="it has quota"),
        pytest.param(("QuotaReserved", "Admitted"), "Admitted", ["c1"], id="it runs"),
        pytest.param(("Admitted", "Finished"), "Finished", ["c1"], id="it has ended"),
    ],
)
def test_a_job_tells_how_far_it_is_and_where(true, state, clusters):
    status = {"conditions": [{"type": kind, "status": "True"} for kind in true], "clusterName": "c1"}
    found = kueue.Workload.view(kueue.Workload.manifest("w", "default", status=status))

    row = inventory.job_row(found, HubState())

    assert (row["state"], row["clusters"]) == (state, clusters)


POD = {"apiVersion": "v1", "kind": "Pod", "name": "p-0", "uid": "p"}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}
SET = {"kueue.x-k8s.io/job-owner-gvk": "apps/v1, Kind=StatefulSet", "kueue.x-k8s.io/job-owner-name": "sts1"}


@pytest.mark.parametrize(
    ("owners", "annotations", "name"),
    [
        pytest.param([JOB], {}, "Job/train", id="a Job"),
        pytest.param([POD], SET, "StatefulSet/sts1", id="pods of a set"),
        pytest.param([POD, POD], {}, "Pod/w", id="a group of pods, whose Workload has its name"),
        pytest.param([], {}, "Workload/w", id="nobody's"),
    ],
)
def test_a_job_has_the_name_that_people_know(owners, annotations, name):
    manifest = kueue.Workload.manifest("w", "default", annotations=annotations)
    manifest["metadata"]["ownerReferences"] = owners

    assert inventory.job_row(kueue.Workload.view(manifest), HubState())["job"] == name


async def test_a_job_tells_the_last_word_of_the_dispatcher(api):
    status = {
        "conditions": [condition("QuotaReserved")],
        "admissionChecks": [
            {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ],
    }
    api.add(check("mk", kueue.MULTIKUEUE_CONTROLLER), kueue.Workload.manifest("w", "team-a", spec={}, status=status))
    recorder = Recorder(Client(api))
    await recorder.warning(api.get(kueue.Workload, "w", "team-a"), "NoClusterToNominate", "gpu-c1: not connected")
    await Recorder(Client(api), "somebody.else").warning(
        api.get(kueue.Workload, "w", "team-a"), "NominationRefused", "not ours"
    )

    (row,) = await inventory.jobs(Client(api))

    assert (row["cause"], row["why"]) == ("ClusterNotConnected", "no cluster can take it: gpu-c1: not connected")


def check(name: str, controller: str, *conditions: dict[str, object]) -> dict[str, object]:
    status = {"conditions": list(conditions) or [condition("Active")]}
    parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": name}
    spec = {"controllerName": controller, **({"parameters": parameters} if controller == CHECK_CONTROLLER else {})}
    return kueue.AdmissionCheck.manifest(name, spec=spec, status=status)


async def test_a_job_tells_why_its_queue_is_inactive(api):
    strategy = {"admissionChecks": [{"name": "gpu"}]}
    queue_status = {"conditions": [condition("Active", "False")]}
    job_status = {"conditions": [condition("QuotaReserved", "False", message="ClusterQueue cq is inactive")]}
    api.add(
        check("gpu", CHECK_CONTROLLER, condition("Active", "False", "PlacementNotFound", "Placement gpu not found")),
        kueue.ClusterQueue.manifest("cq", spec={"admissionChecksStrategy": strategy}, status=queue_status),
        kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "cq"}),
        kueue.Workload.manifest("w", "team-a", spec={"queueName": "queue"}, status=job_status),
    )

    (row,) = await inventory.jobs(Client(api))

    assert (row["cause"], row["why"]) == (
        "PlacementMissing",
        "ClusterQueue cq is inactive: Placement gpu not found in namespace kueue-system; so AdmissionCheck gpu is not"
        " Active",
    )


async def test_a_job_tells_that_its_worker_is_lost_and_that_nobody_answers(api):
    entry = {"name": "gpu", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    waiting = {"conditions": [condition("QuotaReserved")], "admissionChecks": [entry]}
    running = {"conditions": [condition("Admitted", message="admitted")], "clusterName": "gpu-c1"}
    refused = {"conditions": [condition("Active", "False", "ClientConnectionFailed", "refused")]}
    api.add(
        check("gpu", CHECK_CONTROLLER),
        kueue.MultiKueueCluster.manifest("gpu-c1", spec=by_secret(), status=refused),
        kueue.Workload.manifest("running", "team-a", spec={}, status=running),
        kueue.Workload.manifest("waiting", "team-a", spec={}, status=waiting),
    )

    lost, unanswered = [row["why"] for row in await inventory.jobs(Client(api))]

    assert lost == "admitted; gpu-c1 may be lost: Kueue is not connected to it: ClientConnectionFailed: refused"
    assert unanswered == (
        "nobody answers for AdmissionCheck gpu: there is no lease fleetqueue-system/fleetqueue-controller; does a"
        " fleetqueue controller run?"
    )


async def test_the_jobs_of_one_namespace_alone_can_be_asked_for(api):
    api.add(*(kueue.Workload.manifest("w", namespace, spec={}) for namespace in ("team-a", "team-b")))

    assert {row["namespace"] for row in await inventory.jobs(Client(api))} == {"team-a", "team-b"}
    assert [row["namespace"] for row in await inventory.jobs(Client(api), "team-b")] == ["team-b"]
    assert await listings.jobs(Client(api), namespace="team-c") == "no jobs in namespace team-c"


async def test_for_one_namespace_no_right_to_others_is_needed(api):
    status = {
        "conditions": [condition("QuotaReserved")],
        "admissionChecks": [
            {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ],
    }
    api.add(check("mk", kueue.MULTIKUEUE_CONTROLLER), kueue.Workload.manifest("w", "team-a", spec={}, status=status))
    workload = api.get(kueue.Workload, "w", "team-a")
    await Recorder(Client(api)).warning(workload, "NoClusterToNominate", "gpu-c1: not connected")
    for plural in ("workloads", "localqueues", "events"):
        api.fail_on(f"list {plural}", errors.Forbidden("only those of team-a"))

    (row,) = await inventory.jobs(Client(api), "team-a")

    assert row["why"] == "no cluster can take it: gpu-c1: not connected"


async def test_a_set_that_was_changed_after_it_was_sent_tells_what_to_do(api):
    running = {"conditions": [condition("Admitted", message="admitted")], "clusterName": "gpu-c1"}
    pods = {**pod_template(), "metadata": {"labels": {"app": "a"}}}
    pods["spec"] = {**pods["spec"], "restartPolicy": "Always"}
    spec = {"serviceName": "a", "selector": {"matchLabels": {"app": "a"}}, "template": pods}
    for name, revision in (("old", "r-1"), ("new", "r-2")):
        status = {"replicas": 1, "currentRevision": "r-1", "updateRevision": revision}
        api.add(
            StatefulSet.manifest(name, "a", spec=spec, status=status),
            kueue.Workload.manifest(name, "a", annotations={OWNER_NAME: name}, spec={}, status=running),
        )
    api.add(kueue.MultiKueueCluster.manifest("gpu-c1", status={"conditions": [condition("Active")]}))

    new, old = await inventory.jobs(Client(api))

    assert new["why"].startswith("admitted; its template was changed")
    assert old["why"] == "admitted"


OTHERS = (
    "statefulsets",
    "events",
    "leases",
    "admissionchecks",
    "localqueues",
    "clusterqueues",
    "resourceflavors",
    "multikueueconfigs",
    "multikueueclusters",
    "managedclusters",
    "managedclustersets",
    "managedclustersetbindings",
    "placements",
    "placementdecisions",
    "addonplacementscores",
)


async def test_who_may_read_nothing_else_still_sees_the_jobs(api):
    running = {"conditions": [condition("Admitted", message="admitted")], "clusterName": "gpu-c1"}
    api.add(kueue.Workload.manifest("w", "team-a", spec={}, status=running))
    for plural in OTHERS:
        api.fail_on(f"* {plural}*", errors.Forbidden("no"))

    (row,) = await inventory.jobs(Client(api))

    assert row["why"] == "admitted"


def lease(name: str, renewed: str) -> dict[str, object]:
    spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": renewed}
    return Lease.manifest(name, "batch", labels=OURS, spec=spec)


@pytest.mark.parametrize(
    ("leases", "said"),
    [
        pytest.param([("fq-controller", True)], "", id="it is kept"),
        pytest.param([("old", False), ("fq-controller", True)], "", id="one of two is kept"),
        pytest.param([("fq-controller", False)], "has not renewed the lease batch/fq-controller", id="it is not kept"),
        pytest.param(
            [("fq-controller", False), (FENCE_LEASE, True)],
            "has not renewed the lease batch/fq-controller",
            id="only an agent keeps its own",
        ),
    ],
)
async def test_a_lease_of_another_name_is_found_by_its_label(api, leases, said):
    for name, is_kept in leases:
        renewed = clock.now() if is_kept else datetime(2020, 1, 1, tzinfo=UTC)
        api.add(lease(name, f"{renewed:%Y-%m-%dT%H:%M:%S.%fZ}"))

    found = (await look(Client(api))).silence

    assert said in found
    assert bool(found) == bool(said)


async def test_who_may_not_list_leases_is_not_told_that_there_is_none(api):
    api.fail_on("list leases*", errors.Forbidden("no"))

    assert (await look(Client(api))).silence == ""


async def test_who_may_not_read_events_still_sees_the_jobs(api):
    api.add(kueue.Workload.manifest("w", "team-a", spec={}))
    api.fail_on("list events", errors.Forbidden("no"))

    (row,) = await inventory.jobs(Client(api))

    assert row["why"] == "it names no queue"


def decision(name: str, namespace: str, placement: str, names: list[str]) -> dict[str, object]:
    status = {"decisions": [{"clusterName": cluster_name, "reason": ""} for cluster_name in names]}
    labels = {cluster.PLACEMENT_LABEL: placement}
    return cluster.PlacementDecision.manifest(name, namespace, labels=labels, status=status)
