"""The APIs of others that are registered with this server, and whether somebody serves them.

An APIService that names a Service registers a version of a group. Who serves it is no process behind that Service here,
but a part of this process. What the server serves itself, nobody can take from it.

Mirrors: kube-aggregator
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.aggregated_apis import AggregatedApi
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.registry.conversion import version_order
from fleetqueue.embedded.apiserver.registry.establishing import merged
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.shaping import STATUS
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage import keys

GROUP: Final = "apiregistration.k8s.io"
VERSION: Final = "v1"
PLURAL: Final = "apiservices"
DEFAULT_PORT: Final = 443
RETRY_SECONDS: Final = 1.0
"""Until a status that could not be written is tried again."""
API_SERVICES: Final = keys.prefix_of(GROUP, PLURAL)
SERVICES: Final = keys.prefix_of("", "services")

GroupVersion = tuple[str, str]
Registered = Mapping[GroupVersion, AggregatedApi | None]
"""Who serves what is registered; None where nobody does. Groups and versions are in the order of their priority."""

_logger = logging.getLogger(__name__)


class ApiServices:
    def __init__(self, store: RegistryStore, resources: Resources, user: User) -> None:
        self.store = store
        self.storage = store.storage
        self.resources = resources
        self.user = user
        self._changes = self.storage.counter(API_SERVICES, SERVICES)
        self._serving: list[AggregatedApi] = []
        self._comings_and_goings = 0
        self._changed = asyncio.Event()
        self._problem = ""
        """Why a status could not be written, so that each reason is logged once."""
        self._made: tuple[tuple[int, ...], Registered] | None = None

    @contextmanager
    def serving(self, api: AggregatedApi) -> Iterator[None]:
        """Let a part serve an API; of two that serve the same, the newer answers."""
        self._serving.append(api)
        self._note()
        try:
            yield
        finally:
            self._serving.remove(api)
            self._note()

    @property
    def version(self) -> tuple[int, ...]:
        """Another one with every change."""
        return self._changes(), self.resources.version, self._comings_and_goings

    @property
    def registered(self) -> Registered:
        version = self.version
        if self._made is None or self._made[0] != version:
            self._made = (version, self._registered())
        return self._made[1]

    async def run(self) -> None:
        """Say of every APIService whether it is available, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for prefix in (API_SERVICES, SERVICES):
                tasks.create_task(self._follow(prefix), name=f"changes of {prefix}")
            while True:
                self._changed.clear()
                wait = None if await self._settle() else RETRY_SECONDS
                try:
                    async with asyncio.timeout(wait):
                        await self._changed.wait()
                except TimeoutError:
                    continue

    async def _follow(self, prefix: str) -> None:
        watch = self.storage.watch(prefix, since=self.storage.revision)
        while True:
            await watch.read()
            self._changed.set()

    def _note(self) -> None:
        self._comings_and_goings += 1
        self._changed.set()

    def _registered(self) -> Registered:
        own = _built_in() | {(one.resource.group, one.resource.version) for one in self.resources}
        specs = [spec for one in self._stored() if (spec := _spec(one)).get("service")]
        return {
            _group_version(spec): self._server_of(spec) if self._is_available(spec) else None
            for spec in sorted(specs, key=_priority)
            if all(_group_version(spec)) and _group_version(spec) not in own
        }

    def _stored(self) -> Sequence[Manifest]:
        return [entry.object for entry in self.storage.list(API_SERVICES).entries]

    def _server_of(self, spec: Manifest) -> AggregatedApi | None:
        group, version = _group_version(spec)
        return next((api for api in reversed(self._serving) if api.group == group and version in api.versions), None)

    def _is_available(self, spec: Manifest) -> bool:
        return bool(self._availability(spec)["status"] == "True")

    def _availability(self, spec: Manifest) -> Manifest:
        named = spec.get("service") or {}
        entry = self.storage.head(keys.key_of("", "services", named.get("namespace", ""), named.get("name", "")))
        service = entry.object if entry is not None else None
        return availability(spec, service, is_served=self._server_of(spec) is not None)

    async def _settle(self) -> bool:
        """Write what is not said yet; tell whether all of it could be written."""
        is_done = True
        for one in self._stored():
            status = one.get(STATUS) or {}
            after = {**status, "conditions": merged(status.get("conditions"), [self._availability(_spec(one))])}
            if after != status:
                is_done = await self._write(one, after) and is_done
        return is_done

    async def _write(self, seen: Manifest, status: Manifest) -> bool:
        name, version = seen["metadata"]["name"], seen["metadata"]["resourceVersion"]

        def said(live: Manifest | None) -> Manifest:
            before = live or seen
            return {**before, "metadata": {**before["metadata"], "resourceVersion": version}, STATUS: status}

        served = self.resources.find(GROUP, VERSION, PLURAL)
        try:
            await self.store.update(served, "", name, said, Write(self.user, "kube-apiserver", STATUS))
        except (errors.Conflict, errors.NotFound):
            pass  # it is another one by now, and that wakes us
        except errors.ApiError as error:
            if self._problem != str(error):
                _logger.warning("status of APIService %s is not written, and tried again: %s", name, error)
            self._problem = str(error)
            return False
        return True


def availability(spec: Manifest, service: Manifest | None, *, is_served: bool) -> Manifest:
    """Say whether an API is available, in the words of the real aggregator; `service` is the one that it names."""
    named = spec.get("service")
    if not named:
        return _condition("True", "Local", "Local APIServices are always available")
    where = f'service/{named.get("name")} in "{named.get("namespace")}"'
    if service is None:
        return _condition("False", "ServiceNotFound", f"{where} is not present")
    wanted = named.get("port") or DEFAULT_PORT
    ports = [port for port in _spec(service).get("ports") or () if port["port"] == wanted]
    if not ports:
        return _condition("False", "ServicePortError", f"{where} is not listening on port {wanted}")
    if not is_served:
        message = f'endpointslices for {where} have no addresses with port name "{ports[0].get("name", "")}"'
        return _condition("False", "MissingEndpoints", message)
    return _condition("True", "Passed", "all checks passed")


@cache
def _built_in() -> frozenset[GroupVersion]:
    return frozenset((kind.group, kind.version) for kind in facts.kinds())


def _condition(status: str, reason: str, message: str) -> Manifest:
    return {"type": "Available", "status": status, "reason": reason, "message": message}


def _spec(obj: Manifest) -> Manifest:
    """Return what an object asks for; nobody has checked that it is whole."""
    return obj.get("spec") or {}


def _group_version(spec: Manifest) -> GroupVersion:
    return spec.get("group", ""), spec.get("version", "")


def _priority(spec: Manifest) -> tuple[object, ...]:
    group, version = _group_version(spec)
    return -(spec.get("groupPriorityMinimum") or 0), group, -(spec.get("versionPriority") or 0), version_order(version)
