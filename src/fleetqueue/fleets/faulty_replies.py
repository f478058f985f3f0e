"""Faults on the way to a cluster, for those who come over sockets: slow, and answers that no healthy server gives.

That an endpoint refuses its clients, or lets them hang, is what the endpoint itself does.
"""

from typing import Final

import orjson

from fleetqueue.api import errors
from fleetqueue.api.requests import Request
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse
from fleetqueue.embedded.apiserver.http.request_pipeline import RawRequest, Reply, Replying, split_target
from fleetqueue.fleets.faults import Failure, Way, failed
from fleetqueue.fleets.targets import words

ARRANGING: Final = "fleetqueue-testing"
"""The user agent of a test that arranges objects or looks at them, which no fault stops."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class FaultyReplies:
    """Replies to requests that come over a way on which faults may be."""

    def __init__(self, way: Way, replying: Replying) -> None:
        self._way = way
        self._replying = replying

    async def __call__(self, raw: RawRequest) -> Reply:
        if not self._way.has_faults or raw.method not in METHODS or raw.headers.get("User-Agent") == ARRANGING:
            return await self._replying(raw)
        content = await raw.read()

        async def read() -> bytes:
            return content

        failure = await self._way.arrive(words(_request(raw, content)))
        if failure is not None and not failure.happens:
            return _reply(failure)
        reply = await self._replying(RawRequest(raw.method, raw.target, raw.headers, raw.certificate, read))
        is_refused = isinstance(reply.answer, ServerResponse) and reply.answer.status >= 400
        return reply if failure is None or is_refused else _reply(failure)


def _request(raw: RawRequest, content: bytes) -> Request:
    """Return what a request asks, as far as its words need it."""
    path, query = split_target(raw.target)
    if query.get("watch") == "1":
        query["watch"] = "true"
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = None
    return Request(raw.method, path, query, body, raw.headers.get("Content-Type") or "")


def _reply(failure: Failure) -> Reply:
    """Answer with a failure; raises ConnectionError where there is to be no answer at all."""
    try:
        answer = failed(failure)
    except errors.Unreachable as error:
        raise ConnectionAbortedError(str(error)) from error
    retry_after = failure.error.retry_after if isinstance(failure.error, errors.ApiError) else None
    return Reply(ServerResponse(answer.status, answer.body), retry_after=retry_after)
