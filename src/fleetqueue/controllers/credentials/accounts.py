"""The service account on a worker: its rights, its tokens, and its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.authentication_v1 import SUBRESOURCE, IssuedToken, issued_token, token_request
from fleetqueue.api.authorization_v1 import REVIEWS, access_review, is_allowed
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.fleetqueue import HUB, ORIGIN
from fleetqueue.api.meta import Object, changes
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.secret_content import digest
from fleetqueue.controllers.credentials.worker_rules import PolicyRule
from fleetqueue.runtime.cluster import LABELLED_OURS, OURS, is_ours

ACCOUNT_NAME: Final = "fleetqueue-multikueue"
"""What our account is called, with the hub behind it where that is known: several hubs may share a worker."""
_RBAC: Final = ClusterRole.resource.group


@dataclass(frozen=True, slots=True)
class WorkerAccount:
    """A service account; its ClusterRole and ClusterRoleBinding have the same name."""

    name: str
    namespace: str
    hub: str = ""
    """Whose it is: the uid of the hub's namespace kube-system; empty where that is not known."""
    origin: str = ""
    """By which name the hub's copies are told apart on a worker."""

    @property
    def marks(self) -> dict[str, str]:
        """Annotations that tell other hubs whose it is."""
        return {HUB: self.hub} if self.hub else {}


def account_of(hub: str, namespace: str) -> WorkerAccount:
    """Return the account of a hub on its workers."""
    return WorkerAccount(f"{ACCOUNT_NAME}-{digest(hub)[:8]}" if hub else ACCOUNT_NAME, namespace, hub)


class AccountChange(Enum):
    """What had to be done so that an account has its rights."""

    NONE = auto()
    RIGHTS = auto()
    ACCOUNT = auto()
    """The account is new, and so are its rights."""


async def grant(worker: Client, account: WorkerAccount, rules: Sequence[PolicyRule]) -> AccountChange:
    """Bring the account and its rights to what is wanted; return what was not yet so.

    Asked live, since nobody follows a worker's roles. The tokens of an account that was deleted end with it, but an API
    server goes on taking them for ten seconds: that the account is new tells more than asking with one of them.
    """
    try:
        made = await _ensure(worker, ServiceAccount, _account_manifest(account))
    except errors.NotFound as error:
        raise CredentialProblem(
            f'the worker has no namespace "{account.namespace}"; install Kueue there ({error})'
        ) from error
    role = ClusterRole.manifest(account.name, annotations=account.marks, rules=[rule.manifest() for rule in rules])
    done = [
        await _ensure(worker, ClusterRole, role),
        await _ensure(worker, ClusterRoleBinding, _binding_manifest(account)),
    ]
    if made is Done.CREATED:
        return AccountChange.ACCOUNT
    return AccountChange.NONE if set(done) == {Done.NOTHING} else AccountChange.RIGHTS


async def granted(worker: Client, account: WorkerAccount) -> Sequence[Mapping[str, Any]]:
    """Return the rules that the account's role has now."""
    raw = await worker.find(ClusterRole.resource, account.name)
    return ClusterRole.view(raw).rules if raw is not None else ()


async def revoke(worker: Client, account: WorkerAccount) -> bool:
    """Remove what `grant` made, and nothing else; every token of the account ends with it."""
    removed = [
        await _ensure_absent(worker, ClusterRoleBinding, account.name, "", account.hub),
        await _ensure_absent(worker, ClusterRole, account.name, "", account.hub),
        await _ensure_absent(worker, ServiceAccount, account.name, account.namespace, account.hub),
    ]
    return any(removed)


async def hubs_of_same_origin(worker: Client, account: WorkerAccount) -> list[str]:
    """Return other hubs that have an account on a worker and call their copies as this one does.

    Each of them then takes the copies of the others for its own leftovers, and deletes them.
    """
    accounts = (await worker.list(ServiceAccount.resource, account.namespace, labels=LABELLED_OURS)).items
    marks = [ServiceAccount.view(raw).metadata.annotations for raw in accounts]
    return sorted({m[HUB] for m in marks if m.get(HUB, account.hub) != account.hub and m.get(ORIGIN) == account.origin})


async def issue(worker: Client, account: WorkerAccount, seconds: int) -> IssuedToken:
    """Have the worker issue a token."""
    request = token_request(account.name, account.namespace, seconds)
    return issued_token(await worker.create(ServiceAccount.resource, request, subresource=SUBRESOURCE))


async def denied(client: Client, rules: Sequence[PolicyRule]) -> list[str]:
    """Ask the worker, as the client's own user, which of these rights it does not have."""
    missing = []
    for rule in rules:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not is_allowed(await client.post(REVIEWS, access_review(verb, rule.group, resource, rule.name))):
                    missing.append(f"{verb} {resource}.{rule.group}" if rule.group else f"{verb} {resource}")
    return missing


def _account_manifest(account: WorkerAccount) -> Manifest:
    # No pod runs as this account, so none shall be given its token.
    marks = account.marks | ({ORIGIN: account.origin} if account.origin else {})
    return ServiceAccount.manifest(
        account.name, account.namespace, annotations=marks, automountServiceAccountToken=False
    )


def _binding_manifest(account: WorkerAccount) -> Manifest:
    return ClusterRoleBinding.manifest(
        account.name,
        annotations=account.marks,
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": account.name},
        subjects=[{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
    )


class Done(Enum):
    NOTHING = auto()
    CHANGED = auto()
    CREATED = auto()


async def _ensure(worker: Client, kind: type[Object], manifest: Manifest) -> Done:
    """Create an object or change what differs."""
    metadata = manifest["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        raw = await worker.get(kind.resource, name, namespace)
    except errors.NotFound:
        await worker.create(kind.resource, {**manifest, "metadata": {**metadata, "labels": OURS}})
        return Done.CREATED
    live = kind.view(raw)
    if not is_ours(live):
        raise CredentialProblem(f"{live} on the worker was not made by fleetqueue; rename or delete it")
    patch = changes(raw, manifest)
    if patch:
        patch.setdefault("metadata", {}).update(live.precondition)
        await worker.merge(kind.resource, name, namespace, patch)
        return Done.CHANGED
    return Done.NOTHING


async def _ensure_absent(worker: Client, kind: type[Object], name: str, namespace: str, hub: str) -> bool:
    """Delete an object of ours, unless it is marked as another hub's."""
    try:
        live = kind.view(await worker.get(kind.resource, name, namespace))
        if not is_ours(live) or live.metadata.annotations.get(HUB, hub) != hub:
            return False
        await worker.delete(kind.resource, name, namespace, uid=live.uid)
    except errors.NotFound:
        return False
    return True
