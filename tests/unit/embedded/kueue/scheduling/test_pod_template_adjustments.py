"""What the cluster adds to pods before they are counted, and what it refuses."""

import pytest

from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.scheduling.amounts import requests
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import adjusted, refusal, summary

from .objects import limit_range

PATH = "spec.podSets[0].template.spec"


def one(*, asked=None, limits=None, **spec):
    container = {"name": "c", "resources": {"requests": asked or {}, "limits": limits or {}}}
    (found,) = pod_sets([{"name": "main", "count": 1, "template": {"spec": {"containers": [container], **spec}}}])
    return found


def needs(pod_set, *items, overheads=None):
    return requests(adjusted(pod_set, summary([limit_range(*items)]), overheads or {}).template.spec.requests())


def container(**said):
    return {"type": "Container", **said}


@pytest.mark.parametrize(
    ("pod_set", "items", "found"),
    [
        pytest.param(one(asked={"cpu": "1"}), [], {"cpu": 1000}, id="as asked"),
        pytest.param(one(limits={"cpu": "2"}), [], {"cpu": 2000}, id="a limit without a request"),
        pytest.param(one(), [container(defaultRequest={"cpu": "1"})], {"cpu": 1000}, id="the request of a range"),
        pytest.param(one(), [container(default={"cpu": "3"})], {"cpu": 3000}, id="the limit of a range"),
        pytest.param(
            one(asked={"cpu": "1"}), [container(defaultRequest={"cpu": "2"})], {"cpu": 1000}, id="what is asked counts"
        ),
        pytest.param(
            one(),
            [container(defaultRequest={"cpu": "1"}), container(defaultRequest={"cpu": "2"})],
            {"cpu": 1000},
            id="the first of several",
        ),
        pytest.param(
            one(asked={"cpu": "1"}, resources={"requests": {"cpu": "5"}}), [], {"cpu": 5000}, id="the pod as a whole"
        ),
    ],
)
def test_what_is_counted(pod_set, items, found):
    assert needs(pod_set, *items) == found


def test_a_runtime_class_adds_its_overhead():
    slow = {"slow": {"cpu": "250m"}}

    assert needs(one(asked={"cpu": "1"}, runtimeClassName="slow"), overheads=slow) == {"cpu": 1250}
    assert needs(one(asked={"cpu": "1"}, runtimeClassName="slow", overhead={"cpu": "1"}), overheads=slow) == {
        "cpu": 2000
    }
    assert needs(one(asked={"cpu": "1"}, runtimeClassName="lost"), overheads=slow) == {"cpu": 1000}


@pytest.mark.parametrize(
    ("pod_set", "items", "why"),
    [
        pytest.param(one(asked={"cpu": "1"}, limits={"cpu": "1"}), [], "", id="all is well"),
        pytest.param(
            one(asked={"cpu": "2", "memory": "2"}, limits={"cpu": "1", "memory": "1"}),
            [],
            f'resources validation failed: {PATH}.containers[0]: Invalid value: ["cpu","memory"]: '
            "requests must not exceed its limits",
            id="above its limits",
        ),
        pytest.param(
            one(asked={"cpu": "2"}),
            [container(max={"cpu": "1"}), container(max={"cpu": "3"})],
            f"resources didn't satisfy LimitRange constraints: {PATH}.containers[0]: Invalid value: "
            '["cpu"]: requests must not be above the limitRange max',
            id="above the lowest maximum",
        ),
        pytest.param(
            one(asked={"cpu": "2"}),
            [{"type": "Pod", "min": {"cpu": "3"}, "max": {"cpu": "1"}}],
            f'resources didn\'t satisfy LimitRange constraints: [{PATH}: Invalid value: ["cpu"]: requests must not be '
            f'above the limitRange max, {PATH}: Invalid value: ["cpu"]: requests must not be below the limitRange min]',
            id="several at once",
        ),
    ],
)
def test_refusal(pod_set, items, why):
    limits = summary([limit_range(*items)])

    assert refusal([adjusted(pod_set, limits, {})], limits) == why
