"""Objects live in namespaces that exist and stay; three namespaces are never deleted."""

from collections.abc import Callable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import Review

IMMORTAL: Final = ("default", "kube-public", "kube-system")


class NamespaceLifecycle:
    def __init__(self, find: Callable[[str], Manifest | None]) -> None:
        self._find = find
        """Returns a namespace by name, as writers see it."""

    async def admit(self, review: Review) -> Manifest | None:
        is_namespace = (review.resource.group, review.resource.plural) == ("", "namespaces")
        name, namespace = review.metadata.get("name", ""), review.metadata.get("namespace", "")
        if is_namespace and review.operation == "DELETE" and name in IMMORTAL:
            raise review.forbidden("this namespace may not be deleted")
        if namespace and review.operation != "DELETE":
            self._check(namespace, review)
        return review.new

    def _check(self, namespace: str, review: Review) -> None:
        found = self._find(namespace)
        if found is None:
            details = {"name": namespace, "kind": "namespaces"}
            raise errors.NotFound(f'namespaces "{namespace}" not found', reason="NotFound", details=details)
        is_ending = (found.get("status") or {}).get("phase") == "Terminating"
        if is_ending and review.operation == "CREATE":
            message = f"namespace {namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise review.forbidden(why, cause)
