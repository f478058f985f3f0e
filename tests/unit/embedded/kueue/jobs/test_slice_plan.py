"""Which slice stands for an elastic job, and which are over: case by case."""

import pytest

from fleetqueue.embedded.kueue.jobs.slice_plan import slice_plan
from tests.unit.embedded.kueue.scheduling.objects import pod_set

RESERVED, ADMITTED = ("QuotaReserved",), ("QuotaReserved", "Admitted")
OUT_OF_SYNC, REPLACED = "OutOfSync", "WorkloadSliceReplaced"


def part(name, *true, count=2, replaces="", age=0):
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": name,
        "creationTimestamp": f"2026-01-01T12:00:{59 - age:02}Z",
        "annotations": {"kueue.x-k8s.io/workload-slice-replacement-for": f"ns/{replaces}"} if replaces else {},
    }
    conditions = [{"type": kind, "status": "True", "reason": "R"} for kind in true]
    return {
        "metadata": metadata,
        "spec": {"podSets": [pod_set(count=count)]},
        "status": {"conditions": conditions},
    }


OLD = part("old", *ADMITTED, age=9)
GONE = part("old", *ADMITTED, "Evicted", age=9)


@pytest.mark.parametrize(
    ("wanted", "slices", "current", "resized", "over"),
    [
        pytest.param(2, [], None, None, {}, id="a new job needs one"),
        pytest.param(2, [part("old", "Finished")], None, None, {}, id="what has finished does not count"),
        pytest.param(2, [OLD], "old", None, {}, id="it is as the job is"),
        pytest.param(3, [OLD], None, None, {}, id="the job grows: another one is needed"),
        pytest.param(1, [OLD], "old", 1, {}, id="the job shrinks: the same becomes smaller"),
        pytest.param(3, [part("old")], "old", 3, {}, id="the job grows before it has quota"),
        pytest.param(5, [OLD, part("new", count=5, replaces="old")], "new", None, {}, id="the larger one waits"),
        pytest.param(4, [OLD, part("new", count=5, replaces="old")], "new", 4, {}, id="it asks for something else"),
        pytest.param(
            5, [OLD, part("new", *ADMITTED, count=5, replaces="old")], "new", None, {"old": REPLACED},
            id="the larger one was admitted: the other is over",
        ),
        pytest.param(
            6, [OLD, part("new", *ADMITTED, count=5, replaces="old")], None, None, {"old": REPLACED},
            id="the larger one was admitted, and the job has grown again",
        ),
        pytest.param(
            5, [OLD, part("new", count=5, replaces="old"), part("twin", count=5, replaces="old")],
            "new", None, {"twin": OUT_OF_SYNC}, id="two would take one place: the first",
        ),
        pytest.param(
            5, [OLD, part("new", count=5, replaces="old", age=5), part("twin", *RESERVED, count=5, replaces="old")],
            "twin", None, {"old": REPLACED, "new": OUT_OF_SYNC}, id="two would take one place: who has quota",
        ),
        pytest.param(
            5, [GONE, part("new", count=5, replaces="old")], "new", None, {"old": REPLACED},
            id="the one that ran is evicted: it is over, and the larger one waits",
        ),
        pytest.param(
            2, [OLD, part("new", *ADMITTED, "Evicted", count=5, replaces="old")], "old", None, {"new": OUT_OF_SYNC},
            id="the larger one is evicted before the other has finished",
        ),
        pytest.param(
            2, [GONE, part("new", "Evicted", count=5, replaces="old")], None, None,
            {"old": OUT_OF_SYNC, "new": OUT_OF_SYNC}, id="all have to go",
        ),
    ],
)  # fmt: skip
def test_what_becomes_of_the_slices(wanted, slices, current, resized, over):
    plan = slice_plan([pod_set(count=wanted)], slices)

    assert plan is not None
    assert (plan.current and plan.current["metadata"]["name"]) == current
    assert plan.resized == (None if resized is None else {"main": resized})
    assert {each.workload["metadata"]["name"]: each.reason for each in plan.over} == over


def test_slices_cannot_stand_for_other_pod_sets():
    assert slice_plan([pod_set("other")], [OLD]) is None
