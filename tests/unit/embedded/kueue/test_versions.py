"""Kueue's kinds in v1beta1 and v1alpha1: where each field goes, and that nothing gets lost on the way."""

import pytest
from hypothesis import given, settings

from fleetqueue.embedded.apiserver.registry.conversion import KindVersions, only_renamed
from fleetqueue.embedded.apiserver.validation.structural_schema import build
from fleetqueue.embedded.kueue.versions import CONVERTERS
from fleetqueue.manifests.custom_kinds import crds
from tests.unit.manifests.generated_objects import objects, versions, with_one_field_less

GROUP = "kueue.x-k8s.io"
KINDS = [definition["spec"]["names"]["kind"] for definition in crds("kueue")]


def shown(kind, version, wanted, **body):
    """Return the parts of an object in another version, as its converter leaves them."""
    obj = {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "x"}, **body}
    after = CONVERTERS[GROUP, kind](obj, wanted)
    return {name: after[name] for name in ("spec", "status") if name in after}


def old_and_new(kind, old, new, *, olds=("v1beta1",)):
    """Assert that each of two forms becomes the other."""
    for version in olds:
        assert shown(kind, version, "v1beta2", **old) == new
        assert shown(kind, "v1beta2", version, **new) == old


# What goes where


def test_the_cohort_of_a_cluster_queue():
    old_and_new("ClusterQueue", {"spec": {"cohort": "c"}}, {"spec": {"cohortName": "c"}})


def test_plain_admission_checks_become_a_strategy_and_stay_one():
    spec = {"admissionChecks": ["a", "b"], "admissionChecksStrategy": {"admissionChecks": [{"name": "z"}]}}
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}}

    assert shown("ClusterQueue", "v1beta1", "v1beta2", spec=spec) == {"spec": strategy}
    assert shown("ClusterQueue", "v1beta2", "v1beta1", spec=strategy) == {"spec": strategy}


def test_no_plain_admission_checks_leave_the_strategy_alone():
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "z", "onFlavors": ["f"]}]}}

    assert shown("ClusterQueue", "v1beta1", "v1beta2", spec={"admissionChecks": [], **strategy}) == {"spec": strategy}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}, ("MayStopSearch", "MayStopSearch")),
        ({"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"}, ("TryNextFlavor", "MayStopSearch")),
    ],
)
def test_the_old_words_for_where_a_search_may_stop(old, new):
    found = shown("ClusterQueue", "v1beta1", "v1beta2", spec={"flavorFungibility": old})

    assert tuple(found["spec"]["flavorFungibility"].values()) == new


def test_the_usage_of_a_local_queue():
    usage = [{"name": "f", "resources": [{"name": "cpu", "total": "1"}]}]

    old_and_new("LocalQueue", {"status": {"flavorUsage": usage}}, {"status": {"flavorsUsage": usage}})


@pytest.mark.parametrize(
    ("source", "group", "kind"),
    [
        ("kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"),
        ("scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"),
    ],
)
def test_the_priority_class_of_a_workload(source, group, kind):
    old = {"spec": {"queueName": "q", "priorityClassSource": source, "priorityClassName": "high"}}
    new = {"spec": {"queueName": "q", "priorityClassRef": {"group": group, "kind": kind, "name": "high"}}}

    old_and_new("Workload", old, new)


def test_a_priority_class_without_a_source_is_not_shown_in_the_newer_version():
    spec = {"priorityClassSource": "", "priorityClassName": "high", "priority": 5}

    assert shown("Workload", "v1beta1", "v1beta2", spec=spec) == {"spec": {"priority": 5}}


def test_the_time_that_a_workload_has_run_is_spelled_right_since():
    old = {"status": {"accumulatedPastExexcutionTimeSeconds": 7}}

    old_and_new("Workload", old, {"status": {"accumulatedPastExecutionTimeSeconds": 7}})


def test_the_place_of_pods_in_a_workload():
    assignment = {"levels": ["rack"], "domains": [{"values": ["r1"], "count": 2}]}
    packed = {"domainCount": 1, "valuesPerLevel": [{"universal": "r1"}], "podCounts": {"universal": 2}}
    old = {"status": {"admission": {"podSetAssignments": [{"name": "a", "topologyAssignment": assignment}]}}}
    new = {"name": "a", "topologyAssignment": {"levels": ["rack"], "slices": [packed]}}

    old_and_new("Workload", old, {"status": {"admission": {"podSetAssignments": [new]}}})


def test_the_kubeconfig_of_a_multikueue_cluster():
    kubeconfig = {"location": "secret", "locationType": "Secret"}
    old = {"spec": {"kubeConfig": kubeconfig}}

    old_and_new(
        "MultiKueueCluster", old, {"spec": {"clusterSource": {"kubeConfig": kubeconfig}}}, olds=("v1beta1", "v1alpha1")
    )


def test_the_profile_of_a_multikueue_cluster_stands_beside_an_empty_kubeconfig_in_the_older_version():
    old = {"spec": {"kubeConfig": {"location": "", "locationType": ""}, "clusterProfileRef": {"name": "p"}}}

    old_and_new("MultiKueueCluster", old, {"spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}}})


def test_what_is_given_is_not_changed():
    spec = {"cohort": "c", "admissionChecks": ["a"], "flavorFungibility": {"whenCanBorrow": "Borrow"}}
    before = {**spec, "flavorFungibility": {**spec["flavorFungibility"]}}

    shown("ClusterQueue", "v1beta1", "v1beta2", spec=spec)

    assert spec == before


# That nothing gets lost


def faces(kind):
    schemas = {version: build(openapi).schema for version, openapi in versions("kueue", kind).items()}
    return KindVersions(GROUP, "v1beta2", schemas, schemas, CONVERTERS.get((GROUP, kind), only_renamed))


def without(obj, *paths):
    """Return an object without the fields that the other version has no place for."""
    for path in paths:
        obj = _without(obj, path.split("."))
    return obj


def _without(value, names):
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    if not isinstance(value, dict) or names[0] not in value:
        return value
    kept = {name: item for name, item in value.items() if name != names[0]}
    return kept if len(names) == 1 else {**kept, names[0]: _without(value[names[0]], names[1:])}


ONLY_OLD = {
    "AdmissionCheck": ("spec.retryDelayMinutes",),
    "ClusterQueue": (
        "spec.admissionChecks",
        "spec.admissionChecksStrategy",
        "spec.flavorFungibility",
        "status.pendingWorkloadsStatus",
        "status.fairSharing.admissionFairSharingStatus",
    ),
    "Cohort": ("status.fairSharing.admissionFairSharingStatus",),
    "LocalQueue": ("status.flavors",),
    "Workload": ("spec.priorityClassName", "spec.priorityClassSource"),
}
"""What v1beta2 does not have, or says in another way; the tests above tell how."""
ONLY_NEW = {
    "ClusterQueue": ("spec.concurrentAdmissionPolicy",),
    "MultiKueueConfig": ("spec.quotaManagement",),
    "Workload": (
        "spec.priorityClassRef",
        "spec.preemptionGates",
        "spec.podSets.topologyRequest.podsetSliceRequiredTopologyConstraints",
        "status.preemptionGates",
        "status.admission.podSetAssignments.topologyAssignment",
    ),
}
"""What v1beta1 does not have; upstream loses it, too. A place of pods may come back packed in another way."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("version", "other", "only"),
    [
        pytest.param("v1beta1", "v1beta2", ONLY_OLD, id="to the newer"),
        pytest.param("v1beta2", "v1beta1", ONLY_NEW, id="to the older"),
    ],
)
def test_all_that_both_versions_have_survives_the_way_and_back(kind, version, other, only):
    versions_of_kind = faces(kind)
    lost = only.get(kind, ())

    @settings(max_examples=30)
    @given(objects("kueue", kind, version))
    def survives(before):
        back = versions_of_kind.show(versions_of_kind.show(before, other), version)

        assert without(back, *lost) == without(before, *lost)

    survives()


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_made_the_way_once_makes_it_again_unchanged(kind):
    versions_of_kind = faces(kind)

    @settings(max_examples=30)
    @given(objects("kueue", kind, "v1beta2"))
    def is_stable(new):
        once = versions_of_kind.show(versions_of_kind.show(new, "v1beta1"), "v1beta2")

        assert versions_of_kind.show(versions_of_kind.show(once, "v1beta1"), "v1beta2") == once

    is_stable()


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("kind", sorted(kind for _, kind in CONVERTERS))
def test_no_single_field_is_needed_for_a_conversion(kind, version):
    wanted = "v1beta2" if version == "v1beta1" else "v1beta1"

    @settings(max_examples=15)
    @given(objects("kueue", kind, version))
    def converts(obj):
        for less in with_one_field_less(obj):
            assert CONVERTERS[GROUP, kind](less, wanted)

    converts()
