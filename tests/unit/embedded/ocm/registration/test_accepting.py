"""Which requests `accept` takes."""

import base64

import pytest

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.client.certificates import CertificateSubject, new_request
from fleetqueue.embedded.ocm.registration.accepting import BOOTSTRAP_ACCOUNT, CannotAccept, pending
from fleetqueue.embedded.ocm.registration.certificates import agent_subject

AGENT = "system:open-cluster-management:"
OURS = agent_subject("c", "a")
GROUPS = list(OURS.groups)


def request(name=f"{AGENT}c:a", groups=GROUPS, label="c", *, username="somebody", status=None, **spec):
    asked = base64.b64encode(new_request(CertificateSubject(name, groups))[1]).decode()
    labels = {CLUSTER_NAME_LABEL: label} if label else {}
    full = {"request": asked, "signerName": CLIENT_SIGNER, "username": username, **spec}
    return CertificateSigningRequest.view(
        CertificateSigningRequest.manifest("r", labels=labels, spec=full, status=status or {})
    )


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
