"""Pods that mean something: their image names one of our own parts, which runs in this process while the pod does.

A program is a coroutine function. It is given its `ProgramContext`: what the pod says to it (arguments, environment,
files), and the API of its own cluster, as the pod's service account. It runs until it is cancelled: so it is told to
stop. If it raises, its container has failed, and is started again as the pod asks.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.api.core_v1 import Pod
from fleetqueue.client import Client


@dataclass(slots=True)
class ProgramAccount:
    """Whom a program is for its cluster; its token is changed before it ends."""

    namespace: str
    name: str
    token: str = field(default="", repr=False)


@dataclass(slots=True)
class ProgramContext:
    """Where a program runs."""

    namespace: str
    pod: str
    container: str
    command: Sequence[str]
    """Empty means: what the image does by itself."""
    args: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    """What is mounted, by path: ConfigMaps, secrets, the token. When something changes, this is another mapping."""
    account: ProgramAccount
    client: Client
    why_not_ready: Callable[[], str] = lambda: ""
    """To be set by the program: what is missing until it does its work; empty where nothing is."""
    _refreshed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def text(self, path: str) -> str:
        """Read a mounted file; raises FileNotFoundError where there is none."""
        if path not in self.files:
            raise FileNotFoundError(f"{path} is not mounted in pod {self.namespace}/{self.pod}")
        return self.files[path].decode()

    def refresh(self, files: Mapping[str, bytes]) -> None:
        """Let other files be mounted from now on."""
        if files != self.files:
            self.files = files
            refreshed, self._refreshed = self._refreshed, asyncio.Event()
            refreshed.set()

    async def until_changed(self, path: str) -> None:
        """Wait until a file is another one."""
        begun_with = self.files.get(path)
        while self.files.get(path) == begun_with:
            await self._refreshed.wait()


Program = Callable[[ProgramContext], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Programs:
    """Which images are known, and how their programs reach the cluster."""

    by_image: Mapping[str, Program]
    """By the last parts of an image's name: `kueue/kueue` also stands for example.com/kueue/kueue:1."""
    reach: Callable[[ProgramAccount], Client]
    """Opens the cluster's API for an account, whose token may change later."""

    def knows(self, pod: Pod) -> bool:
        return any(self._find(container.image) is not None for container in pod.spec.containers)

    def of(self, image: str) -> Program:
        """Return what runs for an image; beside a program, any other container just stays."""
        return self._find(image) or stay

    def _find(self, image: str) -> Program | None:
        endings = image_endings(image)
        return next((self.by_image[name] for name in endings if name in self.by_image), None)


def _unreachable(account: ProgramAccount) -> Client:
    raise LookupError(f"no way to the API for {account}")


NO_PROGRAMS: Final = Programs({}, _unreachable)


async def stay(context: ProgramContext) -> None:
    await asyncio.Event().wait()


def image_endings(image: str) -> list[str]:
    """Return the ends of an image's name without its version: of a/b/c:1 that is a/b/c, b/c and c."""
    folders, _, last = image.partition("@")[0].rpartition("/")
    parts = [*folders.split("/"), last.partition(":")[0]] if folders else [last.partition(":")[0]]
    return ["/".join(parts[first:]) for first in range(len(parts))]
