"""Who approves a request for a certificate may do so for its signer, and who signs it is one.

Mirrors: kubernetes plugin/pkg/admission/certificates (approval, signing)
"""

from collections.abc import Callable
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import Review
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.kinds.go_text import quoted

GROUP: Final = "certificates.k8s.io"
VERBS: Final = {"approval": "approve", "status": "sign"}
"""What is asked for, by the subresource that is written."""


class Signers:
    def __init__(self, may: Callable[[Attributes], bool]) -> None:
        self._may = may

    async def admit(self, review: Review) -> Manifest | None:
        new, old, verb = review.new, review.old, VERBS.get(review.subresource)
        if review.resource.group != GROUP or new is None or old is None or verb is None:
            return new
        signer = (old.get("spec") or {}).get("signerName", "")
        if (verb == "approve" or _is_signed(new, old)) and not self._may_for(signer, verb, review):
            raise review.forbidden(f"user not permitted to {verb} requests with signerName {quoted(signer)}")
        return new

    def _may_for(self, signer: str, verb: str, review: Review) -> bool:
        """Tell whether somebody may do this for a signer, or for all signers of its domain."""
        names = (signer, f"{signer.partition('/')[0]}/*")
        return any(self._may(Attributes(review.user, verb, GROUP, "signers", name=name)) for name in names)


def _is_signed(new: Manifest, old: Manifest) -> bool:
    after, before = new.get("status") or {}, old.get("status") or {}
    return any((after.get(name) or None) != (before.get(name) or None) for name in ("certificate", "conditions"))
