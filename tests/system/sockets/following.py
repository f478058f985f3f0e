"""Follow a collection with a client that blocks, through whatever happens to the server meanwhile."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

LIMIT_SECONDS = 60.0
RETRY_SECONDS = 0.05


class Seen(NamedTuple):
    type: str
    name: str
    version: str


class Gone(Exception):
    """The server has forgotten the version from which a watch was to go on."""


class Follower:
    """Watches on a thread; when a stream ends it goes on from the last version, and after 410 from a new list."""

    def __init__(
        self,
        watch: Callable[[str], Iterable[Seen]],
        listed: Callable[[], tuple[list[Seen], str]],
        broken: tuple[type[Exception], ...],
        last: str = "last",
    ) -> None:
        """`watch` raises Gone, or what a broken connection is to its client; the object named `last` is the end."""
        self.seen: list[Seen] = []
        self.lists = 0
        self._watch, self._listed, self._broken, self._last = watch, listed, broken, last
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Follower":
        self._list()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._thread.join(LIMIT_SECONDS)

    def until(self, name: str) -> list[Seen]:
        """Wait for the first event of an object, and return all that was seen up to now."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or name in self._names(), LIMIT_SECONDS)
            if self._error is not None:
                raise self._error
            assert name in self._names(), f"{name} was not seen within {LIMIT_SECONDS:g} s"
            return list(self.seen)

    def _names(self) -> list[str]:
        return [event.name for event in self.seen]

    def _run(self) -> None:
        try:
            while self._last not in self._names():
                self._follow()
        except Exception as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _follow(self) -> None:
        try:
            for event in self._watch(self.version):
                self._note(event)
                if event.name == self._last:
                    return
        except Gone:
            self._list()
        except self._broken:
            time.sleep(RETRY_SECONDS)

    def _list(self) -> None:
        items, self.version = self._listed()
        self.lists += 1
        for item in items:
            self._note(item, self.version)

    def _note(self, event: Seen, version: str = "") -> None:
        with self._changed:
            self.version = version or event.version
            self.seen.append(event)
            self._changed.notify_all()
