"""Approve the certificates that agents may have: renewals, and first ones where that is automatic.

Reads:   CertificateSigningRequest
Writes:  CertificateSigningRequest (approval); asks SubjectAccessReviews
Mirrors: ocm pkg/registration/register/csr/{approve_reconciler,hub_driver}.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.authorization_v1 import is_allowed
from fleetqueue.api.certificates_v1 import APPROVED, CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.certificates import CertificateSubject, subject_of_request
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.certificates import named_agent
from fleetqueue.embedded.ocm.registration.names import AGENT_PREFIX, AGENTS_GROUP, OF_CLUSTERS, REGISTER_GROUP
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

log = Log("registration")


class AgentCertificateApprovalController(Controller):
    name = "agent-certificate-approvals"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: RegistrationHubSettings) -> None:
        super().__init__(hub, metrics)
        self.first_users = frozenset(settings.auto_approved_users) if settings.auto_accept else frozenset()

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(CertificateSigningRequest, by_key, labels=OF_CLUSTERS)

    async def reconcile(self, key: str) -> None:
        request = self.hub.get(CertificateSigningRequest, key)
        if request is None or request.is_decided or request.spec.signer_name != CLIENT_SIGNER:
            return
        subject = recognised(request)
        if subject is None:
            return
        if await self._may_have(request, subject):
            await approve(self.hub, request, **messages.APPROVED)
            log.info("certificate approved", request=key, user=request.spec.username)

    async def _may_have(self, request: CertificateSigningRequest, subject: CertificateSubject) -> bool:
        """An agent that asks for itself needs the right to; for others, those may ask who are known to."""
        if request.spec.username != subject.name:
            return request.spec.username in self.first_users
        return is_allowed(await self.hub.client.post(REVIEWS, renewal_review(request)))


def recognised(request: CertificateSigningRequest) -> CertificateSubject | None:
    """Return whom a request is for, if it is for an agent of the cluster that its label names."""
    cluster = request.metadata.labels.get(CLUSTER_NAME_LABEL, "")
    subject = subject_of_request(request.request)
    if subject is None or set(subject.groups) - {AGENTS_GROUP} != {f"{AGENT_PREFIX}{cluster}"}:
        return None
    named = named_agent(subject)
    return subject if named is not None and named[0] == cluster else None


def renewal_review(request: CertificateSigningRequest) -> Manifest:
    """Ask whether who made a request may renew certificates."""
    attributes = {
        "group": REGISTER_GROUP,
        "resource": "managedclusters",
        "subresource": "clientcertificates",
        "verb": "renew",
    }
    spec = request.spec
    who = {"user": spec.username, "uid": spec.uid, "groups": list(spec.groups), "extra": spec.extra}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {**{field: value for field, value in who.items() if value}, "resourceAttributes": attributes},
    }


async def approve(hub: Cluster, request: CertificateSigningRequest, *, reason: str, message: str) -> None:
    """Approve the very request that we saw."""
    raw = hub.informer(CertificateSigningRequest, labels=OF_CLUSTERS).store.raw(request.key) or {}
    await hub.client.update(
        CertificateSigningRequest.resource, approved(raw, reason=reason, message=message), "approval"
    )


def approved(raw: Manifest, *, reason: str, message: str) -> Manifest:
    """Return a request as it is with an approval."""
    moment = timestamp(clock.now())
    approval = {"type": APPROVED, "status": "True", "reason": reason, "message": message}
    dated = {**approval, "lastUpdateTime": moment, "lastTransitionTime": moment}
    status = raw.get("status") or {}
    kind = {
        "apiVersion": CertificateSigningRequest.resource.api_version,
        "kind": CertificateSigningRequest.resource.kind,
    }
    return {**kind, **raw, "status": {**status, "conditions": [*(status.get("conditions") or ()), dated]}}
