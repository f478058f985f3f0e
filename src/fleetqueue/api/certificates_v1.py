"""Requests for client certificates: one asks, somebody approves, a signer answers."""

import base64
from typing import Any, ClassVar, Final

from fleetqueue.api.conditions import Condition, is_true
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
CLIENT_USAGES: Final = ("digital signature", "key encipherment", "client auth")
APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"


class CertificateRequestSpec(View):
    request: str = ""
    signer_name: str = ""
    usages: tuple[str, ...] = ()
    expiration_seconds: int | None = None
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, Any] = {}


class CertificateRequestStatus(View):
    certificate: str = ""
    conditions: tuple[Condition, ...] = ()


class CertificateSigningRequest(Object):
    resource: ClassVar = Resource(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        namespaced=False,
    )

    spec: CertificateRequestSpec = CertificateRequestSpec()
    status: CertificateRequestStatus = CertificateRequestStatus()

    @property
    def request(self) -> bytes:
        """The request as PEM."""
        return base64.b64decode(self.spec.request)

    @property
    def certificate(self) -> bytes:
        """The certificate as PEM; empty until it was issued."""
        return base64.b64decode(self.status.certificate)

    @property
    def is_approved(self) -> bool:
        return is_true(self.status.conditions, APPROVED) and not is_true(self.status.conditions, DENIED)

    @property
    def is_decided(self) -> bool:
        return is_true(self.status.conditions, APPROVED) or is_true(self.status.conditions, DENIED)
