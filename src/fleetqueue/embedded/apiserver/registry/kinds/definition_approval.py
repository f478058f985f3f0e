"""Custom kinds in groups of Kubernetes itself, which the community must have approved."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.go_text import quoted

ANNOTATION: Final = "api-approved.kubernetes.io"
FIELD: Final = f"metadata.annotations[{ANNOTATION}]"
SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
NEEDED: Final = f"protected groups must have approval annotation {quoted(ANNOTATION)}"
CONDITION: Final = "KubernetesAPIApprovalPolicyConformant"
MISSING, BYPASSED, APPROVED, INVALID = "missing", "bypassed", "approved", "invalid"


def is_protected(group: str) -> bool:
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def state_of(definition: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether a definition is approved, and what is said of it."""
    given = (definition["metadata"].get("annotations") or {}).get(ANNOTATION) or ""
    if not given:
        return MISSING, f"{NEEDED}, {SEE}"
    if given.startswith("unapproved"):
        return BYPASSED, f"not approved: {quoted(given)}"
    parts = urlsplit(given)
    if parts.scheme and parts.netloc:
        return APPROVED, f"approved in {given}"
    return INVALID, f'{NEEDED} with either a URL or a reason starting with "unapproved", {SEE}'


def approval_faults(new: Manifest, old: Manifest | None) -> Iterator[Cause]:
    if not is_protected(str((new.get("spec") or {}).get("group") or "")):
        return
    state, why = state_of(new)
    if old is not None and state_of(old)[0] == state:
        return
    if state == MISSING:
        yield required(FIELD, why)
    elif state == INVALID:
        yield invalid_value(FIELD, new["metadata"]["annotations"][ANNOTATION], why)


def condition(definition: Manifest) -> Manifest | None:
    """Return what the status says of the approval; None where none is needed."""
    if not is_protected(definition["spec"]["group"]):
        return None
    state, why = state_of(definition)
    status, reason = {
        APPROVED: ("True", "ApprovedAnnotation"),
        BYPASSED: ("False", "UnapprovedAnnotation"),
        MISSING: ("False", "MissingAnnotation"),
        INVALID: ("False", "InvalidAnnotation"),
    }[state]
    return {"type": CONDITION, "status": status, "reason": reason, "message": why}
