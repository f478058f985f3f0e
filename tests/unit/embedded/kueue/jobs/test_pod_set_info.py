"""What flavors and checks give to the pods of a job that starts."""

import pytest

from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, of_admission
from tests.unit.embedded.kueue.job_objects import template

from .objects import FLAVOR, JOBS, flavor, job, workload


def test_a_started_job_gets_what_its_flavor_and_its_checks_give():
    update = {"name": "main", "labels": {"l": "v"}, "nodeSelector": {"s": "v"}}
    raw = job()

    started = JOBS.started(raw, of_admission(workload(raw, admitted=True, checks=[_check(update)]), flavor))

    pods = started["spec"]["template"]
    assert started["spec"]["suspend"] is False
    assert pods["spec"]["nodeSelector"] == {"zone": "a", "s": "v"}
    assert pods["spec"]["tolerations"] == FLAVOR["spec"]["tolerations"]
    assert pods["metadata"]["labels"]["l"] == "v"


def test_a_check_that_contradicts_the_flavor_is_told():
    update = {"name": "main", "nodeSelector": {"zone": "b"}}

    with pytest.raises(CannotStart) as refused:
        of_admission(workload(job(), admitted=True, checks=[_check(update)]), flavor)

    assert str(refused.value) == (
        'in admission check "ac": invalid admission check PodSetUpdate: conflict for nodeSelector: '
        "conflict for key=zone, value1=a, value2=b"
    )


def test_a_template_is_not_given_a_toleration_twice():
    pods = template(tolerations=[{"key": "t", "operator": "Exists"}])

    made = merged(pods, PodSetInfo("main", 1, tolerations=[{"key": "t", "operator": "Exists"}]))

    assert made["spec"]["tolerations"] == [{"key": "t", "operator": "Exists"}]


def _check(update):
    return {"name": "ac", "state": "Ready", "podSetUpdates": [update]}


def test_pods_that_are_placed_by_topology_wait_until_they_are_told_where():
    raw = workload(job(), admitted=True)
    (part,) = raw["status"]["admission"]["podSetAssignments"]
    part["topologyAssignment"] = {"levels": ["rack"]}

    (info,) = of_admission(raw, flavor)

    assert info.gates == [{"name": "kueue.x-k8s.io/topology"}]
    assert info.annotations["kueue.x-k8s.io/podset-unconstrained-topology"] == "true"


def test_pods_that_asked_for_a_level_are_not_marked_as_if_any_would_do():
    raw = workload(job(), admitted=True)
    raw["spec"]["podSets"][0]["topologyRequest"] = {"preferred": "rack"}
    (part,) = raw["status"]["admission"]["podSetAssignments"]
    part["topologyAssignment"] = {"levels": ["rack"]}

    (info,) = of_admission(raw, flavor)

    assert "kueue.x-k8s.io/podset-unconstrained-topology" not in info.annotations
