"""Kueue, JobSet and OCM's placement as pods of an embedded cluster: while the pod runs, the system works."""

from dataclasses import replace

import pytest

from fleetqueue.admin.dispatcher import restart_kueue, set_ours, waits_for_a_restart
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.kueue_configuration import CONFIG_MAP
from fleetqueue.api.kueue_installation import KueueDeployment, source_of
from fleetqueue.api.rbac_v1 import ClusterRole, Role
from fleetqueue.embedded.kueue.configuration import read
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.pods.kueue import multikueue_settings
from fleetqueue.fleets.systems.kueue import CONFIG, CONFIG_FILE, JOBSET, KUEUE, before, mend
from fleetqueue.fleets.systems.ocm import PLACEMENT
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, create_all, install, install_kinds
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue-demo1/pendingworkloads"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"


@pytest.fixture
async def client():
    """A cluster with the kinds of all systems, on which nothing of them runs."""
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install_kinds(client, "kueue", "jobset", "ocm-hub")
        await create_all(client, before(CONFIG))
        await advance(1)
        yield client


async def pods(client, part):
    return [
        Pod.view(raw)
        for raw in (await client.list(Pod.resource, part.namespace)).items
        if raw["metadata"]["name"].startswith(part.name)
    ]


async def scale(client, part, replicas):
    await client.merge(DEPLOYMENTS, part.name, part.namespace, {"spec": {"replicas": replicas}})
    await advance(60)


async def create_job(client):
    (manifest,) = objects("job-demo1.yaml")
    return (await client.create(Job.resource, manifest))["metadata"]["name"]


async def job(client, name):
    return Job.view(await client.get(Job.resource, name, "default"))


async def test_a_job_is_queued_and_runs_because_kueue_does(client):
    await install(client, KUEUE)
    await advance(5)
    await create_all(client, objects("single-clusterqueue.yaml"))

    name = await create_job(client)
    await advance(60)

    assert [condition.type for condition in (await job(client, name)).status.conditions if condition.is_true] == [
        "SuccessCriteriaMet",
        "Complete",
    ]
    (workload,) = (await client.list(kueue.Workload.resource)).items
    assert kueue.Workload.view(workload).is_finished


async def test_a_part_on_a_cluster_that_an_older_version_set_up_gets_the_rights_that_it_needs_now(client):
    await client.create(Role.resource, Role.manifest(KUEUE.role, KUEUE.namespace, rules=list(KUEUE.rules_at_home[:1])))
    await client.create(ClusterRole.resource, ClusterRole.manifest(KUEUE.role, rules=[]))

    await install(client, KUEUE)

    at_home = await client.get(Role.resource, KUEUE.role, KUEUE.namespace)
    everywhere = await client.get(ClusterRole.resource, KUEUE.role)
    assert (at_home["rules"], everywhere["rules"]) == (list(KUEUE.rules_at_home), list(KUEUE.rules))


async def test_while_its_pod_is_away_kueue_admits_nothing_and_no_job_gets_past_it(client):
    await install(client, KUEUE)
    await advance(5)
    await create_all(client, objects("single-clusterqueue.yaml"))
    await scale(client, KUEUE, 0)

    with pytest.raises(errors.ServerError, match=r'failed calling webhook "mjob.kb.io"'):
        await create_job(client)

    await scale(client, KUEUE, 1)
    name = await create_job(client)
    await advance(5)

    assert not (await job(client, name)).spec.suspend


async def test_who_waits_can_be_asked_while_a_pod_of_kueue_runs(client):
    await install(client, KUEUE)
    await advance(5)
    await create_all(client, objects("single-clusterqueue.yaml"))
    await advance(1)
    there = await client.read(PENDING)
    available = await why_available(client)
    await scale(client, KUEUE, 0)
    with pytest.raises(errors.ServerError, match="service unavailable"):
        await client.read(PENDING)
    unavailable = await why_available(client)
    await scale(client, KUEUE, 1)
    back = await client.read(PENDING)

    assert there["items"] == back["items"] == []
    assert (available, unavailable) == ("Passed", "MissingEndpoints")


async def why_available(client):
    api_service = await client.read("/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io")
    return api_service["status"]["conditions"][0]["reason"]


async def test_who_waits_can_be_asked_again_when_another_pod_of_kueue_leads(client):
    await install(client, KUEUE)
    await advance(5)
    await create_all(client, objects("single-clusterqueue.yaml"))
    await advance(1)
    await restart_kueue(client, KUEUE.namespace)
    await advance(30)

    assert (await client.read(PENDING))["items"] == []
    assert len(await pods(client, KUEUE)) == 1


GATES = "BadConfiguration: conflicting feature gates detected: featureGates: Invalid value:"
UNKNOWN = "unrecognized feature gate: Bogus"


@pytest.mark.parametrize(
    ("config", "arguments", "message"),
    [
        pytest.param(
            "featureGates: {Bogus: true}",
            KUEUE.args,
            f'{GATES} {{"Bogus":true}}: {UNKNOWN}',
            id="its file",
        ),
        pytest.param(
            CONFIG,
            (*KUEUE.args, "--feature-gates=Bogus=true"),
            f'{GATES} "Bogus=true": {UNKNOWN}',
            id="its command line",
        ),
        pytest.param(
            CONFIG, ("--bogus=1",), "WrongArguments: flag provided but not defined: -bogus", id="an unknown flag"
        ),
    ],
)
async def test_a_manager_that_refuses_its_configuration_fails_and_its_pod_says_why(client, config, arguments, message):
    await client.merge(ConfigMap.resource, CONFIG_MAP, KUEUE.namespace, {"data": {CONFIG_FILE: config}})

    await install(client, replace(KUEUE, args=arguments))
    await advance(30)

    (pod,) = (await client.list(Pod.resource, KUEUE.namespace)).items
    (status,) = pod["status"]["containerStatuses"]
    assert status["restartCount"] > 0
    assert status["lastState"]["terminated"]["message"] == message


async def test_a_manager_without_a_file_has_the_defaults(client):
    await install(client, replace(KUEUE, args=()))
    await advance(30)

    (pod,) = (await client.list(Pod.resource, KUEUE.namespace)).items
    assert pod["status"]["containerStatuses"][0]["ready"]


def test_what_the_configuration_says_of_other_clusters_is_taken():
    settings = read("namespace: there", gates="MultiKueueClusterProfile=true,MultiKueueKubeConfigPathValidation=true")

    remote = multikueue_settings(settings, ("batch/job",))

    assert (remote.namespace, remote.served) == ("there", ("batch/job",))
    assert (remote.serves_profiles, str(remote.kubeconfig_folder)) == (True, "/etc/multikueue/kubeconfigs")


async def test_a_job_set_makes_jobs_while_its_controller_runs(client):
    await install(client, JOBSET)
    await advance(5)
    template = objects("job-demo1.yaml")[0]["spec"]["template"]
    spec = {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template}}}]}
    manifest = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"}, "spec": spec}

    made = await client.post(JOBSETS, manifest)
    await advance(5)

    assert made["spec"]["replicatedJobs"][0]["replicas"] == 1
    assert await job(client, "set-a-0")


async def test_placements_are_decided_while_their_controller_runs(client):
    await install(client, PLACEMENT)
    await client.create(cluster.ManagedCluster.resource, cluster.ManagedCluster.manifest("c1", spec={}))
    await advance(5)

    await client.create(cluster.Placement.resource, cluster.Placement.manifest("p", "default", spec={}))
    await advance(5)

    placement = cluster.Placement.view(await client.get(cluster.Placement.resource, "p", "default"))
    assert "NoManagedClusterSetBindings" in [condition.reason for condition in placement.status.conditions]


def test_the_configuration_of_the_embedded_kueue_is_found_as_that_of_a_real_one():
    source = source_of([KueueDeployment.view(KUEUE.deployment())])

    assert (source.config_map, source.key, source.deployment) == ("kueue-manager-config", CONFIG_FILE, KUEUE.name)


async def test_a_pod_of_the_embedded_kueue_is_older_than_a_change_until_it_is_restarted(client):
    await install(client, KUEUE)
    await advance(10)
    before = await waits_for_a_restart(client, KUEUE.namespace)
    await set_ours(client, KUEUE.namespace)
    changed = await waits_for_a_restart(client, KUEUE.namespace)
    await restart_kueue(client, KUEUE.namespace)
    await advance(30)

    assert (before, changed, await waits_for_a_restart(client, KUEUE.namespace)) == (False, True, False)


OF_0_1_0 = CONFIG + "featureGates:\n  AdmissionCheckValidationRules: true\n  # mine\n  MultiKueueClusterProfile: true\n"


async def test_a_kueue_that_an_older_version_installed_is_mended_and_starts(client):
    await client.merge(ConfigMap.resource, CONFIG_MAP, KUEUE.namespace, {"data": {CONFIG_FILE: OF_0_1_0}})
    await install(client, replace(KUEUE, args=KUEUE.args[:1]))
    await advance(10)

    await mend(client)
    await advance(60)

    text = (await client.get(ConfigMap.resource, CONFIG_MAP, KUEUE.namespace))["data"][CONFIG_FILE]
    assert text == CONFIG + "featureGates:\n  # mine\n  MultiKueueClusterProfile: true\n"
    (pod,) = (await client.list(Pod.resource, KUEUE.namespace)).items
    assert pod["spec"]["containers"][0]["args"] == [*KUEUE.args]
    assert pod["status"]["containerStatuses"][0]["ready"]


async def test_a_kueue_of_this_version_is_left_alone(client):
    await install(client, KUEUE)
    before = await client.get(ConfigMap.resource, CONFIG_MAP, KUEUE.namespace)

    await mend(client)

    assert await client.get(ConfigMap.resource, CONFIG_MAP, KUEUE.namespace) == before
