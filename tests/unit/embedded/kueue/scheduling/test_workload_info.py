"""A Workload as the scheduler sees it."""

import pytest

from fleetqueue.embedded.kueue.scheduling.workload_info import PodSetResources, holds_quota, may_wait

from .objects import CPU, admitted, condition, holder, pod_set, work, workload


def test_what_all_pods_ask_for_together():
    asked = work("w", pod_set("a", count=2, requests={"cpu": "1"}), pod_set("b", requests={"memory": "1Gi"}))

    assert asked.parts == [PodSetResources("a", 2, {"cpu": 2000}), PodSetResources("b", 1, {"memory": 2**30})]


def test_pods_that_will_not_come_again_do_not_count():
    gone = {"reclaimablePods": [{"name": "main", "count": 2}]}

    asked = work("w", pod_set(count=3, requests={"cpu": "1"}), status=gone)

    assert asked.parts == [PodSetResources("main", 1, {"cpu": 1000})]


def test_what_is_held_shrinks_with_the_pods_that_are_done():
    part = PodSetResources("main", 4, {"cpu": 4000}, {"cpu": "default"})

    assert part.scaled(1) == PodSetResources("main", 1, {"cpu": 1000}, {"cpu": "default"})
    assert part.scaled(4) is part


def test_what_is_held():
    assert holder("w", cpu="3").usage == {CPU: 3000}


def test_equal_templates_have_one_shape_whatever_their_names():
    assert work("a").shape == work("b", age=9).shape


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(work("b", cpu="2"), id="another request"),
        pytest.param(work("b", priority=1), id="another priority"),
        pytest.param(work("b", pod_set(requests={"cpu": "1"}, nodeSelector={"a": "b"})), id="another node selector"),
        pytest.param(work("b", pod_set(requests={"cpu": "1"}, least=0)), id="another fewest"),
    ],
)
def test_what_makes_another_shape(other):
    assert work("a").shape != other.shape


GATE = "kueue.x-k8s.io/admission-gated-by"
FINISHED = condition("Finished", "True")


@pytest.mark.parametrize(
    ("view", "holds", "waits"),
    [
        pytest.param(workload(), False, True, id="new"),
        pytest.param(admitted(), True, False, id="admitted"),
        pytest.param(admitted(evicted=True), True, False, id="evicted, and not stopped yet"),
        pytest.param(workload(active=False), False, False, id="inactive"),
        pytest.param(workload(conditions=[FINISHED]), False, False, id="finished"),
        pytest.param(workload(annotations={GATE: "policy"}), False, False, id="gated"),
        pytest.param(workload(annotations={GATE: ""}), False, True, id="no longer gated"),
        pytest.param(workload(conditions=[condition("QuotaReserved", "False", "OnHold")]), False, False, id="on hold"),
        pytest.param(
            workload(conditions=[condition("QuotaReserved", "True"), FINISHED]), False, False, id="at its end"
        ),
    ],
)
def test_who_holds_and_who_waits(view, holds, waits):
    assert (holds_quota(view), may_wait(view)) == (holds, waits)
