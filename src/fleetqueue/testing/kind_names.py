"""Which kind of object a name means: asked of the cluster itself, so that every kind of a CRD has one too."""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest, Resource

Ask = Callable[[Request], Response]


class KindNames:
    """The kinds that one cluster serves; it is asked again when a name is not known."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[str, Resource] = {}

    def named(self, name: str) -> Resource:
        """Find a kind by `Job`, `jobs`, `Job.batch` or `jobs.batch`; raises LookupError.

        Where several groups have it, the core group comes first, then the order in which the cluster tells its groups.
        """
        key = name.lower()
        if key not in self._known:
            self._known = self._served()
        if key not in self._known:
            raise LookupError(f'no kind "{name}" is served here; is its CustomResourceDefinition missing?')
        return self._known[key]

    def of(self, manifest: Manifest) -> Resource:
        """Find the kind of an object, in the version that it has; raises LookupError."""
        api_version, kind = manifest["apiVersion"], manifest["kind"]
        for resource in self._in(api_version):
            if resource.kind == kind:
                return resource
        raise LookupError(f"no kind {kind} of {api_version} is served here; is its CustomResourceDefinition missing?")

    def _served(self) -> dict[str, Resource]:
        names: dict[str, Resource] = {}
        for api_version in ("v1", *self._versions()):
            for resource in self._in(api_version):
                for name in (resource.kind.lower(), resource.plural):
                    names.setdefault(name, resource)
                    names.setdefault(f"{name}.{resource.group}", resource)
        return names

    def _versions(self) -> Iterator[str]:
        """Tell all versions of all groups, of each group the preferred one first."""
        for group in self._body("/apis").get("groups", ()):
            preferred = group["preferredVersion"]["groupVersion"]
            yield preferred
            yield from (one["groupVersion"] for one in group["versions"] if one["groupVersion"] != preferred)

    def _in(self, api_version: str) -> Iterator[Resource]:
        group, _, version = api_version.rpartition("/")
        for entry in self._body(f"/apis/{api_version}" if group else f"/api/{api_version}").get("resources", ()):
            if "/" not in entry["name"]:  # else a part of an object, such as its status
                yield Resource(group, version, entry["kind"], entry["name"], entry["namespaced"])

    def _body(self, path: str) -> dict[str, Any]:
        answer = self._ask(Request("GET", path))
        return answer.body if answer.status == 200 else {}
