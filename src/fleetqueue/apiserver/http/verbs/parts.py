"""The subresources that are no part of the stored object: scale, binding, eviction, token."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.auth.authentication import Authentication
from fleetqueue.apiserver.auth.service_account_tokens import Bound
from fleetqueue.apiserver.http.exchange import Answer, Question
from fleetqueue.apiserver.http.verbs.writing import patcher, write_of
from fleetqueue.apiserver.kinds import facts
from fleetqueue.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.apiserver.kinds.json_values import Unreadable
from fleetqueue.apiserver.kinds.normalising import normalised
from fleetqueue.apiserver.kinds.table import type_of
from fleetqueue.apiserver.registry.deletion import DeleteOptions
from fleetqueue.apiserver.registry.kinds import binding, scaling
from fleetqueue.apiserver.registry.reading import Reading
from fleetqueue.apiserver.registry.resources import Resources
from fleetqueue.apiserver.registry.served import Served
from fleetqueue.apiserver.registry.store import Store

Ask = Callable[[Question], Awaitable[Answer]]
Verb = Callable[[Served, Question], Awaitable[Answer]]

SUCCESS: Final[Manifest] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
AUTHENTICATION: Final = "authentication.k8s.io"
HOUR, SHORTEST, LONGEST = 3600, 600, 2**32
BOUND: Final = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


class Parts:
    def __init__(self, resources: Resources, store: Store, authentication: Authentication) -> None:
        self.resources = resources
        self.store = store
        self.reading = Reading(store.storage)
        self.authentication = authentication
        scale: dict[str, Verb] = {"get": self._scale, "update": self._rescale, "patch": self._patch_scale}
        self._verbs: dict[tuple[str, str, str], dict[str, Verb]] = {
            ("", "pods", "binding"): {"create": self._bind},
            ("", "pods", "eviction"): {"create": self._evict},
            ("", "serviceaccounts", "token"): {"create": self._token},
        }
        self._verbs |= {(*resource, "scale"): scale for resource in scaling.SCALED}

    def find(self, question: Question) -> Ask | None:
        """Return what answers a question of this family; None where it is none."""
        info = question.info
        verb = self._verbs.get((info.group, info.resource, info.subresource), {}).get(info.verb)
        return verb and partial(verb, self.resources.find(info.group, info.version, info.resource))

    # Scale

    async def _scale(self, served: Served, question: Question) -> Answer:
        entry = await self.reading.get(served, question.info.namespace, question.info.name)
        return Answer(200, scaling.scale_of(entry.object))

    async def _rescale(self, served: Served, question: Question) -> Answer:
        scale = _read(scaling.GROUP, scaling.VERSION, scaling.KIND, question.body)
        return await self._change_scale(served, question, lambda live: scale, "UpdateOptions")

    async def _patch_scale(self, served: Served, question: Question) -> Answer:
        patch = patcher(question, facts.schema(scaling.GROUP, scaling.VERSION, scaling.KIND))

        def change(live: Manifest) -> Manifest:
            return _read(scaling.GROUP, scaling.VERSION, scaling.KIND, patch(scaling.scale_of(live)))

        return await self._change_scale(served, question, change, "PatchOptions")

    async def _change_scale(
        self, served: Served, question: Question, change: Callable[[Manifest], Manifest], options: str
    ) -> Answer:
        def scaled(live: Manifest | None) -> Manifest:
            live = self._there(served, question) if live is None else live
            return scaling.scaled(live, change(live))

        info, write = question.info, write_of(served, question, options)
        entry, _ = await self.store.update(served, info.namespace, info.name, scaled, write)
        return Answer(200, scaling.scale_of(entry.object), write.warnings)

    # Pods

    async def _bind(self, served: Served, question: Question) -> Answer:
        body = _named(_read("", "v1", "Binding", question.body), question, "Binding")
        binding.check(body)

        def bound(live: Manifest | None) -> Manifest:
            return binding.bound(self._there(served, question) if live is None else live, body)

        write = write_of(served, question, "CreateOptions")
        await self.store.update(served, question.info.namespace, question.info.name, bound, write)
        return Answer(201, SUCCESS)

    async def _evict(self, served: Served, question: Question) -> Answer:
        """Delete a pod; no disruption budget stands in the way."""
        body = _named(_read("policy", "v1", "Eviction", question.body), question, "Eviction")
        options = DeleteOptions.of(body.get("deleteOptions") or {}, question.query)
        write = write_of(served, question, "CreateOptions")
        await self.store.delete(served, question.info.namespace, question.info.name, options, write)
        return Answer(201, SUCCESS)

    def _there(self, served: Served, question: Question) -> Manifest:
        """Return an object that nobody is writing; raises NotFound."""
        return self.store.storage.get(served.key(question.info.namespace, question.info.name)).object

    # Tokens

    async def _token(self, served: Served, question: Question) -> Answer:
        info = question.info
        account = self._there(served, question)["metadata"]
        body = _read(AUTHENTICATION, "v1", "TokenRequest", question.body)
        spec = body.get("spec") or {}
        seconds = HOUR if spec.get("expirationSeconds") is None else spec["expirationSeconds"]
        _check_seconds(seconds)
        reference = spec.get("boundObjectRef")
        bound = None if reference is None else self._bound(reference, info.namespace, info.name)
        audiences = spec.get("audiences") or list(self.authentication.audiences)
        who = (info.namespace, info.name, account["uid"])
        token, end = self.authentication.accounts.sign(who, audiences=audiences, seconds=seconds, bound=bound)
        return Answer(201, _granted(info.name, info.namespace, audiences, seconds, reference, token, end))

    def _bound(self, reference: Manifest, namespace: str, account: str) -> Bound:
        """Return the object that a token is to die with; refuses another kind, or another object of its name."""
        version, kind, name = (reference.get(part, "") for part in ("apiVersion", "kind", "name"))
        resource = BOUND.get((version, kind))
        if resource is None:
            raise _bad(f"cannot bind token to object of type {version}, Kind={kind}")
        served = self.resources.find("", "v1", resource)
        key = served.key(namespace if served.resource.namespaced else "", name)
        found = self.store.storage.get(key).object
        if resource == "pods" and found["spec"].get("serviceAccountName", "") != account:
            why = "to pod running with different serviceaccount name."
            raise _bad(f'cannot bind token for serviceaccount "{account}" {why}')
        uid = found["metadata"]["uid"]
        if reference.get("uid", uid) != uid:
            why = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record."
            message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
            hint = "The object might have been deleted and then recreated"
            raise errors.Conflict(f"{message} {hint}", reason="Conflict", details={"name": name, "kind": kind})
        return Bound(resource, name, uid)


def _granted(
    name: str, namespace: str, audiences: list[str], seconds: int, reference: Manifest | None, token: str, end: int
) -> Manifest:
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{AUTHENTICATION}/v1",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": timestamp(clock.now())},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {"token": token, "expirationTimestamp": timestamp(datetime.fromtimestamp(end, UTC))},
    }


def _check_seconds(seconds: int) -> None:
    detail = ""
    if seconds < SHORTEST:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        raise invalid("TokenRequest", AUTHENTICATION, "", [invalid_value("spec.expirationSeconds", seconds, detail)])


def _read(group: str, version: str, kind: str, body: Any) -> Manifest:
    """Return a body in order."""
    try:
        return normalised(body if body is not None else {}, type_name=type_of(group, version, kind))[0]
    except Unreadable as error:
        raise _bad(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from error


def _named(body: Manifest, question: Question, kind: str) -> Manifest:
    if (body.get("metadata") or {}).get("name") != question.info.name:
        raise _bad(f"name in URL does not match name in {kind} object")
    return body


def _bad(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, reason="BadRequest")
