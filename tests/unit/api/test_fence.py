"""What the hub and an agent agree on is read carefully: people can edit it."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import PASSED, SENT_TO, FenceLease, recorded, sent_to

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def workload(text):
    annotations = {SENT_TO: text} if text is not None else {}
    return kueue.Workload.view(kueue.Workload.manifest("job", "team-a", annotations=annotations))


@pytest.mark.parametrize(
    ("text", "members"),
    [
        pytest.param(None, None, id="nobody noted it"),
        pytest.param('{"gpu-c1":"uid-1","gpu-c2":""}', {"gpu-c1": "uid-1", "gpu-c2": ""}, id="in trust of one Lease"),
        pytest.param("{}", {}, id="nowhere"),
        pytest.param("c1", None, id="no JSON"),
        pytest.param('["gpu-c1"]', None, id="no object"),
        pytest.param('{"gpu-c1":1}', None, id="no uid"),
    ],
)
def test_where_a_workload_was_sent(text, members):
    assert sent_to(workload(text)) == members


def test_what_is_noted_is_read_again_and_has_one_order():
    members = {"gpu-c2": "", "gpu-c1": "uid-1"}

    assert sent_to(workload(recorded(members))) == members
    assert recorded(members) == recorded(dict(reversed(members.items())))


def lease(*, renewed=True, age=0.0, duration=600, passed=False, dated=True):
    metadata = {"name": "fleetqueue-fence", "namespace": "c1", "uid": "uid-1"}
    if dated:
        metadata["managedFields"] = [{"time": (NOW - timedelta(seconds=age)).isoformat()}]
    if passed:
        metadata["annotations"] = {PASSED: "2026-01-01T00:00:00Z"}
    spec = {"leaseDurationSeconds": duration, **({"renewTime": "2020-01-01T00:00:00.000000Z"} if renewed else {})}
    return FenceLease.read({"metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("options", "is_fresh"),
    [
        pytest.param({}, True, id="just renewed, whatever the agent's clock shows"),
        pytest.param({"age": 599}, True, id="renewed in time"),
        pytest.param({"age": 600}, False, id="renewed too long ago"),
        pytest.param({"renewed": False}, False, id="made, and not renewed yet"),
        pytest.param({"duration": 0}, False, id="without a duration"),
        pytest.param({"passed": True}, False, id="jobs may be elsewhere, and the agent has not answered that"),
        pytest.param({"dated": False}, False, id="the server does not say when it was written"),
    ],
)
def test_a_lease_is_trusted(options, is_fresh):
    assert lease(**options).is_fresh(NOW) is is_fresh
