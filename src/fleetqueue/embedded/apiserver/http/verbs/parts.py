"""The subresources that are no part of the stored object: scale, binding, eviction, token; what is in containers."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.http.exchange import Answer, Question
from fleetqueue.embedded.apiserver.http.non_resource_paths import not_allowed
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.http.verbs.scales import Scales
from fleetqueue.embedded.apiserver.http.verbs.tokens import Tokens
from fleetqueue.embedded.apiserver.http.verbs.writing import write_of
from fleetqueue.embedded.apiserver.registry.delete_options import delete_options
from fleetqueue.embedded.apiserver.registry.kinds import binding, scaling
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.store import Store
from fleetqueue.embedded.apiserver.registry.writes import typed

Ask = Callable[[Question], Awaitable[Answer]]
Verb = Callable[[Served, Question], Awaitable[Answer]]

SUCCESS: Final[Manifest] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
PODS, BINDINGS = ("", "v1", "pods"), ("", "bindings", "")
WORDS: Final = {"attach": "attach to", "exec": "run a command in", "log": "read", "portforward": "connect to"}
"""What people want of a container, by the subresource for it."""
STREAMED: Final = ("attach", "exec", "portforward")
"""Those whose requests have no body: what is asked stands in the query, and streams would follow."""
BINDING: Final = Resource("", "v1", "Binding", "bindings")
EVICTION: Final = Resource("policy", "v1", "Eviction", "evictions")


class Parts:
    def __init__(self, resources: Resources, store: Store, authentication: Authentication) -> None:
        self.resources = resources
        self.store = store
        self._scale = Scales(store).verbs
        self._verbs: Mapping[tuple[str, str, str], Mapping[str, Verb]] = {
            BINDINGS: {"create": self._bind},
            ("", "pods", "binding"): {"create": self._bind},
            ("", "pods", "eviction"): {"create": self._evict},
            ("", "serviceaccounts", "token"): {"create": Tokens(resources, store, authentication).create},
            ("", "pods", "log"): {"get": self._reach_into},
            **{("", "pods", part): {"create": self._reach_into, "get": self._reach_into} for part in STREAMED},
            **{(*resource, "scale"): self._scale for resource in scaling.SCALED},
        }

    def find(self, question: Question) -> Ask | None:
        """Return what answers a question of this family, None where it is none; raises MethodNotAllowed."""
        info = question.info
        verbs = self._verbs.get((info.group, info.resource, info.subresource))
        if verbs is None and info.subresource == "scale":
            verbs = self._scale if self._found(info).scale is not None else None
        if verbs is None:
            return None
        if info.verb not in verbs:
            raise not_allowed()
        return partial(verbs[info.verb], self._found(info))

    def _found(self, info: RequestInfo) -> Served:
        is_binding = (info.group, info.resource, info.subresource) == BINDINGS
        return self.resources.find(*(PODS if is_binding else (info.group, info.version, info.resource)))

    # Pods

    async def _bind(self, served: Served, question: Question) -> Answer:
        write = write_of(served, question, "CreateOptions")
        write.owns = False
        body = typed(BINDING, question.body, write)
        name = question.info.name or (body.get("metadata") or {}).get("name", "")
        _check_named(body, name, "Binding")
        binding.check(body)

        def bound(live: Manifest | None) -> Manifest:
            if live is None:
                raise served.not_found(name)
            return binding.bound(served, live, body)

        await self.store.update(served, question.info.namespace, name, bound, write)
        return Answer(201, SUCCESS, write.warnings)

    async def _evict(self, served: Served, question: Question) -> Answer:
        """Delete a pod; no disruption budget stands in the way."""
        write = write_of(served, question, "CreateOptions")
        body = typed(EVICTION, question.body, write)
        _check_named(body, question.info.name, "Eviction")
        options = delete_options(body.get("deleteOptions") or {}, {})
        write.dry_run = write.dry_run or options.dry_run
        await self.store.delete(served, question.info.namespace, question.info.name, options, write)
        return Answer(201, SUCCESS, write.warnings)

    async def _reach_into(self, served: Served, question: Question) -> Answer:
        """Say that there is nothing to reach into: a real server asks the kubelet, which has containers."""
        info, pod = question.info, f'pod "{question.info.namespace}/{question.info.name}"'
        if self.store.storage.head(served.key(info.namespace, info.name)) is None:
            raise served.not_found(info.name)
        why = f"{pod} is a stand-in: no container runs in it, so there is nothing to {WORDS[info.subresource]}"
        raise errors.ServerError(why, reason="NotImplemented", code=501)


def _check_named(body: Manifest, name: str, kind: str) -> None:
    if (body.get("metadata") or {}).get("name") != name:
        raise errors.BadRequest(f"name in URL does not match name in {kind} object", reason="BadRequest")
