"""When an agent asks for another certificate, and how."""

import base64
from datetime import timedelta

import pytest

from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.api.core_v1 import Secret
from fleetqueue.client.certificates import CertificateSubject
from fleetqueue.embedded.ocm.registration.agent.certificates import is_wanted, request_manifest
from fleetqueue.embedded.ocm.registration.certificates import agent_subject
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.testing.virtual_time import START
from tests.unit.embedded.ocm.registration.objects import signed

OURS = agent_subject("c", "a")
GROUPS = list(OURS.groups)
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
