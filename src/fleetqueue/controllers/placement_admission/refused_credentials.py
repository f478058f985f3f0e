"""Credentials that a worker does not accept any more: a mark on the secret, so that a new one is made at once.

Reads:   the kubeconfig secrets, and what workers answered
Writes:  a mark on the kubeconfig secrets of ours

Kueue notices a 401 only when one of its watches ends, which may take an hour; what it is to bring there hangs. The mark
is taken off by who keeps the secret, when the worker accepts what is in it.
"""

from math import inf
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import is_refused, refused_mark
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.logs import Log

MARK_SECONDS: Final = 60.0
"""Between two marks on one secret: a worker of several API servers may accept here what it refuses there."""

log = Log("workers")


class RefusedCredentials:
    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._marked: dict[str, float] = {}

    async def note(self, secret: Secret | None, error: Exception) -> None:
        """Mark the secret with which a worker was asked, where it answered that it does not know who asks."""
        if not isinstance(error, errors.Unauthorized) or secret is None or not is_ours(secret) or is_refused(secret):
            return
        now = clock.monotonic()
        if now - self._marked.get(secret.name, -inf) < MARK_SECONDS:
            return
        self._marked[secret.name] = now
        mark = refused_mark(secret, clock.now())
        await self._hub.client.merge(secret.resource, secret.name, secret.namespace, mark)
        log.warning("credential refused", secret=secret.name)
