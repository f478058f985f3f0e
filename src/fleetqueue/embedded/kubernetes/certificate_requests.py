"""Sign approved certificate requests for clients of the API server.

Reads:   CertificateSigningRequest
Writes:  its status: the certificate, or why there is none
Mirrors: kubernetes pkg/controller/certificates/signer, for kubernetes.io/kube-apiserver-client alone

Who approves is not decided here: an agent's own hub does that, or a person with `kubectl certificate approve`.
"""

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.certificates_v1 import (
    APPROVED,
    CLIENT_SIGNER,
    CLIENT_USAGES,
    DENIED,
    FAILED,
    CertificateSigningRequest,
)
from fleetqueue.api.conditions import is_true, timestamp
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_status

NEEDED: Final = "client auth"

Signer = Callable[[bytes, int | None], Awaitable[bytes]]
"""Makes a certificate (PEM) from a request (PEM) and its requested seconds; ValueError where it cannot."""

log = Log("certificate-requests")


class CertificateRequestController(Controller):
    name = "certificate-requests"

    def __init__(self, hub: Cluster, metrics: Metrics, *, sign: Signer) -> None:
        super().__init__(hub, metrics)
        self.sign = sign

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(CertificateSigningRequest, by_key),)

    async def reconcile(self, key: str) -> None:
        request = self.hub.get(CertificateSigningRequest, key)
        if request is None or not waits_for_us(request):
            return
        problem = usage_problem(request)
        certificate = b""
        if not problem:
            try:
                certificate = await self.sign(request.request, request.spec.expiration_seconds)
            except ValueError as error:
                problem = str(error)
        live = live_status(self.hub, request)
        if problem:
            failed = [*(live.get("conditions") or ()), _failure(problem)]
            await write_status(self.hub, request, live, {**live, "conditions": failed})
            log.warning("certificate refused", request=key, why=problem)
            return
        issued = base64.b64encode(certificate).decode()
        await write_status(self.hub, request, live, {**live, "certificate": issued})
        log.info("certificate signed", request=key)


def waits_for_us(request: CertificateSigningRequest) -> bool:
    """Tell whether a request is approved, and nothing came of it yet."""
    conditions = request.status.conditions
    is_over = bool(request.status.certificate) or is_true(conditions, FAILED) or is_true(conditions, DENIED)
    return request.spec.signer_name == CLIENT_SIGNER and is_true(conditions, APPROVED) and not is_over


def usage_problem(request: CertificateSigningRequest) -> str:
    """Return why these usages cannot be had of this signer; empty where they can."""
    usages = set(request.spec.usages)
    if NEEDED in usages and usages <= set(CLIENT_USAGES):
        return ""
    return f"invalid usage for client certificate: {', '.join(request.spec.usages)}"


def _failure(why: str) -> dict[str, str]:
    moment = timestamp(clock.now())
    condition = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why}
    return {**condition, "lastUpdateTime": moment, "lastTransitionTime": moment}
