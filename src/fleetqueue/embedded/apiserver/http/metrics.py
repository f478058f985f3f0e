"""How much a server does, as Prometheus reads it, under the names that kube-apiserver gives to it.

Every request is counted, so that costs a few additions only; all else happens when the metrics are read.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Final, NamedTuple

from fleetqueue.embedded.apiserver.http.exchange import WatchStream
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.storage.interface import Storage

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS: Final = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0)
"""Seconds, in each of which it is counted how many answers took no longer."""
VERBS: Final = {"create": "POST", "update": "PUT", "deletecollection": "DELETECOLLECTION"}
REFUSED: Final = frozenset({401, 403, 404, 405})
MUTATING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
REQUESTS: Final = "apiserver_request_total"
DURATIONS: Final = "apiserver_request_duration_seconds"
LONG: Final = "apiserver_longrunning_requests"
IN_FLIGHT: Final = "apiserver_current_inflight_requests"
OBJECTS: Final = "apiserver_storage_objects"
HELP: Final = {
    REQUESTS: "Requests by verb, resource and code.",
    DURATIONS: "Seconds until a request was answered, without watches.",
    LONG: "Watches that are open.",
    IN_FLIGHT: "Requests that are being answered, without watches.",
    OBJECTS: "Objects that are stored.",
}


class RequestLabels(NamedTuple):
    """What is counted together."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    dry_run: str

    @classmethod
    def of(cls, info: RequestInfo, query: Mapping[str, str]) -> "RequestLabels":
        verb = VERBS.get(info.verb, info.verb.upper())
        scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
        dry_run = query.get("dryRun", "")
        return cls(verb, info.group, info.version, info.resource, info.subresource, scope, dry_run)

    @property
    def labels(self) -> dict[str, str]:
        return {"component": "apiserver", **self._asdict()}


NOWHERE: Final = RequestLabels("", "", "", "", "", "", "")


class ServerMetrics:
    def __init__(self, resources: Resources, storage: Storage) -> None:
        self._resources = resources
        self._storage = storage
        self._requests: Counter[tuple[RequestLabels, int]] = Counter()
        self._durations: dict[RequestLabels, list[int]] = {}
        self._seconds: Counter[RequestLabels] = Counter()
        self._watches: Counter[RequestLabels] = Counter()
        self._in_flight: Counter[str] = Counter()

    def begin(self, verb: str) -> str:
        """Count a request that came; return as what."""
        kind = "mutating" if verb in MUTATING else "readOnly"
        self._in_flight[kind] += 1
        return kind

    def end(self, kind: str) -> None:
        self._in_flight[kind] -= 1

    def answered(self, asked: RequestLabels, code: int, seconds: float) -> None:
        if code in REFUSED and asked not in self._durations:
            asked = NOWHERE._replace(verb=asked.verb)  # or clients that send made-up paths would fill the memory
        self._requests[asked, code] += 1
        self._seconds[asked] += seconds  # type: ignore[assignment]
        buckets = self._durations.get(asked)
        if buckets is None:
            buckets = self._durations[asked] = [0] * (len(BUCKETS) + 1)
        buckets[bisect_left(BUCKETS, seconds)] += 1

    def watching(self, asked: RequestLabels, stream: WatchStream) -> WatchStream:
        """Count a watch until it is closed."""
        self._requests[asked, 200] += 1
        self._watches[asked] += 1
        return WatchStream(_Counted(stream.events, self._watches, asked), stream.warnings)

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head(REQUESTS, "counter")
        for (asked, code), count in self._requests.items():
            yield _line(REQUESTS, {"code": str(code), **asked.labels}, count)
        yield from _head(DURATIONS, "histogram")
        for asked, buckets in self._durations.items():
            yield from _histogram(asked.labels, buckets, self._seconds[asked])
        yield from _head(LONG, "gauge")
        for asked, count in self._watches.items():
            yield _line(LONG, {key: value for key, value in asked.labels.items() if key != "dry_run"}, count)
        yield from _head(IN_FLIGHT, "gauge")
        for kind in ("mutating", "readOnly"):
            yield _line(IN_FLIGHT, {"request_kind": kind}, self._in_flight[kind])
        yield from _head(OBJECTS, "gauge")
        for name, prefix in sorted({(str(one.resource), one.prefix()) for one in self._resources if not one.place}):
            yield _line(OBJECTS, {"resource": name}, len(self._storage.list(prefix).entries))


class _Counted(AsyncGenerator[Any, None]):
    """The events of a watch, which are counted out when it is closed."""

    def __init__(
        self, events: AsyncGenerator[Any, None], watches: Counter[RequestLabels], asked: RequestLabels
    ) -> None:
        self._events = events
        self._watches = watches
        self._asked: RequestLabels | None = asked

    def __anext__(self) -> Any:
        return self._events.__anext__()

    def asend(self, value: None) -> Any:
        return self._events.asend(value)

    def athrow(self, *args: Any) -> Any:
        return self._events.athrow(*args)

    async def aclose(self) -> None:
        if self._asked is not None:
            self._watches[self._asked] -= 1
            self._asked = None
        await self._events.aclose()


def _head(name: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"


def _histogram(labels: Mapping[str, str], buckets: list[int], seconds: float) -> Iterator[str]:
    count = 0
    for limit, inside in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
        count += inside
        yield _line(f"{DURATIONS}_bucket", {**labels, "le": limit}, count)
    yield _line(f"{DURATIONS}_sum", labels, seconds)
    yield _line(f"{DURATIONS}_count", labels, count)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(labels.items()))
    return f"{name}{{{inside}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
