"""What pods that are parts of this process tell over HTTP: `pods/<name>:<port>/proxy/<path>` asks them in process."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.metrics import MEDIA_TYPE
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import Storage

NO_PAGE: Final = ServerResponse(404, "404 page not found\n")

Paths = Mapping[str, Callable[[], str]]
"""What is told under each path."""


class PodPorts:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._serving: dict[tuple[str, str], Paths] = {}

    @contextmanager
    def serving(self, namespace: str, pod: str, paths: Paths) -> Iterator[None]:
        """Let a pod tell something."""
        self._serving[namespace, pod] = paths
        try:
            yield
        finally:
            del self._serving[namespace, pod]

    async def get(self, served: Served, context: RequestContext) -> ServerResponse:
        info, name = context.info, pod_name(context.info.name)
        if self._storage.head(served.key(info.namespace, name)) is None:
            raise served.not_found(name)
        paths = self._serving.get((info.namespace, name))
        if paths is None:
            why = f'error trying to reach service: pod "{info.namespace}/{name}" listens on no port'
            raise errors.ServerError(why, reason="ServiceUnavailable", code=503)
        tell = paths.get(f"/{info.rest}")
        return ServerResponse(200, tell(), media_type=MEDIA_TYPE) if tell is not None else NO_PAGE


def pod_name(target: str) -> str:
    """Return the pod that `https:pod:8443`, `pod:8443` or `pod` names; all its ports are one here."""
    parts = target.split(":")
    return parts[1] if len(parts) == 3 else parts[0]
