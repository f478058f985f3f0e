"""The definitions that travel with the package: complete, usable, quick to have."""

import pytest

from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.kinds.definitions import default, faults, prepare
from fleetqueue.embedded.apiserver.validation.structural_schema import build
from fleetqueue.manifests.custom_kinds import SYSTEMS, crds

KUEUE = (
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "ProvisioningRequestConfig",
    "ResourceFlavor",
    "Topology",
    "WorkloadPriorityClass",
    "Workload",
)
HUB = (
    "AddOnDeploymentConfig",
    "AddOnPlacementScore",
    "AddOnTemplate",
    "ClusterManagementAddOn",
    "ManagedClusterAddOn",
    "ManagedCluster",
    "ManagedClusterSetBinding",
    "ManagedClusterSet",
    "ManifestWorkReplicaSet",
    "ManifestWork",
    "PlacementDecision",
    "Placement",
)
ALL = [pytest.param(crd, id=crd["metadata"]["name"]) for system in SYSTEMS for crd in crds(system)]


def kinds(system):
    return tuple(crd["spec"]["names"]["kind"] for crd in crds(system))


def definition(system, kind):
    return next(crd for crd in crds(system) if crd["spec"]["names"]["kind"] == kind)


def versions(system, kind):
    return [version["name"] for version in definition(system, kind)["spec"]["versions"] if version["served"]]


def schemas_in(node):
    """Yield a schema and all below it."""
    yield node
    for child in (node.get("properties") or {}).values():
        yield from schemas_in(child)
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield from schemas_in(node[word])


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("kueue", KUEUE),
        ("jobset", ("JobSet",)),
        ("ocm-hub", HUB),
        ("ocm-agent", ("AppliedManifestWork", "ClusterClaim")),
        ("ocm-operator", ("ClusterManager", "Klusterlet")),
        ("managed-serviceaccount", ("ManagedServiceAccount",)),
        ("cluster-permission", ("ClusterPermission",)),
        ("cluster-inventory", ("ClusterProfile",)),
        ("about", ("ClusterProperty",)),
    ],
)
def test_each_system_has_its_kinds(system, expected):
    assert kinds(system) == expected


def test_an_unknown_system_is_refused_with_the_names_of_the_known():
    with pytest.raises(KeyError, match='no custom kinds of "kubeflow"; there are those of kueue, jobset'):
        crds("kubeflow")


@pytest.mark.parametrize("crd", ALL)
def test_a_server_accepts_the_definition(crd):
    made = prepare(default(crd), None, User("admin"))

    assert list(faults(made, None)) == []


@pytest.mark.parametrize("crd", ALL)
def test_no_description_was_taken_over(crd):
    for version in crd["spec"]["versions"]:
        found = list(schemas_in(version["schema"]["openAPIV3Schema"]))

        assert not [schema for schema in found if "description" in schema]
        assert not [column for column in version.get("additionalPrinterColumns", ()) if "description" in column]


def test_a_field_that_is_called_description_stays():
    schema = definition("ocm-hub", "ClusterManagementAddOn")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert "description" in schema["properties"]["spec"]["properties"]["addOnMeta"]["properties"]


@pytest.mark.parametrize(
    ("system", "kind", "expected"),
    [
        ("kueue", "Workload", ["v1beta1", "v1beta2"]),
        ("kueue", "MultiKueueCluster", ["v1alpha1", "v1beta1", "v1beta2"]),
        ("kueue", "MultiKueueConfig", ["v1alpha1", "v1beta1", "v1beta2"]),
        ("ocm-hub", "Placement", ["v1alpha1", "v1beta1"]),
        ("ocm-hub", "ManagedClusterSet", ["v1beta1", "v1beta2"]),
        ("ocm-hub", "ManagedClusterAddOn", ["v1alpha1", "v1beta1"]),
    ],
)
def test_old_versions_are_served_beside_those_of_upstream(system, kind, expected):
    assert versions(system, kind) == expected


def test_the_same_part_is_there_once():
    assert crds("kueue")[0] is crds("kueue")[0]
    templates = [pod_template(version) for version in definition("kueue", "Workload")["spec"]["versions"]]
    assert templates[0] is templates[1]


def pod_template(version):
    pod_sets = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["podSets"]
    return pod_sets["items"]["properties"]["template"]


def test_a_list_that_was_handed_out_is_the_callers_own():
    crds("about").clear()

    assert kinds("about") == ("ClusterProperty",)


def test_every_version_has_a_schema_that_can_be_built():
    built = [
        build(version["schema"]["openAPIV3Schema"])
        for system in SYSTEMS
        for crd in crds(system)
        for version in crd["spec"]["versions"]
    ]

    assert all(custom.schema.properties for custom in built)
