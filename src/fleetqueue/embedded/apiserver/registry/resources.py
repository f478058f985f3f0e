"""All that a server serves, by the way requests name it."""

from collections.abc import Iterable, Iterator

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry.served import Served


class Resources:
    def __init__(self, served: Iterable[Served] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Served] = {}
        self.version = 0
        """Another number with every change, for what is made from the whole: discovery, OpenAPI."""
        for one in served:
            self.add(one)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._by_path.values())

    def add(self, served: Served) -> None:
        resource = served.resource
        self._by_path[resource.group, resource.version, resource.plural] = served
        self.version += 1

    def remove(self, group: str, plural: str) -> None:
        """Stop serving all versions of a resource."""
        self._by_path = {path: one for path, one in self._by_path.items() if (path[0], path[2]) != (group, plural)}
        self.version += 1

    def find(self, group: str, version: str, plural: str) -> Served:
        served = self._by_path.get((group, version, plural))
        if served is None:
            raise unknown_path()
        return served


def unknown_path() -> errors.NotFound:
    """The answer to a resource that nobody serves; it names none, so that clients can tell it from a missing object."""
    return errors.NotFound("the server could not find the requested resource", reason="NotFound", details={})
