"""Jobs of every kind that MultiKueue can send go the whole way, with Kueue's list of kinds as it is shipped.

Each is submitted on the hub, selected for by a Placement, nominated by our dispatcher, copied to one worker, and its
status comes back. Its user changes its priority, suspends it and stops it. When the Placement drops its cluster, the
cluster stays listed until the job has gone. Others end, well and badly.
"""

from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import product

import pytest
import yaml

from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import kueue as engine_kueue
from fleetqueue.real import manifests
from tests import pipelines
from tests.job_kinds import (
    DEPLOYMENT,
    JAX_JOB,
    JOB,
    KUBEFLOW,
    LEADER_WORKER_SET,
    PIPELINE,
    POD,
    SHIPPED,
    SPARK_APPLICATION,
    TRAINING_RUNTIME,
    training_runtime,
)
from tests.real.engine_versions import LEFT_OUT, has_kueue
from tests.system.kinds.more_kinds import with_spark
from tests.system.kinds.questions import row_name

from .conftest import WORKERS
from .kind_trial import CHANGES_SINCE, KindTrial
from .sent_jobs import delete, found, of, placed, running_pods, submit, workloads

CRD = CustomResourceDefinition.resource


async def test_the_hub_runs_the_shipped_list_and_every_worker_connects_with_our_credentials(env):
    shipped = manifests.read(env.world.fleet.clusters["hub"].layout.kueue_manifests)
    listed = yaml.safe_load(engine_kueue.config_map(shipped)["data"][engine_kueue.CONFIG_KEY])["integrations"]
    async with env.heart():
        await env.connected(*env.workers)

        for cluster in env.world.fleet.clusters.values():
            running = yaml.safe_load((cluster.folder / "kueue" / "config.yaml").read_text())
            assert running["integrations"] == listed
        assert {"pod", "deployment", "statefulset", "jobset.x-k8s.io/jobset"} < set(listed["frameworks"])


@pytest.mark.timeout(400)
async def test_jobs_of_every_shipped_kind_are_sent_drained_and_removed(env, record_property):
    kinds = [kind for kind in SHIPPED if has_kueue(kind.since)]
    for kind in SHIPPED:
        if kind not in kinds:
            record_property(LEFT_OUT, f"{row_name(kind)}: MultiKueue sends it since Kueue {kind.since}")
    if not has_kueue(CHANGES_SINCE):
        record_property(LEFT_OUT, f"changes of priority, suspension and stops: asked since Kueue {CHANGES_SINCE}")
    for client in (env.hub, *env.workers.values()):
        await client.create(TRAINING_RUNTIME, training_runtime(env.name))
    async with env.heart(drain_poll=1.0):
        await go_the_whole_way(env, kinds)


@pytest.mark.timeout(400)
async def test_jobs_of_kinds_that_are_added_to_the_list_follow_once_kueue_knows_them(env):
    replica = await env.replica("kubeflow", **{"placement_admission.drain_poll": 1})
    try:
        await replica.works()
        async with listed_too(env.world, "kubeflow.org", [*KUBEFLOW, JAX_JOB]):
            await go_the_whole_way(env, KUBEFLOW)
            await no_worker_takes_a_copy_of_a_jax_job(env)
    finally:
        await replica.stop()


async def no_worker_takes_a_copy_of_a_jax_job(env):
    (job,) = JAX_JOB.manifests(env.name)
    for where in ("annotations", "labels"):  # before 0.18 the label alone counts
        job["metadata"][where][kueue.PREBUILT_WORKLOAD] = "any"
    for client in env.workers.values():
        with pytest.raises(errors.ApiError, match=r'Is not supported for \\?"kubeflow\.org/v1, Kind=JAXJob'):
            await client.post(f"{JAX_JOB.resource.path(env.name)}?dryRun=All", job)


@pytest.mark.timeout(400)
async def test_jobs_of_a_kind_that_only_its_own_controller_knows_are_sent_once_kueue_is_told_of_it(env):
    replica = await env.replica("external", **{"placement_admission.drain_poll": 1})
    try:
        await replica.works()
        async with an_external_kind(env.world):
            await go_the_whole_way(env, [PIPELINE])
    finally:
        await replica.stop()


async def test_a_deployment_stays_on_the_hub_and_its_pods_are_sent_one_by_one(env):
    async with env.heart():
        await env.connected(*env.workers)
        await env.knows_its_queue(*JOB.manifests(env.name))
        await submit(env, DEPLOYMENT)

        async def runs():
            (here,) = await found(env.hub, DEPLOYMENT, env.name)
            return here.get("status", {}).get("readyReplicas") == 2

        await env.eventually(runs, "the deployment counts two pods that run on workers")
        pods = [raw["metadata"]["name"] for raw in (await env.hub.list(POD.resource, env.name)).items]
        copies = [
            raw["metadata"]["name"]
            for client in env.workers.values()
            for raw in (await client.list(POD.resource, env.name)).items
        ]

        assert sorted(copies) == sorted(pods)
        assert len(pods) == 2
        assert await running_pods(env.hub, DEPLOYMENT, env.name) == set()
        for client in env.workers.values():
            assert await found(client, DEPLOYMENT, env.name) == []

        await env.hub.delete(DEPLOYMENT.resource, DEPLOYMENT.name, env.name)

        async def is_gone():
            return not any([(await client.list(POD.resource, env.name)).items for client in env.workers.values()])

        await env.eventually(is_gone, "no worker has a pod of it")


async def test_a_spark_application_runs_on_the_hub_or_nowhere(env):
    kind = SPARK_APPLICATION
    if not has_kueue(kind.since):
        pytest.skip(f"Kueue knows it since {kind.since}")
    sent = replace(kind, called="sent", labels={})
    async with env.heart(), a_queue_of_the_hub(env, "here"), with_spark_applications(env.world):
        await env.connected(*env.workers)
        await env.knows_its_queue(*JOB.manifests(env.name))
        await submit(env, kind)
        await submit(env, sent)

        async def is_let_run():
            its = await workloads(env, kind)
            (here,) = await found(env.hub, kind, env.name)
            return its and its[0].is_true(kueue.ADMITTED) and not here["spec"]["suspend"]

        async def is_rejected():
            its = await workloads(env, sent)
            checks = [check for one in its for check in one.status.admission_checks if check.name == f"{env.name}-mk"]
            return [check.message for check in checks if check.state == "Rejected"]

        await of(env, kind, is_let_run, "may run on the hub")
        (why,) = await of(env, sent, is_rejected, "is rejected")
        assert "No multikueue adapter found" in why
        (there,) = await found(env.hub, sent, env.name)
        assert there["spec"]["suspend"]
        for one in (kind, sent):
            assert not any([await found(client, one, env.name) for client in env.workers.values()])
            await delete(env, one)


async def test_a_leader_worker_set_that_grows_while_its_cluster_drains_stays_together(env):
    kind = LEADER_WORKER_SET
    if not has_kueue(kind.since):
        pytest.skip(f"MultiKueue sends it since Kueue {kind.since}")
    async with env.heart(drain_poll=1.0):
        await env.connected(*env.workers)
        await env.knows_its_queue(*JOB.manifests(env.name))
        await submit(env, kind)
        worker = await placed(env, kind)
        await env.select(*(set(env.workers) - {worker}))
        await env.says("Draining", "True")

        await env.hub.merge(kind.resource, kind.name, env.name, {"spec": {"replicas": 3}})

        async def has_grown():
            places = [workload.status.cluster_name for workload in await workloads(env, kind)]
            return len(places) == 3 and all(places) and set(places)

        assert await of(env, kind, has_grown, "has a third group") == {f"{env.name}-{worker}"}
        await env.lists(*env.workers)
        await delete(env, kind)
        await env.lists(*(set(env.workers) - {worker}))


async def test_a_worker_that_lacks_a_kind_is_named_and_connects_when_it_has_the_kind(env):
    kind, *_ = KUBEFLOW
    lacking = env.workers["cluster3"]
    definition = await lacking.get(CRD, f"{kind.resource.plural}.{kind.resource.group}")
    await lacking.delete(CRD, definition["metadata"]["name"])
    replica = await env.replica("lacking")
    try:
        await replica.works()
        async with listed_too(env.world, "kubeflow.org", [kind], on=("hub",)):
            await env.connected("cluster1", "cluster2")

            async def is_named():
                active = conditions.find((await env.check()).status.conditions, "Active")
                return active and "the worker does not serve kubeflow.org/pytorchjob" in active.message

            await env.eventually(is_named, "the check names what cluster3 lacks")
            await env.submit("job", run_for="1s")
            await env.finished("job")
            await restore(lacking, definition)
            await env.connected("cluster3")
    finally:
        await replica.stop()
        await restore(lacking, definition)


async def restore(client, definition):
    """Create a CustomResourceDefinition as it was, where it is missing."""
    metadata = {key: definition["metadata"].get(key, {}) for key in ("name", "annotations", "labels")}
    with suppress(errors.AlreadyExists):
        await client.create(CRD, {**definition, "metadata": metadata, "status": {}})


@asynccontextmanager
async def an_external_kind(world):
    """Let every cluster have a kind that Kueue does not know, with its own controller, and the hub's Kueue send it."""
    clients = {"hub": world.hub, **world.workers}
    try:
        for client in clients.values():
            await client.create(CRD, pipelines.DEFINITION)
        for manifest in pipelines.rights():
            await world.apply(manifest)
        async with pipelines.run_on(clients), configured(world, pipelines.with_pipelines, on=["hub"]):
            yield
    finally:
        for client in clients.values():
            await client.delete(CRD, pipelines.DEFINITION["metadata"]["name"])


@asynccontextmanager
async def a_queue_of_the_hub(env, name):
    """Let the hub have a queue from which nothing is sent."""
    queue = f"{env.name}-{name}"
    await env.hub.create(kueue.ClusterQueue.resource, kueue.ClusterQueue.manifest(queue, spec=env.queue(100)["spec"]))
    local = kueue.LocalQueue.manifest(name, env.name, spec={"clusterQueue": queue})
    await env.hub.create(kueue.LocalQueue.resource, local)
    try:
        yield
    finally:
        await env.hub.delete(kueue.ClusterQueue.resource, queue)


@asynccontextmanager
async def with_spark_applications(world):
    """Let every cluster have SparkApplications, and the hub's Kueue manage them."""
    definitions = crds("spark-operator")
    clients = (world.hub, *world.workers.values())
    try:
        for client, definition in product(clients, definitions):
            await client.create(CRD, definition)
        async with configured(world, with_spark, on=["hub"]):
            yield
    finally:
        for client, definition in product(clients, definitions):
            await client.delete(CRD, definition["metadata"]["name"])


def listed_too(world, group, kinds, on=(*WORKERS, "hub")):
    """Let Kueue manage more kinds than it is shipped with, as an administrator would."""
    names = [f"{group}/{kind.name}" for kind in kinds]

    def with_names(config):
        listed = config["integrations"]["frameworks"]
        listed += [one for one in names if one not in listed]  # before 0.19 Kueue's own list has some of them
        return config

    return configured(world, with_names, on=on)


@asynccontextmanager
async def configured(world, changed, *, on):
    """Let Kueue run with another configuration on some clusters; `changed` makes it of the one that is there."""
    clients = {name: client for name, client in {**world.workers, "hub": world.hub}.items() if name in on}
    before = {name: await config_of(client) for name, client in clients.items()}
    try:
        for name, client in clients.items():
            config = changed(yaml.safe_load(before[name]))
            await set_config(world, name, client, yaml.safe_dump(config, sort_keys=False))
        yield
    finally:
        for name, client in clients.items():
            await set_config(world, name, client, before[name])


async def config_of(client):
    raw = await client.get(ConfigMap.resource, engine_kueue.CONFIG_MAP, engine_kueue.NAMESPACE)
    return raw["data"][engine_kueue.CONFIG_KEY]


async def set_config(world, name, client, text):
    patch = {"data": {engine_kueue.CONFIG_KEY: text}}
    await client.merge(ConfigMap.resource, engine_kueue.CONFIG_MAP, engine_kueue.NAMESPACE, patch)
    await world.fleet.restart(f"{name}/kueue")


async def go_the_whole_way(env, kinds):
    await env.connected(*env.workers)
    await env.knows_its_queue(*JOB.manifests(env.name))
    await KindTrial(env, kinds).play()
