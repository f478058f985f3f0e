"""What stand-ins for containers say: that they started, for how long they ran, and how they ended.

Nothing runs in a pod of an embedded cluster, so its log follows from its status. Who follows one is told of its end.

Mirrors: kubernetes pkg/registry/core/pod, and what a kubelet makes of the options
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.requests import number
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse, TextStream
from fleetqueue.embedded.apiserver.registry.list_options import list_options
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import Storage

STAND_IN: Final = "a stand-in: nothing runs in it"
NO_CONTENT: Final = 204
"""The status of a log that has no place yet, as StreamObject of the real server answers then."""


class LogLine(NamedTuple):
    time: str
    text: str


class LogOptions(NamedTuple):
    tail: int | None
    since: datetime | None
    has_times: bool

    def shown(self, lines: Sequence[LogLine]) -> list[str]:
        """Return those lines that are wanted, as they are sent."""
        young = [line for line in lines if self.since is None or datetime.fromisoformat(line.time) >= self.since]
        last = young if self.tail is None else young[len(young) - min(self.tail, len(young)) :]
        return [f"{line.time} {line.text}\n" if self.has_times else f"{line.text}\n" for line in last]


class PodLogs:
    def __init__(self, storage: Storage) -> None:
        self._reading = Reading(storage)

    async def get(self, served: Served, context: RequestContext) -> ServerResponse | TextStream:
        info, query = context.info, context.query
        pod = (await self._reading.get(served, info.namespace, info.name)).object
        container = container_of(pod, query.get("container", ""))
        options, is_previous = options_of(query), query.get("previous") == "true"
        if not pod["spec"].get("nodeName"):
            return ServerResponse(NO_CONTENT, "")
        lines = log_lines(pod, container, is_previous=is_previous)
        if query.get("follow") != "true" or is_previous:
            return ServerResponse(200, "".join(options.shown(lines)))
        return TextStream(self._followed(served, pod, container, options))

    async def _followed(
        self, served: Served, pod: Manifest, container: str, options: LogOptions
    ) -> AsyncGenerator[str]:
        """Yield what there is, then what comes, until the container has ended or its pod is gone."""
        told, metadata = log_lines(pod, container), pod["metadata"]
        for line in options.shown(told):
            yield line
        restarts = _status(pod, container).get("restartCount", 0)
        further = options._replace(tail=None)
        while _is_running(pod, container):
            watched = list_options(served, {"fieldSelector": f"metadata.name={metadata['name']}"}, watch=True)
            async for event in self._reading.watch(served, metadata["namespace"], watched):
                if event.type == "DELETED":
                    return
                if event.entry is None:
                    continue
                pod = event.entry.object
                is_again = _status(pod, container).get("restartCount", 0) != restarts
                lines = log_lines(pod, container, is_previous=is_again)
                for line in further.shown(lines[len(told) :]):
                    yield line
                told = lines
                if is_again or not _is_running(pod, container):
                    return


def options_of(query: Mapping[str, str]) -> LogOptions:
    """Read the query; raises BadRequest."""
    seconds, tail = number(query, "sinceSeconds"), number(query, "tailLines")
    since = clock.now() - timedelta(seconds=seconds) if seconds is not None else None
    if query.get("sinceTime"):
        since = _moment(query["sinceTime"])
    return LogOptions(None if tail is None else max(tail, 0), since, query.get("timestamps") == "true")


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise errors.BadRequest(f'parsing time "{text}": it is no RFC 3339', reason="BadRequest") from None


def container_of(pod: Manifest, wanted: str) -> str:
    """Return the container whose log is wanted; raises BadRequest where that is not one."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    own = [one["name"] for one in spec["containers"]]
    first = [one["name"] for one in spec.get("initContainers") or ()]
    if not wanted and len(own) == 1:
        return str(own[0])
    if not wanted:
        inits = f" or one of the init containers: [{' '.join(first)}]" if first else ""
        choice = f"choose one of: [{' '.join(own)}]{inits}"
        raise errors.BadRequest(f"a container name must be specified for pod {name}, {choice}", reason="BadRequest")
    if wanted not in (*own, *first):
        raise errors.BadRequest(f"container {wanted} is not valid for pod {name}", reason="BadRequest")
    return wanted


def log_lines(pod: Manifest, container: str, *, is_previous: bool = False) -> list[LogLine]:
    """Return what a container said; raises BadRequest where it has not started, or has not run before."""
    status, name = _status(pod, container), pod["metadata"]["name"]
    state = status.get("lastState" if is_previous else "state") or {}
    run = state.get("terminated") or (None if is_previous else state.get("running"))
    if run is None:
        why = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        told = (
            f'previous terminated container "{container}" in pod "{name}" not found'
            if is_previous
            else f'container "{container}" in pod "{name}" is waiting to start: {why}'
        )
        raise errors.BadRequest(told, reason="BadRequest")
    return list(_said(status.get("image", ""), run))


def _said(image: str, run: Manifest) -> Iterator[LogLine]:
    started, ended = run.get("startedAt") or "", run.get("finishedAt")
    yield LogLine(started, f"started {image} ({STAND_IN})")
    if ended:
        seconds = int((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds())
        yield LogLine(ended, f"ran for {seconds}s")
        yield LogLine(ended, f"ended with code {run.get('exitCode', 0)}")


def _status(pod: Manifest, container: str) -> Manifest:
    status = pod.get("status") or {}
    every = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return next((one for one in every if one["name"] == container), {})


def _is_running(pod: Manifest, container: str) -> bool:
    return bool((_status(pod, container).get("state") or {}).get("running"))
