"""The witness itself: what it must notice, it notices; what is excused, it excuses."""

import pytest

from fleetqueue.embedded.apiserver.storage.interface import StorageChange, StorageEntry
from fleetqueue.embedded.nodes.settings import SILENT
from tests.invariants import Broken
from tests.invariants.witness import Witness


def job(name, *, suspend=False, ended=False, uid="u"):
    conditions = [{"type": "Complete", "status": "True"}] if ended else []
    metadata = {"name": name, "namespace": "default", "uid": uid}
    return {"metadata": metadata, "spec": {"suspend": suspend}, "status": {"conditions": conditions}}


def change(raw, *, before=None, kind="ADDED", key=""):
    key = key or f"/batch/jobs/default/{raw['metadata']['name']}"
    previous = StorageEntry(key, before, 1) if before else None
    return StorageChange(kind, StorageEntry(key, raw, 2), previous)


@pytest.fixture
def witness():
    return Witness(lambda worker: worker == "lost", lambda name: name == "careful")


def test_two_live_copies_at_a_time_are_noticed(witness):
    witness.see("cluster1", change(job("j")))
    witness.see("cluster2", change(job("j")))

    with pytest.raises(Broken, match="ran twice: default/j on cluster1, cluster2"):
        witness.check()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(job("j", suspend=True), job("j"), id="one is suspended"),
        pytest.param(job("j", ended=True), job("j"), id="one has ended"),
        pytest.param(job("j"), job("k"), id="of two jobs"),
    ],
)
def test_what_is_not_twice(witness, first, second):
    witness.see("cluster1", change(first))
    witness.see("cluster2", change(second))

    witness.check()


def test_a_worker_that_was_lost_is_excused(witness):
    witness.see("lost", change(job("j")))
    witness.see("cluster2", change(job("j")))

    witness.check()


def pod(name, *, phase="Running", job_name="careful", node="", deleted=None):
    owner = {"kind": "Job", "name": job_name, "uid": job_name, "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner]}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    raw = {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return change(raw, key=f"/core/pods/default/{name}")


def test_a_worker_that_was_lost_does_not_excuse_a_job_that_must_not_run_twice(witness):
    witness.see("lost", change(job("careful")))
    witness.see("cluster2", change(job("careful")))

    with pytest.raises(Broken, match="ran twice: default/careful"):
        witness.check()


def test_of_such_a_job_pods_count_too(witness):
    witness.see("cluster1", pod("a"))
    witness.see("cluster2", pod("b"))

    with pytest.raises(Broken, match="ran twice: pods of Job default/careful on cluster1, cluster2"):
        witness.check()


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("cluster1", pod("b")), id="both on one worker"),
        pytest.param(("cluster2", pod("b", phase="Succeeded")), id="one has ended"),
        pytest.param(("cluster2", pod("b", job_name="other")), id="of another job"),
    ],
)
def test_pods_that_are_not_twice(witness, second):
    witness.see("cluster1", pod("a"))
    witness.see(*second)

    witness.check()


@pytest.mark.parametrize("other", ["cluster2", "hub"])
def test_pods_of_one_job_that_run_on_two_clusters_are_noticed(witness, other):
    witness.see("cluster1", pod("a", job_name="any", node="n"))
    witness.see(other, pod("b", job_name="any", node="n"))

    with pytest.raises(Broken, match=f"ran twice: pods of Job default/any on cluster1, {other}"):
        witness.check()


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(("cluster1", pod("a", job_name="any")), id="one waits for a node"),
        pytest.param(("cluster1", pod("a", job_name="any", node="n", phase="Failed")), id="one has ended"),
        pytest.param(("lost", pod("a", job_name="any", node="n")), id="one is on a worker that was lost"),
    ],
)
def test_pods_of_one_job_that_are_not_twice(witness, first):
    witness.see(*first)
    witness.see("cluster2", pod("b", job_name="any", node="n"))

    witness.check()


def node(name, *, silent):
    annotations = {SILENT: "true"} if silent else {}
    return change({"metadata": {"name": name, "annotations": annotations}}, key=f"/core/nodes/{name}")


def test_a_pod_that_is_deleted_while_its_node_is_switched_off_runs_no_more(witness):
    witness.see("cluster1", node("n", silent=True))
    witness.see("cluster1", pod("a", job_name="any", node="n", deleted="2026-01-02T03:04:05Z"))
    witness.see("cluster2", pod("b", job_name="any", node="n"))

    witness.check()


@pytest.mark.parametrize(
    ("silent", "deleted"),
    [
        pytest.param(True, None, id="it may run again with its node"),
        pytest.param(False, "2026-01-02T03:04:05Z", id="it stops, and still runs"),
    ],
)
def test_a_pod_on_a_node_that_fails_may_run(witness, silent, deleted):
    witness.see("cluster1", node("n", silent=silent))
    witness.see("cluster1", pod("a", job_name="any", node="n", deleted=deleted))
    witness.see("cluster2", pod("b", job_name="any", node="n"))

    with pytest.raises(Broken, match="ran twice: pods of Job default/any on cluster1, cluster2"):
        witness.check()


def test_a_job_that_ended_on_the_hub_and_goes_on_is_noticed(witness):
    witness.see("hub", change(job("j", ended=True), before=job("j")))
    witness.see("hub", change(job("j"), before=job("j", ended=True), kind="MODIFIED"))

    assert witness.finishes["u"] == 1
    with pytest.raises(Broken, match="had ended on the hub"):
        witness.check()


@pytest.mark.parametrize(
    ("kind", "key", "counted"),
    [
        pytest.param("MODIFIED", "/kueue.x-k8s.io/workloads/default/w", True, id="a Workload"),
        pytest.param("ADDED", "/core/events/default/e", True, id="an Event"),
        pytest.param("DELETED", "/core/events/default/e", False, id="an Event that expires"),
        pytest.param("MODIFIED", "/coordination.k8s.io/leases/default/l", False, id="a lease that is renewed"),
    ],
)
def test_what_counts_as_a_write_of_a_world_that_should_be_quiet(witness, kind, key, counted):
    witness.see("hub", change({"metadata": {"name": "any"}}, kind=kind, key=key))

    assert bool(witness.writes) is counted


def ray_job(*, suspend=False, status=""):
    raw = {"metadata": {"name": "r"}, "spec": {"suspend": suspend}, "status": {"jobDeploymentStatus": status}}
    return change(raw, key="/ray.io/rayjobs/default/r")


def queued_pod(*, node="n", phase="Running"):
    metadata = {"name": "p", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    raw = {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return change(raw, key="/core/pods/default/p")


@pytest.mark.parametrize("seen", [ray_job(), queued_pod()], ids=["a RayJob", "a pod that is a job"])
def test_two_live_copies_of_another_kind_are_noticed(witness, seen):
    witness.see("cluster1", seen)
    witness.see("cluster2", seen)

    with pytest.raises(Broken, match="ran twice"):
        witness.check()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(ray_job(suspend=True), ray_job(), id="one is suspended"),
        pytest.param(ray_job(status="Complete"), ray_job(), id="one has ended"),
        pytest.param(queued_pod(node=""), queued_pod(), id="one waits at the gate"),
        pytest.param(queued_pod(phase="Failed"), queued_pod(), id="one pod has ended"),
    ],
)
def test_what_is_not_twice_of_another_kind(witness, first, second):
    witness.see("cluster1", first)
    witness.see("cluster2", second)

    witness.check()
