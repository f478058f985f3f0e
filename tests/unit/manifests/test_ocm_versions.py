"""OCM's kinds in their other versions: where each field goes, and that nothing gets lost on the way."""

import pytest
from hypothesis import given, settings

from fleetqueue.embedded.apiserver.registry.conversion import KindVersions
from fleetqueue.embedded.apiserver.validation.structural_schema import build
from fleetqueue.manifests.ocm_versions import ADDON, CLUSTER, CONVERTERS, INSTALL_NAMESPACE, NO_DEFAULT
from tests.unit.manifests.generated_objects import objects, versions, with_one_field_less

SIGNER = "kubernetes.io/kube-apiserver-client"


def shown(group, kind, version, wanted, *, annotations=None, **body):
    """Return an object in another version, without what is the same of every object."""
    metadata = {"name": "x", **({"annotations": annotations} if annotations else {})}
    obj = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, **body}
    after = CONVERTERS[group, kind](obj, wanted)
    parts = {**after, "annotations": after["metadata"].get("annotations")}
    return {name: parts[name] for name in ("annotations", "spec", "status") if parts.get(name) is not None}


def old_and_new(group, kind, old, new):
    """Assert that each of two forms becomes the other; both begin with their version."""
    (older, old_body), (newer, new_body) = old, new
    assert shown(group, kind, older, newer, **old_body) == new_body
    assert shown(group, kind, newer, older, **new_body) == old_body


def add_on(old, new):
    old_and_new(ADDON, "ManagedClusterAddOn", ("v1alpha1", old), ("v1beta1", new))


# Placement and ManagedClusterSet


def placement(*configurations):
    return {"spec": {"prioritizerPolicy": {"configurations": list(configurations)}}}


def test_a_prioritizer_that_is_only_named_is_built_in():
    named, coordinate = {"name": "Steady", "weight": 2}, {"type": "BuiltIn", "builtIn": "Steady"}

    found = shown(CLUSTER, "Placement", "v1alpha1", "v1beta1", **placement(named))

    assert found == placement({"scoreCoordinate": coordinate, "weight": 2})


def test_a_coordinate_outranks_a_name():
    score = {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "memAvailable"}}

    found = shown(CLUSTER, "Placement", "v1alpha1", "v1beta1", **placement({"name": "x", "scoreCoordinate": score}))

    assert found == placement({"scoreCoordinate": score})


def test_the_old_name_of_the_label_of_cluster_sets():
    old = {"spec": {"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}}}
    new = {"spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}

    old_and_new(CLUSTER, "ManagedClusterSet", ("v1beta1", old), ("v1beta2", new))


def test_a_set_of_labels_is_the_same_in_both_versions():
    spec = {"spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}}

    old_and_new(CLUSTER, "ManagedClusterSet", ("v1beta1", spec), ("v1beta2", spec))


# Add-ons


def test_the_configurations_that_an_add_on_supports():
    kind = {"group": "g", "resource": "r"}
    old = [{**kind, "defaultConfig": {"namespace": "n", "name": "c"}}, {"group": "", "resource": "s"}]
    new = [{**kind, "namespace": "n", "name": "c"}, {"group": "", "resource": "s", "name": NO_DEFAULT}]

    old_and_new(
        ADDON,
        "ClusterManagementAddOn",
        ("v1alpha1", {"spec": {"supportedConfigs": old}, "status": {"defaultconfigReferences": [kind]}}),
        ("v1beta1", {"spec": {"defaultConfigs": new}, "status": {"defaultConfigReferences": [kind]}}),
    )


def test_the_namespace_of_an_agent_is_an_annotation_in_the_newer_version():
    add_on(
        {"spec": {"installNamespace": "agents"}, "annotations": {"a": "b"}},
        {"spec": {}, "annotations": {"a": "b", INSTALL_NAMESPACE: "agents"}},
    )


def test_an_agent_that_is_a_client_of_the_hub():
    subject = {"user": "u", "groups": ["g"]}
    add_on(
        {"status": {"registrations": [{"signerName": SIGNER, "subject": subject}], "kubeClientDriver": "csr"}},
        {"status": {"registrations": [{"type": "kubeClient", "kubeClient": {"subject": subject, "driver": "csr"}}]}},
    )


def test_an_agent_with_a_signer_of_its_own():
    custom = {"signerName": "a.io/b", "subject": {"user": "u", "organizationUnits": ["o"]}}
    add_on(
        {"status": {"registrations": [{"signerName": "a.io/b", "subject": {"user": "u", "organizationUnit": ["o"]}}]}},
        {"status": {"registrations": [{"type": "customSigner", "customSigner": custom}]}},
    )


def test_the_configuration_in_use_is_named_twice_in_the_older_version():
    kind = {"group": "g", "resource": "r"}
    wanted = {"namespace": "n", "name": "c", "specHash": "h"}
    add_on(
        {"status": {"configReferences": [{**kind, "namespace": "n", "name": "c", "desiredConfig": wanted}]}},
        {"status": {"configReferences": [{**kind, "desiredConfig": wanted}]}},
    )


@pytest.mark.parametrize("kind", ["ClusterManagementAddOn", "ManagedClusterAddOn"])
def test_what_has_made_the_way_once_makes_it_again_unchanged(kind):
    schemas = {version: build(openapi).schema for version, openapi in versions("ocm-hub", kind).items()}
    faces = KindVersions(ADDON, "v1alpha1", schemas, schemas, CONVERTERS[ADDON, kind])

    @settings(max_examples=30)
    @given(objects("ocm-hub", kind, "v1beta1"))
    def is_stable(new):
        once = faces.show(faces.show(new, "v1alpha1"), "v1beta1")

        assert faces.show(faces.show(once, "v1alpha1"), "v1beta1") == once

    is_stable()


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("kind", ["ClusterManagementAddOn", "ManagedClusterAddOn"])
def test_no_single_field_is_needed_for_a_conversion(kind, version):
    wanted = "v1beta1" if version == "v1alpha1" else "v1alpha1"

    @settings(max_examples=15)
    @given(objects("ocm-hub", kind, version))
    def converts(obj):
        for less in with_one_field_less(obj):
            assert CONVERTERS[ADDON, kind](less, wanted)

    converts()
