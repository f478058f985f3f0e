"""With whom a claim goes, by the policy of its StatefulSet."""

import pytest

from fleetqueue.embedded.kubernetes.stateful_set_claims import has_other_controller, wanted_owners

from .set_objects import a_claim, a_pod, a_set, owner

SET, POD = owner("StatefulSet", "db", "set-uid"), owner("Pod", "db-0", "db-0-uid")
OTHER = owner("Backup", "nightly", "x")


def policy(deleted, scaled):
    return {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled}}


KEEP, BOTH = policy("Retain", "Retain"), policy("Delete", "Delete")


@pytest.mark.parametrize(
    ("retention", "replicas", "owners", "wanted"),
    [
        pytest.param(KEEP, 1, [], None, id="it stays, and belongs to nobody"),
        pytest.param(KEEP, 1, [SET], [], id="it is taken from the set"),
        pytest.param(KEEP, 1, [SET, OTHER], [OTHER], id="what is others' stays theirs"),
        pytest.param(policy("Delete", "Retain"), 1, [], [SET], id="it goes with the set"),
        pytest.param(policy("Delete", "Retain"), 0, [SET], None, id="also when its pod goes"),
        pytest.param(policy("Retain", "Delete"), 1, [], None, id="its pod is not too many"),
        pytest.param(policy("Retain", "Delete"), 0, [], [POD], id="its pod is too many"),
        pytest.param(policy("Retain", "Delete"), 1, [POD], [], id="its pod is no longer too many"),
        pytest.param(BOTH, 1, [], [SET], id="with both: the set"),
        pytest.param(BOTH, 0, [SET], [POD], id="with both: its pod instead"),
        pytest.param(BOTH, 1, [{**SET, "controller": False}], [SET], id="an owner that does not answer for it"),
        pytest.param(BOTH, 1, [owner("StatefulSet", "db", "former")], None, id="it goes with a former set"),
        pytest.param(BOTH, 1, [owner("Pod", "db-0", "former")], None, id="it goes with a former pod"),
        pytest.param(BOTH, 1, [OTHER], None, id="somebody else answers for it"),
        pytest.param(BOTH, 1, [SET, OTHER], [OTHER], id="not two at once"),
    ],
)
def test_who_owns_a_claim(retention, replicas, owners, wanted):
    stateful_set, pod, claim = a_set(replicas, **retention), a_pod("db-0"), a_claim("data-db-0", *owners)

    assert wanted_owners(claim, stateful_set, pod, 0) == wanted


def test_others_may_answer_for_a_claim_that_stays():
    claim, pod = a_claim("data-db-0", OTHER), a_pod("db-0")

    assert not has_other_controller(claim, a_set(**KEEP), pod)
    assert has_other_controller(claim, a_set(**BOTH), pod)
