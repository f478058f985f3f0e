"""What a RayCluster needs next, and what it says of itself."""

import pytest

from fleetqueue.api.job_kinds import RayCluster
from fleetqueue.embedded.operators.ray_cluster_plan import plan

from .objects import as_there, made, names, ray_cluster_spec, seen, told


def cluster(status=None, labels=None, **spec):
    more = {"labels": labels} if labels else {}
    return made(RayCluster, {**ray_cluster_spec(2), **spec}, status=status, **more)


def children_of(raw, **how):
    return [as_there(child, **how) for child in plan(seen(raw)).create]


def group(**more):
    return [{**ray_cluster_spec()["workerGroupSpecs"][0], **more}]


def test_a_new_cluster_makes_a_head_workers_and_a_service():
    result = plan(seen(cluster()))

    assert names(result.create, "Service") == ["j-head-svc"]
    assert names(result.create) == ["j-head-drawn1", "j-small-worker-drawn2", "j-small-worker-drawn3"]
    assert told(result.status) == {
        "HeadPodReady": "False HeadPodNotFound",
        "RayClusterProvisioned": "False RayClusterPodsProvisioning",
        "RayClusterSuspended": "False RayClusterSuspended",
        "RayClusterSuspending": "False RayClusterSuspending",
    }
    assert "state" not in result.status


def test_pods_are_labelled_as_kuberay_labels_them():
    _, head, worker, _ = plan(seen(cluster())).create

    assert head["metadata"]["labels"] == {
        "ray.io/cluster": "j",
        "ray.io/node-type": "head",
        "ray.io/group": "headgroup",
        "ray.io/identifier": "j-head",
        "ray.io/is-ray-node": "yes",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    assert (worker["metadata"]["labels"]["ray.io/group"], worker["metadata"]["labels"]["ray.io/node-type"]) == (
        "small",
        "worker",
    )


def test_the_pods_of_a_service_can_be_found_as_such():
    _, head, *_ = plan(seen(cluster(labels={"ray.io/originated-from-crd": "RayService"}))).create

    assert head["metadata"]["labels"]["ray.io/serve"] == "true"


def test_a_cluster_whose_pods_all_run_is_ready_and_counts_them():
    raw = cluster()
    children = children_of(raw)
    children[1]["status"]["podIP"] = "10.0.0.2"

    status = plan(seen(raw, *children)).status

    assert status["state"] == "ready"
    assert status["stateTransitionTimes"] == {"ready": "2026-01-01T12:00:00Z"}
    assert told(status)["RayClusterProvisioned"] == "True AllPodRunningAndReadyFirstTime"
    assert told(status)["HeadPodReady"] == "True HeadPodRunningAndReady"
    assert status["head"] == {
        "podIP": "10.0.0.2",
        "podName": "j-head-drawn1",
        "serviceIP": "10.0.0.2",
        "serviceName": "j-head-svc",
    }
    assert status["endpoints"]["dashboard"] == "8265"
    counted = ("desired", "min", "max", "available", "ready")
    assert [status.get(f"{name}WorkerReplicas", 0) for name in counted] == [2, 0, 9, 2, 2]
    assert (status["desiredCPU"], status["desiredMemory"], status["desiredGPU"]) == ("3", "0", "0")


def test_a_cluster_whose_pods_do_not_all_run_is_not_ready():
    raw = cluster()
    *most, last = children_of(raw)

    status = plan(seen(raw, *most, as_there(last, "Pending"))).status

    assert "state" not in status
    assert (status["availableWorkerReplicas"], status["desiredWorkerReplicas"]) == (1, 2)


@pytest.mark.parametrize(
    ("more", "pods"),
    [
        pytest.param({"replicas": 3}, 3, id="as many as it says"),
        pytest.param({"replicas": 1, "minReplicas": 2}, 2, id="not fewer than the least"),
        pytest.param({"replicas": 12}, 9, id="not more than the most"),
        pytest.param({"replicas": 2, "numOfHosts": 2}, 4, id="of several hosts each"),
        pytest.param({"replicas": 2, "suspend": True}, 0, id="none of a group that is suspended"),
    ],
)
def test_how_many_workers_a_group_has(more, pods):
    result = plan(seen(cluster(workerGroupSpecs=group(**more))))

    assert len([name for name in names(result.create) if "worker" in name]) == pods
    assert result.status.get("desiredWorkerReplicas", 0) == pods


def test_workers_that_are_too_many_go_and_first_those_that_are_named():
    children = children_of(cluster())
    named = {"scaleStrategy": {"workersToDelete": ["j-small-worker-drawn3"]}}

    fewer = plan(seen(cluster(workerGroupSpecs=group(replicas=1)), *children))
    these = plan(seen(cluster(workerGroupSpecs=group(replicas=1, **named)), *children))

    assert names(fewer.delete) == ["j-small-worker-drawn2"]
    assert names(these.delete) == ["j-small-worker-drawn3"]


@pytest.mark.parametrize("place", [1, 2], ids=["head", "worker"])
def test_a_pod_that_has_ended_goes_before_another_takes_its_place(place):
    raw = cluster()
    children = children_of(raw)
    gone = children[place]["metadata"]["name"]
    children[place]["status"]["phase"] = "Failed"

    first = plan(seen(raw, *children))
    second = plan(seen(raw, *(child for child in children if child["metadata"]["name"] != gone)))

    assert (names(first.delete), first.create) == ([gone], [])
    assert len(second.create) == 1


def test_a_suspension_begins_takes_the_pods_away_and_ends():
    children = children_of(cluster())
    begun = plan(seen(cluster(suspend=True), *children))
    going = plan(seen(cluster(begun.status, suspend=True), *children))
    gone = plan(seen(cluster(going.status, suspend=True), children[0]))
    quiet = plan(seen(cluster(gone.status, suspend=True), children[0]))

    assert (begun.delete, told(begun.status)["RayClusterSuspending"]) == ([], "True RayClusterSuspending")
    assert len(names(going.delete)) == 3
    assert told(gone.status)["RayClusterSuspended"] == "True RayClusterSuspended"
    assert told(gone.status)["RayClusterSuspending"] == "False RayClusterSuspending"
    assert gone.status["state"] == "suspended"
    assert quiet.status == gone.status


def test_a_resumed_cluster_says_so_and_then_makes_its_pods():
    service = children_of(cluster())[0]
    status = {"state": "suspended", "conditions": plan(seen(cluster(suspend=True))).status["conditions"]}
    suspended = plan(seen(cluster(status, suspend=True), service))

    resumed = plan(seen(cluster(suspended.status, suspend=False), service))
    running = plan(seen(cluster(resumed.status, suspend=False), service))

    assert (resumed.create, told(resumed.status)["RayClusterSuspended"]) == ([], "False RayClusterSuspended")
    assert len(names(running.create)) == 3
    assert running.status["state"] == "suspended"


def test_what_was_decided_is_not_decided_again():
    raw = cluster()
    children = children_of(raw)
    first = plan(seen(raw, *children))

    second = plan(seen(cluster(first.status), *children))

    assert (second.create, second.delete, second.says) == ([], [], [])
    assert second.status == first.status
