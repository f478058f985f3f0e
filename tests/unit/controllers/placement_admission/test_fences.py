"""For how long no renewal must be seen, and what is read of a Lease."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE, SENT_TO
from fleetqueue.controllers.placement_admission.fences import silence_needed


@pytest.mark.parametrize(
    ("duration", "grace", "slack", "seconds"),
    [
        pytest.param(600.0, 30.0, 60.0, 703.8, id="by default"),
        pytest.param(600.0, 3600.0, 60.0, 4345.2, id="pods that take an hour to stop"),
        pytest.param(0.0, 30.0, 60.0, 91.8, id="a copy that came when the Lease had run out"),
    ],
)
def test_silence_needed(duration, grace, slack, seconds):
    assert silence_needed(duration, grace, slack) == pytest.approx(seconds)


@pytest.fixture
async def fences(env, two_clusters, follow):
    heart = env.heart()
    env.api.namespace("c1")
    env.api.add(
        Lease.manifest(LEASE, "c1", spec={"leaseDurationSeconds": 600, "renewTime": "2026-01-01T00:00:00.000000Z"})
    )
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    return heart.dispatcher.copies.fences


def sent(env, a_workload, uid):
    return a_workload(annotations={SENT_TO: f'{{"gpu-c1":"{uid}"}}'})


async def test_a_lease_that_may_not_be_read_is_no_promise(env, fences, a_workload):
    workload = sent(env, a_workload, env.api.get(Lease, LEASE, "c1").uid)
    assert await fences.seconds_left(workload, "gpu-c1", "gpu") > 0
    env.api.fail_on(f"get leases/c1/{LEASE}", errors.Forbidden("an older role"))

    assert await fences.seconds_left(workload, "gpu-c1", "gpu") is None
    assert await fences.trusted("gpu-c1", "gpu") == ""


async def test_a_lease_that_cannot_be_read_now_tells_nothing(env, fences, a_workload):
    workload = sent(env, a_workload, env.api.get(Lease, LEASE, "c1").uid)
    env.api.fail_on(f"get leases/c1/{LEASE}", errors.Unreachable("connection refused"))

    with pytest.raises(errors.Unreachable):
        await fences.seconds_left(workload, "gpu-c1", "gpu")
