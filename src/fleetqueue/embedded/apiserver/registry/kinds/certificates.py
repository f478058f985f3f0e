"""CertificateSigningRequests: the server records the user, approvers approve, signers add the certificate."""

import base64
from collections.abc import Sequence
from typing import Final

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import (
    Cause,
    duplicate,
    forbidden,
    invalid_value,
    not_supported,
    required,
)
from fleetqueue.embedded.apiserver.kinds.names import subdomain
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import with_field_of, without
from fleetqueue.embedded.apiserver.registry.strategy import Strategy, SubresourceStrategy

USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
DECISIONS: Final = ("Approved", "Denied")
LASTING: Final = (*DECISIONS, "Failed")
SHORTEST: Final = 600
CONDITIONS: Final = "status.conditions"


def prepare(request: Manifest, old: Manifest | None, user: User) -> Manifest:
    """Nobody asks in another's name; what was asked does not change."""
    if old is not None:
        return with_field_of(request, "spec", old)
    spec = without(request.get("spec") or {}, "username", "uid", "groups", "extra")
    who: Manifest = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        who["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {**request, "spec": {**spec, **{name: value for name, value in who.items() if value}}}


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return [*_common_faults(new, old), *_decision_faults(new, old)]


def _common_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems = [*_spec_faults(new.get("spec") or {}), *_condition_faults(_conditions(new)), *_certificate_faults(new)]
    if old is not None:
        for name in LASTING:
            if len(_of_type(new, name)) < len(_of_type(old, name)):
                problems.append(forbidden(CONDITIONS, f'updates may not remove a condition of type "{name}"'))
    return problems


def _decision_faults(new: Manifest, old: Manifest | None) -> Faults:
    """Tell who decides through another endpoint than the one for approvals."""
    for name in DECISIONS if old is not None else ():
        if len(_of_type(new, name)) > len(_of_type(old or {}, name)):
            yield forbidden(CONDITIONS, f'updates may not add a condition of type "{name}"')


def _spec_faults(spec: Manifest) -> Faults:
    from cryptography import x509  # slow to import, for a kind that few clusters use

    try:
        if not x509.load_pem_x509_csr(base64.b64decode(spec.get("request") or "")).is_signature_valid:
            yield invalid_value("spec.request", spec["request"], "x509: signature verification failed")
    except ValueError:
        yield invalid_value("spec.request", spec.get("request"), "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages") or ()
    if not usages:
        yield required("spec.usages")
    for position, usage in enumerate(usages):
        if usage not in USAGES:
            yield not_supported(f"spec.usages[{position}]", usage, USAGES)
    for position, usage in enumerate(usages):
        if usage in usages[:position]:
            yield duplicate(f"spec.usages[{position}]", usage)
    yield from _signer_faults(spec.get("signerName", ""))
    if spec.get("expirationSeconds", SHORTEST) < SHORTEST:
        detail = f"may not specify a duration less than {SHORTEST} seconds (10 minutes)"
        yield invalid_value("spec.expirationSeconds", spec["expirationSeconds"], detail)


def _signer_faults(signer: str) -> Faults:
    domain, slash, path = signer.partition("/")
    if not signer:
        yield required("spec.signerName")
    elif not slash or "/" in path:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value("spec.signerName", signer, detail)
    else:
        for part in (domain, path):
            yield from (
                invalid_value("spec.signerName", signer, f"validating label {part!r}: {why}") for why in subdomain(part)
            )


def _condition_faults(conditions: Sequence[Manifest]) -> Faults:
    seen: list[str] = []
    for position, condition in enumerate(conditions):
        kind, field = condition.get("type", ""), f"{CONDITIONS}[{position}]"
        allowed = ("True",) if kind in LASTING else ("False", "True", "Unknown")
        if not kind:
            yield required(f"{field}.type")
        if not condition.get("status"):
            yield required(f"{field}.status")
        elif condition["status"] not in allowed:
            yield not_supported(f"{field}.status", condition["status"], allowed)
        if kind in DECISIONS and any(other in DECISIONS and other != kind for other in seen):
            yield invalid_value(CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen:
            yield duplicate(f"{field}.type", kind)
        seen.append(kind)


def _certificate_faults(request: Manifest) -> Faults:
    data = (request.get("status") or {}).get("certificate")
    if not data:
        return
    from cryptography import x509

    try:
        x509.load_pem_x509_certificates(base64.b64decode(data))
    except ValueError:
        detail = "must contain at least one CERTIFICATE PEM block"
        yield invalid_value("status.certificate", "<certificate data>", detail)


def _conditions(request: Manifest) -> Sequence[Manifest]:
    return (request.get("status") or {}).get("conditions") or ()


def _of_type(request: Manifest, kind: str) -> list[Manifest]:
    return [condition for condition in _conditions(request) if condition.get("type") == kind]


def _keep_approval(new: Manifest, old: Manifest) -> Manifest:
    """Return what a write to the approval makes: it decides the conditions alone."""
    return {**old, "metadata": new["metadata"], "status": _with(old.get("status") or {}, _dated_all(new, old))}


def _keep_status(new: Manifest, old: Manifest) -> Manifest:
    """Return what a write to the status makes: decisions stay as they were, and none comes or goes unnoticed."""
    conditions = list(_conditions(new))
    for name in DECISIONS:
        before = _of_type(old, name)
        places = [place for place, condition in enumerate(conditions) if condition.get("type") == name]
        if len(before) == len(places):
            for place, condition in zip(places, before, strict=True):
                conditions[place] = condition
    decided = {**new, "status": _with(new.get("status") or {}, conditions)}
    return {**old, "metadata": new["metadata"], "status": _with(decided["status"], _dated_all(decided, old))}


def _with(status: Manifest, conditions: Sequence[Manifest]) -> Manifest:
    return {**status, "conditions": list(conditions)} if conditions else without(status, "conditions")


def _dated_all(new: Manifest, old: Manifest) -> list[Manifest]:
    return [_dated(condition, old) for condition in _conditions(new)]


def _dated(condition: Manifest, old: Manifest) -> Manifest:
    """Return a condition with its times: now, or since it was first so."""
    now = timestamp(clock.now())
    before = _of_type(old, condition.get("type", ""))
    since = before[0].get("lastTransitionTime") if before and before[0]["status"] == condition.get("status") else now
    times = {"lastUpdateTime": condition.get("lastUpdateTime") or now}
    return {**condition, **times, "lastTransitionTime": condition.get("lastTransitionTime") or since}


STRATEGY: Final = Strategy(
    name_rule=lambda name: (),
    prepare=prepare,
    faults=faults,
    subresources={
        "approval": SubresourceStrategy(_keep_approval, _common_faults),
        "status": SubresourceStrategy(_keep_status, faults),
    },
)
