"""An embedded cluster for a test: only its API lives; what runs in it is the test's own choice."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.requests import Request, Response
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.fleets.embedded_cluster import ADMIN
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.fleets.targets import target_of
from fleetqueue.testing.frozen import FreezingDoor, WatchedStorage
from fleetqueue.testing.templates import at_once, template

TOKEN: Final = "administrator"
DEFINITIONS: Final = CustomResourceDefinition.resource.plural


class EmbeddedServer:
    """Answers as the administrator that every test is."""

    def __init__(self, namespaces: Sequence[str] = (), *, api: ApiServer | None = None, token: str = TOKEN) -> None:
        self.api = api or at_once(template().copy(Secrets(tokens={TOKEN: ADMIN})))
        self.door = FreezingDoor(self.api, RequestCredentials(token=token))
        self._first_revision = self.api.storage.revision
        self.namespaces = namespaces
        self._own_door = InProcessDoor(self.api, RequestCredentials(token=token))
        for name in namespaces:
            self.ask(Request("POST", Namespace.resource.path(), {}, Namespace.manifest(name)))

    def ask(self, request: Request) -> Response:
        response = at_once(self._own_door.answer(request))
        target = target_of(request)
        if target is not None and target.is_write and target.plural == DEFINITIONS:
            at_once(self.api.establishing.settle(target.name))
        return response

    def compact(self) -> None:
        at_once(self.api.storage.compact(self.api.storage.revision))

    def end(self) -> None:
        """Fail if anything that is stored was changed in place."""
        assert isinstance(self.api.storage, WatchedStorage)
        self.api.storage.check(since=self._first_revision)
