"""Small admission plugins of kube-apiserver.

Mirrors: kubernetes plugin/pkg/admission (namespace/lifecycle, certificates/approval, certificates/signing)
"""

from collections.abc import Callable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.kinds.go_text import quoted

IMMORTAL: Final = ("default", "kube-public", "kube-system")
CERTIFICATES: Final = "certificates.k8s.io"
SIGNER_VERBS: Final = {"approval": "approve", "status": "sign"}
"""The verb that a write needs, by the subresource that is written."""


class NamespaceLifecycle:
    """Objects live in namespaces that exist and stay; three namespaces are never deleted."""

    def __init__(self, find: Callable[[str], Manifest | None]) -> None:
        self._find = find
        """Returns a namespace by name, as writers see it."""

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        is_namespace = (review.resource.group, review.resource.plural) == ("", "namespaces")
        name, namespace = review.metadata.get("name", ""), review.metadata.get("namespace", "")
        if is_namespace and review.operation == "DELETE" and name in IMMORTAL:
            raise review.forbidden("this namespace may not be deleted")
        if namespace and review.operation != "DELETE":
            self._check(namespace, review)
        return review.new

    def _check(self, namespace: str, review: AdmissionRequest) -> None:
        live = self._find(namespace)
        if live is None:
            details = {"name": namespace, "kind": "namespaces"}
            raise errors.NotFound(f'namespaces "{namespace}" not found', reason="NotFound", details=details)
        is_ending = (live.get("status") or {}).get("phase") == "Terminating"
        if is_ending and review.operation == "CREATE":
            message = f"namespace {namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise review.forbidden(why, cause)


class CertificateSigners:
    """A user who approves or signs a certificate request needs that right for its signer."""

    def __init__(self, may: Callable[[Attributes], bool]) -> None:
        self._may = may

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        new, old, verb = review.new, review.old, SIGNER_VERBS.get(review.subresource)
        if review.resource.group != CERTIFICATES or new is None or old is None or verb is None:
            return new
        signer = (old.get("spec") or {}).get("signerName", "")
        if (verb == "approve" or _is_signed(new, old)) and not self._may_for(signer, verb, review):
            raise review.forbidden(f"user not permitted to {verb} requests with signerName {quoted(signer)}")
        return new

    def _may_for(self, signer: str, verb: str, review: AdmissionRequest) -> bool:
        """Tell whether a user may do this for a signer, or for all signers of its domain."""
        names = (signer, f"{signer.partition('/')[0]}/*")
        return any(self._may(Attributes(review.user, verb, CERTIFICATES, "signers", name=name)) for name in names)


def _is_signed(new: Manifest, old: Manifest) -> bool:
    after, before = new.get("status") or {}, old.get("status") or {}
    return any((after.get(name) or None) != (before.get(name) or None) for name in ("certificate", "conditions"))
