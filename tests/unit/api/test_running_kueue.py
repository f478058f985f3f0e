"""What the running Kueue was started with, beside what is written for its next start."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.running_kueue import KueueReplica, Version, differences, kueue

OURS, OTHER = Configuration(dispatcher_name=DISPATCHER_NAME), Configuration()
WIDER = Configuration(frameworks=("batch/job", "pod"))
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


def pod(created, started=None, name="p"):
    return KueueReplica(name, at(created), at(created if started is None else started))


def version(configuration, since):
    return Version(configuration, None if since is None else at(since))


@pytest.mark.parametrize(
    ("versions", "pods", "running", "is_known", "outdated"),
    [
        pytest.param([], [], [OTHER], True, (), id="no configuration at all: Kueue's defaults"),
        pytest.param([], [pod(0)], [OTHER], True, (), id="no configuration, and a pod"),
        pytest.param([version(OURS, 10)], [], [OURS], True, (), id="no pods to be seen: what is written counts"),
        pytest.param([version(OURS, 10)], [pod(20)], [OURS], True, (), id="a pod that is newer"),
        pytest.param([version(OURS, 10)], [pod(10)], [OURS], True, (), id="of the same second"),
        pytest.param([version(OURS, None)], [pod(0)], [OURS], True, (), id="nobody knows when it was written"),
        pytest.param([version(OURS, 10)], [pod(0)], [OURS], False, ("p",), id="changed before we looked: not known"),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50)], [pod(20)], [OURS], True, ("p",), id="reverted without a restart"
        ),
        pytest.param([version(OURS, 10), version(OTHER, 50)], [pod(60)], [OTHER], True, (), id="and restarted"),
        pytest.param(
            [version(OTHER, 10), version(OURS, 50)], [pod(20)], [OTHER], True, ("p",), id="set without a restart"
        ),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50), version(OURS, 70)],
            [pod(20)],
            [OURS],
            True,
            (),
            id="changed and reverted",
        ),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50)],
            [pod(20, name="old"), pod(60, name="new")],
            [OURS, OTHER],
            True,
            ("old",),
            id="in the middle of a rollout",
        ),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50)],
            [pod(20, started=100)],
            [OURS, OTHER],
            True,
            ("p",),
            id="a container restarted soon after the change may have read either",
        ),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50)],
            [pod(20, started=170)],
            [OTHER],
            True,
            (),
            id="a container restarted long after the change",
        ),
        pytest.param(
            [version(OURS, 10)], [pod(0, started=60)], [OURS], False, ("p",), id="restarted soon, before we looked"
        ),
    ],
)
def test_what_runs(versions, pods, running, is_known, outdated):
    found = kueue(versions, pods)

    assert found.written == (versions[-1].configuration if versions else OTHER)
    assert (list(found.running), found.is_known, found.outdated) == (running, is_known, outdated)


@pytest.mark.parametrize(
    ("versions", "pods", "nominates"),
    [
        pytest.param([version(OURS, 10)], [], True, id="ours, as far as can be seen"),
        pytest.param([version(OTHER, 10)], [], False, id="not ours"),
        pytest.param([version(OURS, 10), version(OTHER, 50)], [pod(20)], True, id="reverted, and still running"),
        pytest.param([version(OTHER, 10), version(OURS, 50)], [pod(20)], False, id="set, and not yet running"),
        pytest.param([version(OTHER, 10)], [pod(0)], True, id="in doubt"),
        pytest.param([version(OURS, 10), version(OTHER, 50)], [pod(20), pod(60)], True, id="until the last has gone"),
    ],
)
def test_whether_we_nominate(versions, pods, nominates):
    assert kueue(versions, pods).may_leave_nominations_to(DISPATCHER_NAME) is nominates


@pytest.mark.parametrize(
    ("versions", "may", "does"),
    [
        pytest.param([version(OURS, 10)], True, True, id="ours"),
        pytest.param([version(OTHER, 10)], False, False, id="another's"),
        pytest.param([version(OURS, 10), version(OTHER, 50)], True, False, id="reverted, and perhaps still running"),
        pytest.param([version(OTHER, 10), version(OURS, 50)], True, True, id="set"),
    ],
)
def test_without_a_deployment_what_was_written_before_may_still_run(versions, may, does):
    found = kueue(versions, [], is_seen=False)

    assert found.may_leave_nominations_to(DISPATCHER_NAME) is may
    assert found.leaves_nominations_to(DISPATCHER_NAME) is does


def test_rights_are_for_all_that_may_run():
    found = kueue([version(WIDER, 10), version(OTHER, 50)], [pod(20)])

    assert found.all == (OTHER, WIDER)


@pytest.mark.parametrize(
    ("written", "running", "names"),
    [
        pytest.param(OURS, [OURS], [], id="nothing"),
        pytest.param(OURS, [OTHER], ["multiKueue.dispatcherName"], id="the dispatcher"),
        pytest.param(OTHER, [OTHER, WIDER], ["integrations.frameworks"], id="the kinds, in one of two pods"),
    ],
)
def test_what_is_not_in_force_yet(written, running, names):
    assert differences(written, running) == names


@pytest.mark.parametrize(
    ("versions", "pods", "may", "does"),
    [
        pytest.param([version(OURS, 10)], [pod(20)], True, True, id="ours, and a pod that is newer"),
        pytest.param([version(OTHER, 10)], [pod(20)], False, False, id="another's"),
        pytest.param([version(OTHER, 10)], [pod(0)], True, False, id="not known"),
        pytest.param(
            [version(OURS, 10), version(OTHER, 50)],
            [pod(20, name="old"), pod(60, name="new")],
            True,
            False,
            id="in the middle of a rollout",
        ),
    ],
)
def test_whether_nominations_are_left_to_us_is_certain_or_not(versions, pods, may, does):
    found = kueue(versions, pods)

    assert found.may_leave_nominations_to(DISPATCHER_NAME) is may
    assert found.leaves_nominations_to(DISPATCHER_NAME) is does
