"""What becomes of a StatefulSet's pods, decided from what is seen: every branch is a row."""

import pytest

from fleetqueue.embedded.kubernetes.stateful_set_plan import decide

from .set_objects import NOW, a_claim, a_pod, a_set, owner

PARALLEL = {"podManagementPolicy": "Parallel"}
CLAIMS = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]}
WITH_PODS = {**CLAIMS, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"}}
WITH_SET = {**CLAIMS, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}
UNREADY = {"ready": False}
OLD = {"revision": "db-old"}


def pods(*ordinals, **options):
    return [a_pod(f"db-{ordinal}", **options) for ordinal in ordinals]


def planned(stateful_set, some, claims=()):
    """Return what is done, in words: first for those that it has, then for those that are too many."""
    plan = decide(stateful_set, some, {claim.name: claim for claim in claims}, "db-new", NOW)
    steps = [*plan.steps, *plan.condemned_steps]
    words = [f"{step.act.value} {step.ordinal}" for step in steps]
    return words + ([f"update {plan.outdated.name}"] if plan.outdated is not None else [])


@pytest.mark.parametrize(
    ("stateful_set", "some", "expected"),
    [
        pytest.param(a_set(), [], ["create 0"], id="the first comes first"),
        pytest.param(a_set(), pods(0), ["create 1"], id="then the second"),
        pytest.param(a_set(), pods(0, 1, 2), [], id="all are there"),
        pytest.param(a_set(0), [], [], id="none is wanted"),
        pytest.param(a_set(ordinals={"start": 4}), pods(4), ["create 5"], id="from another ordinal"),
        pytest.param(a_set(), pods(0, phase="Pending"), [], id="one that does not run is waited for"),
        pytest.param(a_set(), pods(0, **UNREADY), [], id="one that is not ready is waited for"),
        pytest.param(a_set(), pods(0, deleting=True), [], id="one that goes is waited for"),
        pytest.param(a_set(), pods(0, 2), ["create 1"], id="a gap is filled"),
        pytest.param(a_set(minReadySeconds=60), pods(0, since=0), ["create 1"], id="ready for long enough"),
        pytest.param(a_set(minReadySeconds=60), pods(0, since=50), [], id="not ready for long enough"),
        pytest.param(a_set(), pods(0, phase="Failed"), ["delete 0"], id="one that failed goes"),
        pytest.param(a_set(), pods(0, phase="Succeeded"), ["delete 0"], id="one that succeeded goes, too"),
        pytest.param(a_set(), pods(0, phase="Failed", deleting=True), [], id="one that failed is going"),
        pytest.param(a_set(**PARALLEL), [], ["create 0", "create 1", "create 2"], id="in parallel all come"),
        pytest.param(a_set(**PARALLEL), pods(0, **UNREADY), ["create 1", "create 2"], id="in parallel none waits"),
        pytest.param(a_set(1, deleting=True), [], [], id="a set that goes makes none"),
        pytest.param(a_set(1), [*pods(0), a_pod("other-7"), a_pod("db-x")], [], id="names of others do not count"),
        pytest.param(
            a_set(1),
            pods(0, labels={"statefulset.kubernetes.io/pod-name": None}),
            ["repair 0"],
            id="a label is missing",
        ),
    ],
)
def test_pods_come(stateful_set, some, expected):
    assert planned(stateful_set, some) == expected


@pytest.mark.parametrize(
    ("stateful_set", "some", "expected"),
    [
        pytest.param(a_set(1), pods(0, 1, 2), ["delete 2"], id="the highest goes first"),
        pytest.param(a_set(1), [*pods(0, 1), *pods(2, deleting=True)], [], id="one at a time"),
        pytest.param(a_set(1), [*pods(0), *pods(1, **UNREADY), *pods(2)], ["delete 2"], id="an unready one below"),
        pytest.param(a_set(1), [*pods(0, 1), *pods(2, **UNREADY)], ["delete 2"], id="the lowest unready one may go"),
        pytest.param(a_set(1), [*pods(0), *pods(1, 2, **UNREADY)], [], id="above another unready one it may not"),
        pytest.param(a_set(1), [*pods(0, **UNREADY), *pods(1)], [], id="all that stay must be well"),
        pytest.param(a_set(2), pods(1, 2), ["create 0"], id="and be there"),
        pytest.param(a_set(1, ordinals={"start": 2}), pods(0, 1, 2), ["delete 1"], id="those below go, too"),
        pytest.param(a_set(0, **PARALLEL), pods(0, 1), ["delete 1", "delete 0"], id="in parallel all go"),
        pytest.param(
            a_set(0, **PARALLEL), [*pods(0), *pods(1, deleting=True)], ["delete 0"], id="in parallel none waits"
        ),
    ],
)
def test_pods_go(stateful_set, some, expected):
    assert planned(stateful_set, some) == expected


@pytest.mark.parametrize(
    ("stateful_set", "some", "expected"),
    [
        pytest.param(a_set(), pods(0, 1, 2, **OLD), ["update db-2"], id="the highest first"),
        pytest.param(a_set(), [*pods(0, 1, **OLD), *pods(2)], ["update db-1"], id="then the next"),
        pytest.param(a_set(), [*pods(0, 1, **OLD), *pods(2, **UNREADY)], [], id="when the one above is well"),
        pytest.param(a_set(), [*pods(0, **OLD), *pods(1, 2)], ["update db-0"], id="at last the lowest"),
        pytest.param(
            a_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
            [*pods(0, **OLD), *pods(1, 2)],
            [],
            id="not below the partition",
        ),
        pytest.param(
            a_set(ordinals={"start": 4}, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
            [*pods(4, 5, **OLD), *pods(6)],
            ["update db-5"],
            id="which counts from the first ordinal",
        ),
        pytest.param(a_set(updateStrategy={"type": "OnDelete"}), pods(0, 1, 2, **OLD), [], id="somebody else does it"),
        pytest.param(a_set(2), [*pods(0, 1, **OLD), *pods(2)], ["delete 2"], id="first those that are too many go"),
        pytest.param(
            a_set(2, **PARALLEL), [*pods(0, 1, **OLD), *pods(2)], ["delete 2", "update db-1"], id="in parallel at once"
        ),
        pytest.param(a_set(2, **PARALLEL), pods(0, **OLD), ["create 1"], id="not while one is missing"),
        pytest.param(
            a_set(2, **PARALLEL), [*pods(0, **OLD), *pods(1, phase="Failed", **OLD)], ["delete 1"], id="or has failed"
        ),
        pytest.param(
            a_set(2, **PARALLEL), pods(0, 1, ready=False, **OLD), ["update db-1"], id="an unready one as well"
        ),
    ],
)
def test_pods_are_updated(stateful_set, some, expected):
    assert planned(stateful_set, some) == expected


SET_OWNS = owner("StatefulSet", "db", "set-uid")


@pytest.mark.parametrize(
    ("stateful_set", "some", "claims", "expected"),
    [
        pytest.param(a_set(1, **CLAIMS), pods(0), [], [], id="a running pod has them"),
        pytest.param(
            a_set(1, **CLAIMS), pods(0, phase="Pending"), [], ["complete its claims 0"], id="a claim is missing"
        ),
        pytest.param(a_set(1, **CLAIMS), pods(0, phase="Pending"), [a_claim("data-db-0")], [], id="none is missing"),
        pytest.param(a_set(1, **WITH_SET), pods(0), [a_claim("data-db-0")], ["repair 0"], id="it has no owner yet"),
        pytest.param(
            a_set(1, **WITH_SET),
            pods(0, phase="Pending"),
            [a_claim("data-db-0")],
            ["complete its claims 0"],
            id="also of a pod that waits",
        ),
        pytest.param(a_set(1, **WITH_SET), pods(0), [a_claim("data-db-0", SET_OWNS)], [], id="it has its owner"),
        pytest.param(
            a_set(1, **WITH_PODS),
            pods(0, 1),
            [a_claim("data-db-1")],
            ["repair its claims 1", "delete 1"],
            id="it goes with its pod",
        ),
        pytest.param(
            a_set(1, **WITH_PODS),
            [],
            [a_claim("data-db-0", owner("Pod", "db-0", "former-uid"))],
            [],
            id="one that goes with the former pod is waited for",
        ),
        pytest.param(a_set(1, **WITH_PODS), [], [a_claim("data-db-0")], ["create 0"], id="one that stays is taken"),
    ],
)
def test_claims_are_completed(stateful_set, some, claims, expected):
    assert planned(stateful_set, some, claims) == expected
