"""Whose certificates are approved."""

import base64

import pytest

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.client.certificates import new_request
from fleetqueue.embedded.ocm.registration.agent.certificates import request_manifest
from fleetqueue.embedded.ocm.registration.certificates import agent_subject
from fleetqueue.embedded.ocm.registration.hub.certificate_approvals import (
    AgentCertificateApprovalController,
    recognised,
    renewal_review,
)
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings
from tests.unit.embedded.ocm.registration.signing_requests import AGENT, GROUPS, request


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
async def test_first_requests_of_known_users_are_approved(env, settings, is_approved):
    env.api.add(manifest())

    first = await env.run(AgentCertificateApprovalController, settings=settings)
    second = await env.run(AgentCertificateApprovalController, settings=settings)

    assert env.api.get(CertificateSigningRequest, "r").is_approved == is_approved
    assert len(first) == is_approved
    assert second == []


def asked(agent="a", status=None, **who):
    said = base64.b64encode(new_request(agent_subject("c", agent))[1]).decode()
    spec = {"request": said, "signerName": CLIENT_SIGNER, **who}
    return CertificateSigningRequest.view(CertificateSigningRequest.manifest("r", spec=spec, status=status or {}))
