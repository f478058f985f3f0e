"""Requests of agents for a certificate, as tests need them."""

import base64

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.client.certificates import CertificateSubject, new_request
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
