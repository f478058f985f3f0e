"""Connections to the workers: what they hold is asked live, what they have left is followed."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.placement_admission.workers import SILENCE_SECONDS, Workers
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition, ended_job, pod_template
from fleetqueue.testing.virtual_time import advance, settle


class Dialled:
    def __init__(self, worker):
        self.worker = worker
        self.calls = []
        self.changes = []

    def __call__(self, connection):
        self.calls.append(connection.token)
        return Client(self.worker)


@pytest.fixture
async def dialled(api):
    return Dialled(api)


@pytest.fixture
async def workers(dialled):
    workers = Workers(dialled, Metrics(), on_change=lambda: dialled.changes.append(1))
    yield workers
    await workers.close()


def secret(token="one", **entries):
    text = render("c1", server="https://c1.example:6443", ca=b"ca", token=token, user="kueue")
    return core.Secret.view(core.secret("c1-kubeconfig", "kueue-system", {"kubeconfig": text, **entries}))


def labelled(**extra):
    return {kueue.ORIGIN_LABEL: "multikueue", **extra}


def job(name, **labels):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team-a", "labels": labels},
        "spec": {"template": pod_template()},
    }


async def test_an_empty_worker_holds_nothing(workers):
    assert await workers.held(secret(), {"multikueue"}) == set()


async def test_a_job_and_its_workload_are_one(workers, dialled):
    dialled.worker.add(kueue.Workload.manifest("w", "team-a", labels=labelled(), spec={}))
    dialled.worker.add(job("j", **labelled(**{kueue.PREBUILT_WORKLOAD: "w"})))

    assert await workers.held(secret(), {"multikueue"}) == {"team-a/w"}


async def test_a_job_without_a_workload_stands_for_itself(workers, dialled):
    dialled.worker.add(job("j", **labelled()))

    assert await workers.held(secret(), {"multikueue"}) == {"team-a/job/j"}


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
async def test_a_job_that_has_ended_holds_nothing_without_its_workload(workers, dialled, kind):
    """Kueue's collector looks at Workloads only: such a Job may stay for ever."""
    dialled.worker.add({**job("j", **labelled()), "status": ended_job(kind)})

    assert await workers.held(secret(), {"multikueue"}) == set()


async def test_a_workload_holds_until_kueue_has_removed_it(workers, dialled):
    """Unlisted before the hub has learned how the job ended, the hub would start it again."""
    ended = {"conditions": [condition("Finished")]}
    dialled.worker.add(kueue.Workload.manifest("w", "team-a", labels=labelled(), spec={}, status=ended))

    assert await workers.held(secret(), {"multikueue"}) == {"team-a/w"}


async def test_what_is_not_ours_is_not_counted(workers, dialled):
    dialled.worker.add(job("j"), kueue.Workload.manifest("w", "team-a", spec={}))

    assert await workers.held(secret(), {"multikueue"}) == set()


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.Forbidden("no"), id="they may not be listed"),
        pytest.param(errors.NotFound("no"), id="they are not served"),
    ],
)
async def test_where_jobs_cannot_be_seen_workloads_alone_count(workers, dialled, error):
    dialled.worker.add(kueue.Workload.manifest("w", "team-a", labels=labelled(), spec={}))
    dialled.worker.fail_on("list jobs", error)

    assert await workers.held(secret(), {"multikueue"}) == {"team-a/w"}


async def test_more_than_a_page_is_counted(workers, dialled):
    for number in range(501):
        dialled.worker.add(kueue.Workload.manifest(f"w{number}", "team-a", labels=labelled(), spec={}))

    assert len(await workers.held(secret(), {"multikueue"})) == 501


@pytest.mark.parametrize(
    ("status", "admitted"),
    [
        pytest.param({}, False, id="waiting"),
        pytest.param({"conditions": [condition("QuotaReserved")]}, False, id="with quota"),
        pytest.param({"conditions": [condition("Admitted")]}, True, id="admitted"),
        pytest.param({"conditions": [condition("Admitted", False)]}, False, id="no longer"),
    ],
)
async def test_the_copy_of_a_workload(workers, dialled, a_workload, status, admitted):
    dialled.worker.add(kueue.Workload.manifest("job", "team-a", spec={}, status=status))

    copy = await workers.copy(secret(), a_workload())

    assert (copy.key, copy.is_admitted) == ("team-a/job", admitted)


async def test_a_worker_without_a_copy_says_so(workers, a_workload):
    assert await workers.copy(secret(), a_workload()) is None


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(None, id="no secret"),
        pytest.param(core.Secret.view(core.secret("c1", "ns", {"other": "x"})), id="no kubeconfig in it"),
        pytest.param(core.Secret.view(core.secret("c1", "ns", {"kubeconfig": ""})), id="an empty one"),
        pytest.param(core.Secret.view(core.secret("c1", "ns", {"kubeconfig": "contexts: 7"})), id="nonsense"),
        pytest.param(core.Secret.view(core.Secret.manifest("c1", "ns", data={"kubeconfig": "/w=="})), id="no text"),
        pytest.param(core.Secret.view(core.Secret.manifest("c1", "ns", data={"kubeconfig": "x"})), id="no base64"),
    ],
)
async def test_without_a_usable_kubeconfig_a_worker_cannot_be_asked(workers, broken):
    with pytest.raises(errors.Unreachable, match="no usable kubeconfig"):
        await workers.held(broken, {"multikueue"})


async def test_one_connection_serves_all_questions(workers, dialled, a_workload):
    await workers.held(secret(), {"multikueue"})
    await workers.copy(secret(), a_workload())
    workers.follow(secret())

    assert dialled.calls == ["one"]


async def test_a_new_kubeconfig_opens_a_new_connection(workers, dialled):
    workers.follow(secret("one"))
    await settle()

    workers.follow(secret("two"))
    await settle()

    assert dialled.calls == ["one", "two"]
    assert dialled.worker.open_watches == 2


async def test_a_broken_kubeconfig_that_is_repaired_is_used(workers, dialled):
    workers.follow(core.Secret.view(core.secret("c1-kubeconfig", "ns", {"kubeconfig": "nonsense"})))
    assert dialled.calls == []

    workers.follow(secret())

    assert dialled.calls == ["one"]


async def test_a_silent_worker_is_not_asked_again_at_once(workers, dialled):
    dialled.worker.cut(silently=True)
    with pytest.raises(errors.Unreachable, match="timed out"):
        await workers.held(secret(), {"multikueue"})
    dialled.worker.heal()

    with pytest.raises(errors.Unreachable, match="timed out"):
        await workers.held(secret(), {"multikueue"})
    await advance(SILENCE_SECONDS)

    assert await workers.held(secret(), {"multikueue"}) == set()


async def test_a_worker_that_answers_with_an_error_may_be_asked_again_at_once(workers, dialled):
    dialled.worker.fail_on("list workloads", errors.Forbidden("no"), times=1)
    with pytest.raises(errors.Forbidden):
        await workers.held(secret(), {"multikueue"})

    assert await workers.held(secret(), {"multikueue"}) == set()


# Its queues


def queue(gpus, used=0, **spec):
    flavors = [{"name": "a", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]}]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]
    reserved = [{"name": "a", "resources": [{"name": "nvidia.com/gpu", "total": used}]}]
    manifest = kueue.ClusterQueue.manifest("cq", spec={"resourceGroups": groups, **spec})
    return {**manifest, "status": {"flavorsReservation": reserved}}


LOCAL = kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "cq"})


@pytest.mark.parametrize(
    ("objects", "name"),
    [
        pytest.param([LOCAL, queue(4, used=1)], "cq", id="behind its LocalQueue"),
        pytest.param([LOCAL], None, id="no ClusterQueue"),
        pytest.param([queue(4)], None, id="no LocalQueue"),
    ],
)
async def test_the_queue_of_a_workload(workers, dialled, a_workload, objects, name):
    dialled.worker.add(*objects)
    workers.follow(secret())
    await settle()

    local_queue = workers.queue(secret(), a_workload())

    assert (local_queue.name if local_queue else None) == name


async def test_nothing_is_known_of_a_worker_that_is_not_followed(workers, a_workload):
    assert workers.queue(secret(), a_workload()) is None
    assert workers.queue(None, a_workload()) is None


async def test_nothing_is_known_of_a_worker_that_is_cut_off(workers, dialled, a_workload):
    dialled.worker.add(LOCAL, queue(4))
    workers.follow(secret())
    await settle()

    dialled.worker.cut()
    await advance(60)

    assert workers.queue(secret(), a_workload()) is None


async def test_a_change_of_a_queue_is_told(workers, dialled):
    workers.follow(secret())
    await settle()
    dialled.changes.clear()

    dialled.worker.add(LOCAL)
    await settle()

    assert dialled.changes == [1]


async def test_a_forgotten_worker_is_not_followed(workers, dialled):
    workers.follow(secret())
    await settle()

    workers.forget("c1-kubeconfig")
    await settle()

    assert dialled.worker.open_watches == 0


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        pytest.param({"multikueue"}, {"team-a/ours"}, id="one"),
        pytest.param({"multikueue", "before"}, {"team-a/ours", "team-a/older"}, id="two"),
        pytest.param(set(), {"team-a/ours", "team-a/older", "team-a/other"}, id="not known: every copy counts"),
    ],
)
async def test_copies_are_told_by_their_origins(workers, dialled, origins, expected):
    for name, origin in (("ours", "multikueue"), ("older", "before"), ("other", "elsewhere")):
        dialled.worker.add(
            kueue.Workload.manifest(name, "team-a", labels={kueue.ORIGIN_LABEL: origin}, spec={}),
        )
    dialled.worker.add(kueue.Workload.manifest("local", "team-a", spec={}))

    held = await workers.held(secret(), origins)

    assert {key for key in held if key.startswith("team-a/")} == expected
