"""Which requests `accept` takes."""

import base64

import pytest

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.client.certificates import new_request
from fleetqueue.embedded.ocm.registration.accepting import BOOTSTRAP_ACCOUNT, CannotAccept, pending
from fleetqueue.embedded.ocm.registration.certificates import agent_subject

BEGINNER = {"username": BOOTSTRAP_ACCOUNT, "groups": ["system:serviceaccounts:open-cluster-management"]}
DECIDED = {"conditions": [{"type": "Denied", "status": "True"}]}


def asked(agent="a", status=None, **who):
    said = base64.b64encode(new_request(agent_subject("c", agent))[1]).decode()
    spec = {"request": said, "signerName": CLIENT_SIGNER, **who}
    return CertificateSigningRequest.view(CertificateSigningRequest.manifest("r", spec=spec, status=status or {}))


@pytest.mark.parametrize(
    ("requests", "requesters", "count"),
    [
        pytest.param([], [], 0, id="nobody asks"),
        pytest.param([asked(**BEGINNER)], [], 1, id="an agent that begins"),
        pytest.param(
            [asked(username="system:bootstrap:ab", groups=["system:bootstrappers:managedcluster"])],
            [],
            1,
            id="by a bootstrap token",
        ),
        pytest.param(
            [asked(username="alice", groups=["system:serviceaccounts:open-cluster-management"])],
            [],
            0,
            id="somebody else",
        ),
        pytest.param([asked(username="alice", groups=[])], ["alice"], 1, id="somebody who is named"),
        pytest.param([asked(username=BOOTSTRAP_ACCOUNT, groups=[])], [], 0, id="the user without its groups"),
        pytest.param([asked(status=DECIDED, **BEGINNER)], [], 0, id="somebody who was denied"),
        pytest.param([asked("a", **BEGINNER), asked("a", **BEGINNER)], [], 2, id="one agent, twice"),
    ],
)
def test_requests_that_wait_for_an_administrator(requests, requesters, count):
    assert len(pending(requests, requesters)) == count


def test_two_agents_are_one_too_many():
    with pytest.raises(CannotAccept):
        pending([asked("a", **BEGINNER), asked("b", **BEGINNER)], [])
