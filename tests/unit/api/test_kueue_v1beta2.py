"""The questions that are asked about Kueue's objects."""

from decimal import Decimal

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue


def workload(*true, annotations=None, pod_sets=(), **status):
    conditions = [{"type": kind, "status": "True"} for kind in true]
    return kueue.Workload.view(
        kueue.Workload.manifest(
            "w",
            "ns",
            annotations=annotations,
            spec={"podSets": list(pod_sets)},
            status={"conditions": conditions, **status},
        )
    )


def pod_set(**annotations):
    return {
        "name": "main",
        "count": 1,
        "template": {"metadata": {"annotations": annotations}, "spec": {"containers": []}},
    }


@pytest.mark.parametrize(
    ("conditions", "has_quota"),
    [
        ([], False),
        ([kueue.QUOTA_RESERVED], True),
        ([kueue.QUOTA_RESERVED, kueue.ADMITTED], True),
        ([kueue.QUOTA_RESERVED, kueue.EVICTED], False),
        ([kueue.EVICTED], False),
    ],
)
def test_has_quota(conditions, has_quota):
    assert workload(*conditions).has_quota is has_quota


def test_a_finished_or_deleted_workload_is_not_live():
    deleting = kueue.Workload.view({"metadata": {"name": "w", "deletionTimestamp": "2026-01-01T00:00:00Z"}})

    assert workload().is_live
    assert not workload(kueue.FINISHED).is_live
    assert not deleting.is_live


def test_requests_add_up_over_pod_sets():
    usage = [
        {"name": "a", "resourceUsage": {"cpu": "500m", "nvidia.com/gpu": 2}},
        {"name": "b", "resourceUsage": {"cpu": "2"}},
    ]

    held = workload(admission={"clusterQueue": "q", "podSetAssignments": usage}).requests

    assert held == {"cpu": Decimal("2.5"), "nvidia.com/gpu": Decimal(2)}


def test_before_admission_nothing_is_requested():
    assert workload().requests == {}
    assert workload().least_requests == {}


@pytest.mark.parametrize(
    ("least", "needed"),
    [
        pytest.param(None, 8, id="all pods"),
        pytest.param(1, 2, id="one of four"),
        pytest.param(6, 8, id="no more than was admitted"),
    ],
)
def test_a_pod_set_may_do_with_fewer_pods(least, needed):
    usage = [{"name": "main", "count": 4, "resourceUsage": {"cpu": "8"}}]
    raw = kueue.Workload.manifest(
        "w",
        "ns",
        spec={"podSets": [{**pod_set(), "count": 6, **({"minCount": least} if least else {})}]},
        status={"admission": {"clusterQueue": "q", "podSetAssignments": usage}},
    )

    assert kueue.Workload.view(kueue.Workload.trim(raw)).least_requests == {"cpu": Decimal(needed)}


@pytest.mark.parametrize(
    ("cohort", "borrowing_limit", "limit"),
    [
        pytest.param("", None, 12, id="alone"),
        pytest.param("all", None, Decimal("Infinity"), id="in a cohort"),
        pytest.param("all", "3", 18, id="in a cohort, limited"),
        pytest.param("all", 0, 12, id="in a cohort, and may not borrow"),
    ],
)
def test_the_most_that_a_queue_can_hold(cohort, borrowing_limit, limit):
    resource = {"name": "cpu", "nominalQuota": "6", "borrowingLimit": borrowing_limit}
    flavors = [{"name": name, "resources": [resource]} for name in ("spot", "reserved")]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    spec = {"resourceGroups": groups, "cohortName": cohort}

    assert kueue.ClusterQueue.view(kueue.ClusterQueue.manifest("q", spec=spec)).limits == {"cpu": limit}


@pytest.mark.parametrize(
    ("status", "clusters"),
    [
        ({}, ()),
        ({"nominatedClusterNames": ["a", "b"]}, ("a", "b")),
        ({"clusterName": "b"}, ("b",)),
        ({"clusterName": "b", "nominatedClusterNames": ["a", "b"]}, ("b",)),
    ],
)
def test_clusters_are_where_a_copy_may_be(status, clusters):
    assert workload(**status).clusters == clusters


def test_a_check_is_found_by_name():
    found = workload(admissionChecks=[{"name": "a", "state": "Pending"}, {"name": "b", "state": "Ready"}])

    assert found.check("b").state == kueue.READY
    assert found.check("c") is None


@pytest.mark.parametrize(
    ("own", "pod_sets", "value"),
    [
        pytest.param({"narrow": "own"}, [pod_set(narrow="pod")], "own", id="its own comes first"),
        pytest.param(None, [pod_set(), pod_set(narrow="pod")], "pod", id="else that of a pod template"),
        pytest.param(None, [], "", id="nowhere"),
        pytest.param(None, [{"name": "x", "template": {"metadata": None}}], "", id="a template without metadata"),
        pytest.param({"narrow": ""}, [pod_set(narrow="pod")], "", id="an empty one counts"),
    ],
)
def test_annotation(own, pod_sets, value):
    assert workload(annotations=own, pod_sets=pod_sets).annotation("narrow") == value


def test_trim_keeps_of_a_pod_template_only_its_annotations():
    raw = kueue.Workload.manifest(
        "w", "ns", spec={"queueName": "q", "podSets": [pod_set(a="1"), {"name": "b", "count": 3}]}
    )

    trimmed = kueue.Workload.trim(raw)

    assert trimmed["spec"] == {
        "queueName": "q",
        "podSets": [
            {"name": "main", "count": 1, "template": {"metadata": {"annotations": {"a": "1"}}}},
            {"name": "b", "count": 3, "template": {}},
        ],
    }
    assert raw["spec"]["podSets"][0]["template"]["spec"] == {"containers": []}


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": {"podSets": None}}])
def test_a_workload_without_pod_sets_can_be_trimmed(body):
    raw = kueue.Workload.manifest("w", "ns", **body)

    assert kueue.Workload.trim(raw) == raw


def test_a_trimmed_workload_answers_as_before():
    raw = kueue.Workload.manifest("w", "ns", spec={"queueName": "q", "podSets": [pod_set(narrow="a")]})

    trimmed = kueue.Workload.view(kueue.Workload.trim(raw))

    assert trimmed.annotation("narrow") == "a"
    assert trimmed.spec.queue_name == "q"


def cluster_queue(quotas, used):
    """Both are lists of (flavor, resource, amount)."""
    groups = [
        {"coveredResources": [r], "flavors": [{"name": f, "resources": [{"name": r, "nominalQuota": amount}]}]}
        for f, r, amount in quotas
    ]
    usage = [{"name": f, "resources": [{"name": r, "total": amount}]} for f, r, amount in used]
    return kueue.ClusterQueue.view(
        kueue.ClusterQueue.manifest("q", spec={"resourceGroups": groups}, status={"flavorsReservation": usage})
    )


@pytest.mark.parametrize(
    ("quotas", "used", "quota", "reserved"),
    [
        pytest.param([], [], {}, {}, id="no quota"),
        pytest.param([("x", "cpu", "4")], [], {"cpu": 4}, {}, id="nothing used"),
        pytest.param([("x", "cpu", 4)], [("x", "cpu", "1500m")], {"cpu": 4}, {"cpu": Decimal("1.5")}, id="some used"),
        pytest.param(
            [("x", "gpu", 4), ("y", "gpu", 2)], [("y", "gpu", 2)], {"gpu": 6}, {"gpu": 2}, id="over all flavors"
        ),
        pytest.param([("x", "cpu", 1)], [("x", "cpu", 3)], {"cpu": 1}, {"cpu": 3}, id="it has borrowed"),
    ],
)
def test_what_a_queue_has_and_what_of_it_is_reserved(quotas, used, quota, reserved):
    queue = cluster_queue(quotas, used)

    assert (queue.quota, queue.reserved) == (quota, reserved)


@pytest.mark.parametrize(
    ("controller", "parameters", "name"),
    [
        (kueue.MULTIKUEUE_CONTROLLER, {"kind": "MultiKueueConfig", "name": "gpu"}, "gpu"),
        (kueue.MULTIKUEUE_CONTROLLER, None, ""),
        ("open-cluster-management.io/placement", {"kind": "Placement", "name": "gpu"}, ""),
    ],
)
def test_only_a_multikueue_check_names_a_config(controller, parameters, name):
    spec = {"controllerName": controller, "parameters": parameters}

    assert kueue.AdmissionCheck.view(kueue.AdmissionCheck.manifest("ac", spec=spec)).config_name == name


@pytest.mark.parametrize(("status", "is_active"), [("True", True), ("False", False), ("Unknown", False)])
def test_active_is_a_condition(status, is_active):
    body = {"status": {"conditions": [{"type": "Active", "status": status}]}}

    assert kueue.AdmissionCheck.view(kueue.AdmissionCheck.manifest("ac", **body)).is_active is is_active
    assert kueue.MultiKueueCluster.view(kueue.MultiKueueCluster.manifest("c", **body)).is_connected is is_active


def test_of_a_finished_workload_little_is_kept():
    raw = kueue.Workload.manifest(
        "w",
        "ns",
        labels={"a": "b"},
        spec={"queueName": "q", "podSets": [{"name": "main"}]},
        status={
            "clusterName": "c1",
            "conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}],
            "admissionChecks": [{"name": "mk", "state": "Ready", "message": "m"}],
        },
    )
    raw["metadata"] |= {"uid": "1", "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z"}

    kept = kueue.Workload.kept(raw)

    assert (kept.key, kept.uid, kept.metadata.resource_version) == ("ns/w", "1", "7")
    assert (kept.is_finished, kept.is_deleting) == (True, True)
    assert [check.name for check in kept.status.admission_checks] == ["mk"]
    assert (kept.spec.pod_sets, kept.metadata.labels, kept.clusters) == ((), {}, ())
    assert kept.status is kueue.Workload.kept(raw).status


@pytest.mark.parametrize("conditions", [[], [{"type": "Finished", "status": "False"}]])
def test_an_unfinished_workload_is_kept_as_it_is_read(conditions):
    raw = kueue.Workload.manifest("w", "ns", spec={"queueName": "q"}, status={"conditions": conditions})

    assert kueue.Workload.kept(raw) == kueue.Workload.view(raw)
