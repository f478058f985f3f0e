"""When an account needs a new token, and what is written about it: nothing here asks anybody."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from fleetqueue.api import durations
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.core_v1 import Secret, ServiceAccount, secret
from fleetqueue.api.managed_service_account_v1beta1 import (
    CA_KEY,
    MANAGED_LABEL,
    SECRET_CREATED,
    TOKEN_KEY,
    TOKEN_REPORTED,
    ManagedServiceAccount,
)
from fleetqueue.api.scheme import Manifest

MANAGED: Final = {MANAGED_LABEL: "true"}
REFRESH_AT: Final = 0.8
"""The part of its real life after which a token is replaced; a worker may give less than was asked for."""
LATE: Final = 5.0
"""Seconds after that moment at which the agent looks."""


def subject(token: str) -> str:
    """Return for whom a token was signed; nothing where it is no token of Kubernetes."""
    try:
        _, payload, _ = token.split(".")
        claims: Any = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, binascii.Error):
        return ""
    return str(claims.get("sub") or "") if isinstance(claims, dict) else ""


def refresh_moment(account: ManagedServiceAccount) -> datetime | None:
    """Return when the token shall be replaced; None where none was reported."""
    reference, expires = account.status.token_secret_ref, account.status.expiration_timestamp
    if reference is None or expires is None or reference.last_refresh_timestamp is None:
        return None
    return reference.last_refresh_timestamp + REFRESH_AT * (expires - reference.last_refresh_timestamp)


def is_due(account: ManagedServiceAccount, live: Secret | None, namespace: str, now: datetime) -> bool:
    """Tell whether a new token is needed, as far as that is seen without asking the worker."""
    moment = refresh_moment(account)
    if live is None or moment is None or now > moment:
        return True
    return subject(live.text(TOKEN_KEY) or "") != f"system:serviceaccount:{namespace}:{account.name}"


def next_look(account: ManagedServiceAccount, now: datetime) -> float:
    """Return in how many seconds the token has to be looked at again."""
    moment = refresh_moment(account) or now
    return max((moment - now).total_seconds(), 0.0) + LATE


def account_manifest(name: str, namespace: str) -> Manifest:
    """Build the account on the worker."""
    return ServiceAccount.manifest(name, namespace, labels=MANAGED)


def token_request(account: ManagedServiceAccount, namespace: str) -> Manifest:
    """Ask for a token as valid as the account wants it; raises ValueError where that is no duration."""
    metadata = {"name": account.name, "namespace": namespace}
    spec = {"expirationSeconds": int(durations.parsed(account.spec.rotation.validity))}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": spec}


def secret_manifest(account: ManagedServiceAccount, *, token: str, ca: str) -> Manifest:
    """Build the secret on the hub, of the account's own name, which goes when the account goes."""
    manifest = secret(account.name, account.namespace, {CA_KEY: ca, TOKEN_KEY: token}, labels=MANAGED)
    resource = account.resource
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": account.name, "uid": account.uid}
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def rewritten(live: Manifest, wanted: Manifest) -> Manifest:
    """Return a live secret with what is wanted in it, and no entry of anybody else."""
    about = {key: wanted["metadata"][key] for key in ("labels", "ownerReferences")}
    labels = {**(live["metadata"].get("labels") or {}), **about["labels"]}
    return {**live, "metadata": {**live["metadata"], **about, "labels": labels}, "data": wanted["data"]}


def reported(name: str, live: Sequence[Manifest], *, refreshed: datetime, expires: datetime, now: datetime) -> Manifest:
    """Return the status of an account whose token is on the hub."""
    conditions = [
        Condition.true(SECRET_CREATED, "SecretCreated", ""),
        Condition.true(TOKEN_REPORTED, "TokenReported", ""),
    ]
    return {
        "conditions": with_conditions(live, conditions, now),
        "expirationTimestamp": timestamp(expires),
        "tokenSecretRef": {"name": name, "lastRefreshTimestamp": timestamp(refreshed)},
    }


def failed(live: Sequence[Manifest], why: str, now: datetime) -> Manifest:
    """Return what changes in the status of an account whose token could not be brought to the hub."""
    return {"conditions": with_conditions(live, [Condition.false(TOKEN_REPORTED, "TokenReportFailed", why)], now)}
