"""From a request to its answer: may they, which resource, which verb."""

from collections.abc import Awaitable, Callable
from functools import partial

from fleetqueue.embedded.apiserver.auth.attributes import forbidden
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.auth.rbac import Rbac
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.http.aggregation import Aggregation
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse, TextStream, WatchStream
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.http.metrics import ServerMetrics
from fleetqueue.embedded.apiserver.http.non_resource_paths import NonResourcePaths, not_allowed
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.http.verbs.reading import ReadingVerbs
from fleetqueue.embedded.apiserver.http.verbs.reviews import Reviews
from fleetqueue.embedded.apiserver.http.verbs.subresources import Subresources
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import DeletingVerbs, WritingVerbs
from fleetqueue.embedded.apiserver.registry.api_services import ApiServices
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.resources import Resources, unknown_path
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.store import RegistryStore

Verb = Callable[[Served, RequestContext], Awaitable[ServerResponse | TextStream | WatchStream]]
Ask = Callable[[RequestContext], Awaitable[ServerResponse | TextStream | WatchStream]]


class Handler:
    def __init__(
        self,
        resources: Resources,
        store: RegistryStore,
        rbac: Rbac,
        authentication: Authentication,
        api_services: ApiServices,
    ) -> None:
        self.resources = resources
        self.rbac = rbac
        self.metrics = ServerMetrics(resources, store.storage)
        self.aggregation = Aggregation(api_services)
        self.non_resource_paths = NonResourcePaths(resources, api_services, self.metrics, authentication)
        self.reviews = Reviews(rbac, authentication)
        self.subresources = Subresources(resources, store, authentication)
        forms = Forms()
        reading = Reading(store.storage)
        reads = ReadingVerbs(reading, forms)
        writes = WritingVerbs(store, forms)
        deletes = DeletingVerbs(store, reading, forms)
        self._verbs: dict[str, Verb] = {
            "get": reads.get,
            "list": reads.list,
            "watch": reads.watch,
            "create": writes.create,
            "update": writes.update,
            "patch": writes.patch,
            "delete": deletes.delete,
            "deletecollection": deletes.delete_collection,
        }

    async def answer(self, context: RequestContext) -> ServerResponse | TextStream | WatchStream:
        """Answer; raises ApiError."""
        self.authorize(context.info, context.user)
        return await self.find(context)(context)

    def authorize(self, info: RequestInfo, user: User) -> None:
        """Refuse who may not do this."""
        asked = info.attributes(user)
        if self.rbac.reason(asked) is None:
            raise forbidden(asked)

    def find(self, context: RequestContext) -> Ask:
        """Return what answers a request, which may still be without its body; raises ApiError where nothing does."""
        info = context.info
        if (of_others := self.aggregation.find(info)) is not None:
            return of_others
        if not info.is_resource:
            return self.non_resource_paths.answer
        if (review := self.reviews.find(context)) is not None:
            return review
        if (part := self.subresources.find(context)) is not None:
            return part
        served = self._route(info)
        return partial(self._verbs[info.verb], served)

    def _route(self, info: RequestInfo) -> Served:
        """Return the resource that a path names; raises NotFound, or MethodNotAllowed where it has no such verb."""
        served = self.resources.find(info.group, info.version, info.resource)
        if info.subresource and (info.subresource not in served.subresources or info.rest):
            is_custom = served.is_custom and info.subresource in ("scale", "status")
            raise served.not_found(info.name) if is_custom else unknown_path()
        if bool(info.namespace) != served.resource.namespaced and not _spans_namespaces(served, info):
            is_collection = served.resource.namespaced and not info.name and not served.is_custom
            raise not_allowed() if is_collection else unknown_path()
        if info.verb not in self._verbs or info.verb not in _allowed(served, info.subresource) or _is_misplaced(info):
            raise not_allowed()
        return served


def _is_misplaced(info: RequestInfo) -> bool:
    """Tell of a verb for a collection whether it names an object, and the other way round."""
    if info.verb == "create":
        return bool(info.name) and not info.subresource
    return info.verb in ("update", "patch") and not info.name


def _spans_namespaces(served: Served, info: RequestInfo) -> bool:
    """Tell whether a request is for a namespaced kind in all namespaces, or for a namespace itself."""
    if served.resource.namespaced:
        return info.verb in ("list", "watch")
    return info.resource == "namespaces"


def _allowed(served: Served, subresource: str) -> tuple[str, ...]:
    return ("get", "patch", "update") if subresource else tuple(served.verbs)
