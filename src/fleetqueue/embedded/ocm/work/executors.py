"""Whether the account that a work names may do on the worker what the work asks for.

Mirrors: OCM work/spoke/auth/basic
"""

from collections.abc import Callable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.authorization_v1 import is_allowed
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
VERBS: Final = ("create", "update", "patch", "get")
AGAIN_AFTER: Final = 60.0
"""Seconds after which a refused work is tried again: nothing tells the agent of a new role."""
_RBAC: Final = "rbac.authorization.k8s.io"
_RBAC_KINDS: Final = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")

Impersonate = Callable[[str], Client]
"""Opens the worker as another user, by name."""


class NotAllowed(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(f"{text}, will try again in 1m0s")


class Executors:
    def __init__(self, client: Client, impersonate: Impersonate) -> None:
        self._client = client
        self._impersonate = impersonate

    async def check(
        self, executor: work.Executor | None, resource: Resource, manifest: Manifest, *, is_owned: bool
    ) -> None:
        """Return if the work may be done; raises NotAllowed, ValueError or what the worker answers."""
        if executor is None:
            return
        account = executor.subject.service_account
        if executor.subject.type != "ServiceAccount":
            raise ValueError("only support ServiceAccount type for the executor")
        if account is None:
            raise ValueError("the executor service account is nil")
        what = _words(resource, manifest)
        for verb in (*VERBS, "delete") if is_owned else VERBS:
            if not is_allowed(await self._client.post(REVIEWS, review(account, verb, resource, manifest))):
                raise NotAllowed(what)
        if resource.group == _RBAC and resource.plural in _RBAC_KINDS:
            await self._check_escalation(account, resource, manifest, what)

    async def _check_escalation(
        self, account: work.AccountReference, resource: Resource, manifest: Manifest, what: str
    ) -> None:
        """Let the API server say whether the account would give more than it has."""
        try:
            await self._impersonate(_user(account)).create(resource, manifest, dry_run=True)
        except errors.Forbidden:
            raise NotAllowed(f"{what}, error: permission escalation") from None
        except errors.AlreadyExists:
            return


def review(account: work.AccountReference, verb: str, resource: Resource, manifest: Manifest) -> Manifest:
    """Ask whether an account may do something to the very object."""
    metadata = manifest["metadata"]
    attributes = {
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": _namespace(resource, manifest),
        "name": metadata.get("name", ""),
    }
    groups = ["system:serviceaccounts", "system:authenticated", f"system:serviceaccounts:{account.namespace}"]
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"resourceAttributes": attributes, "user": _user(account), "groups": groups},
    }


def _user(account: work.AccountReference) -> str:
    return f"system:serviceaccount:{account.namespace}:{account.name}"


def _words(resource: Resource, manifest: Manifest) -> str:
    name = manifest["metadata"].get("name", "")
    where = _namespace(resource, manifest)
    return f"not allowed to apply the resource {resource.group} {resource.plural}, {where} {name}"


def _namespace(resource: Resource, manifest: Manifest) -> str:
    return str(manifest["metadata"].get("namespace") or "") if resource.namespaced else ""
