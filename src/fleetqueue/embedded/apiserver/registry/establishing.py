"""Serve what CustomResourceDefinitions define: accept their names, establish them, clean up after them.

Everything follows from the stored definitions, so that a restart serves the same as before.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.conversion import NO_CONVERTERS, Converters
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions
from fleetqueue.embedded.apiserver.registry.kinds import definition_approval
from fleetqueue.embedded.apiserver.registry.kinds.definitions import CLEANUP, GROUP, PLURAL
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import STATUS
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage import keys

VERSION: Final = "v1"
RETRY_SECONDS: Final = 1.0
"""Between two looks at instances that their own finalizers still hold, and at what failed."""

_logger = logging.getLogger(__name__)


class Establishing:
    def __init__(
        self, store: RegistryStore, resources: Resources, user: User, converters: Converters = NO_CONVERTERS
    ) -> None:
        self.store = store
        self.storage = store.storage
        self.resources = resources
        self.user = user
        self.converters = converters
        self.prefix = keys.prefix_of(GROUP, PLURAL)
        self._problems: dict[str, str] = {}
        """Why a definition could not be established, so that each reason is logged once."""

    async def run(self) -> None:
        """Follow the definitions until cancelled; what is there already is served before anything else happens."""
        page = self.storage.list(self.prefix)
        watch = self.storage.watch(self.prefix, since=page.revision)
        names = {entry.object["metadata"]["name"] for entry in page.entries}
        while True:
            waiting = {name for name in sorted(names) if await self._try(name)}
            changes = await watch.read(until=clock.monotonic() + RETRY_SECONDS if waiting else None)
            names = {keys.parts_of(change.key).name for change in changes} | waiting

    async def _try(self, name: str) -> bool:
        """Settle a definition; one that fails, by a full disk, say, is looked at again and holds up no other."""
        try:
            is_waiting = await self.settle(name)
        except Exception as error:
            if self._problems.get(name) != str(error):
                _logger.warning("definition %s is not settled, and tried again: %s", name, error)
            self._problems[name] = str(error)
            return True
        self._problems.pop(name, None)
        return is_waiting

    async def settle(self, name: str) -> bool:
        """Do what one definition needs now; tell whether it must be looked at again."""
        try:
            definition = self.storage.get(self.prefix + name).object
        except errors.NotFound:
            plural, _, group = name.partition(".")
            self.resources.remove(group, plural)
            return False
        try:
            if definition["metadata"].get("deletionTimestamp"):
                return await self._clean_up(definition)
            await self._establish(definition)
        except errors.Conflict:
            pass  # it changed meanwhile, and that wakes us
        return False

    # Serving

    async def _establish(self, definition: Manifest) -> None:
        """Accept names that are free, serve them, and then say so."""
        accepted, conflict = accepted_names(definition, self._taken(definition))
        conditions = [approved] if (approved := definition_approval.condition(definition)) else []
        conditions.append(_names_condition(conflict))
        is_established = _is_true(definition, "Established") or not conflict
        conditions.append(_established_condition(is_established))
        ready = {**definition, STATUS: {**(definition.get(STATUS) or {}), "acceptedNames": accepted}}
        if is_established:
            for served in self._custom_kinds(ready):
                self.resources.add(served)
        await self._write_status(definition, accepted, conditions)

    def _custom_kinds(self, definition: Manifest) -> Sequence[Served]:
        # With it come schemas and CEL, which are slow to import: a cluster without custom kinds needs none of them.
        from fleetqueue.embedded.apiserver.registry.custom_kinds import custom_kinds

        return custom_kinds(definition, self.converters)

    def _taken(self, definition: Manifest) -> set[str]:
        """Return the names that other definitions of the group have."""
        taken: set[str] = set()
        for entry in self.storage.list(self.prefix).entries:
            other = entry.object
            is_same = other["metadata"]["uid"] == definition["metadata"]["uid"]
            if not is_same and other["spec"]["group"] == definition["spec"]["group"]:
                names = (other.get(STATUS) or {}).get("acceptedNames") or {}
                taken |= {names[part] for part in ("plural", "singular", "kind", "listKind") if names.get(part)}
                taken |= set(names.get("shortNames") or ())
        return taken

    # Cleaning up

    async def _clean_up(self, definition: Manifest) -> bool:
        """Delete all instances of a definition that is deleted, and let it go when none is left."""
        if CLEANUP not in (definition["metadata"].get("finalizers") or ()):
            return False
        spec = definition["spec"]
        for served in self._custom_kinds(definition)[:1] if _is_true(definition, "Established") else ():
            write = Write(self.user)
            for entry in self.storage.list(served.prefix()).entries:
                metadata = entry.object["metadata"]
                with suppress(errors.NotFound):
                    place = (metadata.get("namespace", ""), metadata["name"])
                    await self.store.delete(served, *place, DeleteOptions(), write)
        if self.storage.list(keys.prefix_of(spec["group"], spec["names"]["plural"])).entries:
            return True
        await self._change(definition, _without_cleanup)
        return False

    # Writing

    async def _write_status(
        self, definition: Manifest, accepted: Mapping[str, Any], conditions: Sequence[Manifest]
    ) -> None:
        status = definition.get(STATUS) or {}
        after = {**status, "acceptedNames": dict(accepted), "conditions": merged(status.get("conditions"), conditions)}
        if after != status:
            await self._change(definition, lambda live: {**live, STATUS: after}, subresource=STATUS)

    async def _change(self, definition: Manifest, change: Any, subresource: str = "") -> None:
        """Change a definition as it was seen; a Conflict if it is another one by now."""
        served = self.resources.find(GROUP, VERSION, PLURAL)
        version = definition["metadata"]["resourceVersion"]

        def bound(live: Manifest | None) -> Manifest:
            after = change(live or definition)
            return {**after, "metadata": {**after["metadata"], "resourceVersion": version}}

        write = Write(self.user, "kube-apiserver", subresource)
        await self.store.update(served, "", definition["metadata"]["name"], bound, write)


def accepted_names(definition: Manifest, taken: set[str]) -> tuple[Manifest, tuple[str, str] | None]:
    """Return the names that a definition has now, and the last that it cannot have: the reason, and the name."""
    wanted = definition["spec"]["names"]
    held = dict((definition.get(STATUS) or {}).get("acceptedNames") or {})
    after, conflict = dict(held), None
    for part in ("plural", "singular", "shortNames", "kind", "listKind"):
        names = wanted.get(part) or []
        blocked = [
            name
            for name in ([names] if isinstance(names, str) else names)
            if name in taken and name not in (held.get(part) or ())
        ]
        if blocked:
            conflict = f"{part[0].upper()}{part[1:]}Conflict", blocked[-1]
        elif names:
            after[part] = names
    if wanted.get("categories"):
        after["categories"] = wanted["categories"]
    return after, conflict


def merged(before: Sequence[Manifest] | None, after: Sequence[Manifest]) -> list[Manifest]:
    """Return the conditions with new ones in their place; one that says the same keeps its time."""
    now = timestamp(clock.now())
    known = {condition["type"]: condition for condition in before or ()}
    for condition in after:
        old = known.get(condition["type"]) or {}
        since = old.get("lastTransitionTime", now) if old.get("status") == condition["status"] else now
        known[condition["type"]] = {"lastTransitionTime": since, **condition}
    return list(known.values())


def _names_condition(conflict: tuple[str, str] | None) -> Manifest:
    if conflict is not None:
        message = f'"{conflict[1]}" is already in use'
        return {"type": "NamesAccepted", "status": "False", "reason": conflict[0], "message": message}
    return {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"}


def _established_condition(is_established: bool) -> Manifest:
    if is_established:
        message = "the initial names have been accepted"
        return {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": message}
    message = "not all names are accepted"
    return {"type": "Established", "status": "False", "reason": "NotAccepted", "message": message}


def _is_true(definition: Manifest, kind: str) -> bool:
    conditions = (definition.get(STATUS) or {}).get("conditions") or ()
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def _without_cleanup(live: Manifest) -> Manifest:
    finalizers = [name for name in live["metadata"].get("finalizers") or () if name != CLEANUP]
    return {**live, "metadata": {**live["metadata"], "finalizers": finalizers}}
