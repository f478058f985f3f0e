"""Follow one kind on one worker by connections that come and go; what was seen stays."""

import asyncio
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import O
from fleetqueue.client import Client
from fleetqueue.runtime.informer import Informer

REOPEN_SECONDS: Final = 0.5


class Follower(Informer[O]):
    """Follows one kind on one worker until anything goes wrong, and raises that."""

    def __init__(self, kind: type[O], *, labels: str, cluster: str) -> None:
        super().__init__(_NOBODY, kind, labels=labels, cluster=cluster)
        self.up = asyncio.Event()
        """Set while the watch is open and all there is was seen."""

    def begin(self, client: Client) -> None:
        """Go on by another connection; it may be to another cluster, so that all is listed anew."""
        self._client = client
        self._version = ""
        self.up.clear()

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except errors.Gone:
                self._version = ""
            await asyncio.sleep(clock.jitter(REOPEN_SECONDS))

    def _well(self) -> None:
        super()._well()
        self.up.set()


async def followed(follower: Follower[Any]) -> None:
    """Say of a kind that is not there what Kueue says of it."""
    try:
        await follower.run()
    except errors.NotFound:
        resource = follower.kind.resource
        raise errors.Unreachable(f'no matches for kind "{resource.kind}" in version "{resource.api_version}"') from None


class _Nobody:
    """A door before there is one."""

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.Unreachable("not connected")

    async def close(self) -> None:
        """Nothing is open."""


_NOBODY: Final = Client(_Nobody())
