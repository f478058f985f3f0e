"""The subresources that are no part of the stored object: scale, binding, eviction, token; what is in containers."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse, TextStream
from fleetqueue.embedded.apiserver.http.non_resource_paths import not_allowed
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.http.verbs.pod_logs import PodLogs
from fleetqueue.embedded.apiserver.http.verbs.pod_ports import PodPorts
from fleetqueue.embedded.apiserver.http.verbs.tokens import Tokens
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import patcher, shown_patch, write_of
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.registry.deletion import delete_options
from fleetqueue.embedded.apiserver.registry.kinds import pods, scaling
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import check_has_name, with_identity_of_path
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import Write, typed

Ask = Callable[[RequestContext], Awaitable[ServerResponse | TextStream]]
Verb = Callable[[Served, RequestContext], Awaitable[ServerResponse | TextStream]]

SUCCESS: Final[Manifest] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
PODS, BINDINGS = ("", "v1", "pods"), ("", "bindings", "")
WORDS: Final = {"attach": "attach to", "exec": "run a command in", "portforward": "connect to"}
"""What people want of a container, by the subresource for it."""
STREAMED: Final = ("attach", "exec", "portforward")
"""Those whose requests have no body: their options are in the query, and streams would follow."""
BINDING: Final = Resource("", "v1", "Binding", "bindings")
EVICTION: Final = Resource("policy", "v1", "Eviction", "evictions")
SCALE: Final = Served(
    Resource(scaling.GROUP, scaling.VERSION, scaling.KIND, "scales"),
    facts.schema(scaling.GROUP, scaling.VERSION, scaling.KIND),
)


class Subresources:
    def __init__(self, resources: Resources, store: RegistryStore, authentication: Authentication) -> None:
        self.resources = resources
        self.store = store
        self.pod_ports = PodPorts(store.storage)
        self._scale = Scales(store).verbs
        self._verbs: Mapping[tuple[str, str, str], Mapping[str, Verb]] = {
            BINDINGS: {"create": self._bind},
            ("", "pods", "binding"): {"create": self._bind},
            ("", "pods", "eviction"): {"create": self._evict},
            ("", "serviceaccounts", "token"): {"create": Tokens(resources, store, authentication).create},
            ("", "pods", "log"): {"get": PodLogs(store.storage).get},
            ("", "pods", "proxy"): {"get": self.pod_ports.get},
            **{("", "pods", part): {"create": self._reach_into, "get": self._reach_into} for part in STREAMED},
            **{(*resource, "scale"): self._scale for resource in scaling.SCALED},
        }

    def find(self, context: RequestContext) -> Ask | None:
        """Return what answers a request of this family, None where it is none; raises MethodNotAllowed."""
        info = context.info
        verbs = self._verbs.get((info.group, info.resource, info.subresource))
        if verbs is None and info.subresource == "scale":
            verbs = self._scale if self._served(info).scale is not None else None
        if verbs is None:
            return None
        if info.verb not in verbs:
            raise not_allowed()
        return partial(verbs[info.verb], self._served(info))

    def _served(self, info: RequestInfo) -> Served:
        is_binding = (info.group, info.resource, info.subresource) == BINDINGS
        return self.resources.find(*(PODS if is_binding else (info.group, info.version, info.resource)))

    # Pods

    async def _bind(self, served: Served, context: RequestContext) -> ServerResponse:
        write = write_of(served, context, "CreateOptions")
        write.owns = False
        body = typed(BINDING, context.body, write)
        name = context.info.name or (body.get("metadata") or {}).get("name", "")
        _check_named(body, name, "Binding")
        pods.check_binding(body)

        def bound(live: Manifest | None) -> Manifest:
            if live is None:
                raise served.not_found(name)
            return pods.bound(served, live, body)

        await self.store.update(served, context.info.namespace, name, bound, write)
        return ServerResponse(201, SUCCESS, write.warnings)

    async def _evict(self, served: Served, context: RequestContext) -> ServerResponse:
        """Delete a pod; no disruption budget stands in the way."""
        write = write_of(served, context, "CreateOptions")
        body = typed(EVICTION, context.body, write)
        _check_named(body, context.info.name, "Eviction")
        options = delete_options(body.get("deleteOptions") or {}, {})
        write.dry_run = write.dry_run or options.dry_run
        await self.store.delete(served, context.info.namespace, context.info.name, options, write)
        return ServerResponse(201, SUCCESS, write.warnings)

    async def _reach_into(self, served: Served, context: RequestContext) -> ServerResponse:
        """Say that there is nothing to reach into: a real server asks the kubelet, which has containers."""
        info, pod = context.info, f'pod "{context.info.namespace}/{context.info.name}"'
        if self.store.storage.head(served.key(info.namespace, info.name)) is None:
            raise served.not_found(info.name)
        why = f"{pod} is a stand-in: no container runs in it, so there is nothing to {WORDS[info.subresource]}"
        raise errors.ServerError(why, reason="NotImplemented", code=501)


def _check_named(body: Manifest, name: str, kind: str) -> None:
    if (body.get("metadata") or {}).get("name") != name:
        raise errors.BadRequest(f"name in URL does not match name in {kind} object", reason="BadRequest")


class Scales:
    """The scale of a workload or of a custom kind: how many replicas there are, and how many are wanted."""

    def __init__(self, store: RegistryStore) -> None:
        self.store = store
        self.reading = Reading(store.storage)
        self.verbs: Mapping[str, Verb] = {"get": self._get, "update": self._update, "patch": self._patch}

    async def _get(self, served: Served, context: RequestContext) -> ServerResponse:
        entry = await self.reading.get(served, context.info.namespace, context.info.name)
        return ServerResponse(200, scaling.scale_of(served, entry.object))

    async def _update(self, served: Served, context: RequestContext) -> ServerResponse:
        write, info = write_of(served, context, "UpdateOptions"), context.info
        scale = typed(SCALE.resource, context.body, write)
        check_has_name(scale, info.name)
        scale = with_identity_of_path(SCALE, info.namespace, scale, info.name)
        return await self._change(served, context, lambda live: scale, write)

    async def _patch(self, served: Served, context: RequestContext) -> ServerResponse:
        write, patch = write_of(served, context, "PatchOptions"), patcher(context, SCALE.schema)
        write.patch, write.is_strategic = shown_patch(context)

        def change(live: Manifest) -> Manifest:
            return typed(SCALE.resource, patch(scaling.scale_of(served, live)), write)

        return await self._change(served, context, change, write)

    async def _change(
        self, served: Served, context: RequestContext, change: Callable[[Manifest], Any], write: Write
    ) -> ServerResponse:
        info = context.info

        def scaled(live: Manifest | None) -> Manifest:
            if live is None:
                raise served.not_found(info.name)
            return scaling.scaled(served, live, change(live))

        entry, _ = await self.store.update(served, info.namespace, info.name, scaled, write)
        return ServerResponse(200, scaling.scale_of(served, entry.object), write.warnings)
