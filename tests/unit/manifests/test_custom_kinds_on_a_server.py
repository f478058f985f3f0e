"""All custom kinds on one embedded server, and YAML of older days put there."""

import asyncio

import pytest
import yaml

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.kinds import definition_schemas
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.embedded.kueue import versions
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.manifests import ocm_versions
from fleetqueue.manifests.custom_kinds import SYSTEMS, crds
from fleetqueue.testing.virtual_time import settle

pytestmark = pytest.mark.virtual_time

CRDS = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
DEFINITIONS = [crd for system in SYSTEMS for crd in crds(system)]


async def started(**settings):
    secrets = Secrets(tokens={"admin": User("admin", ("system:masters",))})
    server = ApiServer(await ClusterStorage.open(MemoryLog()), secrets, **settings)
    await server.start()
    return server


def admin(server):
    return Client(InProcessDoor(server, RequestCredentials(token="admin")))


@pytest.fixture
async def client():
    server = await started(converters={**versions.CONVERTERS, **ocm_versions.CONVERTERS})
    task = asyncio.create_task(server.run())
    client = admin(server)
    for crd in DEFINITIONS:
        await client.create(CRDS, crd)
    await settle()
    yield client
    task.cancel()
    await asyncio.wait({task})


def resource(kind, version):
    spec = next(crd["spec"] for crd in DEFINITIONS if crd["spec"]["names"]["kind"] == kind)
    return Resource(spec["group"], version, kind, spec["names"]["plural"], spec["scope"] == "Namespaced")


async def put(client, text):
    """Create an object from YAML, in the version that it says."""
    obj = yaml.safe_load(text)
    return await client.create(resource(obj["kind"], obj["apiVersion"].partition("/")[2]), obj)


async def test_all_are_established(client):
    found = await client.list(CRDS)

    waiting = [crd["metadata"]["name"] for crd in found.items if not is_established(crd)]
    assert (len(found.items), waiting) == (len(DEFINITIONS), [])


def is_established(crd):
    return {"True"} == {condition["status"] for condition in crd["status"]["conditions"]}


@pytest.mark.parametrize(
    ("group", "versions"),
    [
        ("kueue.x-k8s.io", ["v1beta2", "v1beta1", "v1alpha1"]),
        ("cluster.open-cluster-management.io", ["v1", "v1beta2", "v1beta1", "v1alpha1"]),
    ],
)
async def test_clients_are_led_to_the_newest_version(client, group, versions):
    found = await client.read(f"/apis/{group}")

    assert [version["version"] for version in found["versions"]] == versions
    assert found["preferredVersion"]["version"] == versions[0]


async def test_definitions_are_kept_as_they_are(client):
    for crd in DEFINITIONS:
        found = await client.get(CRDS, crd["metadata"]["name"])

        assert found["spec"] == crd["spec"]


async def test_the_schemas_of_a_trusted_definition_are_not_looked_at():
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "of no known type"}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "trust.io", "scope": "Cluster", "names": {"kind": "Odd", "plural": "odds"}, "versions": [version]}
    odd = {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": {"name": "odds.trust.io"}, "spec": spec}

    with pytest.raises(errors.Invalid, match='Unsupported value: "of no known type"'):
        await admin(await started()).create(CRDS, odd)

    definition_schemas.trust(odd)
    assert await admin(await started()).create(CRDS, odd)


async def test_a_multikueue_cluster_of_the_first_days(client):
    await put(
        client,
        """
        apiVersion: kueue.x-k8s.io/v1alpha1
        kind: MultiKueueCluster
        metadata: {name: multikueue-cluster1}
        spec:
          kubeConfig: {locationType: Secret, location: kueue-admin-cluster1-kubeconfig}
        """,
    )

    found = await client.get(resource("MultiKueueCluster", "v1beta2"), "multikueue-cluster1")

    kubeconfig = {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}
    assert found["spec"] == {"clusterSource": {"kubeConfig": kubeconfig}}


async def test_a_multikueue_config_of_the_first_days(client):
    await put(
        client,
        """
        apiVersion: kueue.x-k8s.io/v1alpha1
        kind: MultiKueueConfig
        metadata: {name: multikueue-config}
        spec: {clusters: [multikueue-cluster1, multikueue-cluster2]}
        """,
    )

    found = await client.get(resource("MultiKueueConfig", "v1beta2"), "multikueue-config")

    assert found["spec"] == {"clusters": ["multikueue-cluster1", "multikueue-cluster2"]}


async def test_a_cluster_queue_with_plain_admission_checks(client):
    await put(
        client,
        """
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: ClusterQueue
        metadata: {name: cluster-queue-demo2}
        spec:
          namespaceSelector: {}
          resourceGroups:
            - coveredResources: [cpu]
              flavors: [{name: default-flavor-demo2, resources: [{name: cpu, nominalQuota: 9}]}]
          admissionChecks: [multikueue-demo2, placement-demo2]
        """,
    )

    found = await client.get(resource("ClusterQueue", "v1beta2"), "cluster-queue-demo2")

    checks = found["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert checks == [{"name": "multikueue-demo2"}, {"name": "placement-demo2"}]
    assert found["spec"]["queueingStrategy"] == "BestEffortFIFO"


async def test_a_placement_of_the_first_days(client):
    await put(
        client,
        """
        apiVersion: cluster.open-cluster-management.io/v1alpha1
        kind: Placement
        metadata: {name: placement, namespace: default}
        spec:
          numberOfClusters: 1
          prioritizerPolicy:
            mode: Exact
            configurations:
              - scoreCoordinate: {type: AddOn, addOn: {resourceName: test-score1, scoreName: memAvailable}}
                weight: 1
              - {name: Steady, weight: 2}
        """,
    )

    found = await client.get(resource("Placement", "v1beta1"), "placement", "default")

    coordinates = [each["scoreCoordinate"] for each in found["spec"]["prioritizerPolicy"]["configurations"]]
    assert [(each["type"], each.get("builtIn")) for each in coordinates] == [("AddOn", None), ("BuiltIn", "Steady")]


async def test_a_cluster_set_of_before(client):
    await put(
        client,
        """
        apiVersion: cluster.open-cluster-management.io/v1beta1
        kind: ManagedClusterSet
        metadata: {name: spoke}
        """,
    )

    faces = [await client.get(resource("ManagedClusterSet", version), "spoke") for version in ("v1beta1", "v1beta2")]

    types = [face["spec"]["clusterSelector"]["selectorType"] for face in faces]
    assert types == ["LegacyClusterSetLabel", "ExclusiveClusterSetLabel"]


async def test_the_namespace_of_an_add_on_is_filled_in_whoever_writes_it(client):
    made = await put(
        client,
        """
        apiVersion: addon.open-cluster-management.io/v1beta1
        kind: ManagedClusterAddOn
        metadata: {name: agent, namespace: default}
        spec: {}
        """,
    )

    found = await client.get(resource("ManagedClusterAddOn", "v1alpha1"), "agent", "default")

    assert found["spec"] == {"installNamespace": "open-cluster-management-agent-addon"}
    assert made["metadata"]["annotations"] == {ocm_versions.INSTALL_NAMESPACE: "open-cluster-management-agent-addon"}
