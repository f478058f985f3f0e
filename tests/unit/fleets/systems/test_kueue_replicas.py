"""Of several pods of Kueue one acts, and all have their say: the Lease is upstream's, and so is its configuration."""

from collections import Counter

import pytest

from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.systems.kueue import CONFIG, KUEUE, before
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, create_all, install, install_kinds
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

LEASE = "c1f6bfd2.kueue.x-k8s.io"
ALONE = CONFIG + "leaderElection: {leaderElect: false}\n"


@pytest.fixture
async def client():
    """A cluster that has Kueue's kinds; nothing of it runs."""
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install_kinds(client, "kueue")
        yield client


async def start(client, config=CONFIG, replicas=1):
    await create_all(client, before(config))
    await install(client, KUEUE)
    await client.merge(DEPLOYMENTS, KUEUE.name, KUEUE.namespace, {"spec": {"replicas": replicas}})
    await advance(5)
    await create_all(client, objects("single-clusterqueue.yaml"))


async def pods(client):
    return sorted(raw["metadata"]["name"] for raw in (await client.list(Pod.resource, KUEUE.namespace)).items)


async def lease(client, name=LEASE, namespace=KUEUE.namespace):
    return Lease.view(await client.get(Lease.resource, name, namespace))


async def leader(client):
    return (await lease(client)).spec.holder_identity.rpartition("_")[0]


async def add_job(client):
    (manifest,) = objects("job-demo1.yaml")
    return (await client.create(Job.resource, manifest))["metadata"]["name"]


async def is_suspended(client, name):
    return Job.view(await client.get(Job.resource, name, "default")).spec.suspend


async def told(client):
    """How often it was told of a Workload that it was given quota: each replica that acts tells it."""
    events = (await client.list(Event.resource, "default")).items
    return Counter(event["regarding"]["name"] for event in events if event["reason"] == "QuotaReserved")


async def test_a_pod_takes_the_lease_at_once_and_releases_it_when_it_is_stopped(client):
    await start(client)
    held = await lease(client)
    (pod,) = await pods(client)
    await client.merge(DEPLOYMENTS, KUEUE.name, KUEUE.namespace, {"spec": {"replicas": 0}})
    await advance(5)

    assert held.spec.holder_identity.startswith(f"{pod}_")
    assert held.spec.lease_duration_seconds == 15
    assert held.metadata.labels == {}
    assert (await lease(client)).spec.holder_identity == ""


async def test_of_two_replicas_one_acts(client):
    await start(client, replicas=2)
    jobs = [await add_job(client) for _ in range(3)]
    await advance(60)

    assert len(await pods(client)) == 2
    assert [await is_suspended(client, job) for job in jobs] == [False] * 3
    assert set((await told(client)).values()) == {1}


async def test_the_next_replica_acts_when_the_leader_is_stopped(client):
    await start(client, replicas=2)
    first = await leader(client)
    await client.delete(Pod.resource, first, KUEUE.namespace)
    await advance(5)

    job = await add_job(client)
    await advance(5)

    assert await leader(client) not in ("", first)
    assert not await is_suspended(client, job)


async def roll_out(client):
    """Replace the pod by one that is asked whether it is ready, and only after a while."""
    template = (await client.get(DEPLOYMENTS, KUEUE.name, KUEUE.namespace))["spec"]["template"]
    template["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": 8081}, "initialDelaySeconds": 5}
    await client.merge(DEPLOYMENTS, KUEUE.name, KUEUE.namespace, {"spec": {"template": template}})


async def test_during_a_rollout_one_acts_at_a_time_and_no_job_is_refused(client):
    await start(client)
    first = await pods(client)
    await roll_out(client)
    jobs = []
    for _ in range(20):
        jobs.append(await add_job(client))
        await advance(0.5)
    await advance(60)

    told_of_each = await told(client)
    assert len(set(await pods(client)) - set(first)) == len(await pods(client)) == 1
    assert [await is_suspended(client, job) for job in jobs] == [False] * 20
    assert len(told_of_each) == 20
    assert set(told_of_each.values()) == {1}
    assert (await lease(client)).spec.lease_transitions == 1


async def test_who_waits_for_a_lease_that_nobody_released_has_its_say_and_does_not_act(client):
    await client.create(Namespace.resource, Namespace.manifest(KUEUE.namespace))
    spec = {"holderIdentity": "killed", "leaseDurationSeconds": 15, "leaseTransitions": 0}
    await client.create(Lease.resource, Lease.manifest(LEASE, KUEUE.namespace, spec=spec))
    await start(client)
    job = await add_job(client)
    await advance(9)
    early = await is_suspended(client, job)
    await advance(5)

    assert early
    assert not await is_suspended(client, job)


async def test_a_lease_of_another_name_and_time_is_kept_where_the_configuration_says_so(client):
    given = "resourceName: mine, resourceNamespace: default, leaseDuration: 40s, renewDeadline: 30s"
    role = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"}
    subjects = [{"kind": "ServiceAccount", "name": KUEUE.account, "namespace": KUEUE.namespace}]
    binding = {"metadata": {"name": "kueue-elects"}, "roleRef": role, "subjects": subjects}
    await client.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding)

    await start(client, CONFIG + f"leaderElection: {{leaderElect: true, {given}}}\n")

    assert (await lease(client, "mine", "default")).spec.lease_duration_seconds == 40


async def test_without_an_election_there_is_no_lease_and_every_replica_acts(client):
    await start(client, ALONE, replicas=2)
    job = await add_job(client)
    await advance(5)

    assert not await is_suspended(client, job)
    assert list((await told(client)).values()) == [2]
    with pytest.raises(errors.NotFound):
        await lease(client)
