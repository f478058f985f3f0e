"""A nomination that is refused for the same cause again is told of, and tried later and later."""

import pytest

from fleetqueue.api import errors
from fleetqueue.controllers.placement_admission.nomination_apply import Refusals
from fleetqueue.testing.virtual_time import advance, settle

NOMINATION = "apply workloads/team-a/job/status"


def immutable(address="0xc000"):
    """Build what Kueue's webhook says: the values in it have Go's pointers, which differ every time."""
    causes = [{"reason": "FieldValueInvalid", "field": "status.admission"}]
    message = f'admission webhook "vworkload.kb.io" denied the request: status.admission: {address}: field is immutable'
    return errors.Invalid(message, reason="Invalid", details={"causes": causes})


@pytest.fixture
async def one_cluster(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()


@pytest.mark.usefixtures("one_cluster")
async def test_a_nomination_that_is_refused_twice_is_told_of_and_tried_with_patience(env):
    async with env.beating() as heart:
        await env.connected()
        env.api.fail_on(NOMINATION, immutable())
        env.workload()
        await settle()
        assert env.events("NominationRefused") == []
        await advance(600)

        (note,) = env.events("NominationRefused")
        assert note.startswith("the nomination was refused again for the same cause: ")
        assert note.endswith("field is immutable")
        tries = env.api.requests.count(NOMINATION)
        assert 10 <= tries <= 30
        assert heart.dispatcher.admission_metrics.refused._value.get() == tries - 1

        env.api.heal()
        await advance(70)

        assert env.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("one_cluster")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.Conflict("changed"), id="a workload that changed meanwhile"),
        pytest.param(errors.NotFound("gone"), id="a workload that is gone"),
    ],
)
async def test_what_is_only_a_stale_cache_is_no_refusal(env, error):
    async with env.beating():
        await env.connected()
        env.api.fail_on(NOMINATION, error, times=3)
        env.workload()
        await advance(5)

        assert env.events("NominationRefused") == []
        assert env.nominated() == ["gpu-c1"]


def test_the_same_cause_is_the_same_field_whatever_else_is_said(a_workload):
    refusals, job = Refusals(), a_workload()

    assert refusals.note(job, immutable("0xc001")) == ""
    assert refusals.note(job, immutable("0xc002")) == immutable("0xc001").message
    assert refusals.note(job, errors.Forbidden("no")) == ""
    assert refusals.note(job, errors.Forbidden("no")) == "no"
    assert refusals.note(job, errors.Forbidden("another")) == ""


def test_a_workload_that_was_nominated_begins_anew(a_workload):
    refusals, job = Refusals(), a_workload()
    refusals.note(job, immutable())

    refusals.forget(job.key)

    assert refusals.note(job, immutable()) == ""
