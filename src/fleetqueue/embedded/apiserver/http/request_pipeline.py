"""From an HTTP request to its response: authentication, authorization, decoding of the body, the verb, encoding.

Nothing here knows sockets. A request that is not allowed is refused before its body is read.
"""

import asyncio
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from multidict import MultiMapping

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.requests import JSON
from fleetqueue.embedded.apiserver.auth.authentication import Authentication, Certificate, RequestCredentials
from fleetqueue.embedded.apiserver.http import bodies, issuer, media_types
from fleetqueue.embedded.apiserver.http.bodies import Body, Expected
from fleetqueue.embedded.apiserver.http.exchange import (
    RequestContext,
    ServerResponse,
    TextStream,
    WatchStream,
    status_of,
)
from fleetqueue.embedded.apiserver.http.handler import Ask, Handler
from fleetqueue.embedded.apiserver.http.impersonation import impersonated
from fleetqueue.embedded.apiserver.http.media_types import KNOWN, Accepted, body_type, negotiated
from fleetqueue.embedded.apiserver.http.metrics import RequestLabels
from fleetqueue.embedded.apiserver.http.non_resource_paths import OLD_OPENAPI, OLD_PROTOBUF, not_allowed
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo, request_info
from fleetqueue.embedded.apiserver.http.verbs.subresources import STREAMED
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import PATCHES
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.table import BuiltIn
from fleetqueue.embedded.apiserver.registry.resources import unknown_path

WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
MOST_SECONDS: Final = 60.0
"""How long an answer that is no watch may take."""
DISCOVERY_ROOTS: Final = ("api", "apis")
LISTS: Final = ("dryRun",)
NO_PAGE: Final = "404 page not found\n"
BEARER: Final = "bearer "
_NUMBER: Final = re.compile(r"[-+]?[0-9.]+")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RawRequest:
    method: str
    target: str
    """Path and query, as the request has them."""
    headers: MultiMapping[str]
    certificate: tuple[str, Sequence[str]] | Certificate | None
    """Who the verified client certificate is for."""
    read: Callable[[], Awaitable[bytes]]
    """Reads the body; raises RequestEntityTooLarge."""


class Reply(NamedTuple):
    answer: ServerResponse | TextStream | WatchStream
    media_type: str = JSON
    retry_after: float | None = None


Replying = Callable[[RawRequest], Awaitable[Reply]]


class RequestPipeline:
    def __init__(self, handler: Handler, authentication: Authentication) -> None:
        self.handler = handler
        self.authentication = authentication
        self._writing: set[asyncio.Future[ServerResponse | TextStream | WatchStream]] = set()

    async def reply(self, raw: RawRequest) -> Reply:
        """Answer a request; what goes wrong is an answer too."""
        path, query = split_target(raw.target)
        info, began = request_info(raw.method, path, query), clock.monotonic()
        metrics, asked = self.handler.metrics, RequestLabels.of(info, query)
        kind = metrics.begin(info.verb)
        try:
            reply = await self._replied(raw, path, query, info)
        finally:
            metrics.end(kind)
        if isinstance(reply.answer, WatchStream):
            return reply._replace(answer=metrics.watching(asked, reply.answer))
        code = 200 if isinstance(reply.answer, TextStream) else reply.answer.status
        metrics.answered(asked, code, clock.monotonic() - began)
        return reply

    async def _replied(self, raw: RawRequest, path: str, query: Mapping[str, str], info: RequestInfo) -> Reply:
        warnings: list[str] = []
        try:
            async with asyncio.timeout(_seconds(query)):
                return await self._reply(raw, path, query, info, warnings)
        except errors.ApiError as error:
            return self._refusal(raw, path, error, warnings)
        except TimeoutError:
            why = "Timeout: request did not complete within requested timeout - context deadline exceeded"
            return self._refusal(raw, path, errors.ServerError(why, reason="Timeout", code=504))
        except Exception as error:
            # The text of an error may contain data of the request, so only its type and its place are logged.
            places = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("%s %s failed: %s at\n%s", raw.method, path, type(error).__name__, places)
            why = f"Internal error occurred: {type(error).__name__}"
            return self._refusal(raw, path, errors.ServerError(why, reason="InternalError"))

    async def _reply(
        self, raw: RawRequest, path: str, query: Mapping[str, str], info: RequestInfo, warnings: list[str]
    ) -> Reply:
        user = self.authentication.user(RequestCredentials(raw.certificate, _token(raw.headers)))
        user = impersonated(user, raw.headers, self.handler.rbac)
        self.handler.authorize(info, user)
        if "//" in path:
            raise unknown_path()
        if raw.method == "HEAD" and info.is_resource:
            raise not_allowed()
        accepted = _accepted(raw.headers, info)
        agent = raw.headers.get("User-Agent") or "unknown"
        content_type = body_type(raw.headers.get("Content-Type") or "")
        ask = self.handler.find(RequestContext(info, user, query))
        if path == issuer.KEYS:
            issuer.check_accepted(raw.headers.get("Accept") or "")
        body = await self._body(raw, info, query, content_type)
        form, version = accepted.form, accepted.version
        context = RequestContext(
            info, user, query, body.value, content_type, agent, form, body.mistakes, version, warnings
        )
        return Reply(await self._asked(ask, context), accepted.media_type)

    async def _body(self, raw: RawRequest, info: RequestInfo, query: Mapping[str, str], media_type: str) -> Body:
        if not info.is_resource or info.verb not in WRITES or info.subresource in STREAMED:
            return Body(None, [])
        counts = query.get("fieldValidation") != "Ignore"
        if info.verb == "patch":
            # A patch of another type is refused by the verb, which knows what the kind can do.
            if media_type not in PATCHES:
                return Body(None, [])
            is_strict = query.get("fieldValidation") == "Strict"
            return bodies.read_patch(await raw.read(), media_type, counts=counts, is_strict=is_strict)
        content = await raw.read()
        if media_type not in KNOWN and (content or info.verb in ("create", "update")):
            raise media_types.unsupported()
        if info.verb in ("delete", "deletecollection"):
            return Body(bodies.read_options(content, media_type), [])
        return bodies.read_object(content, media_type, self._expected(info), counts=counts)

    def _expected(self, info: RequestInfo) -> Expected:
        """Return the kind that a body should be of."""
        built_in = _built_in(info)
        if built_in is None:
            kind = self.handler.resources.find(info.group, info.version, info.resource).resource.kind
            return Expected(info.group, info.version, kind, is_custom=True)
        part = built_in.subresource(info.subresource) if info.subresource else None
        if part is not None:
            return Expected(part.group, part.version, part.kind)
        return Expected(built_in.group, built_in.version, built_in.kind)

    async def _asked(self, ask: Ask, context: RequestContext) -> ServerResponse | TextStream | WatchStream:
        if context.info.verb not in WRITES:
            return await ask(context)
        # A client that goes away, or a deadline, must not stop a write between two of its effects.
        writing = asyncio.ensure_future(ask(context))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return await asyncio.shield(writing)

    def _refusal(self, raw: RawRequest, path: str, error: errors.ApiError, warnings: Sequence[str] = ()) -> Reply:
        # A missing object has details; a path that leads nowhere has none, and is at some places not even a Status.
        if error.code == 404 and not error.details and not self.handler.non_resource_paths.has_statuses(path):
            return Reply(ServerResponse(404, NO_PAGE))
        try:
            media_type = negotiated(raw.headers.get("Accept") or "").media_type
        except errors.ApiError:
            media_type = JSON
        return Reply(ServerResponse(error.code, status_of(error), warnings), media_type, error.retry_after)


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """Return path and query; of a repeated parameter the first counts, where it is no list."""
    path, _, query = target.partition("?")
    parameters: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True) if query else ():
        if name in LISTS and name in parameters:
            parameters[name] += f",{value}"
        parameters.setdefault(name, value)
    return (unquote(path) if "%" in path else path), parameters


def _token(headers: MultiMapping[str]) -> str:
    given = headers.get("Authorization") or ""
    return given[len(BEARER) :].strip() if given[: len(BEARER)].lower() == BEARER else ""


def _seconds(query: Mapping[str, str]) -> float:
    """Return how long an answer may take; raises BadRequest."""
    given = query.get("timeout", "")
    if not given:
        return MOST_SECONDS
    # What knows Go's durations is a part of CEL, which is slow to import.
    from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
    from fleetqueue.embedded.apiserver.validation.cel.times import SECOND, parsed_duration

    try:
        seconds = parsed_duration(given).nanos / SECOND
    except CelError as error:
        is_bare = _NUMBER.fullmatch(given) is not None
        why = f'time: missing unit in duration "{given}"' if is_bare else str(error)
        message = f"invalid timeout specified in the request URL - {why}"
        raise errors.BadRequest(message, reason="BadRequest") from None
    return min(seconds, MOST_SECONDS) if seconds > 0 else MOST_SECONDS


def _accepted(headers: MultiMapping[str], info: RequestInfo) -> Accepted:
    accept = headers.get("Accept") or ""
    if info.is_resource:
        has_many = info.verb in ("list", "watch")
        return negotiated(accept, is_stream=info.verb == "watch", has_forms=_is_stored(info), has_many=has_many)
    if info.path.strip("/") in DISCOVERY_ROOTS:
        return negotiated(accept, has_forms=False)
    if info.path == OLD_OPENAPI and OLD_PROTOBUF in accept:
        return Accepted(form=OLD_PROTOBUF)
    return Accepted(media_types.YAML) if accept == media_types.YAML else Accepted()


def _is_stored(info: RequestInfo) -> bool:
    """Tell a resource of which there are objects from one that only answers, such as a review."""
    built_in = _built_in(info)
    return built_in is None or "list" in built_in.verbs


_by_path: dict[tuple[str, str, str], BuiltIn] = {}


def _built_in(info: RequestInfo) -> BuiltIn | None:
    if not _by_path:
        _by_path.update({(kind.group, kind.version, kind.plural): kind for kind in facts.kinds()})
    return _by_path.get((info.group, info.version, info.resource))
