"""Requests to APIs that are not the server's own: those that a part of this process serves, as behind an APIService."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from fleetqueue.api.aggregated_apis import AggregatedApi, AggregatedRequest
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.non_resource_paths import not_allowed
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.registry.api_services import ApiServices, GroupVersion
from fleetqueue.embedded.apiserver.registry.resources import unknown_path

UNAVAILABLE: Final = ServerResponse(503, "service unavailable\n")

Ask = Callable[[RequestContext], Awaitable[ServerResponse]]


class Aggregation:
    def __init__(self, api_services: ApiServices) -> None:
        self._api_services = api_services

    def find(self, info: RequestInfo) -> Ask | None:
        """Return what answers a request of this family, None where it is none; raises ApiError where nothing does."""
        registered, group_version = self._api_services.registered, _group_version(info)
        if group_version not in registered:
            return None
        api = registered[group_version]
        if api is None:
            return _unavailable
        if not info.is_resource:
            return None  # what it serves is told with all else
        _check(api, info)
        return partial(_answer, api)


def _group_version(info: RequestInfo) -> GroupVersion:
    if info.is_resource:
        return info.group, info.version
    root, *parts = info.path.strip("/").split("/")
    return (parts[0], parts[1]) if root == "apis" and len(parts) == 2 else ("", "")


def _check(api: AggregatedApi, info: RequestInfo) -> None:
    """Refuse what an API does not serve."""
    resource = next((one for one in api.resources if one.plural == info.resource), None)
    if resource is None or info.rest or bool(info.namespace) != resource.namespaced:
        raise unknown_path()
    verbs = resource.subresources.get(info.subresource, ()) if info.subresource else resource.verbs
    if not verbs:
        raise unknown_path()
    if info.verb not in verbs:
        raise not_allowed()


async def _answer(api: AggregatedApi, context: RequestContext) -> ServerResponse:
    info = context.info
    place = (info.version, info.resource, info.subresource, info.namespace, info.name)
    return ServerResponse(200, api.answer(AggregatedRequest(info.verb, *place, context.query)))


async def _unavailable(context: RequestContext) -> ServerResponse:
    return UNAVAILABLE
