"""Letting a worker go: it drains first, and what we made for it goes last."""

import asyncio

import pytest

from fleetqueue.admin.leaving import unjoin
from fleetqueue.admin.waiting import NoAnswer, NotInTime
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster
from fleetqueue.api.core_v1 import Secret, secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CREDENTIALS_ANNOTATION, GIVEN_UP
from fleetqueue.api.meta import controller_reference
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.admin_kubeconfigs import IN_USE
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import condition

ACCOUNT_STAYS = "there is no admin kubeconfig of fleetqueue's: an account that was made with one stays on the worker"


def cluster(*, ours: bool = True) -> dict[str, object]:
    labels = {CLUSTER_SET_LABEL: "spoke", **(OURS if ours else {})}
    return ManagedCluster.manifest("cluster1", labels=labels, annotations={CREDENTIALS_ANNOTATION: "true"})


def admin_kubeconfig(*, in_use: bool = False) -> dict[str, object]:
    annotations = {IN_USE: "true"} if in_use else {}
    return secret("cluster1-admin", "fleetqueue-system", {}, labels=OURS, annotations=annotations)


def member() -> dict[str, object]:
    return kueue.MultiKueueCluster.manifest("gpu-cluster1", labels={**OURS, CLUSTER_LABEL: "cluster1"})


async def leave(api: ArrangedApi, *, force: bool = False, limit: float = 30) -> list[str]:
    """Return what is reported."""
    told: list[str] = []
    await unjoin(Client(api), "cluster1", told.append, force=force, limit=limit)
    return told


async def test_a_worker_that_nobody_uses_leaves_at_once(api):
    api.add(cluster(), admin_kubeconfig())

    await leave(api)

    assert api.get(ManagedCluster, "cluster1") is None
    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is None


async def test_a_worker_with_jobs_stays_but_takes_no_new_ones(api):
    api.add(cluster(), admin_kubeconfig(), member())

    with pytest.raises(NotInTime, match="jobs still run through gpu-cluster1; unjoin it again later, or with --force"):
        await leave(api)

    assert CLUSTER_SET_LABEL not in api.get(ManagedCluster, "cluster1").metadata.labels
    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None


async def test_a_worker_that_cannot_be_asked_is_not_said_to_run_jobs(api):
    api.add(cluster(), admin_kubeconfig(), member())
    lost = condition("Active", False, "ClientConnectionFailed", "no route to host")
    api.change(kueue.MultiKueueCluster, "gpu-cluster1", status={"conditions": [lost]})

    with pytest.raises(NotInTime) as late:
        await leave(api)

    assert str(late.value).endswith(
        "cannot be asked whether jobs still run there: gpu-cluster1 (ClientConnectionFailed: no route to host);"
        " unjoin it again later, or with --force"
    )


@pytest.mark.parametrize("stalled", ["watch multikueueclusters", "watch multikueueconfigs"])
async def test_a_hub_that_stalls_says_nothing_of_jobs(api, stalled):
    api.add(cluster(), admin_kubeconfig(), member())
    api.way.fail_on(stalled, errors.Unreachable("timed out"), times=100)

    with pytest.raises(NoAnswer, match=r"within 30 s: timed out$"):
        await leave(api)

    assert api.get(ManagedCluster, "cluster1") is not None
    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None


async def test_without_time_nobody_leaves(api):
    api.add(cluster(), admin_kubeconfig(), member())

    with pytest.raises(NoAnswer):
        await leave(api, limit=0)

    assert api.get(ManagedCluster, "cluster1") is not None
    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None


async def test_a_hub_that_stalls_does_not_say_that_the_worker_is_cleaned(api):
    api.add(cluster(), admin_kubeconfig(in_use=True))
    api.way.fail_on("watch secrets*", errors.Unreachable("timed out"), times=100)

    with pytest.raises(NoAnswer):
        await leave(api)

    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None


async def test_a_cluster_that_a_user_wrote_by_hand_counts_too(api):
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}}
    by_hand = kueue.MultiKueueCluster.manifest("mine", spec={"clusterSource": source})
    config = kueue.MultiKueueConfig.manifest("by-hand", spec={"clusters": ["mine"]})
    api.add(cluster(), admin_kubeconfig(), by_hand, config)

    with pytest.raises(NotInTime, match="jobs still run through mine"):
        await leave(api)


async def test_a_member_that_no_config_lists_is_not_called_a_job(api):
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}}
    by_hand = kueue.MultiKueueCluster.manifest("mine", spec={"clusterSource": source})
    api.add(cluster(), admin_kubeconfig(), by_hand)

    with pytest.raises(NotInTime) as late:
        await leave(api)

    assert "no config lists mine, which fleetqueue did not make, but it uses the credential: delete it" in str(
        late.value
    )
    assert "jobs still run" not in str(late.value)


async def test_it_leaves_when_its_last_job_has_ended(api):
    api.add(cluster(), admin_kubeconfig(), member())
    asyncio.get_running_loop().call_later(9, lambda: api.remove(kueue.MultiKueueCluster, "gpu-cluster1"))

    await leave(api)

    assert api.get(ManagedCluster, "cluster1") is None


async def test_force_does_not_wait_for_jobs_and_has_their_drain_ended(api):
    api.add(cluster(), admin_kubeconfig(), member())

    await leave(api, force=True)

    assert api.get(ManagedCluster, "cluster1") is None
    assert api.get(kueue.MultiKueueCluster, "gpu-cluster1").metadata.annotations[GIVEN_UP] == "true"


def lost_member(api: ArrangedApi) -> None:
    api.add(cluster(), admin_kubeconfig(), member())
    lost = condition("Active", False, "ClientConnectionFailed", "no route to host")
    api.change(kueue.MultiKueueCluster, "gpu-cluster1", status={"conditions": [lost]})


def job_on(name: str, member: str = "gpu-cluster1", *, waits: bool = False, ended: bool = False) -> dict[str, object]:
    """Build the Workload of a Job that runs on a cluster, or waits for one."""
    said = f"waits for {member}, which may run it and does not answer since 2026-01-01T00:00:00Z"
    check = {"name": "gpu", "state": "Pending", "message": said, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status: dict[str, object] = {"admissionChecks": [check]} if waits else {"clusterName": member}
    status["conditions"] = [condition(kueue.FINISHED)] if ended else []
    manifest = kueue.Workload.manifest(f"job-{name}", "a", status=status)
    manifest["metadata"]["ownerReferences"] = [controller_reference(Job.resource, name, name)]
    return manifest


async def test_force_names_the_jobs_that_may_still_run_on_a_silent_worker(api):
    lost_member(api)
    api.add(job_on("runs"), job_on("waits", waits=True), job_on("ended", ended=True), job_on("other", "gpu-cluster2"))

    told = await leave(api, force=True)

    assert told[0] == (
        "gpu-cluster1 does not answer (ClientConnectionFailed: no route to host): may still run there, and start"
        " elsewhere now, so they run twice if they do: a/Job/runs, a/Job/waits"
    )
    assert any("are taken back, or given up" in line for line in told[1:])


@pytest.mark.parametrize(
    ("jobs", "ending"),
    [
        pytest.param(0, "the hub knows of no job that may still run there", id="none"),
        pytest.param(12, "a/Job/j09 and 2 more, which `fleetqueue get jobs` shows", id="many"),
    ],
)
async def test_force_says_it_of_no_jobs_and_of_many(api, jobs, ending):
    lost_member(api)
    api.add(*(job_on(f"j{number:02}") for number in range(jobs)))

    told = await leave(api, force=True)

    assert told[0].endswith(ending)


async def test_force_says_where_nobody_may_see_what_runs_on_a_silent_worker(api):
    lost_member(api)
    api.way.fail_on("list workloads*", errors.Forbidden("no"), times=1)

    told = await leave(api, force=True)

    assert told[0].endswith("which jobs may still run there is not known, since you may not list Workloads")


async def test_force_waits_until_no_config_offers_the_worker_to_new_jobs(api):
    """The controller takes the mark off a member that serves."""
    config = kueue.MultiKueueConfig.manifest("gpu", labels=dict(OURS), spec={"clusters": ["gpu-cluster1"]})
    api.add(cluster(), admin_kubeconfig(), member(), config)
    marks = {"metadata": {"annotations": {DRAINING: '{"gpu-cluster1":"2026-01-01T00:00:00Z"}'}}}
    asyncio.get_running_loop().call_later(9, lambda: api.change(kueue.MultiKueueConfig, "gpu", **marks))
    asyncio.get_running_loop().call_later(8, lambda: offered.append(is_given_up(api)))
    offered: list[bool] = []

    await leave(api, force=True)

    assert offered == [False]
    assert is_given_up(api)


async def test_force_says_where_a_worker_is_still_offered(api):
    config = kueue.MultiKueueConfig.manifest("gpu", labels=dict(OURS), spec={"clusters": ["gpu-cluster1"]})
    api.add(cluster(), admin_kubeconfig(), member(), config)

    with pytest.raises(NotInTime, match="gpu-cluster1 still takes new jobs"):
        await leave(api, force=True)


def is_given_up(api: ArrangedApi) -> bool:
    return GIVEN_UP in api.get(kueue.MultiKueueCluster, "gpu-cluster1").metadata.annotations


async def test_force_does_not_touch_a_member_that_a_user_wrote_by_hand(api):
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}}
    api.add(cluster(), kueue.MultiKueueCluster.manifest("mine", spec={"clusterSource": source}))

    await leave(api, force=True)

    assert GIVEN_UP not in api.get(kueue.MultiKueueCluster, "mine").metadata.annotations


async def test_a_worker_whose_cluster_somebody_deleted_is_waited_for(api):
    api.add(admin_kubeconfig(), member())
    asyncio.get_running_loop().call_later(9, lambda: api.remove(kueue.MultiKueueCluster, "gpu-cluster1"))

    await leave(api)

    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is None


async def test_a_worker_whose_cluster_somebody_deleted_can_be_forced(api):
    api.add(admin_kubeconfig(), member())

    await leave(api, force=True)

    assert api.get(kueue.MultiKueueCluster, "gpu-cluster1").metadata.annotations[GIVEN_UP] == "true"


async def test_a_cluster_that_an_agent_registered_stays_registered(api):
    api.add(cluster(ours=False), admin_kubeconfig())

    await leave(api)

    assert CREDENTIALS_ANNOTATION not in api.get(ManagedCluster, "cluster1").metadata.annotations


async def test_the_admin_kubeconfig_goes_only_after_the_worker_is_cleaned(api):
    api.add(cluster(), admin_kubeconfig(in_use=True))

    with pytest.raises(NotInTime, match="`fleetqueue controller` does not run on this hub"):
        await leave(api)

    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None


@pytest.mark.parametrize("in_use", [True, False])
async def test_that_it_waits_for_the_controller_is_said_before(api, in_use):
    api.add(cluster(), admin_kubeconfig(in_use=in_use))
    asyncio.get_running_loop().call_later(9, lambda: api.remove(Secret, "cluster1-admin", "fleetqueue-system"))

    told = await leave(api)

    assert any("waiting at most 30 s until the controller has removed" in line for line in told) is in_use


@pytest.mark.parametrize("annotations", [{}, {IN_USE: "true"}], ids=["unmarked", "marked"])
async def test_a_secret_of_somebody_else_stays(api, annotations):
    api.add(cluster(), secret("cluster1-admin", "fleetqueue-system", {}, annotations=annotations))

    told = await leave(api)

    assert api.get(Secret, "cluster1-admin", "fleetqueue-system") is not None
    assert 'Secret "fleetqueue-system/cluster1-admin" was not made by fleetqueue: it stays' in told
    assert ACCOUNT_STAYS in told


async def test_without_an_admin_kubeconfig_it_is_said_that_the_account_stays(api):
    api.add(cluster())

    assert ACCOUNT_STAYS in await leave(api)


async def test_of_an_admin_kubeconfig_that_the_controller_deletes_nothing_is_said(api):
    api.add(cluster(), admin_kubeconfig(in_use=True))
    asyncio.get_running_loop().call_later(9, lambda: api.remove(Secret, "cluster1-admin", "fleetqueue-system"))

    assert ACCOUNT_STAYS not in await leave(api)


async def test_an_unknown_worker_is_an_error(api):
    with pytest.raises(errors.NotFound):
        await leave(api)
