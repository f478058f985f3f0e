"""Whose certificates are approved, which requests `accept` takes, and when an agent asks for another."""

import base64
from datetime import timedelta

import pytest

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.api.core_v1 import Secret
from fleetqueue.client.certificates import CertificateSubject, new_request
from fleetqueue.embedded.ocm.registration.accepting import BOOTSTRAP_ACCOUNT, CannotAccept, pending
from fleetqueue.embedded.ocm.registration.agent.certificates import is_wanted, request_manifest
from fleetqueue.embedded.ocm.registration.certificates import agent_subject
from fleetqueue.embedded.ocm.registration.hub.certificate_approvals import (
    AgentCertificateApprovalController,
    recognised,
    renewal_review,
)
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings
from fleetqueue.testing.virtual_time import START

from .objects import signed

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


@pytest.mark.parametrize(
    ("said", "is_known"),
    [
        pytest.param(request(), True, id="an agent of the cluster"),
        pytest.param(request(groups=[f"{AGENT}c"]), True, id="without the common group"),
        pytest.param(request(label=""), False, id="without a label"),
        pytest.param(request(label="d"), False, id="of another cluster than its label says"),
        pytest.param(request(groups=[*GROUPS, "system:masters"]), False, id="more groups"),
        pytest.param(request(groups=[f"{AGENT}managed-clusters"]), False, id="the common group alone"),
        pytest.param(request(name=f"{AGENT}cc:a"), False, id="a cluster whose name begins alike"),
        pytest.param(request(name=f"{AGENT}c:a:b"), False, id="too many parts"),
        pytest.param(request(name=f"{AGENT}c:"), False, id="no agent"),
        pytest.param(request(name="c:a"), False, id="no agent's user"),
        pytest.param(request(request=base64.b64encode(b"nothing").decode()), False, id="no request at all"),
    ],
)
def test_recognised(said, is_known):
    assert (recognised(said) is not None) == is_known


def test_whether_an_agent_may_renew_is_asked_in_its_own_name():
    review = renewal_review(request(username=f"{AGENT}c:a", groups=GROUPS))

    assert review["spec"]["user"] == f"{AGENT}c:a"
    assert review["spec"]["resourceAttributes"]["verb"] == "renew"


def manifest(name="r", cluster="c"):
    asked = request_manifest(RegistrationAgentSettings(cluster), new_request(agent_subject(cluster, "a"))[1])
    labels = asked["metadata"]["labels"]
    return CertificateSigningRequest.manifest(name, labels=labels, spec=asked["spec"])


@pytest.mark.parametrize(
    ("settings", "is_approved"),
    [
        pytest.param(
            RegistrationHubSettings(auto_accept=True, auto_approved_users=["kubernetes-admin"]), True, id="a known user"
        ),
        pytest.param(RegistrationHubSettings(auto_accept=True), False, id="nobody is known"),
        pytest.param(
            RegistrationHubSettings(auto_approved_users=["kubernetes-admin"]), False, id="nothing is automatic"
        ),
    ],
)
async def test_first_requests_of_known_users_are_approved(stage, settings, is_approved):
    stage.api.add(manifest())

    first = await stage.run(AgentCertificateApprovalController, settings=settings)
    second = await stage.run(AgentCertificateApprovalController, settings=settings)

    assert stage.api.get(CertificateSigningRequest, "r").is_approved == is_approved
    assert len(first) == is_approved
    assert second == []


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


BESIDE = {"cluster-name": "c"}


def secret(certificate, **beside):
    entries = {
        "tls.crt": certificate,
        **{field: text.encode() for field, text in (beside or {"cluster-name": "c"}).items()},
    }
    data = {field.replace("_", "-"): base64.b64encode(content).decode() for field, content in entries.items()}
    return Secret.view(Secret.manifest("s", "ns", data=data))


@pytest.mark.parametrize(
    ("found", "after", "wanted"),
    [
        pytest.param(None, 0, True, id="there is no secret"),
        pytest.param(secret(b"nothing"), 0, True, id="it holds no certificate"),
        pytest.param(secret(signed(OURS)), 0, False, id="it is new"),
        pytest.param(secret(signed(OURS)), 770, False, id="more than a fifth of its time is left"),
        pytest.param(secret(signed(OURS)), 790, True, id="less than that is left"),
        pytest.param(secret(signed(OURS)), 2000, True, id="it has ended"),
        pytest.param(secret(signed(agent_subject("c", "b"))), 0, True, id="it is another agent's"),
        pytest.param(secret(signed(CertificateSubject(OURS.name, GROUPS[:1]))), 0, True, id="it lacks a group"),
        pytest.param(secret(signed(OURS), cluster_name="d"), 0, True, id="it lies beside another cluster's name"),
    ],
)
def test_an_agent_asks_for_a_certificate_when_it_needs_one(found, after, wanted):
    assert is_wanted(found, OURS, BESIDE, START + timedelta(seconds=after), 0.22) == wanted


@pytest.mark.parametrize(("seconds", "asked_for"), [(0, None), (7200, 7200)])
def test_a_request_says_how_long_only_where_that_is_set(seconds, asked_for):
    made = request_manifest(RegistrationAgentSettings("c", certificate_seconds=seconds), b"pem")

    assert made["metadata"] == {"generateName": "c-", "labels": {CLUSTER_NAME_LABEL: "c"}}
    assert made["spec"].get("expirationSeconds") == asked_for
