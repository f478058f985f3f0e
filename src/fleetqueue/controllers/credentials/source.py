"""Where credentials come from: the contract that both ways of getting one keep."""

from collections.abc import Iterable
from typing import Any, Protocol

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.controllers.credentials.secret_content import Issued
from fleetqueue.controllers.credentials.worker_rules import Rights
from fleetqueue.runtime.controller import Watch


class FormerSource(Protocol):
    """One that gives no credentials on this hub any more, and may have left something behind."""

    async def withdraw(self, cluster: str, *, is_gone: bool) -> bool:
        """Remove what was made for a cluster; return whether there was anything.

        `is_gone`: the cluster is no longer managed, so what cannot be reached is given up. Raises RetryLater where the
        worker cannot be reached yet.
        """
        ...


class WorkerCredentialSource(FormerSource, Protocol):
    name: str
    """Written beside each credential, to know whose it is."""

    def watches(self) -> Iterable[Watch[Any]]:
        """Say what wakes a cluster beside its need and its secret."""
        ...

    async def credential(
        self, cluster: ManagedCluster, current: Issued | None, rights: Rights, *, doubted: bool
    ) -> Issued:
        """Return a credential with these rights; the current one where it is still good.

        A cluster that is deleting keeps what it has: that may be changed, but nothing is made on the hub for it.
        `current` is one that this source gave. `doubted`: Kueue is not connected, so it is looked at although that was
        done a moment ago. Raises CredentialProblem where none can be had now, CredentialWithdrawn where the current one
        must go as well.
        """
        ...
